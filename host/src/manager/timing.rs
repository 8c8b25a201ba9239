//! How long passes take.

use super::instrument::{Instrument, PassInfo};
use relais_plugin_api::{diagnostics::PassError, ir::IRModule};
use std::{
    fmt::Write as _,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Measures passes as a tree: what runs within what. Its data stays after its context was left.
#[derive(Default)]
pub struct Timing {
    state: Mutex<State>,
}

/// A pass that ran, or part of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Timed {
    /// The pass; `(types)` is the driver's type inference.
    pub name: String,
    /// How deep it is nested.
    pub depth: usize,
    /// How long it took, with what ran within.
    pub total: Duration,
    /// How long it took without what ran within.
    pub own: Duration,
}

#[derive(Default)]
struct State {
    done: Vec<Timed>,
    /// Passes that run: index into `done`, and when they began.
    open: Vec<(usize, Instant)>,
}

impl Timing {
    /// What ran, outside in, in order.
    pub fn times(&self) -> Vec<Timed> {
        self.lock().done.clone()
    }

    /// The tree as text: total and own time.
    pub fn render(&self) -> String {
        render(&self.times())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        let mut state = self.lock();
        let Some((at, began)) = state.open.pop() else { return };
        let total = began.elapsed();
        let parent = state.open.last().map(|&(parent, _)| parent);
        let entry = &mut state.done[at];
        entry.total = total;
        // What ran within was taken off before: `own` held the debt.
        entry.own = total.saturating_sub(entry.own);
        if let Some(parent) = parent {
            state.done[parent].own += total;
        }
    }
}

impl Instrument for Timing {
    fn name(&self) -> &str {
        "timing"
    }

    fn before(&self, _module: &IRModule, pass: &PassInfo<'_>) -> Result<(), PassError> {
        let mut state = self.lock();
        let depth = state.open.len();
        let at = state.done.len();
        let name = pass.name.to_owned();
        state.done.push(Timed { name, depth, total: Duration::ZERO, own: Duration::ZERO });
        state.open.push((at, Instant::now()));
        Ok(())
    }

    fn after(&self, _module: &IRModule, _pass: &PassInfo<'_>) -> Result<(), PassError> {
        self.close();
        Ok(())
    }

    fn failed(&self, _pass: &PassInfo<'_>, _error: &PassError) {
        self.close();
    }

    fn types_took(&self, duration: Duration) {
        let mut state = self.lock();
        let depth = state.open.len();
        state.done.push(Timed { name: "(types)".into(), depth, total: duration, own: duration });
        if let Some(&(at, _)) = state.open.last() {
            state.done[at].own += duration;
        }
    }
}

/// The tree as text: total and own time.
pub fn render(times: &[Timed]) -> String {
    let mut out = format!("{:<56} {:>14} {:>14}\n", "pass", "total", "own");
    for Timed { name, depth, total, own } in times {
        let line = format!("{}{name}", "  ".repeat(*depth.min(&40)));
        writeln!(out, "{line:<56} {:>14} {:>14}", millis(*total), millis(*own)).expect("a string takes everything");
    }
    out
}

/// Milliseconds with three decimals.
pub(crate) fn millis(duration: Duration) -> String {
    format!("{:.3} ms", duration.as_secs_f64() * 1e3)
}
