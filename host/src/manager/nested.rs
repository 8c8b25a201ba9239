//! Passes that a pass runs: instruments see them as they see a step (rule R3), and the settings of the run apply to
//! them.

use super::{
    RunOptions,
    context::PassContext,
    machine::{Machine, Stop},
    report::FailureKind,
    watch::Watch,
};
use crate::pipeline::{
    Catalogue, Pipeline, RunCx, RunSettings,
    spec::{Dependencies, OnFailure, Verify},
};
use relais_plugin_api::{boundary::abi::error_kind, diagnostics::PassError, ir::IRModule};
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

/// The plugins, and passes of the program's own, that are excluded for the rest of a run (rule R25).
#[derive(Default)]
pub(crate) struct Quarantine(Mutex<BTreeSet<String>>);

impl Quarantine {
    pub fn contains(&self, who: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(who)
    }

    pub fn insert(&self, who: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(who.to_owned());
    }
}

/// How deep passes may run passes.
const MAX_DEPTH: u8 = 16;

/// The state that a run shares with those of the passes that its passes call.
#[derive(Clone, Copy)]
pub(crate) struct Nest<'a> {
    pub catalogue: &'a dyn Catalogue,
    pub dependencies: Dependencies,
    pub verify: Verify,
    pub on_failure: OnFailure,
    pub quarantine: Option<&'a Quarantine>,
    /// Those that watch the run, as long as no pass enters a context of its own.
    pub watch: Option<&'a Watch>,
    /// Whether instruments see the passes that a pass runs: not where functions are distributed over threads, since the
    /// order of the hooks would be undefined.
    pub is_watched: bool,
    /// Whether the pass receives functions one after another.
    is_serial: bool,
    /// How many passes that run passes are around this one.
    depth: u8,
}

impl<'a> Nest<'a> {
    /// For a pass that is called outside a run.
    pub fn alone(catalogue: &'a dyn Catalogue) -> Self {
        Self {
            catalogue,
            dependencies: Dependencies::default(),
            verify: Verify::Off,
            on_failure: OnFailure::default(),
            quarantine: None,
            watch: None,
            is_watched: true,
            is_serial: false,
            depth: 0,
        }
    }

    /// Returns the settings for the passes that a pass of this run runs.
    pub fn within(self, run: &RunSettings, verify: Verify, quarantine: &'a Quarantine, watch: &'a Watch) -> Self {
        Self { dependencies: run.dependencies, verify, quarantine: Some(quarantine), watch: Some(watch), ..self }
    }

    /// The same under a policy.
    pub fn under(self, on_failure: OnFailure) -> Self {
        Self { on_failure, ..self }
    }

    /// The same for a pass that receives its functions one after another.
    pub fn one_by_one(self) -> Self {
        Self { is_serial: true, ..self }
    }

    /// Returns the settings for the work of a pass on each of its functions, and whether it receives them one after
    /// another.
    pub fn for_globals(self) -> (Self, bool) {
        let nest = Self { is_serial: false, is_watched: self.is_watched && self.is_serial, ..self };
        (nest, self.is_serial)
    }

    /// The same for the passes that a pass runs; `None` where they would be nested without end.
    fn deeper(self) -> Option<Self> {
        (self.depth < MAX_DEPTH).then_some(Self { depth: self.depth + 1, ..self })
    }

    /// The same where several threads work for a pass.
    pub fn shared_out(self) -> Self {
        Self { is_watched: false, ..self }
    }
}

/// Runs a pass for another one; `None` if it changed nothing. The fault of a hook also fails the run (rule R18),
/// whatever the outer pass does with it.
pub(crate) fn run_nested(
    pipeline: &Pipeline,
    module: &IRModule,
    cx: &RunCx<'_>,
) -> Result<Option<IRModule>, PassError> {
    let host = |message: &dyn std::fmt::Display| PassError::with_kind(error_kind::HOST, message);
    let nest = cx.nest.deeper().ok_or_else(|| {
        let message = format!("`{}` is run by passes that it runs itself", pipeline.name);
        host(&message)
    })?;
    let current = PassContext::current();
    let watch = match (nest.is_watched, nest.watch) {
        (false, _) => Watch::default(),
        (true, Some(outer)) if outer.is_of(&current) => outer.again(),
        (true, _) => Watch::of(current.clone()),
    };
    // If the passes are not reported, neither are those that they run.
    let _guard = (!nest.is_watched).then(|| {
        let unwatched = Arc::new(PassContext::new(current.settings().clone()));
        unwatched.push_quietly()
    });
    let options =
        RunOptions { verify: Some(nest.verify), remarks: cx.remarks, cancel: Some(cx.cancel), ..RunOptions::default() };
    let inner = RunCx { nest, ..*cx };
    match Machine::new(pipeline, module.clone(), nest.catalogue, &options).run_within(&watch, &inner) {
        Ok(module) => Ok(module),
        Err(Stop::Hook(fault)) => {
            let error = host(&fault);
            current.keep_fault(fault);
            Err(error)
        }
        Err(Stop::Pass(kind)) => Err(match *kind {
            FailureKind::Pass { error, .. } | FailureKind::Check { error, .. } | FailureKind::Program { error, .. } => {
                error
            }
            FailureKind::Instrument(fault) => host(&fault),
        }),
    }
}
