//! `Softmax` and its logarithm.

use super::shared::{Made, Text};
use crate::calls::{int, rank};
use relais_plugin_api::op::{OpCall, OpError, shapes::axis_of};

/// An axis counted from the front; a scalar counts as one axis.
fn front(axis: i64, rank: usize) -> Result<i64, OpError> {
    Ok(axis_of(axis, rank.max(1))? as i64)
}

/// The axes over which `Softmax` and `LogSoftmax` normalise: one, and before version 13 all from that one on.
fn normalised(call: &OpCall<'_>) -> Result<Vec<i64>, OpError> {
    let axis = int(call, "axis")?;
    if call.version() >= 13 {
        return Ok(vec![call.dims(0).map_or(Ok(axis), |dims| front(axis, dims.len()))?]);
    }
    let rank = rank(call, 0)?;
    Ok((front(axis, rank)?..rank as i64).collect())
}

/// `Softmax`.
pub fn softmax(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let axes = normalised(call)?;
    let product = t.line("Mul(%d0, %y0)");
    let sum = t.sum_to_one(&product, &axes);
    let part = t.line(format_args!("Mul(%y0, {sum})"));
    let x = t.line(format_args!("Sub({product}, {part})"));
    t.gives([x])
}

/// `LogSoftmax`.
pub fn log_softmax(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let axes = normalised(call)?;
    let sum = t.sum_to_one("%d0", &axes);
    let softmax = t.line("Exp(%y0)");
    let part = t.line(format_args!("Mul({softmax}, {sum})"));
    let x = t.line(format_args!("Sub(%d0, {part})"));
    t.gives([x])
}
