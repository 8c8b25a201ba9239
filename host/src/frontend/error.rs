//! The errors of the frontend.

use relais_plugin_api::diagnostics::PassError;
use std::fmt;

/// Why something that a user asked for cannot be done, with a suggestion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    message: String,
    help: Option<String>,
    is_usage: bool,
}

impl Error {
    pub(super) fn new(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), help: None, is_usage: false }
    }

    pub(super) fn usage(message: impl fmt::Display) -> Self {
        Self { is_usage: true, ..Self::new(message) }
    }

    pub(super) fn with_help(self, help: impl fmt::Display) -> Self {
        Self { help: Some(help.to_string()), ..self }
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
        Self::new(error)
    }
}

/// The message without the suggestion.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
