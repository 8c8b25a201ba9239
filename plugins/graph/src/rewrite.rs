//! Rewrites calls by rules that a pipeline states as text.
//!
//! ```text
//! { pass = "relais.Rewrite", options = { rules = [
//!     "silu: Mul(x, Sigmoid(x)) => acme::Silu(x)",
//!     "gemm: Add(MatMul(a, b), c) => Gemm(a, b, c) if rank(a) == 2, rank(b) == 2, rank(c) == 1",
//! ] } }
//! ```
//!
//! `docs/patterns.md` describes the language. Each string has one or more rules, and so has each of `files`; all of them
//! share one matcher, and the larger pattern wins. Rules are checked before the first pass runs: their text, their
//! operators, and the attributes and numbers of arguments for the operator sets that each function imports. A match that
//! fails at a condition is a remark.
//!
//! Rules for loop programs, whose operators are of the domain `tir`, are those of `RewriteLoops`.
//!
//! The pass does what the rules say: whether a rule keeps the results of a model is the responsibility of its author.
//! `relais run` judges the rules by small modules before the first pass runs, unless `--no-judge` is given.

use relais_plugin_api::{
    pattern::{self, RuleFile, Rules},
    prelude::*,
};

/// Options of `Rewrite`.
#[derive(PassOptions)]
pub struct RewriteOptions {
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

/// Rewrites calls by rules that a pipeline states as text.
#[function_pass(
    name = "relais.Rewrite",
    opt_level = 0,
    required = ["relais.InferType"],
    statistics(rewritten = "calls replaced"),
    check = can_rewrite,
)]
pub fn rewrite(edit: &mut Editor, cx: &PassCx<'_>, options: &RewriteOptions) -> Result<(), PassError> {
    pattern::apply(edit, cx, &rules(options)?).map(|_| ())
}

/// Whether the rules are valid for every function of a module.
fn can_rewrite(module: &IRModule, cx: &PassCx<'_>, options: &RewriteOptions) -> Result<(), PassError> {
    pattern::check_module(&rules(options)?, module, cx)
}

fn rules(options: &RewriteOptions) -> Result<Rules, PassError> {
    Rules::stated(&options.rules, &options.files, &options.origins)
}
