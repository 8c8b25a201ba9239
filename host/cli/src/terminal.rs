//! Messages, and how they are printed.

use super::args::Verbosity;
use anstream::{AutoStream, ColorChoice};
use anstyle::AnsiColor;
use relais::{
    pass::PassMessage,
    pipeline::{Faults, Style},
    plugin::escaped,
};
use relais_plugin_api::diagnostics::{PassError, Severity};
use relais_session::{Error, Notice, StopCause, Stopped, many::ManyError, model::NotWritten};
use std::{
    fmt,
    io::{self, Write},
};

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum CliError {
    /// An error, with a suggestion.
    Failed { code: String, message: String, help: Option<String>, status: u8 },
    /// A pipeline is at fault.
    Pipeline(Box<Faults>),
}

impl CliError {
    pub fn new(message: impl fmt::Display) -> Self {
        Self::Failed { code: String::new(), message: message.to_string(), help: None, status: 1 }
    }

    /// The arguments are at fault.
    pub fn usage(message: impl fmt::Display) -> Self {
        Self::Failed { code: String::new(), message: message.to_string(), help: None, status: super::USAGE }
    }

    pub fn help(mut self, text: impl fmt::Display) -> Self {
        if let Self::Failed { help, .. } = &mut self {
            *help = Some(text.to_string());
        }
        self
    }

    /// The same with the code of the failure; none if it is empty.
    pub fn code(mut self, text: &str) -> Self {
        if let Self::Failed { code, .. } = &mut self {
            text.clone_into(code);
        }
        self
    }

    /// The same with more lines.
    pub fn line(mut self, line: impl fmt::Display) -> Self {
        if let Self::Failed { message, .. } = &mut self {
            message.push_str(&format!("\n  {line}"));
        }
        self
    }

    pub fn status(&self) -> u8 {
        match self {
            Self::Failed { status, .. } => *status,
            Self::Pipeline(_) => 1,
        }
    }

    /// Prints it on standard error.
    pub fn print(&self) {
        match self {
            Self::Failed { code, message, help, .. } => {
                say(&with_code("error", code), AnsiColor::Red, message, help.as_deref());
            }
            Self::Pipeline(faults) => {
                let style = match AutoStream::choice(&io::stderr()) {
                    ColorChoice::Never => Style::Plain,
                    _ => Style::Coloured,
                };
                eprint_line(&faults.render(style));
            }
        }
    }
}

impl From<Error> for CliError {
    fn from(error: Error) -> Self {
        let failed = if error.is_usage() { Self::usage(&error) } else { Self::new(&error) };
        error.help().into_iter().fold(failed.code(error.code()), Self::help)
    }
}

impl From<PassError> for CliError {
    fn from(error: PassError) -> Self {
        Error::from(error).into()
    }
}

impl From<NotWritten> for CliError {
    fn from(error: NotWritten) -> Self {
        error.error().into()
    }
}

impl From<ManyError> for CliError {
    fn from(error: ManyError) -> Self {
        error.error().into()
    }
}

impl From<Box<Stopped>> for CliError {
    fn from(stopped: Box<Stopped>) -> Self {
        match stopped.cause {
            StopCause::Pipeline(faults) => faults.into(),
            _ => stopped.error.into(),
        }
    }
}

impl From<Faults> for CliError {
    fn from(faults: Faults) -> Self {
        Self::Pipeline(Box::new(faults))
    }
}

/// Prints to standard output. A closed pipe is not an error.
pub(crate) fn print(text: &str) -> Result<(), CliError> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(CliError::new(format!("standard output cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints a warning on standard error.
pub(crate) fn warn(message: impl fmt::Display) {
    say("warning", AnsiColor::Yellow, &message.to_string(), None);
}

/// Prints a note on standard error.
pub(crate) fn note(message: impl fmt::Display) {
    say("note", AnsiColor::Cyan, &message.to_string(), None);
}

/// Prints a notice on standard error.
pub(crate) fn notice(notice: &Notice) {
    let (label, colour) = label(notice.severity);
    say(label, colour, &notice.message, notice.help.as_deref());
}

fn label(severity: Severity) -> (&'static str, AnsiColor) {
    match severity {
        Severity::REMARK => ("remark", AnsiColor::Blue),
        Severity::NOTE => ("note", AnsiColor::Cyan),
        Severity::WARNING => ("warning", AnsiColor::Yellow),
        _ => ("error", AnsiColor::Red),
    }
}

/// Prints the message of a pass, each part on a line of its own.
pub(crate) fn said(said: &PassMessage) {
    let rec = said.diagnostic.rec();
    let (label, colour) = label(said.severity());
    let label = with_code(label, &rec.code);
    let mut text = rec.message.to_string();
    let place = match (rec.function.as_str(), rec.node.is_absent()) {
        ("", true) => None,
        (function, true) => Some(format!("@{function}")),
        ("", false) => Some(rec.node.to_string()),
        (function, false) => Some(format!("@{function}, {}", rec.node)),
    };
    let line = said.line.as_ref().map(|line| format!(": {line}")).unwrap_or_default();
    text.extend(place.map(|place| format!("\n  at {place}{line}")));
    rec.notes.iter().for_each(|note| text.push_str(&format!("\n  note: {note}")));
    text.push_str(&format!("\n  note: said by pass `{}`", said.pass));
    say(&label, colour, &text, Some(rec.help.as_str()).filter(|help| !help.is_empty()));
}

/// Prints the findings of an instrument on standard error.
pub(crate) fn findings(text: &str) {
    eprint_line(text.trim_end_matches('\n'));
}

fn with_code(label: &str, code: &str) -> String {
    match code {
        "" => label.to_owned(),
        code => format!("{label}[{code}]"),
    }
}

fn say(label: &str, colour: AnsiColor, message: &str, help: Option<&str>) {
    let style = colour.on_default().bold();
    let shown = |text: &str| escaped(text).into_owned();
    let mut text = format!("{style}{}{style:#}: {}", shown(label), shown(message));
    if let Some(help) = help {
        text.push_str(&format!("\n  help: {}", shown(help)));
    }
    eprint_line(&text);
}

fn eprint_line(text: &str) {
    // Nothing can be reported when standard error is gone.
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

/// Logs as configured by `RELAIS_LOG`, otherwise by the verbosity.
pub(crate) fn start_log(verbosity: Verbosity) {
    let level = match verbosity {
        Verbosity::Quiet => "error",
        Verbosity::Normal => "warn",
        Verbosity::Verbose => "info",
        Verbosity::Debug => "debug",
    };
    let env = env_logger::Env::new().filter_or("RELAIS_LOG", level).write_style("RELAIS_LOG_STYLE");
    env_logger::Builder::from_env(env).format_timestamp(None).init();
}
