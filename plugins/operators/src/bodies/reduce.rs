//! Reductions that are sums of something.

use super::shared::{Made, body, is_wide};
use crate::calls::{elem, int, opt_ints};
use relais_plugin_api::{
    ir::ElemType,
    op::{OpCall, OpError},
};

/// The sum `%s` of `value` over the axes of the call, which are an argument or an attribute.
fn sum(call: &OpCall<'_>, value: &str) -> Made {
    let keepdims = format!("keepdims = {}", int(call, "keepdims")?);
    let axes = match (call.version() >= 18, opt_ints(call, "axes")?) {
        (true, _) => {
            let axes = if call.has_arg(1) { ", %axes" } else { "" };
            format!("{axes}, noop_with_empty_axes = {}", int(call, "noop_with_empty_axes")?)
        }
        (false, None) => String::new(),
        (false, Some(axes)) if axes.is_empty() => return Err(OpError::unsupported("`axes` is empty")),
        (false, Some(axes)) if call.version() >= 13 => format!(", {axes:?}"),
        (false, Some(axes)) => format!(", axes = {axes:?}"),
    };
    Ok(format!("  %s = ReduceSum(%{value}{axes}, {keepdims});\n"))
}

fn reduction(call: &OpCall<'_>, lines: &str) -> Made {
    body(call, &["x", "axes"], lines, &["y"])
}

/// `ReduceL1`: the sum of absolute values.
pub fn l1(call: &OpCall<'_>) -> Made {
    reduction(call, &format!("  %a = Abs(%x);\n{}  %y = Identity(%s);\n", sum(call, "a")?))
}

/// `ReduceSumSquare`: the sum of squares.
pub fn sum_square(call: &OpCall<'_>) -> Made {
    reduction(call, &format!("  %q = Mul(%x, %x);\n{}  %y = Identity(%s);\n", sum(call, "q")?))
}

/// A function of a sum, which is computed in floating point.
fn of_sum(call: &OpCall<'_>, before: &str, summed: &str, after: &str) -> Made {
    let elem = elem(call, 0)?;
    let wide = if is_wide(elem) { elem } else { ElemType::DOUBLE };
    let sum = sum(call, summed)?;
    let lines = format!(
        "  %w = Cast(%x, to = {});\n{before}{sum}  %f = {after}(%s);\n  %y = Cast(%f, to = {});\n",
        wide.0, elem.0
    );
    reduction(call, &lines)
}

/// `ReduceL2`: the root of the sum of squares.
pub fn l2(call: &OpCall<'_>) -> Made {
    of_sum(call, "  %q = Mul(%w, %w);\n", "q", "Sqrt")
}

/// `ReduceLogSum`: the logarithm of the sum.
pub fn log_sum(call: &OpCall<'_>) -> Made {
    of_sum(call, "", "w", "Log")
}

/// `ReduceLogSumExp`: the logarithm of the sum of exponentials.
pub fn log_sum_exp(call: &OpCall<'_>) -> Made {
    of_sum(call, "  %q = Exp(%w);\n", "q", "Log")
}
