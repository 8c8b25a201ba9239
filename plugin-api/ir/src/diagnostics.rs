//! The messages of a pass about the module, and its failures.

use crate::NodeId;
use abi_stable::{
    StableAbi,
    std_types::{RBox, RString, RVec},
};
use std::fmt;

/// Why a pass failed: the kinds. Append-only.
pub mod error_kind {
    /// It returned an error.
    pub const RETURNED: u8 = 0;
    /// It panicked.
    pub const PANIC: u8 = 1;
    /// It was cancelled.
    pub const CANCELLED: u8 = 2;
    /// The host could not do what it asked for.
    pub const HOST: u8 = 3;
    /// It does not accept its options, each of which is within its schema.
    pub const OPTIONS: u8 = 4;
}

/// How grave a diagnostic is. Append-only.
#[repr(transparent)]
#[derive(StableAbi, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Severity(pub u8);

impl Severity {
    /// Why something was not done. Shown on request.
    pub const REMARK: Self = Self(0);
    /// Something to know.
    pub const NOTE: Self = Self(1);
    /// Something to look at.
    pub const WARNING: Self = Self(2);
    /// Something wrong: the pass fails after it returns.
    pub const ERROR: Self = Self(3);

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::REMARK => "remark",
            Self::NOTE => "note",
            Self::WARNING => "warning",
            _ => "error",
        }
    }
}

impl fmt::Debug for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The fields of a [`Diagnostic`].
#[repr(C)]
#[derive(StableAbi, Clone, PartialEq, Debug)]
pub struct DiagnosticRec {
    /// How grave.
    pub severity: Severity,
    /// Code; may be empty.
    pub code: RString,
    /// The function of the module that it is about; may be empty.
    pub function: RString,
    /// The node that it is about; may be absent.
    pub node: NodeId,
    /// Message.
    pub message: RString,
    /// Notes.
    pub notes: RVec<RString>,
    /// A suggestion; may be empty.
    pub help: RString,
    /// Tagged fields of later versions (see `docs/abi.md`); empty.
    pub more: RVec<u8>,
}

impl Default for DiagnosticRec {
    fn default() -> Self {
        Self {
            severity: Severity::NOTE,
            code: RString::new(),
            function: RString::new(),
            node: NodeId::ABSENT,
            message: RString::new(),
            notes: RVec::new(),
            help: RString::new(),
            more: RVec::new(),
        }
    }
}

/// The fields of a [`PassError`].
#[repr(C)]
#[derive(StableAbi, Clone, PartialEq, Debug)]
pub struct PassErrorRec {
    /// One of [`error_kind`].
    pub kind: u8,
    /// Code; may be empty.
    pub code: RString,
    /// Message.
    pub message: RString,
    /// The function of the module where it happened; may be empty.
    pub function: RString,
    /// The node where it happened; may be absent.
    pub node: NodeId,
    /// A suggestion; may be empty.
    pub help: RString,
    /// Notes.
    pub notes: RVec<RString>,
    /// The place in the source code, for a panic.
    pub place: RString,
    /// The backtrace, for a panic.
    pub backtrace: RString,
    /// The plugin at fault, if it is not the pass's, such as that of an operator; may be empty.
    pub plugin: RString,
    /// Tagged fields of later versions (see `docs/abi.md`); empty.
    pub more: RVec<u8>,
}

impl Default for PassErrorRec {
    fn default() -> Self {
        Self {
            kind: error_kind::RETURNED,
            code: RString::new(),
            message: RString::new(),
            function: RString::new(),
            node: NodeId::ABSENT,
            help: RString::new(),
            notes: RVec::new(),
            place: RString::new(),
            backtrace: RString::new(),
            plugin: RString::new(),
            more: RVec::new(),
        }
    }
}

/// The code of a remark about something that was done; other remarks say why something was not done.
pub const PASSED: &str = "passed";

