//! Rewrites and rules of another level than they say, or of none.

use relais_plugin_api::prelude::*;

/// No level.
#[rewrite_pass(name = "mistakes.Unknown", level = "loops", ops = ["tir::exp"])]
fn unknown(_: CallView<'_>, _: &mut RewriteCx<'_>) -> Rewrite {
    Rewrite::Keep
}

/// An operator of loop programs in graphs.
#[rewrite_pass(name = "mistakes.Graph", ops = ["Exp", "tir::exp"])]
fn graph(_: CallView<'_>, _: &mut RewriteCx<'_>) -> Rewrite {
    Rewrite::Keep
}

/// An operator of graphs in loop programs.
#[rewrite_pass(name = "mistakes.Prim", level = "prim", ops = ["tir::exp", "Exp"])]
fn prim(_: CallView<'_>, _: &mut RewriteCx<'_>) -> Rewrite {
    Rewrite::Keep
}

/// A statement.
#[rewrite_pass(name = "mistakes.Store", level = "prim", ops = ["tir::store"])]
fn store(_: CallView<'_>, _: &mut RewriteCx<'_>) -> Rewrite {
    Rewrite::Keep
}

/// A rule for both.
#[rule_pass(name = "mistakes.Mixed")]
const MIXED: &str = "tir::exp(Log(x)) => x";

/// Rules for each.
#[rule_pass(name = "mistakes.Both")]
const BOTH: &str = "Neg(Neg(x)) => x; tir::neg(tir::neg(x)) => x";

/// Rules for another level.
#[rule_pass(name = "mistakes.Other", level = "prim")]
const OTHER: &str = "Neg(Neg(x)) => x";

fn main() {}
