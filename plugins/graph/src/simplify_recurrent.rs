//! Recurrent layers start with zeros unless an initial state is given.
//!
//! ```text
//! %h = splat(float32, (1, 1, 8), 0.0);
//! %1 = GRU(%x, %w, %r, %b, _, %h, hidden_size = 8);
//! ```
//! becomes
//! ```text
//! %1 = GRU(%x, %w, %r, %b, hidden_size = 8);
//! ```
//!
//! An initial state of zeros is left out, be it a constant, or computed because its size depends on the input's, as
//! `Expand` and `ConstantOfShape` do, with `Concat`, `Unsqueeze` and the like after them.

use crate::eliminate_no_op::{is_all, zero};
use relais_plugin_api::prelude::*;

/// The arguments that are initial states: the hidden one, and the cell's of `LSTM`.
const STATES: std::ops::RangeInclusive<usize> = 5..=6;

/// The operators whose results have elements of their first argument alone.
const MOVES: [&str; 11] = [
    "Cast",
    "Expand",
    "Flatten",
    "Gather",
    "Identity",
    "Reshape",
    "Slice",
    "Squeeze",
    "Tile",
    "Transpose",
    "Unsqueeze",
];
/// How many values are followed to constants.
const MOST_VALUES: usize = 64;

/// Leaves out initial states that are zeros.
#[rewrite_pass(
    name = "relais.SimplifyRecurrent",
    opt_level = 1,
    ops = ["RNN", "GRU", "LSTM"],
)]
pub fn simplify_recurrent(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
    let is_left_out = |at: usize, arg: NodeId| STATES.contains(&at) && !arg.is_absent() && is_zeros(arg, cx);
    let absent = |(at, &arg): (usize, &NodeId)| if is_left_out(at, arg) { NodeId::ABSENT } else { arg };
    let mut args: Vec<NodeId> = call.args().iter().enumerate().map(absent).collect();
    if args == call.args() {
        return Rewrite::Keep;
    }
    while args.last().is_some_and(|arg| arg.is_absent()) {
        args.pop();
    }
    Rewrite::ReplaceResults(cx.call_results_like(call, &args, Vec::new()))
}

/// Whether all elements of a value are positive zeros.
fn is_zeros(value: NodeId, cx: &RewriteCx<'_>) -> bool {
    let is_zero = |tensor: &Tensor| zero(tensor.elem()).is_some_and(|zero| is_all(tensor, &zero));
    let mut values = vec![value];
    for _ in 0..MOST_VALUES {
        let Some(value) = values.pop() else { return true };
        let is_known = match (cx.tensor(value), cx.call_of(value)) {
            (Some(tensor), _) => is_zero(tensor),
            (None, Some(call)) if call.is_op("ConstantOfShape") => {
                call.attrs().get("value").is_none() || call.attrs().tensor("value").is_some_and(is_zero)
            }
            (None, Some(call)) if call.is_op("Concat") => {
                values.extend(call.args());
                true
            }
            (None, Some(call)) if MOVES.iter().any(|name| call.is_op(name)) => {
                values.extend(call.arg(0));
                true
            }
            _ => false,
        };
        if !is_known {
            return false;
        }
    }
    values.is_empty()
}
