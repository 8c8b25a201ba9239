//! Errors as users see them.

use relais_plugin_api::diagnostics::PassError;
use std::fmt;

/// Why something that a user asked for cannot be done: a code, a message of one or more lines, and a suggestion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    code: String,
    message: String,
    help: Option<String>,
    is_usage: bool,
}

impl Error {
    /// An error with this message, without a code and a suggestion.
    pub fn new(message: impl fmt::Display) -> Self {
        Self { code: String::new(), message: message.to_string(), help: None, is_usage: false }
    }

    /// The same about what the user wrote, which is malformed whatever the model contains.
    pub fn usage(message: impl fmt::Display) -> Self {
        Self { is_usage: true, ..Self::new(message) }
    }

    /// The same with a code; an empty one is none.
    pub fn with_code(self, code: &str) -> Self {
        Self { code: code.to_owned(), ..self }
    }

    /// The same with a suggestion.
    pub fn with_help(self, help: impl fmt::Display) -> Self {
        Self { help: Some(help.to_string()), ..self }
    }

    /// The same with one more line, which is indented.
    pub fn with_line(self, line: impl fmt::Display) -> Self {
        Self { message: format!("{}\n  {line}", self.message), ..self }
    }

    /// The code; empty if there is none.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// A suggestion for the user.
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// Whether what the user wrote is malformed, whatever the model contains.
    pub fn is_usage(&self) -> bool {
        self.is_usage
    }
}

impl From<PassError> for Error {
    fn from(error: PassError) -> Self {
        let rec = error.rec();
        let new = Self::new(&rec.message).with_code(&rec.code);
        let new = rec.notes.iter().fold(new, |new, note| new.with_line(format_args!("note: {note}")));
        if rec.help.is_empty() { new } else { new.with_help(&rec.help) }
    }
}

/// The message without the code and the suggestion.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
