//! Control flow.

use super::versions::{all, count};
use crate::relations;
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &all::<{ count(TABLE) }>(TABLE);

const TABLE: &[Operator] = &[IF, LOOP, SCAN];

const IF: Operator =
    Operator::new("", "If", 25).infer(relations::control::conditional).doc("One of two graphs, by a condition.");

const LOOP: Operator = Operator::new("", "Loop", 25)
    .effects(Effects::TRAPS)
    .infer(relations::control::r#loop)
    .doc("A graph repeated while a condition holds.");

const SCAN: Operator = Operator::new("", "Scan", 25)
    .infer(relations::control::scan)
    .doc("A graph run over the slices of tensors, with state.");

relais_plugin_api::prelude::operators! { OPERATORS }