/// The code of a note that was requested: it is shown at any verbosity.
pub const PRINTED: &str = "printed";

/// Something said about the program.
#[derive(Clone, PartialEq, Debug)]
pub struct Diagnostic {
    rec: DiagnosticRec,
}

impl Diagnostic {
    /// A diagnostic. A message is lower case, without a final full stop, with names in backticks.
    pub fn new(severity: Severity, message: impl fmt::Display) -> Self {
        Self { rec: DiagnosticRec { severity, message: message.to_string().into(), ..DiagnosticRec::default() } }
    }

    /// An error: the pass fails after it returns.
    pub fn error(message: impl fmt::Display) -> Self {
        Self::new(Severity::ERROR, message)
    }

    /// A remark about something that was done.
    pub fn passed(message: impl fmt::Display) -> Self {
        Self::new(Severity::REMARK, message).code(PASSED)
    }

    /// A warning.
    pub fn warning(message: impl fmt::Display) -> Self {
        Self::new(Severity::WARNING, message)
    }

    /// A note.
    pub fn note(message: impl fmt::Display) -> Self {
        Self::new(Severity::NOTE, message)
    }

    /// A note that was requested, for example by a printing pass in the pipeline.
    pub fn printed(message: impl fmt::Display) -> Self {
        Self::note(message).code(PRINTED)
    }

    /// The same with a code, `E0001` or `shape-unknown`.
    pub fn code(mut self, code: &str) -> Self {
        self.rec.code = code.into();
        self
    }

    /// The same about a node.
    pub fn at(mut self, node: NodeId) -> Self {
        self.rec.node = node;
        self
    }

    /// The same about a function of the module; a function pass need not name the one that it received.
    pub fn in_function(mut self, name: &str) -> Self {
        self.rec.function = name.into();
        self
    }

    /// The same with one more note.
    pub fn with_note(mut self, note: impl fmt::Display) -> Self {
        self.rec.notes.push(note.to_string().into());
        self
    }

    /// The same with a suggestion.
    pub fn help(mut self, help: impl fmt::Display) -> Self {
        self.rec.help = help.to_string().into();
        self
    }

    /// Returns the fields.
    pub fn rec(&self) -> &DiagnosticRec {
        &self.rec
    }

    /// As it crosses the boundary.
    pub fn into_rec(self) -> DiagnosticRec {
        self.rec
    }
}

