//! `budget`: how long passes may take, and how large they may make the program.

use super::{BuiltIn, ir_size::Size, option};
use crate::{
    options::{OptionSchema, ValueKind},
    pass::{Deadline, PassInfo, PassInstrument},
};
use relais_plugin_api::{diagnostics::PassError, ir::IRModule, options::Value};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

inventory::submit! {
    BuiltIn {
        name: "budget",
        doc: "Limits the time of each pass and of the run, and the size of the program.\nA pass that is over a limit \
              has failed, and the pipeline's `on_failure` decides what follows.",
        options,
        make: |given, _| {
            let seconds = |name| Some(given.float(name)).filter(|&seconds| seconds > 0.0).map(Duration::from_secs_f64);
            let nodes = Some(given.count("nodes")).filter(|&nodes| nodes > 0);
            let budget = Budget::new(seconds("pass_seconds"), seconds("run_seconds"), nodes);
            let end = seconds("end_seconds");
            if end.is_some() && budget.pass.is_none() && budget.run.is_none() {
                let error = PassError::new("`end_seconds` is how long after a limit, and no time is limited");
                return Err(error.help("set `pass_seconds` or `run_seconds`, too"));
            }
            Ok(Arc::new(Budget { end, ..budget }))
        },
    }
}

fn options() -> Vec<OptionSchema> {
    // A hundred years.
    let seconds = || ValueKind::Float { min: 0.0, max: 3e9 };
    let none = Some(Value::Float(0.0));
    vec![
        option("pass_seconds", "how long a pass may take; 0 means no limit", seconds(), none.clone()),
        option("run_seconds", "how long the run may take; 0 means no limit", seconds(), none.clone()),
        option(
            "end_seconds",
            "how long after its time a pass that does not stop ends the process; 0 means never",
            seconds(),
            none,
        ),
        option(
            "nodes",
            "how many operator calls a pass may leave in the program; 0 means no limit",
            ValueKind::Int { min: 0, max: i64::MAX },
            Some(Value::Int(0)),
        ),
    ]
}

/// The code of an exceeded limit.
pub const OVER_BUDGET: &str = "over-budget";

/// Limits time and size.
pub struct Budget {
    pass: Option<Duration>,
    run: Option<Duration>,
    nodes: Option<u64>,
    /// How long after its time a pass ends the process.
    end: Option<Duration>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// When the run began.
    began: Option<Instant>,
    /// Whether a pass failed because the run's time was over: later ones are vetoed.
    is_over: bool,
    /// The number of calls in the inputs of the passes under way, if it matters.
    n_calls: Vec<u64>,
}

impl Budget {
    /// These limits.
    pub fn new(pass: Option<Duration>, run: Option<Duration>, nodes: Option<u64>) -> Self {
        Self { pass, run, nodes, end: None, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end_of_run(&self) -> Option<Instant> {
        self.lock().began?.checked_add(self.run?)
    }
}

impl PassInstrument for Budget {
    fn name(&self) -> &str {
        "budget"
    }

    fn enter(&self) -> Result<(), PassError> {
        *self.lock() = State { began: Some(Instant::now()), ..State::default() };
        Ok(())
    }

    fn should_run(&self, _module: &IRModule, _pass: &PassInfo<'_>) -> Result<bool, PassError> {
        Ok(!self.lock().is_over)
    }

    fn before(&self, module: &IRModule, _pass: &PassInfo<'_>) -> Result<(), PassError> {
        if self.nodes.is_some() {
            self.lock().n_calls.push(Size::of(module).n_calls);
        }
        Ok(())
    }

    fn after(&self, _module: &IRModule, _pass: &PassInfo<'_>) -> Result<(), PassError> {
        self.lock().n_calls.pop();
        Ok(())
    }

    fn failed(&self, _pass: &PassInfo<'_>, _error: &PassError) {
        self.lock().n_calls.pop();
        if self.end_of_run().is_some_and(|end| end <= Instant::now()) {
            self.lock().is_over = true;
        }
    }

    fn deadline(&self, _pass: &PassInfo<'_>) -> Option<Deadline> {
        let pass = self.pass.and_then(|pass| {
            let message = format!("it took longer than {pass:?}, the budget of a pass");
            Some(Deadline { at: Instant::now().checked_add(pass)?, message, ends_after: self.end })
        });
        let run = self.end_of_run().map(|at| {
            let message = format!("the run took longer than {:?}, its budget", self.run.unwrap_or_default());
            Deadline { at, message, ends_after: self.end }
        });
        pass.into_iter().chain(run).min()
    }

    fn is_limit(&self) -> bool {
        true
    }

    fn accept(&self, module: &IRModule, _pass: &PassInfo<'_>) -> Result<(), PassError> {
        let Some(most) = self.nodes else { return Ok(()) };
        let n_calls = Size::of(module).n_calls;
        // A program that was over the limit before may become smaller.
        if n_calls <= most || self.lock().n_calls.last().is_some_and(|&before| n_calls <= before) {
            return Ok(());
        }
        let error = PassError::new(format!("it leaves {n_calls} operator calls, over the budget of {most}"));
        Err(error.code(OVER_BUDGET).help("raise the option `nodes` of the instrument `budget`"))
    }
}
