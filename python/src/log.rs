//! The log of the host in Python's `logging`.
//!
//! Lines are kept until the calling thread hands them over: a logger that took the interpreter's lock on other threads
//! could wait for ever for the thread that waits for them.

use ::log::{Level, LevelFilter, Log, Metadata, Record};
use pyo3::prelude::*;
use relais_plugin_api::diagnostics::Severity;
use relais_session::Notice;
use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

/// More lines are not kept.
const MAX_LINES: usize = 10_000;

static LINES: Mutex<VecDeque<(Level, String)>> = Mutex::new(VecDeque::new());

struct Keeper;

impl Log for Keeper {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= ::log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        push(record.level(), record.args().to_string());
    }

    fn flush(&self) {}
}

fn push(level: Level, line: String) {
    let mut lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
    if lines.len() == MAX_LINES {
        lines.pop_front();
    }
    lines.push_back((level, line));
}

/// Installs the logger, once in a process.
pub(crate) fn start() {
    if ::log::set_boxed_logger(Box::new(Keeper)).is_ok() {
        ::log::set_max_level(LevelFilter::Warn);
    }
}

/// Adds a warning.
pub(crate) fn warn(line: impl AsRef<str>) {
    push(Level::Warn, line.as_ref().to_owned());
}

/// The number of a level in Python.
fn number(level: Level) -> u8 {
    match level {
        Level::Error => 40,
        Level::Warn => 30,
        Level::Info => 20,
        Level::Debug => 10,
        Level::Trace => 5,
    }
}

/// Keeps what Python's logger wants.
///
/// # Errors
/// Returns an error if Python code raises one: also a handler of a signal, which may run in any.
pub(crate) fn refresh(py: Python<'_>) -> PyResult<()> {
    let wanted = logger(py)?.call_method0("getEffectiveLevel")?;
    let filter = match wanted.extract::<i64>().unwrap_or(30) {
        ..=5 => LevelFilter::Trace,
        6..=10 => LevelFilter::Debug,
        11..=20 => LevelFilter::Info,
        21..=30 => LevelFilter::Warn,
        _ => LevelFilter::Error,
    };
    ::log::set_max_level(filter);
    Ok(())
}

fn logger(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    py.import("logging")?.call_method1("getLogger", ("relais",))
}

/// Hands the lines over to Python's logger.
///
/// # Errors
/// Returns an error if Python code raises one: as when a program of Python logs, and a handler of a signal may run in it.
/// The lines that are left are handed over the next time.
pub(crate) fn hand_over(py: Python<'_>) -> PyResult<()> {
    let lines = || LINES.lock().unwrap_or_else(PoisonError::into_inner);
    let n_lines = lines().len();
    if n_lines == 0 {
        return Ok(());
    }
    let logger = logger(py)?;
    // A handler may cause more lines.
    for _ in 0..n_lines {
        let next = lines().pop_front();
        let Some((level, line)) = next else { break };
        logger.call_method1("log", (number(level), "%s", line))?;
    }
    Ok(())
}

/// Adds a note.
pub(crate) fn note(line: impl Into<String>) {
    if ::log::max_level() >= LevelFilter::Info {
        push(Level::Info, line.into());
    }
}

/// Adds a notice.
pub(crate) fn notice(notice: &Notice) {
    match notice.severity {
        Severity::WARNING => warn(notice.to_string()),
        _ => note(notice.to_string()),
    }
}
