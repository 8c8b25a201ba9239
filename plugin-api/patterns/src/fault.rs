//! Faults in the text of rules.

use crate::TextSpan;
use std::fmt;

/// The kinds of fault. Those below `L020` are found in the text alone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum RuleCode {
    /// The text is not a rule.
    Syntax,
    /// A number, a string or a character cannot be read.
    Token,
    /// The text or a rule is too large.
    Limit,
    /// A variable is not bound on the left side.
    Unbound,
    /// A variable is bound to an attribute and to a value.
    TwoSorts,
    /// Alternatives bind different variables.
    Alternatives,
    /// A variable is used in a way that does not fit what it is.
    Use,
    /// A name is given twice.
    Duplicate,
    /// There is no such function or element type.
    UnknownFunction,
    /// The right side is the left side.
    Same,
    /// Outermost calls have no value in common.
    Unconnected,
    /// The rule is about graphs and loop programs, or has what its level does not have.
    Level,
    /// There is no such operator.
    UnknownOperator,
    /// An operator does not take this number of arguments.
    Arguments,
    /// An operator has no such attribute, or one of another kind.
    Attribute,
    /// Calls of an operator cannot be removed.
    Effects,
    /// Too many combinations of orders and alternatives.
    Orders,
    /// Calls of an operator cannot be computed.
    NotComputed,
}

impl RuleCode {
    /// Returns the code as printed in messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Syntax => "L001",
            Self::Token => "L002",
            Self::Limit => "L003",
            Self::Unbound => "L004",
            Self::TwoSorts => "L005",
            Self::Alternatives => "L006",
            Self::Use => "L007",
            Self::Duplicate => "L008",
            Self::UnknownFunction => "L009",
            Self::Same => "L010",
            Self::Unconnected => "L011",
            Self::Level => "L012",
            Self::UnknownOperator => "L020",
            Self::Arguments => "L021",
            Self::Attribute => "L022",
            Self::Effects => "L023",
            Self::Orders => "L024",
            Self::NotComputed => "L025",
        }
    }
}

/// A fault in the text of rules.
#[derive(Clone, PartialEq, Debug)]
pub struct RuleFault {
    /// The kind of fault.
    pub code: RuleCode,
    /// The bytes at fault.
    pub span: TextSpan,
    /// The cause.
    pub message: String,
    /// A suggestion; empty if there is none.
    pub help: String,
}

impl RuleFault {
    /// A fault without a suggestion.
    pub fn new(code: RuleCode, span: TextSpan, message: impl fmt::Display) -> Self {
        Self { code, span, message: message.to_string(), help: String::new() }
    }

    /// The same with a suggestion.
    pub fn help(mut self, help: impl fmt::Display) -> Self {
        self.help = help.to_string();
        self
    }

    /// Returns the line, and the column in characters, both counted from 1.
    pub fn place(&self, text: &str) -> (usize, usize) {
        self.span.place(text)
    }

    /// Returns the fault with its place in `text`, over one or two lines.
    pub fn render(&self, text: &str) -> String {
        let (line, column) = self.place(text);
        let help = if self.help.is_empty() { String::new() } else { format!("\n  help: {}", self.help) };
        format!("{line}:{column}: error[{}]: {}{help}", self.code.as_str(), self.message)
    }
}
