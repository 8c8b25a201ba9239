//! The outcome of a filetest.

use super::report::{Kind, number, str, table, text};
use relais_plugin_api::{diagnostics::PassError, options::Value, text::TextError};
use std::fmt;

/// Why a case fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The case cannot be read, or asks for something that does not exist.
    Case,
    /// A pass returns an error.
    Error,
    /// The pass breaks a rule of every pass.
    Kind(Kind),
    /// The pass changes a module that it should leave alone, or leaves one alone that it should change.
    Unchanged,
    /// The text is not the expected one.
    Expected,
}

impl Reason {
    /// The reasons that are about the case.
    pub const OF_FILETESTS: [Self; 4] = [Self::Case, Self::Error, Self::Unchanged, Self::Expected];

    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Case => "case",
            Self::Error => "error",
            Self::Kind(kind) => kind.name(),
            Self::Unchanged => "unchanged",
            Self::Expected => "expected",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        let own = Self::OF_FILETESTS.into_iter().find(|reason| reason.name() == name);
        own.or_else(|| Kind::from_name(name).map(Self::Kind))
    }

    /// Returns a suggestion, unless the message says everything.
    const fn help(self) -> &'static str {
        match self {
            Self::Case | Self::Error => "",
            Self::Kind(Kind::NotIdempotent) => {
                "run to the end at once, or write `idempotent = false` if that is not intended"
            }
            Self::Kind(Kind::Numbers) => {
                "compare the results of the module by hand; `tolerance` in the header allows for rounding"
            }
            Self::Kind(kind) => kind.help(),
            Self::Unchanged => "a case has an expectation, or `unchanged = true` in its header if nothing changes",
            Self::Expected => "if the output is right, bless it",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A reason why a case fails, and how it shows.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseFailure {
    /// The reason.
    pub reason: Reason,
    /// The line in the file of the case, counted from 1.
    pub line: usize,
    /// How it shows.
    pub message: String,
    /// A suggestion; may be empty.
    pub help: String,
}

impl CaseFailure {
    pub(super) fn new(reason: Reason, line: usize, message: impl ToString) -> Self {
        let message = message.to_string();
        // Messages of a host may end with a suggestion.
        let (message, help) = message.split_once("\n  help: ").unwrap_or((&message, reason.help()));
        Self { reason, line, message: message.to_owned(), help: help.to_owned() }
    }

    pub(super) fn help(self, help: impl ToString) -> Self {
        Self { help: help.to_string(), ..self }
    }

    /// The failure of a pass that was run.
    pub(super) fn of_pass(pass: &str, line: usize, error: &PassError) -> Self {
        let reason = if error.is_panic() { Reason::Kind(Kind::Panic) } else { Reason::Error };
        Self::new(reason, line, format_args!("`{pass}`: {error}"))
    }

    /// The failure of a pass that could not be made.
    pub(super) fn of_options(line: usize, error: &PassError) -> Self {
        let reason = if error.is_panic() { Reason::Kind(Kind::Panic) } else { Reason::Case };
        Self::new(reason, line, error)
    }
}

impl From<TextError> for CaseFailure {
    fn from(error: TextError) -> Self {
        let TextError { code, line, column, message, help, .. } = error;
        let message = format!("column {column}: error[{}]: {message}", code.as_str());
        Self::new(Reason::Case, line, message).help(help.unwrap_or_default())
    }
}

impl fmt::Display for CaseFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reason, message, help, .. } = self;
        write!(f, "{reason}: {}", message.trim_end().replace('\n', "\n  "))?;
        if help.is_empty() { Ok(()) } else { write!(f, "\n  help: {help}") }
    }
}

/// The outcome of a case.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CaseOutcome {
    /// The text of the result, if there is a valid one.
    pub output: Option<String>,
    /// Why the case fails.
    pub failures: Vec<CaseFailure>,
}

impl CaseOutcome {
    pub(super) fn failed(failure: CaseFailure) -> Self {
        Self { output: None, failures: vec![failure] }
    }

    pub(super) fn to_value(&self) -> Value {
        let failure = |it: &CaseFailure| {
            table([
                ("reason", Value::Str(it.reason.name().to_owned())),
                ("line", Value::Int(it.line as i64)),
                ("message", Value::Str(it.message.clone())),
                ("help", Value::Str(it.help.clone())),
            ])
        };
        let output = self.output.iter().cloned().map(Value::Str).collect();
        let failures = self.failures.iter().map(failure).collect();
        table([("output", Value::List(output)), ("failures", Value::List(failures))])
    }

    pub(super) fn from_value(value: &Value) -> Option<Self> {
        let failure = |it: &Value| {
            Some(CaseFailure {
                reason: Reason::from_name(&text(it, "reason")?)?,
                line: number(it, "line")?,
                message: text(it, "message")?,
                help: text(it, "help")?,
            })
        };
        let (Value::List(output), Value::List(failures)) = (value.get("output")?, value.get("failures")?) else {
            return None;
        };
        let output = output.first().and_then(str);
        Some(Self { output, failures: failures.iter().map(failure).collect::<Option<_>>()? })
    }
}
