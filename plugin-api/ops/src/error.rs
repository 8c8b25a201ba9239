//! The errors of the functions that belong to operators.

use abi_stable::{StableAbi, std_types::RString};
use relais_ir::diagnostics::PassError;
use std::fmt;

/// Why a type relation or an evaluator failed.
#[repr(C)]
#[derive(StableAbi, Clone, PartialEq, Eq, Debug)]
pub struct OpError {
    /// One of [`op_error_kind`].
    pub kind: u8,
    /// The error, to be printed after "`Conv`: …".
    pub message: RString,
}

/// Why a type relation or an evaluator failed: the kinds. Append-only.
pub mod op_error_kind {
    /// The call is invalid.
    pub const INVALID: u8 = 0;
    /// The case is not covered, which is not an error: nothing is inferred or folded.
    pub const UNSUPPORTED: u8 = 1;
    /// The type relation or evaluator panicked, or its library cannot be opened: its plugin is at fault, regardless of
    /// the caller.
    pub const BROKEN: u8 = 2;
    /// The type relation or evaluator returned something that cannot be true: its plugin is at fault, regardless of the
    /// caller.
    pub const LIED: u8 = 3;
}

impl OpError {
    /// The call is invalid, whatever the values.
    pub fn invalid(message: impl fmt::Display) -> Self {
        Self { kind: op_error_kind::INVALID, message: message.to_string().into() }
    }

    /// This type relation or evaluator does not cover the case.
    pub fn unsupported(message: impl fmt::Display) -> Self {
        Self { kind: op_error_kind::UNSUPPORTED, message: message.to_string().into() }
    }

    /// The type relation or evaluator returned something that cannot be true.
    pub fn lied(message: impl fmt::Display) -> Self {
        Self { kind: op_error_kind::LIED, message: message.to_string().into() }
    }

    /// The plugin of the type relation or evaluator is at fault.
    pub fn broken(message: impl fmt::Display) -> Self {
        Self { kind: op_error_kind::BROKEN, message: message.to_string().into() }
    }

    /// Whether the case is merely not covered.
    pub fn is_unsupported(&self) -> bool {
        self.kind == op_error_kind::UNSUPPORTED
    }

    /// Whether the operator's plugin is at fault, not the call.
    pub fn is_broken(&self) -> bool {
        // The call cannot be blamed for a kind of a later version.
        self.kind > op_error_kind::UNSUPPORTED
    }

    /// The type relation or evaluator panicked.
    pub fn panicked(panic: &PassError) -> Self {
        Self::broken(panic)
    }

    /// The library of the type relation or evaluator cannot be opened.
    pub fn unavailable(error: &PassError) -> Self {
        Self::broken(error)
    }
}

/// The most bytes of an operator's error.
const MAX_MESSAGE: usize = 16 << 10;

impl OpError {
    /// The same, its message cut to a readable length: it comes from a plugin.
    pub fn cut(mut self) -> Self {
        if self.message.len() > MAX_MESSAGE {
            let end = (0..=MAX_MESSAGE).rev().find(|&end| self.message.is_char_boundary(end)).unwrap_or(0);
            self.message = format!("{}… ({} bytes more)", &self.message[..end], self.message.len() - end).into();
        }
        self
    }
}

impl fmt::Display for OpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for OpError {}

impl From<OpError> for PassError {
    fn from(error: OpError) -> Self {
        Self::new(error)
    }
}
