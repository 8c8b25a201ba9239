//! The log of the host in Python's `logging`, and what is printed.
//!
//! Lines are kept until the calling thread hands them over: a logger that took the interpreter's lock on other threads
//! could wait for ever for the thread that waits for them.

use ::log::{Level, LevelFilter, Log, Metadata, Record};
use pyo3::prelude::*;
use relais::pass::Remarks;
use relais_plugin_api::diagnostics::Severity;
use relais_session::Notice;
use std::{
    collections::{BTreeSet, VecDeque},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// More lines are not kept.
const MAX_LINES: usize = 10_000;

static LINES: Mutex<VecDeque<Line>> = Mutex::new(VecDeque::new());

/// A message that is to be handed over.
struct Line {
    level: Level,
    message: String,
    /// The plugin and the target, with `::` between them; empty for the host's own.
    target: String,
    /// Where it comes from, in Rust.
    file: String,
    line: u32,
}

/// Writes to `sys.stderr`, as it is now: notebooks and test programs replace it.
pub(crate) fn print(py: Python<'_>, text: &str) -> PyResult<()> {
    let stderr = py.import("sys")?.getattr("stderr")?;
    if stderr.is_none() {
        return Ok(());
    }
    stderr.call_method1("write", (text,)).map(drop)
}

struct Keeper;

impl Log for Keeper {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= ::log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        // The crates of the host log with the names of their modules.
        let is_own = Some(record.target()) == record.module_path();
        push(Line {
            level: record.level(),
            message: record.args().to_string(),
            target: if is_own { String::new() } else { record.target().to_owned() },
            file: record.file().unwrap_or_default().to_owned(),
            line: record.line().unwrap_or(0),
        });
    }

    fn flush(&self) {}
}

fn push(line: Line) {
    if IS_WORKER.load(Ordering::Relaxed) {
        let target = if line.target.is_empty() { HOST } else { &line.target };
        return to_host_at(line.level, target, &line.message);
    }
    let mut lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
    if lines.len() == MAX_LINES {
        lines.pop_front();
    }
    lines.push_back(line);
}

/// Whether this process serves a host, which gets all records.
static IS_WORKER: AtomicBool = AtomicBool::new(false);

/// From now on, records go to the host that this process serves.
#[cfg(target_os = "linux")]
pub(crate) fn to_host() {
    IS_WORKER.store(true, Ordering::Relaxed);
}

#[cfg(target_os = "linux")]
fn to_host_at(level: Level, target: &str, message: &str) {
    relais::serve::logger().log(&Record::builder().level(level).target(target).args(format_args!("{message}")).build());
}

#[cfg(not(target_os = "linux"))]
fn to_host_at(_: Level, _: &str, _: &str) {}

/// Hands a record of Python's log to the host.
#[cfg(target_os = "linux")]
pub(crate) fn of_python(level: i64, name: &str, message: &str) {
    let level = match level {
        ..=5 => Level::Trace,
        6..=10 => Level::Debug,
        11..=20 => Level::Info,
        21..=30 => Level::Warn,
        _ => Level::Error,
    };
    if level <= ::log::max_level() {
        to_host_at(level, name, message);
    }
}

/// The level in Python from which on records are wanted.
#[cfg(target_os = "linux")]
pub(crate) fn lowest() -> u8 {
    ::log::max_level().to_level().map_or(50, number)
}

/// A message of the host's own.
fn own(level: Level, message: String) {
    push(Line { level, message, target: String::new(), file: String::new(), line: 0 });
}

/// Installs the logger, once in a process.
pub(crate) fn start() {
    if ::log::set_boxed_logger(Box::new(Keeper)).is_ok() {
        ::log::set_max_level(LevelFilter::Warn);
    }
}

/// Adds a warning.
pub(crate) fn warn(line: impl AsRef<str>) {
    own(Level::Warn, line.as_ref().to_owned());
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
    if IS_WORKER.load(Ordering::Relaxed) {
        return Ok(());
    }
    let level =
        |name: &str| Ok::<i64, PyErr>(logger(py, name)?.call_method0("getEffectiveLevel")?.extract().unwrap_or(30));
    let names = NAMES.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let wanted = names.iter().map(|name| level(name)).chain([level("")]).collect::<PyResult<Vec<_>>>()?;
    let filter = match wanted.into_iter().min().unwrap_or(30) {
        ..=5 => LevelFilter::Trace,
        6..=10 => LevelFilter::Debug,
        11..=20 => LevelFilter::Info,
        21..=30 => LevelFilter::Warn,
        _ => LevelFilter::Error,
    };
    ::log::set_max_level(filter);
    Ok(())
}

/// The targets whose loggers are asked for what they want.
static NAMES: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Plugins whose messages are kept if their loggers want them.
pub(crate) fn know<'a>(plugins: impl Iterator<Item = &'a str>) {
    NAMES.lock().unwrap_or_else(PoisonError::into_inner).extend(plugins.map(str::to_owned));
}

/// The logger of the host, or the one of a plugin, whose handlers and level are those of the host unless it has some.
fn logger<'py>(py: Python<'py>, target: &str) -> PyResult<Bound<'py, PyAny>> {
    let get = |name: &str| py.import("logging")?.call_method1("getLogger", (name,));
    let host = get(HOST)?;
    if target.is_empty() {
        return Ok(host);
    }
    NAMES.lock().unwrap_or_else(PoisonError::into_inner).insert(target.to_owned());
    let name = target.split_once("::").map_or(target, |(plugin, _)| plugin);
    // A logger that the program has already is its own.
    let known = py.import("logging")?.getattr("root")?.getattr("manager")?.getattr("loggerDict")?;
    let is_new = !known.contains(name)?;
    let plugin = get(name)?;
    if is_new {
        plugin.setattr("parent", host)?;
    }
    get(&target.replace("::", "."))
}

/// The name of the host's logger.
const HOST: &str = "relais";

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
    // A handler may cause more lines.
    for _ in 0..n_lines {
        let next = lines().pop_front();
        let Some(Line { level, message, target, file, line }) = next else { break };
        let (logger, level) = (logger(py, &target)?, number(level));
        if logger.call_method1("isEnabledFor", (level,))?.is_truthy()? {
            let name = logger.getattr("name")?;
            let file = if file.is_empty() { "(relais)" } else { &file };
            let record = logger.call_method1("makeRecord", (name, level, file, line, "%s", (message,), py.None()))?;
            logger.call_method1("handle", (record,))?;
        }
    }
    Ok(())
}

/// Adds a note.
pub(crate) fn note(line: impl Into<String>) {
    if ::log::max_level() >= LevelFilter::Info {
        own(Level::Info, line.into());
    }
}

/// Adds what a pass said.
pub(crate) fn diagnostic(severity: Severity, line: String) {
    let level = match severity {
        Severity::REMARK => Level::Debug,
        Severity::NOTE => Level::Info,
        _ => Level::Warn,
    };
    if level <= ::log::max_level() {
        own(level, line);
    }
}

/// Whether remarks are wanted: messages are kept that help to find faults.
pub(crate) fn remarks() -> Remarks {
    match ::log::max_level() >= LevelFilter::Debug {
        true => Remarks::Show,
        false => Remarks::Hide,
    }
}

/// Adds a notice.
pub(crate) fn notice(notice: &Notice) {
    match notice.severity {
        Severity::WARNING => warn(notice.to_string()),
        _ => note(notice.to_string()),
    }
}
