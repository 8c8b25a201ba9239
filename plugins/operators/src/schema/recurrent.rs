//! Recurrent networks.

use super::versions::{all, count};
use crate::{kernels, relations};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &all::<{ count(TABLE) }>(TABLE);

const TABLE: &[Operator] = &[GRU, LSTM, RNN];

const GRU: Operator = Operator::new("", "GRU", 22)
    .effects(Effects::TRAPS)
    .macs("x0[0] * x0[1] * x1 + x0[0] * x0[1] * x2")
    .infer(relations::recurrent::recurrent)
    .compute(kernels::recurrent::recurrent)
    .precision(Precision::Lower)
    .doc("A gated recurrent unit.");

const LSTM: Operator = Operator::new("", "LSTM", 22)
    .effects(Effects::TRAPS)
    .macs("x0[0] * x0[1] * x1 + x0[0] * x0[1] * x2")
    .infer(relations::recurrent::recurrent)
    .compute(kernels::recurrent::recurrent)
    .precision(Precision::Lower)
    .doc("A long short-term memory.");

const RNN: Operator = Operator::new("", "RNN", 22)
    .effects(Effects::TRAPS)
    .macs("x0[0] * x0[1] * x1 + x0[0] * x0[1] * x2")
    .infer(relations::recurrent::recurrent)
    .compute(kernels::recurrent::recurrent)
    .precision(Precision::Lower)
    .doc("A simple recurrent network.");

relais_plugin_api::prelude::operators! { OPERATORS }
