//! The language of rewrite rules: data types, parser, printer, and the checks that need nothing but the text; and rules
//! as [`pairs`] of ONNX functions.
//!
//! ```
//! let rules = relais_patterns::parse("Mul(x, Sigmoid(x)) => acme::Silu(x); Neg(Neg(x)) => x").expect("they are rules");
//! assert_eq!(rules[1].to_string(), "Neg(Neg(x)) => x");
//! ```
//!
//! # Modules
//!
//! Each uses only those listed before it; one that is not listed is used by no other.
//!
//! 1. `ast`: rules as data
//! 2. `fault`: faults in the text of rules
//! 3. `level`: the two levels of rules
//! 4. `check`: the checks that need nothing but the text
//! 5. `lex`: tokens
//! 6. `parse`: the parser: rules, left sides, and the parts that both sides have
//! 7. `pairs`: rules as pairs of ONNX functions, a pattern and its replacement: the form in which other tools take
//!    them
//! 8. `parse_right`: the parser: right sides and conditions
//! 9. `print`: the printer
#![forbid(unsafe_code)]

mod ast;
mod check;
mod fault;
mod level;
mod lex;
pub mod pairs;
mod parse;
mod parse_right;
mod print;

pub use ast::*;
pub use check::{ELEMS, Functions, Sort, functions, is_function, variables};
pub use fault::{RuleCode, RuleFault};
pub use level::{RuleLevel, of_level};

/// The most bytes of a text.
pub const MAX_BYTES: usize = 1 << 20;

/// The most parts of each side of a rule.
pub const MAX_PARTS: usize = 256;

/// How deep calls, lists and parentheses may be nested.
pub const MAX_DEPTH: usize = 64;

/// The most outermost calls of a rule.
pub const MAX_ROOTS: usize = 8;

/// The most faults that are reported for a text.
pub const MAX_FAULTS: usize = 20;

/// Parses rules, and checks everything that the text alone shows.
///
/// # Errors
/// Returns the faults of the text in order, at most [`MAX_FAULTS`]. A rule at fault does not hide those of other rules.
pub fn parse(text: &str) -> Result<Vec<Rule>, Vec<RuleFault>> {
    parse_with(text, Functions::None)
}

/// As [`parse`], with conditions that may be functions which stand beside the text.
///
/// ```
/// use relais_patterns::{Functions, parse_with};
///
/// let text = "Div(x, const c) => acme::Halves(x, c) if is_even(c)";
/// assert!(parse_with(text, Functions::Named(&["is_even"])).is_ok());
/// assert!(parse_with(text, Functions::None).is_err());
/// ```
///
/// # Errors
/// As for [`parse`].
pub fn parse_with(text: &str, functions: Functions<'_>) -> Result<Vec<Rule>, Vec<RuleFault>> {
    let (rules, mut faults) = parse::rules(text);
    faults.extend(check::rules(&rules, functions));
    faults.sort_by_key(|fault| (fault.span.start, fault.span.end));
    faults.truncate(MAX_FAULTS);
    if faults.is_empty() { Ok(rules) } else { Err(faults) }
}

/// Prints rules, one on a line. The text parses to equal rules.
pub fn print(rules: &[Rule]) -> String {
    rules.iter().map(Rule::to_string).collect::<Vec<_>>().join(";\n")
}

/// The example of the page in the registry.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
