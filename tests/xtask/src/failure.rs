//! Why a command ends.

use std::fmt;

/// Why a command ends, and its status.
pub struct Failure {
    pub status: u8,
    text: String,
}

impl Failure {
    /// Something that the user can change.
    pub fn new(message: &str, help: &str) -> Self {
        Self { status: 1, text: format!("error: {message}\n  help: {help}") }
    }

    /// A command line that makes no sense.
    pub fn usage(text: &str) -> Self {
        Self { status: 2, text: text.trim_end().to_owned() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
