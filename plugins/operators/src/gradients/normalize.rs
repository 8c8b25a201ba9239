//! Normalisations.

use super::shared::{Made, Text};
use crate::calls::{dims, elem, flag, float};
use relais_plugin_api::op::{OpCall, OpError};

/// `BatchNormalization` with given means and variances.
pub fn batch_normalization(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let (rank, of_x) = (dims(call, 0)?.len(), elem(call, 0)?);
    if call.n_outputs() > 1 || flag(call, "training_mode")? {
        return Err(OpError::unsupported("it is in training mode"));
    }
    if call.version() < 9 && !flag(call, "spatial")? {
        return Err(OpError::unsupported("it normalises each place on its own"));
    }
    if rank < 2 || (1..5).any(|at| call.elem(at) != of_x) {
        return Err(OpError::unsupported("its arguments have different element types, or no channels"));
    }
    let epsilon = t.scalar(of_x, float(call, "epsilon")?);
    let (inner, outer): (Vec<i64>, Vec<i64>) =
        ((1..rank as i64 - 1).collect(), (0..rank as i64).filter(|&axis| axis != 1).collect());
    let more = t.line(format_args!("Add(%a4, {epsilon})"));
    let deviation = t.line(format_args!("Sqrt({more})"));
    let slope = t.line(format_args!("Div(%a1, {deviation})"));
    let [wide_slope, wide_mean, wide_deviation] =
        [slope.as_str(), "%a3", &deviation].map(|value| t.unsqueezed(value, &inner));
    let x = t.line(format_args!("Mul(%d0, {wide_slope})"));
    let centred = t.line(format_args!("Sub(%a0, {wide_mean})"));
    let normal = t.line(format_args!("Div({centred}, {wide_deviation})"));
    let product = t.line(format_args!("Mul(%d0, {normal})"));
    let (scale, bias) = (t.sum_away(&product, &outer), t.sum_away("%d0", &outer));
    let moved = t.line(format_args!("Mul({bias}, {slope})"));
    let mean = t.line(format_args!("Neg({moved})"));
    // d y / d v is (x - m) s (v + e)^(-3/2) / -2, and `scale` is the sum of d (x - m) (v + e)^(-1/2).
    let twice = t.line(format_args!("Add({more}, {more})"));
    let part = t.line(format_args!("Mul({scale}, %a1)"));
    let quotient = t.line(format_args!("Div({part}, {twice})"));
    let variance = t.line(format_args!("Neg({quotient})"));
    t.gives([x, scale, bias, mean, variance])
}
