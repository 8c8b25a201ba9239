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
//! An initial state that is given as zeros is left out.

use crate::eliminate_no_op::{is_all, zero};
use relais_plugin_api::prelude::*;

/// The arguments that are initial states: the hidden one, and the cell's of `LSTM`.
const STATES: std::ops::RangeInclusive<usize> = 5..=6;

/// Leaves out initial states that are zeros.
#[rewrite_pass(
    name = "relais.SimplifyRecurrent",
    opt_level = 1,
    ops = ["RNN", "GRU", "LSTM"],
)]
pub fn simplify_recurrent(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
    let is_zero = |arg: NodeId| cx.tensor(arg).is_some_and(|it| zero(it.elem()).is_some_and(|zero| is_all(it, &zero)));
    let absent = |(at, &arg): (usize, &NodeId)| if STATES.contains(&at) && is_zero(arg) { NodeId::ABSENT } else { arg };
    let mut args: Vec<NodeId> = call.args().iter().enumerate().map(absent).collect();
    if args == call.args() {
        return Rewrite::Keep;
    }
    while args.last().is_some_and(|arg| arg.is_absent()) {
        args.pop();
    }
    Rewrite::ReplaceResults(cx.call_results_like(call, &args, Vec::new()))
}
