//! Training, `ai.onnx.preview.training`.

use super::versions::{all, count};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &all::<{ count(TABLE) }>(TABLE);

const TABLE: &[Operator] = &[ADAGRAD, ADAM, GRADIENT, MOMENTUM];
const DOMAIN: &str = "ai.onnx.preview.training";
const ADAGRAD: Operator = Operator::new(DOMAIN, "Adagrad", 1).doc("A step of Adagrad.");
const ADAM: Operator = Operator::new(DOMAIN, "Adam", 1).doc("A step of Adam.");

const GRADIENT: Operator =
    Operator::new(DOMAIN, "Gradient", 1).effects(Effects::TRAPS).doc("The gradient of a part of the graph.");

const MOMENTUM: Operator = Operator::new(DOMAIN, "Momentum", 1).doc("A step of momentum.");
relais_plugin_api::prelude::operators! { OPERATORS }
