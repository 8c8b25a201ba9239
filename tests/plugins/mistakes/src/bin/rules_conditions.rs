//! Functions that rules name as conditions: one that does not exist, one of a wrong signature, and more.

use relais_plugin_api::{
    pattern::{Matched, Unmet},
    prelude::*,
};

fn is_even(_: &Matched<'_>, _: &RewriteCx<'_>) -> Result<(), Unmet> {
    Ok(())
}

/// A typing error.
#[rule_pass(name = "mistakes.Typo", conditions = [is_even])]
const TYPO: &str = "
    Sub(x, const c) => x if
        is_evn(c)
";

/// A function that is not listed.
#[rule_pass(name = "mistakes.Unlisted", conditions = [is_even])]
const UNLISTED: &str = "Sub(x, const c) => x if has_weights(c)";

/// No list at all.
#[rule_pass(name = "mistakes.None")]
const NONE: &str = "Sub(x, const c) => x if has_weights(c)";

/// A function of another signature.
#[rule_pass(name = "mistakes.Signature", conditions = [is_small])]
const SIGNATURE: &str = "Sub(x, const c) => x if is_small(c)";

fn is_small(value: f64) -> bool {
    value < 1.0
}

/// A text instead of a path.
#[rule_pass(name = "mistakes.Text", conditions = ["is_even"])]
const TEXT: &str = "Sub(x, const c) => x if is_even(c)";

/// A closure.
#[rule_pass(name = "mistakes.Closure", conditions = [|_, _| Ok(())])]
const CLOSURE: &str = "Sub(x, const c) => x";

/// A function that rules have already.
#[rule_pass(name = "mistakes.Finite", conditions = [f64::finite])]
const FINITE: &str = "Sub(x, const c) => x if finite(c)";

/// Samples of a rule that does not exist.
#[rule_pass(name = "mistakes.Sample", samples(odd = ""))]
const SAMPLE: &str = "even: Sub(x, const c) => x";

/// Samples of a rule without a name.
#[rule_pass(name = "mistakes.Unnamed", samples(even = ""))]
const UNNAMED: &str = "Sub(x, const c) => x";

fn main() {}
