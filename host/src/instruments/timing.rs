//! `timing`: how long passes take.

use super::{BuiltIn, choice};
use crate::{
    pass::{AnalysisUse, InstrumentFindings, PassInfo, PassInstrument},
    table::{indented, table},
};
use relais_plugin_api::{diagnostics::PassError, ir::IRModule};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

inventory::submit! {
    BuiltIn {
        name: "timing",
        doc: "Measures how long passes take, with what runs within them (total) and without (own).\n\
              The driver's type inference stands apart, as `(types)`, and so do analyses, by their names, summed over \
              threads, within the pass that first asked for them; what other instruments and the verifier take \
              counts for the sequence around a pass.",
        options: || vec![choice("format", "how the times are shown", &[
            ("tree", "what runs within what, in order"),
            ("list", "summed up by pass, the most expensive first"),
            ("json", "the tree as JSON"),
        ])],
        make: |given, _| {
            let form = match given.text("format") {
                "list" => TimesForm::List,
                "json" => TimesForm::Json,
                _ => TimesForm::Tree,
            };
            Ok(Arc::new(Timing { form, ..Timing::default() }))
        },
    }
}

/// How times are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum TimesForm {
    #[default]
    Tree,
    List,
    Json,
}

/// Measures passes as a tree of nested passes. Its data is kept after its context was left.
#[derive(Default)]
pub struct Timing {
    form: TimesForm,
    state: Mutex<State>,
}

/// A pass that ran, or part of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Timed {
    /// The pass; `(types)` is the driver's type inference, and an analysis is in parentheses, too.
    pub name: String,
    /// How deep it is nested.
    pub depth: usize,
    /// Its time, including nested passes.
    pub total: Duration,
    /// Its time, without nested passes.
    pub own: Duration,
}

#[derive(Default)]
struct State {
    done: Vec<Timed>,
    /// Passes that run.
    open: Vec<Open>,
    /// The innermost pass's own time, if the driver measured it: hooks of other instruments do not count.
    exact: Option<Duration>,
}

struct Open {
    /// Index into `done`.
    at: usize,
    began: Instant,
    /// The driver's time after the pass itself.
    beyond: Duration,
}

impl Timing {
    /// Returns the passes that ran, outermost first, in order.
    pub fn times(&self) -> Vec<Timed> {
        self.lock().done.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        let mut state = self.lock();
        let Some(Open { at, began, beyond }) = state.open.pop() else { return };
        let exact = state.exact.take();
        let parent = state.open.last().map(|parent| parent.at);
        let entry = &mut state.done[at];
        // The time of nested passes was subtracted before: `own` held the debt.
        let within = entry.own;
        let total = exact.map_or_else(|| began.elapsed(), |exact| exact + beyond);
        (entry.total, entry.own) = (total, total.saturating_sub(within));
        if let Some(parent) = parent {
            state.done[parent].own += total;
        }
    }
}

impl PassInstrument for Timing {
    fn name(&self) -> &str {
        "timing"
    }

    fn before(&self, _module: &IRModule, pass: &PassInfo<'_>) -> Result<(), PassError> {
        let mut state = self.lock();
        let depth = state.open.len();
        let at = state.done.len();
        let name = pass.name.to_owned();
        state.done.push(Timed { name, depth, total: Duration::ZERO, own: Duration::ZERO });
        state.open.push(Open { at, began: Instant::now(), beyond: Duration::ZERO });
        Ok(())
    }

    fn after(&self, _module: &IRModule, _pass: &PassInfo<'_>) -> Result<(), PassError> {
        self.close();
        Ok(())
    }

    fn failed(&self, _pass: &PassInfo<'_>, _error: &PassError) {
        self.close();
    }

    fn took(&self, _pass: &PassInfo<'_>, duration: Duration) {
        self.lock().exact = Some(duration);
    }

    fn types_took(&self, duration: Duration) {
        let mut state = self.lock();
        let depth = state.open.len();
        state.done.push(Timed { name: "(types)".into(), depth, total: duration, own: duration });
        if let Some(Open { at, beyond, .. }) = state.open.last_mut() {
            *beyond += duration;
            let at = *at;
            state.done[at].own += duration;
        }
    }

    fn analysed(&self, _pass: &PassInfo<'_>, analysis: &str, used: &AnalysisUse) {
        if used.computed == 0 {
            return;
        }
        let mut state = self.lock();
        let depth = state.open.len();
        let name = format!("({analysis})");
        state.done.push(Timed { name, depth, total: used.took, own: used.took });
        if let Some(&Open { at, .. }) = state.open.last() {
            state.done[at].own += used.took;
        }
    }

    fn findings(&self) -> Option<InstrumentFindings> {
        let times = self.times();
        let data = json(&times);
        let text = match self.form {
            TimesForm::Tree => tree(&times),
            TimesForm::List => list(&times),
            TimesForm::Json => format!("{data:#}\n"),
        };
        Some(InstrumentFindings { text, data })
    }
}

