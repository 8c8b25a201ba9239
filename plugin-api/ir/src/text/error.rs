//! An error in a text, and its place.

use crate::diagnostics::PassError;
use std::{fmt, ops::Range};

/// A fault in a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextError {
    /// The kind of fault.
    pub code: TextCode,
    /// The file, or another name for where the text came from.
    pub source: String,
    /// Line, counted from 1.
    pub line: usize,
    /// Column in characters, counted from 1.
    pub column: usize,
    /// The bytes at fault.
    pub span: Range<usize>,
    /// The error message.
    pub message: String,
    /// A suggestion.
    pub help: Option<String>,
}

/// The kinds of fault in a text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum TextCode {
    /// Another token is expected.
    Syntax,
    /// A name is not defined, or not visible here.
    UnknownName,
    /// A name is defined twice.
    DuplicateName,
    /// A value does not fit its type or shape.
    Value,
    /// A tensor in the side file is missing or does not fit.
    SideFile,
    /// The text asks for more than the format holds.
    Limit,
}

impl TextCode {
    /// Returns the code as printed in messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Syntax => "T001",
            Self::UnknownName => "T002",
            Self::DuplicateName => "T003",
            Self::Value => "T004",
            Self::SideFile => "T005",
            Self::Limit => "T006",
        }
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, source, line, column, message, help, .. } = self;
        write!(f, "{source}:{line}:{column}: error[{}]: {message}", code.as_str())?;
        match help {
            Some(help) => write!(f, "; help: {help}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for TextError {}

impl From<TextError> for PassError {
    fn from(error: TextError) -> Self {
        let TextError { code, source, line, column, message, help, .. } = error;
        let failure = Self::new(format_args!("{source}:{line}:{column}: {message}")).code(code.as_str());
        help.into_iter().fold(failure, Self::help)
    }
}

/// The first of all faults, with the others as notes.
impl From<Vec<TextError>> for PassError {
    fn from(errors: Vec<TextError>) -> Self {
        let mut errors = errors.into_iter();
        let first = errors.next().map_or_else(|| Self::new("the text cannot be parsed"), Self::from);
        errors.fold(first, Self::with_note)
    }
}

/// A fault before its line and column are known.
#[derive(Debug)]
pub(super) struct Fault {
    pub code: TextCode,
    pub span: Range<usize>,
    pub message: String,
    pub help: Option<String>,
}

impl Fault {
    pub fn new(code: TextCode, span: Range<usize>, message: impl Into<String>) -> Box<Self> {
        Box::new(Self { code, span, message: message.into(), help: None })
    }

    pub fn help(mut self: Box<Self>, help: impl Into<String>) -> Box<Self> {
        self.help = Some(help.into());
        self
    }
}

/// Adds lines and columns to faults, in the order of the text.
pub(super) fn locate(source: &str, text: &str, mut faults: Vec<Fault>) -> Vec<TextError> {
    faults.sort_by_key(|fault| fault.span.start);
    let (mut at, mut line, mut line_start) = (0, 1, 0);
    let locate_one = |fault: Fault| {
        let Fault { code, span, message, help } = fault;
        for (offset, _) in text.as_bytes()[at..span.start].iter().enumerate().filter(|&(_, &byte)| byte == b'\n') {
            line += 1;
            line_start = at + offset + 1;
        }
        at = span.start;
        let column = text.get(line_start..span.start).map_or(0, |before| before.chars().count()) + 1;
        TextError { code, source: source.to_owned(), line, column, span, message, help }
    };
    faults.into_iter().map(locate_one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let text = "aé\nßb c";
        let at = text.find('b').unwrap();
        let errors = locate("m", text, vec![*Fault::new(TextCode::Syntax, at..at + 1, "no")]);
        assert_eq!((errors[0].line, errors[0].column), (2, 2));
        assert_eq!(errors[0].to_string(), "m:2:2: error[T001]: no");
    }
}
