//! Rules as text: parsed once, compiled for the operator sets that a function imports, and matched at each call.

mod apply;
mod compile;
mod condition;
mod constant;
mod file;
mod found;
mod matched;
mod program;
mod replace;
mod search;

pub use apply::{Explain, apply_by, apply_with, check_with};
pub use file::{RuleFile, read_file, write_pairs};
pub use matched::{ConditionFn, MakeFn, Matched, SharedCondition, Unmet, Variable};
pub use relais_patterns::{OpName, Rule, RuleFault, RuleLevel, of_level, pairs};
pub use replace::WithOperators;

use matched::Asked;
use relais_ir::diagnostics::PassError;
use relais_patterns::{Functions, RuleCode};
use std::sync::OnceLock;

/// Rules that were parsed, from several texts.
#[derive(Clone, PartialEq, Debug)]
pub struct Rules {
    texts: Vec<Source>,
    conditions: Vec<Asked>,
    make: Option<MakeFn>,
}

/// A text with its rules.
#[derive(Clone, PartialEq, Debug)]
struct Source {
    /// Where the text comes from, for messages.
    origin: String,
    text: String,
    rules: Vec<Rule>,
}

impl Rules {
    /// Parses several texts. `origin` says where they come from: errors name it with the number of the text.
    ///
    /// # Errors
    /// Returns the faults of all texts, with their places: the first one as the message, others as notes.
    pub fn parse(origin: &str, texts: &[impl AsRef<str>]) -> Result<Self, PassError> {
        Self::parse_with(origin, texts, &[])
    }

    /// As [`parse`](Self::parse), with functions that the rules can name as conditions.
    ///
    /// # Errors
    /// As for [`parse`](Self::parse).
    pub fn parse_with(origin: &str, texts: &[impl AsRef<str>], conditions: &[ConditionFn]) -> Result<Self, PassError> {
        let text = |(index, text): (usize, &_)| (format!("{origin}[{index}]"), AsRef::<str>::as_ref(text).to_owned());
        Self::parse_all(texts.iter().enumerate().map(text), conditions)
    }

    /// Parses several texts, each after where it comes from: errors name that.
    ///
    /// # Errors
    /// As for [`parse`](Self::parse).
    pub fn parse_all(
        texts: impl IntoIterator<Item = (String, String)>,
        conditions: &[ConditionFn],
    ) -> Result<Self, PassError> {
        Self::parse_asking(texts, conditions.iter().map(|&function| Asked::Fn(function)).collect())
    }

    /// The same with closures that the rules can name as conditions.
    ///
    /// # Errors
    /// As for [`parse`](Self::parse).
    pub fn parse_shared(
        texts: impl IntoIterator<Item = (String, String)>,
        conditions: Vec<SharedCondition>,
    ) -> Result<Self, PassError> {
        Self::parse_asking(texts, conditions.into_iter().map(Asked::Shared).collect())
    }

    /// Parses the rules of options that state them: texts, then those of files. `origins` says where each text comes
    /// from; where it says nothing, that is `rules[0]` and so on.
    ///
    /// # Errors
    /// As for [`parse`](Self::parse), and if a file cannot be read.
    pub fn stated(rules: &[String], files: &[RuleFile], origins: &[String]) -> Result<Self, PassError> {
        let mut texts = Vec::new();
        for (at, text) in rules.iter().enumerate() {
            let origin = origins.get(at).cloned().unwrap_or_else(|| format!("rules[{at}]"));
            texts.push((origin, text.clone()));
        }
        for file in files {
            texts.push((file.path().display().to_string(), file.text()?.to_owned()));
        }
        Self::parse_all(texts, &[])
    }

    fn parse_asking(
        texts: impl IntoIterator<Item = (String, String)>,
        conditions: Vec<Asked>,
    ) -> Result<Self, PassError> {
        let mut rules = Self { texts: Vec::new(), conditions: conditions.clone(), make: None };
        let mut faults = Vec::new();
        let names: Vec<&str> = conditions.iter().map(Asked::name).collect();
        let functions = if names.is_empty() { Functions::None } else { Functions::Named(&names) };
        for (origin, text) in texts {
            match relais_patterns::parse_with(&text, functions) {
                Ok(parsed) => rules.texts.push(Source { origin, text, rules: parsed }),
                Err(found) => faults.extend(found.into_iter().map(|fault| placed(&origin, &text, fault))),
            }
        }
        if faults.is_empty() { Ok(rules) } else { Err(error(faults)) }
    }