/// The tree as text: total and own time, and the share of the whole.
fn tree(times: &[Timed]) -> String {
    let whole = whole(times);
    let row = |time: &Timed| {
        let Timed { name, depth, total, own } = time;
        [indented(name, *depth), millis(*total), millis(*own), share(*total, whole)]
    };
    table(1, &["pass", "total", "own", "share"], &times.iter().map(row).collect::<Vec<_>>())
}

/// The times by pass, the most expensive first.
fn list(times: &[Timed]) -> String {
    let whole = whole(times);
    let mut sums: BTreeMap<&str, (Duration, Duration, u64)> = BTreeMap::new();
    for Timed { name, total, own, .. } in times {
        let sum = sums.entry(name).or_default();
        *sum = (sum.0 + *total, sum.1 + *own, sum.2 + 1);
    }
    let mut rows: Vec<_> = sums.into_iter().collect();
    rows.sort_by(|a, b| b.1.1.cmp(&a.1.1).then(a.0.cmp(b.0)));
    let row = |(name, (total, own, n)): (&str, (Duration, Duration, u64))| {
        [name.to_owned(), n.to_string(), millis(total), millis(own), share(own, whole)]
    };
    let mut rows: Vec<[String; 5]> = rows.into_iter().map(row).collect();
    rows.push(["whole run".into(), String::new(), millis(whole), millis(whole), String::new()]);
    table(1, &["pass", "runs", "total", "own", "share"], &rows)
}

/// The tree as nested objects, built without recursion.
fn json(times: &[Timed]) -> Value {
    let node = |time: &Timed| {
        let Timed { name, total, own, .. } = time;
        json!({ "pass": name, "seconds": total.as_secs_f64(), "own_seconds": own.as_secs_f64(), "within": [] })
    };
    // A node is moved into the enclosing one when the next one is at the same depth or above.
    let mut open: Vec<(usize, Value)> = Vec::new();
    let mut roots = Vec::new();
    let close = |open: &mut Vec<(usize, Value)>, roots: &mut Vec<Value>, depth: usize| {
        while open.last().is_some_and(|(other, _)| *other >= depth) {
            let (_, value) = open.pop().expect("it was just seen");
            match open.last_mut().and_then(|(_, parent)| parent["within"].as_array_mut()) {
                Some(within) => within.push(value),
                None => roots.push(value),
            }
        }
    };
    for time in times {
        close(&mut open, &mut roots, time.depth);
        open.push((time.depth, node(time)));
    }
    close(&mut open, &mut roots, 0);
    roots.into()
}

fn whole(times: &[Timed]) -> Duration {
    times.iter().filter(|time| time.depth == 0).map(|time| time.total).sum()
}

/// Milliseconds with three decimals.
fn millis(duration: Duration) -> String {
    format!("{:.3} ms", duration.as_secs_f64() * 1e3)
}

fn share(part: Duration, whole: Duration) -> String {
    match whole.is_zero() {
        true => "-".into(),
        false => format!("{:.1} %", part.as_secs_f64() / whole.as_secs_f64() * 100.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(name: &str, depth: usize, total: u64, own: u64) -> Timed {
        let [total, own] = [total, own].map(Duration::from_millis);
        Timed { name: name.into(), depth, total, own }
    }

    fn times() -> Vec<Timed> {
        vec![timed("p", 0, 100, 10), timed("A", 1, 40, 40), timed("(types)", 1, 10, 10), timed("A", 1, 40, 40)]
    }

    #[test]
    fn the_tree_shows_what_runs_within_what() {
        let expected = "\
pass            total        own    share
p          100.000 ms  10.000 ms  100.0 %
  A         40.000 ms  40.000 ms   40.0 %
  (types)   10.000 ms  10.000 ms   10.0 %
  A         40.000 ms  40.000 ms   40.0 %
";
        assert_eq!(tree(&times()), expected);
    }

    #[test]
    fn the_list_sums_up_and_begins_with_the_most_expensive() {
        let expected = "\
pass       runs       total         own   share
A             2   80.000 ms   80.000 ms  80.0 %
(types)       1   10.000 ms   10.000 ms  10.0 %
p             1  100.000 ms   10.000 ms  10.0 %
whole run        100.000 ms  100.000 ms
";
        assert_eq!(list(&times()), expected);
    }

    #[test]
    fn json_nests_and_nothing_is_measured_without_a_run() {
        let data = json(&times());
        assert_eq!(data[0]["within"][2]["pass"], "A");
        assert_eq!(data[0]["within"][1]["own_seconds"], 0.01);
        assert_eq!(json(&[]), json!([]));
        assert_eq!(tree(&[]), "pass  total  own  share\n");
    }

    #[test]
    fn deep_nesting_takes_no_recursion() {
        let times: Vec<Timed> = (0..100_000).map(|depth| timed("p", depth, 1, 0)).collect();
        assert!(tree(&times).len() > 100_000);
    }
}
