//! Softmax, its logarithm, and the greatest element alone.

use super::versions::{all, count};
use crate::{bodies, gradients, kernels, relations};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &all::<{ count(TABLE) }>(TABLE);

const TABLE: &[Operator] = &[
    HARDMAX,
    LOG_SOFTMAX.body_of(bodies::softmax::log_softmax),
    LOG_SOFTMAX.since(11),
    SOFTMAX.body_of(bodies::softmax::softmax),
    SOFTMAX.since(11),
];

const HARDMAX: Operator = Operator::new("", "Hardmax", 13)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::softmax::hardmax)
    .doc("One at the first largest element along an axis, zero elsewhere.");

const LOG_SOFTMAX: Operator = Operator::new("", "LogSoftmax", 13)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::softmax::softmax)
    .gradient_of(gradients::softmax::log_softmax)
    .doc("The logarithm of the softmax.");

const SOFTMAX: Operator = Operator::new("", "Softmax", 13)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::softmax::softmax)
    .gradient_of(gradients::softmax::softmax)
    .doc("Exponentials divided by their sum along an axis.");

relais_plugin_api::prelude::operators! { OPERATORS }