    /// The same with a function that makes what takes the place of calls, instead of the right sides of rules that
    /// replace one call.
    pub fn making(self, make: MakeFn) -> Self {
        Self { make: Some(make), ..self }
    }

    /// The level of the rules; `None` if there are some for each level.
    pub fn level(&self) -> Option<RuleLevel> {
        let mut levels = self.iter().map(Rule::level);
        let first = levels.next().unwrap_or(RuleLevel::Graph);
        levels.all(|level| level == first).then_some(first)
    }

    /// Checks that all rules are for a level.
    ///
    /// # Errors
    /// Returns an error that names the first one that is not.
    pub fn check_level(&self, level: RuleLevel) -> Result<(), PassError> {
        for source in &self.texts {
            let Some(rule) = source.rules.iter().find(|rule| rule.level() != level) else { continue };
            let op = rule.roots().next().map_or_else(String::new, |call| call.op.to_string());
            let (message, help) = match level {
                RuleLevel::Graph => (
                    format!("the rule is for loop programs, by its operator `{op}`, and this pass is for graphs"),
                    "give it to `relais.RewriteLoops`; in Rust, write `level = \"prim\"` in the attribute of the pass",
                ),
                RuleLevel::Prim => (
                    format!("the rule is for graphs, by its operator `{op}`, and this pass is for loop programs"),
                    "give it to `relais.Rewrite`; in Rust, leave `level = \"prim\"` out of the attribute of the pass",
                ),
            };
            return Err(error(vec![placed(
                &source.origin,
                &source.text,
                RuleFault::new(RuleCode::Level, rule.span, message).help(help),
            )]));
        }
        Ok(())
    }

    /// The rules, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.texts.iter().flat_map(|source| &source.rules)
    }
}

/// Reads rules to show or to test them: conditions may be functions of any name. `origin` says where the text comes
/// from.
///
/// # Errors
/// Returns the faults of the text, with their places.
pub fn read(origin: &str, text: &str) -> Result<Vec<Rule>, PassError> {
    let placed = |fault| placed(origin, text, fault);
    let faults = |faults: Vec<RuleFault>| error(faults.into_iter().map(placed).collect());
    relais_patterns::parse_with(text, Functions::Any).map_err(faults)
}

/// The rules of a pass, parsed when they are first used.
#[derive(Debug)]
pub struct Declared {
    text: &'static str,
    conditions: &'static [ConditionFn],
    parsed: OnceLock<Result<Rules, PassError>>,
}

impl Declared {
    /// The rules of a text, with the functions that they can name as conditions.
    pub const fn new(text: &'static str, conditions: &'static [ConditionFn]) -> Self {
        Self { text, conditions, parsed: OnceLock::new() }
    }

    /// The rules.
    ///
    /// # Errors
    /// Returns the faults of the text, with their places.
    pub fn get(&self) -> Result<&Rules, PassError> {
        let parse = || Rules::parse_all([("rules".to_owned(), self.text.to_owned())], self.conditions);
        self.parsed.get_or_init(parse).as_ref().map_err(PassError::clone)
    }
}

/// A fault with its place.
type Placed = (String, RuleFault);

fn placed(origin: &str, text: &str, fault: RuleFault) -> Placed {
    let (line, column) = fault.place(text);
    (format!("{origin}:{line}:{column}"), fault)
}

/// The faults of rules as one failure.
fn error(faults: Vec<Placed>) -> PassError {
    let mut faults = faults.into_iter();
    let Some((place, first)) = faults.next() else { return PassError::new("the rules are at fault") };
    let error = PassError::new(format_args!("{place}: {}", first.message)).code(first.code.as_str()).help(first.help);
    faults.fold(error, |error, (place, RuleFault { code, message, help, .. })| {
        let help = if help.is_empty() { help } else { format!("; {help}") };
        error.with_note(format_args!("{place}: [{}] {message}{help}", code.as_str()))
    })
}