impl From<DiagnosticRec> for Diagnostic {
    fn from(rec: DiagnosticRec) -> Self {
        Self { rec }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DiagnosticRec { severity, code, function, node, message, notes, help, .. } = &self.rec;
        f.write_str(severity.name())?;
        if !code.is_empty() {
            write!(f, "[{code}]")?;
        }
        write!(f, ": {message}")?;
        place(f, function, *node)?;
        notes.iter().try_for_each(|note| write!(f, "\n  note: {note}"))?;
        if !help.is_empty() {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

fn place(f: &mut fmt::Formatter<'_>, function: &str, node: NodeId) -> fmt::Result {
    match (function, node) {
        ("", NodeId::ABSENT) => Ok(()),
        ("", node) => write!(f, " (at {node})"),
        (function, NodeId::ABSENT) => write!(f, " (in `@{function}`)"),
        (function, node) => write!(f, " (at {node} in `@{function}`)"),
    }
}

/// Why a pass failed.
#[repr(transparent)]
#[derive(StableAbi, Clone, PartialEq)]
pub struct PassError(RBox<PassErrorRec>);

impl PassError {
    /// A failure. A message is lower case, without a final full stop, with names in backticks.
    pub fn new(message: impl fmt::Display) -> Self {
        Self::with_kind(error_kind::RETURNED, message)
    }

    /// A failure of one of [`error_kind`].
    pub fn with_kind(kind: u8, message: impl fmt::Display) -> Self {
        Self(RBox::new(PassErrorRec { kind, message: message.to_string().into(), ..PassErrorRec::default() }))
    }

    /// The same with a code.
    pub fn code(mut self, code: &str) -> Self {
        self.0.code = code.into();
        self
    }

    /// The same about a node.
    pub fn at(mut self, node: NodeId) -> Self {
        self.0.node = node;
        self
    }

    /// The same about a function of the module, unless it already names one.
    pub fn in_function(mut self, name: &str) -> Self {
        if self.0.function.is_empty() {
            self.0.function = name.into();
        }
        self
    }

    /// The same with a suggestion.
    pub fn help(mut self, help: impl fmt::Display) -> Self {
        self.0.help = help.to_string().into();
        self
    }

    /// The same with one more note.
    pub fn with_note(mut self, note: impl fmt::Display) -> Self {
        self.0.notes.push(note.to_string().into());
        self
    }

    /// The same, another plugin than the pass's being at fault.
    pub fn of_plugin(mut self, plugin: &str) -> Self {
        self.0.plugin = plugin.into();
        self
    }

    /// Returns the fields.
    pub fn rec(&self) -> &PassErrorRec {
        &self.0
    }

    /// Whether the pass panicked.
    pub fn is_panic(&self) -> bool {
        self.0.kind == error_kind::PANIC
    }

    /// An error that consists of `rec`.
    pub fn from_rec(rec: PassErrorRec) -> Self {
        Self(RBox::new(rec))
    }
}

impl fmt::Display for PassError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rec = self.rec();
        if rec.kind == error_kind::PANIC {
            f.write_str("panicked: ")?;
        }
        write!(f, "{}", rec.message)?;
        place(f, &rec.function, rec.node)?;
        if !rec.place.is_empty() {
            write!(f, "\n  at {}", rec.place)?;
        }
        rec.notes.iter().try_for_each(|note| write!(f, "\n  note: {note}"))?;
        if !rec.help.is_empty() {
            write!(f, "\n  help: {}", rec.help)?;
        }
        Ok(())
    }
}

/// As it is displayed: `unwrap` and `expect` in tests show it.
impl fmt::Debug for PassError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for PassError {}

/// A text is a failure by itself, so that `Err("…".into())` and `?` on other errors' texts work.
impl From<&str> for PassError {
    fn from(message: &str) -> Self {
        Self::new(message)
    }
}

impl From<String> for PassError {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}

/// With `?`, an error of one of these types becomes a failure of the pass, with its text. There is no conversion from all
/// errors: a [`PassError`] is one, too.
macro_rules! from_errors {
    ($($error:ty),* $(,)?) => {$(
        impl From<$error> for PassError {
            fn from(error: $error) -> Self {
                Self::new(error)
            }
        }
    )*};
}

from_errors!(
    fmt::Error,
    std::io::Error,
    std::num::ParseFloatError,
    std::num::ParseIntError,
    std::num::TryFromIntError,
    std::str::Utf8Error,
    std::string::FromUtf8Error,
    std::time::SystemTimeError,
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_errors_become_failures_by_a_question_mark() {
        fn reads() -> Result<i64, PassError> {
            let text = std::str::from_utf8(b"12x")?;
            Ok(i64::from(text.trim_end_matches('x').parse::<i32>()?) + text.parse::<i64>()?)
        }
        assert_eq!(reads().unwrap_err().rec().message, "invalid digit found in string");
        let missing = || -> Result<String, PassError> { Ok(std::fs::read_to_string("/nowhere/at/all")?) };
        assert!(missing().unwrap_err().to_string().contains("os error"));
    }

    #[test]
    fn errors_are_debugged_as_they_are_displayed() {
        let error = PassError::new("no shape").at(NodeId(3)).in_function("main").with_note("a note").help("a help");
        assert_eq!(format!("{error:?}"), error.to_string());
        let panic = PassError::with_kind(error_kind::PANIC, "oh");
        assert_eq!(format!("{panic:?}"), "panicked: oh");
    }
}
