//! Notices about a request, and those that receive them.

use relais::{instruments::Output, manager::Progress};
use relais_plugin_api::diagnostics::Severity;
use std::{
    fmt,
    sync::{Arc, atomic::AtomicBool},
};

/// Something that the user should know and that ends nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Notice {
    /// Whether it is a note or a warning.
    pub severity: Severity,
    /// The message, of one or more lines.
    pub message: String,
    /// A suggestion.
    pub help: Option<String>,
}

impl Notice {
    /// Something to know.
    pub fn note(message: impl fmt::Display) -> Self {
        Self { severity: Severity::NOTE, message: message.to_string(), help: None }
    }

    /// Something to look at.
    pub fn warning(message: impl fmt::Display) -> Self {
        Self { severity: Severity::WARNING, ..Self::note(message) }
    }

    /// The same with a suggestion.
    pub fn with_help(self, help: impl fmt::Display) -> Self {
        Self { help: Some(help.to_string()), ..self }
    }
}

/// The message and the suggestion.
impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.help.iter().try_for_each(|help| write!(f, "\n  help: {help}"))
    }
}

/// Receives notices while a request is dealt with, sees how far it is, and may stop it. Each function has a default that does
/// nothing.
pub trait Listener: Sync {
    /// Receives a notice, as soon as it is known.
    fn notice(&self, _notice: &Notice) {}

    /// Is told that something else is done now than passes, such as `reading the model`.
    fn begins(&self, _work: &str) {}

    /// Sees how far the passes are.
    fn progress(&self) -> Option<&dyn Progress> {
        None
    }

    /// Takes what instruments print; standard error does so by default.
    fn output(&self) -> Option<Arc<dyn Output>> {
        None
    }

    /// The flag that is set when passes should stop.
    fn cancel(&self) -> Option<&AtomicBool> {
        None
    }

    /// Whether what takes long, and is not a pass, should stop.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// A listener that does nothing: all notices are in the result, too.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Listener for Silent {}
