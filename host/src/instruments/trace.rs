//! `trace`: a timeline, for trace viewers.

use super::{BuiltIn, option};
use crate::{
    files::{Destination, Existing, FileError},
    options::ValueKind,
    pass::{InstrumentFindings, PassInfo, PassInstrument, SkipReason},
};
use relais_plugin_api::{boundary::record::Level, diagnostics::PassError, ir::IRModule};
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf, absolute},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

inventory::submit! {
    BuiltIn {
        name: "trace",
        doc: "Writes what ran when in the trace-event format, which Perfetto and Chrome's `about:tracing` open.",
        options: || vec![option("file", "the file that is written when the run is over", ValueKind::Str, None)],
        make: |given, _| Ok(Arc::new(Trace::new(given.text("file")))),
    }
}

/// Passes are on one track, whatever the threads that functions are distributed over.
const TRACK: u32 = 1;

/// Writes a trace when its context is left, also after a fault.
pub struct Trace {
    /// As it was named.
    file: PathBuf,
    /// From the root: a plugin may change the working directory.
    place: PathBuf,
    began: Instant,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    events: Vec<Value>,
    /// When the passes and sequences that run began, since the beginning, and which of them are passes.
    open: Vec<(Duration, bool)>,
    n_executions: u64,
}

impl Trace {
    /// A trace that is written to that file.
    pub fn new(file: impl AsRef<Path>) -> Self {
        let file = file.as_ref().to_owned();
        let is_output = file.as_os_str() == "-";
        let place = absolute(&file).ok().filter(|_| !is_output).unwrap_or_else(|| file.clone());
        Self { file, place, began: Instant::now(), state: Mutex::default() }
    }

    /// The trace so far.
    pub fn to_json(&self) -> Value {
        let name = |what: &str, name: &str| json!({ "name": what, "ph": "M", "ts": 0, "pid": 1, "tid": TRACK, "args": { "name": name } });
        let mut events = vec![name("process_name", "relais"), name("thread_name", "passes")];
        events.extend(self.lock().events.iter().cloned());
        json!({ "traceEvents": events, "displayTimeUnit": "ms" })
    }

    fn destination(&self) -> Result<Destination, PassError> {
        Destination::of_argument(&self.place, Existing::Keep).map_err(|error| self.error(error))
    }

    fn error(&self, mut error: FileError) -> PassError {
        error.path.clone_from(&self.file);
        PassError::new(error.of("the trace")).help(error.help())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self, pass: &PassInfo<'_>, error: Option<&PassError>) {
        let now = self.began.elapsed();
        let mut state = self.lock();
        let Some((began, is_pass)) = state.open.pop() else { return };
        let is_nested = state.open.iter().any(|&(_, is_pass)| is_pass);
        let mut args = json!({ "plugin": pass.plugin, "opt_level": pass.opt_level, "kind": pass.level.name() });
        // A pass that another pass runs is part of its execution.
        if is_pass && !is_nested {
            state.n_executions += 1;
            args["execution"] = state.n_executions.into();
        }
        if let Some(error) = error {
            args["error"] = error.rec().message.as_str().into();
        }
        let category = if is_pass { "pass" } else { "sequence" };
        state.events.push(span(pass.name, category, began, now.saturating_sub(began), args));
    }
}

impl PassInstrument for Trace {
    fn name(&self) -> &str {
        "trace"
    }

    fn enter(&self) -> Result<(), PassError> {
        // Better now than after an hour's work.
        self.destination().map(drop)
    }

    fn exit(&self) -> Result<(), PassError> {
        self.destination()?.write(|out| writeln!(out, "{:#}", self.to_json())).map_err(|error| self.error(error))
    }

    fn before(&self, _module: &IRModule, pass: &PassInfo<'_>) -> Result<(), PassError> {
        let now = self.began.elapsed();
        self.lock().open.push((now, pass.level != Level::SEQUENTIAL));
        Ok(())
    }

    fn after(&self, _module: &IRModule, pass: &PassInfo<'_>) -> Result<(), PassError> {
        self.close(pass, None);
        Ok(())
    }

    fn failed(&self, pass: &PassInfo<'_>, error: &PassError) {
        self.close(pass, Some(error));
    }

    fn skipped(&self, _module: &IRModule, pass: &PassInfo<'_>, reason: &SkipReason) {
        let now = micros(self.began.elapsed());
        self.lock().events.push(json!({
            "name": format!("skipped {}", pass.name),
            "cat": "skipped",
            "ph": "i",
            "s": "t",
            "ts": now,
            "pid": 1,
            "tid": TRACK,
            "args": { "reason": reason.to_string() },
        }));
    }

    fn types_took(&self, duration: Duration) {
        let began = self.began.elapsed().saturating_sub(duration);
        self.lock().events.push(span("(types)", "types", began, duration, json!({})));
    }

    fn findings(&self) -> Option<InstrumentFindings> {
        let file = self.file.display().to_string();
        Some(InstrumentFindings { text: format!("the trace is in `{file}`\n"), data: json!({ "file": file }) })
    }
}

fn span(name: &str, category: &str, began: Duration, took: Duration, args: Value) -> Value {
    let (ts, dur) = (micros(began), micros(took));
    json!({ "name": name, "cat": category, "ph": "X", "ts": ts, "dur": dur, "pid": 1, "tid": TRACK, "args": args })
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}
