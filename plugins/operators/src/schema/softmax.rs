//! Softmax, its logarithm, and the greatest element alone.

use super::{
    precision,
    versions::{all, count},
};
use crate::{bodies, gradients, kernels, relations};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &all::<{ count(TABLE) }>(TABLE);

const TABLE: &[Operator] = &[
    HARDMAX,
    several_axes(HARDMAX.since(11)),
    LOG_SOFTMAX.body_of(bodies::softmax::log_softmax),
    several_axes(LOG_SOFTMAX.since(11)),
    SOFTMAX.body_of(bodies::softmax::softmax),
    several_axes(SOFTMAX.since(11)),
];

/// Before version 13, along all axes from one on.
const fn several_axes(op: Operator) -> Operator {
    Operator { axes: None, ..op }
}

const HARDMAX: Operator = Operator::new("", "Hardmax", 13)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::softmax::hardmax)
    .axes(Axes::along("axis"))
    .doc("One at the first largest element along an axis, zero elsewhere.");

const LOG_SOFTMAX: Operator = Operator::new("", "LogSoftmax", 13)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::softmax::softmax)
    .gradient_of(gradients::softmax::log_softmax)
    .axes(Axes::along("axis").sums())
    .precision(precision::NORMALIZES)
    .doc("The logarithm of the softmax.");

const SOFTMAX: Operator = Operator::new("", "Softmax", 13)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::softmax::softmax)
    .gradient_of(gradients::softmax::softmax)
    .axes(Axes::along("axis").sums())
    .precision(precision::NORMALIZES)
    .doc("Exponentials divided by their sum along an axis.");

relais_plugin_api::prelude::operators! { OPERATORS }
