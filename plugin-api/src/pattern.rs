//! Rules as text: `docs/patterns.md` of Relais describes the language.
//!
//! ```
//! use relais_plugin_api::{prelude::*, testing};
//!
//! operators! { &[Operator::new("acme", "Neg", 1)] }
//!
//! /// Removes two negations.
//! #[rule_pass(name = "acme.NegNeg", required = [])]
//! const NEG_NEG: &str = "acme::Neg(acme::Neg(x)) => x";
//!
//! # fn main() {
//! let text = r#"def @main(%x) #[opset = {"acme": 1}] { %a = acme::Neg(%x); %b = acme::Neg(%a); Abs(%b) }"#;
//! assert!(testing::run("acme.NegNeg", text).contains("Abs(%x)"));
//! # }
//! ```
//!
//! A pass that makes its rules, or does more than they say, uses [`Rules`]. They are parsed once. [`apply`] compiles
//! them for the operator sets that a function imports, and rewrites the function by one matcher for all rules, which
//! looks at each call once.
//!
//! ```
//! use relais_plugin_api::{pattern::{self, Rules}, prelude::*, testing};
//!
//! operators! { &[Operator::new("acme", "Neg", 1)] }
//!
//! /// Removes two negations.
//! #[function_pass(name = "acme.Remove")]
//! fn remove(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
//!     let rules = Rules::parse("rules", &["acme::Neg(acme::Neg(x)) => x"])?;
//!     pattern::apply(edit, cx, &rules).map(|_| ())
//! }
//!
//! # fn main() {
//! let text = r#"def @main(%x) #[opset = {"acme": 1}] { %a = acme::Neg(%x); %b = acme::Neg(%a); Abs(%b) }"#;
//! assert!(testing::run("acme.Remove", text).contains("Abs(%x)"));
//! # }
//! ```

mod apply;
mod compile;
mod condition;
mod constant;
mod replace;
mod search;

pub use apply::{apply, check, check_module};
pub use relais_patterns::{Fault, Rule};

use crate::diagnostics::PassError;
use std::sync::OnceLock;

/// Rules that were parsed, from several texts.
#[derive(Clone, PartialEq, Debug)]
pub struct Rules {
    texts: Vec<Source>,
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
        let text = |(index, text): (usize, &_)| (format!("{origin}[{index}]"), AsRef::<str>::as_ref(text).to_owned());
        Self::parse_all(texts.iter().enumerate().map(text))
    }

    /// Parses several texts, each with where it comes from.
    fn parse_all(texts: impl IntoIterator<Item = (String, String)>) -> Result<Self, PassError> {
        let mut rules = Self { texts: Vec::new() };
        let mut faults = Vec::new();
        for (origin, text) in texts {
            match relais_patterns::parse(&text) {
                Ok(parsed) => rules.texts.push(Source { origin, text, rules: parsed }),
                Err(found) => faults.extend(found.into_iter().map(|fault| placed(&origin, &text, fault))),
            }
        }
        if faults.is_empty() { Ok(rules) } else { Err(error(faults)) }
    }

    /// The rules, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.texts.iter().flat_map(|source| &source.rules)
    }
}

/// The rules of a pass, parsed when they are first used.
#[derive(Debug)]
pub struct Declared {
    text: &'static str,
    parsed: OnceLock<Result<Rules, PassError>>,
}

impl Declared {
    /// The rules of a text.
    pub const fn new(text: &'static str) -> Self {
        Self { text, parsed: OnceLock::new() }
    }

    /// The rules.
    ///
    /// # Errors
    /// Returns the faults of the text, with their places.
    pub fn get(&self) -> Result<&Rules, PassError> {
        let parse = || Rules::parse_all([("rules".to_owned(), self.text.to_owned())]);
        self.parsed.get_or_init(parse).as_ref().map_err(PassError::clone)
    }
}

/// A fault with its place.
type Placed = (String, Fault);

fn placed(origin: &str, text: &str, fault: Fault) -> Placed {
    let (line, column) = fault.place(text);
    (format!("{origin}:{line}:{column}"), fault)
}

/// The faults of rules as one failure.
fn error(faults: Vec<Placed>) -> PassError {
    let mut faults = faults.into_iter();
    let Some((place, first)) = faults.next() else { return PassError::new("the rules are at fault") };
    let error = PassError::new(format_args!("{place}: {}", first.message)).code(first.code.as_str()).help(first.help);
    faults.fold(error, |error, (place, Fault { code, message, help, .. })| {
        let help = if help.is_empty() { help } else { format!("; {help}") };
        error.with_note(format_args!("{place}: [{}] {message}{help}", code.as_str()))
    })
}
