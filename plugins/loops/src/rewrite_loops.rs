//! Rewrites values of loop programs by rules that a pipeline states as text.
//!
//! ```text
//! { pass = "relais.RewriteLoops", options = { rules = [
//!     "negneg: tir::neg(tir::neg(x)) => x",
//!     "halves: tir::div(x, 2.0) => tir::mul(x, 0.5)",
//! ] } }
//! ```
//!
//! `docs/patterns.md` describes the language. A rule is for loop programs if its operators are of the domain `tir`; those for
//! graphs are given to `Rewrite`, whose options are the same. Rules match values: scalars, the lanes of vectors, and numbers,
//! in loops and conditionals, but not what is computed in a block outside that of the outermost call. Rules for statements,
//! or for memory, are refused. The new value has the element type and the lanes of the old one.
//! Values that nothing uses any more are removed.
//!
//! The pass does what the rules say: whether a rule keeps the results of a program is the responsibility of its author.
//! `relais run` judges the rules by small loop programs before the first pass runs, unless `--no-judge` is given.

use relais_plugin_api::{
    pattern::{self, RuleFile, Rules},
    prelude::*,
};

/// Options of `RewriteLoops`.
#[derive(PassOptions)]
pub struct RewriteLoopsOptions {
    /// The rules, one or more in each string.
    #[option(default = [])]
    pub rules: Vec<String>,
    /// Files of rules, which follow those of `rules`: text, or pairs of ONNX functions if the name ends in `.onnx`. A
    /// relative path starts at the folder of the pipeline's file.
    #[option(default = [])]
    pub files: Vec<RuleFile>,
    /// Where the strings of `rules` come from, for errors: `rules[0]` and so on, if nothing is given.
    #[option(default = [])]
    pub origins: Vec<String>,
}

/// Rewrites values of loop programs by rules that a pipeline states as text.
#[prim_func_pass(
    name = "relais.RewriteLoops",
    opt_level = 0,
    phase = "none",
    statistics(rewritten = "calls replaced"),
    check = can_rewrite,
)]
pub fn rewrite_loops(edit: &mut Editor, cx: &PassCx<'_>, options: &RewriteLoopsOptions) -> Result<(), PassError> {
    pattern::apply(edit, cx, &rules(options)?).map(|_| ())
}

/// Whether the rules are valid for loop programs.
fn can_rewrite(module: &IRModule, cx: &PassCx<'_>, options: &RewriteLoopsOptions) -> Result<(), PassError> {
    pattern::check_module(&rules(options)?, module, cx)
}

fn rules(options: &RewriteLoopsOptions) -> Result<Rules, PassError> {
    Rules::stated(&options.rules, &options.files, &options.origins)
}
