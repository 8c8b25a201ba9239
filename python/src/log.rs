//! The log of the host in Python's `logging`.
//!
//! Lines are kept until the calling thread hands them over: a logger that took the interpreter's lock on other threads
//! could wait for ever for the thread that waits for them.

use ::log::{Level, LevelFilter, Log, Metadata, Record};
use pyo3::prelude::*;
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
    crate::run::start();
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
pub(crate) fn refresh(py: Python<'_>) {
    let wanted = logger(py).and_then(|logger| logger.call_method0("getEffectiveLevel")?.extract::<i64>());
    let filter = match wanted.unwrap_or(30) {
        ..=5 => LevelFilter::Trace,
        6..=10 => LevelFilter::Debug,
        11..=20 => LevelFilter::Info,
        21..=30 => LevelFilter::Warn,
        _ => LevelFilter::Error,
    };
    ::log::set_max_level(filter);
}

fn logger(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    py.import("logging")?.call_method1("getLogger", ("relais",))
}

/// Hands the lines over to Python's logger. An error of one of its handlers is its own.
pub(crate) fn hand_over(py: Python<'_>) {
    let lines = std::mem::take(&mut *LINES.lock().unwrap_or_else(PoisonError::into_inner));
    if lines.is_empty() {
        return;
    }
    let Ok(logger) = logger(py) else { return };
    for (level, line) in lines {
        if let Err(error) = logger.call_method1("log", (number(level), "%s", line)) {
            error.write_unraisable(py, None);
        }
    }
}

/// Adds a note.
pub(crate) fn note(line: impl Into<String>) {
    if ::log::max_level() >= LevelFilter::Info {
        push(Level::Info, line.into());
    }
}
