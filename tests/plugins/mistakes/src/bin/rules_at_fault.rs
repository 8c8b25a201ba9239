//! Rules with a syntax error and a variable that is not bound, and rules that are not a text.

use relais_plugin_api::prelude::*;

/// Two faults.
#[rule_pass(name = "mistakes.Rules")]
const RULES: &str = "
    open: Neg(Neg(x) => x;
    free: Neg(x) => y
";

/// Not a text.
#[rule_pass(name = "mistakes.List")]
const LIST: &[&str] = &["Neg(Neg(x)) => x"];

/// A key of rewrites.
#[rule_pass(name = "mistakes.Ops", ops = ["Neg"])]
const OPS: &str = "Neg(Neg(x)) => x";

/// A function.
#[rule_pass(name = "mistakes.Function")]
fn function() {}

fn main() {}
