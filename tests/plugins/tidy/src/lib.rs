//! Adds a pass to the shipped pipelines, and has a pipeline of its own.
#![forbid(unsafe_code)]

use relais_plugin_api::prelude::*;

plugin! { description = "cancels negations" }

pipeline! { name = "tidy.All", toml = include_str!("all.toml") }

pipeline! { name = "tidy.Inner", toml = "# Cancels negations.\nsteps = [\"tidy.NegNeg\", \"DeadCodeElimination\"]\n" }

/// Replaces `Neg(Neg(x))` by `x`.
#[rewrite_pass(name = "tidy.NegNeg", opt_level = 2, ops = ["Neg"], extends = "after-simplify")]
fn neg_neg(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
    match cx.call_of_op(call.args()[0], "Neg") {
        Some(inner) => Rewrite::Replace(inner.args()[0]),
        None => Rewrite::decline("the argument is not a `Neg`"),
    }
}

/// Says that it ran.
#[module_pass(name = "tidy.Check", extends = "tidy-checks")]
fn check(_: &mut IRModule, cx: &PassCx<'_>) -> Result<(), PassError> {
    cx.diagnostic(Diagnostic::warning("checked"));
    Ok(())
}
