//! Passes that were made, and running them.

use crate::{
    ir::{AttrValue, Function, Global, IRModule, PrimFunc},
    manager::{Nest, PassContext, run_nested},
    pipeline::{self, Callee, Faults, Pipeline, Scope},
    plugin::{Made, PassRecord, PluginRecord, Running, cut_error},
    registry::{Provider, Registry},
    services::CallState,
};
use abi_stable::std_types::{RArc, ROption};
use rayon::prelude::*;
use relais_plugin_api::{
    boundary::{
        abi::{CallCx, PassObject, StepRec, error_kind},
        record::Level,
    },
    diagnostics::{Diagnostic, PassError, Severity},
    options::Value,
};
use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

/// Receives the messages of passes. Called in module order, whatever the number of threads; progress as it comes.
pub trait Sink: Sync {
    /// Takes a diagnostic.
    fn diagnostic(&self, pass: &PassRecord, diagnostic: &Diagnostic);

    /// Takes how far a pass is.
    fn progress(&self, _pass: &PassRecord, _done: u64, _total: u64) {}

    /// Receives a count of a pass, once for each statistic of a successful run: the sum over all functions.
    fn count(&self, _pass: &PassRecord, _statistic: &str, _n: u64) {}
}

/// A sink that ignores everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Sink for Silent {
    fn diagnostic(&self, _: &PassRecord, _: &Diagnostic) {}
}

/// Whether passes explain why they did not do something.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Remarks {
    /// They do not.
    #[default]
    Hide,
    /// They do.
    Show,
}

/// The environment in which passes run.
#[derive(Clone, Copy)]
pub struct RunCx<'a> {
    /// Where operators and other passes are looked up.
    pub registry: &'a Registry,
    /// Receives the messages of passes.
    pub sink: &'a dyn Sink,
    /// The context's options that were set, checked.
    pub config: &'a BTreeMap<String, Value>,
    /// Set when passes should stop.
    pub cancel: &'a AtomicBool,
    /// The threads that functions are distributed over; rayon's own if there are none.
    pub pool: Option<&'a rayon::ThreadPool>,
    /// Whether passes explain why they did not do something.
    pub remarks: Remarks,
    /// The run that it is a part of, for the passes that it calls.
    pub(crate) nest: Nest<'a>,
}

static NEVER: AtomicBool = AtomicBool::new(false);
static NO_CONFIG: BTreeMap<String, Value> = BTreeMap::new();

impl<'a> RunCx<'a> {
    /// A context without options that discards messages and is never cancelled.
    pub fn new(registry: &'a Registry) -> Self {
        Self {
            registry,
            sink: &Silent,
            config: &NO_CONFIG,
            cancel: &NEVER,
            pool: None,
            remarks: Remarks::default(),
            nest: Nest::alone(registry),
        }
    }

    /// The same with a sink.
    pub fn with_sink(self, sink: &'a dyn Sink) -> Self {
        Self { sink, ..self }
    }

    /// The same with options of the context, which were checked.
    pub fn with_config(self, config: &'a BTreeMap<String, Value>) -> Self {
        Self { config, ..self }
    }

    /// The same with a flag that asks passes to stop.
    pub fn with_cancel(self, cancel: &'a AtomicBool) -> Self {
        Self { cancel, ..self }
    }

    /// The same with threads.
    pub fn with_pool(self, pool: &'a rayon::ThreadPool) -> Self {
        Self { pool: Some(pool), ..self }
    }

    /// The same with or without remarks.
    pub fn with_remarks(self, remarks: Remarks) -> Self {
        Self { remarks, ..self }
    }

    pub(crate) fn wants_remarks(&self) -> bool {
        self.remarks == Remarks::Show
    }

    /// Returns the environment for the passes that a pass runs.
    pub(crate) fn for_passes<'b>(
        &'b self,
        diagnostics: &'b (dyn Fn(Diagnostic) + Sync),
        progress: &'b (dyn Fn(u64, u64) + Sync),
        count: &'b (dyn Fn(&str, u64) + Sync),
    ) -> pipeline::RunCx<'b> {
        let Self { config, cancel, remarks, nest, .. } = *self;
        pipeline::RunCx { diagnostics, progress, count, remarks, cancel, config, nest }
    }

    pub(crate) fn install<T: Send>(&self, f: impl FnOnce() -> T + Send) -> T {
        match self.pool {
            Some(pool) => pool.install(f),
            None => f(),
        }
    }
}

/// The state that one run of a pass shares between all threads.
pub(crate) struct Run<'a> {
    pub cx: &'a RunCx<'a>,
    /// The context of the thread that runs the pass; that of all others, while they work for it (rule R9).
    pub context: Arc<PassContext>,
    /// The context as encoded for plugins, once requested.
    pub encoded: OnceLock<Vec<u8>>,
    /// The counts, by statistic; sums do not depend on which thread came first.
    counts: Vec<AtomicU64>,
}

impl<'a> Run<'a> {
    fn new(cx: &'a RunCx<'a>, pass: &PassRecord) -> Self {
        let counts = pass.statistics.iter().map(|_| AtomicU64::new(0)).collect();
        Self { cx, context: PassContext::current(), encoded: OnceLock::new(), counts }
    }

    /// Adds to a statistic of the pass; an undeclared one cannot be counted.
    pub fn count(&self, pass: &PassRecord, statistic: &str, n: u64) {
        let index = pass.statistics.iter().position(|declared| declared.name == statistic);
        if let Some(count) = index.and_then(|index| self.counts.get(index)) {
            count.fetch_add(n, Ordering::Relaxed);
        }
    }

    /// Passes on the counts of a pass, in the order of their declaration.
    fn tell_counts(&self, pass: &PassRecord) {
        for (statistic, count) in pass.statistics.iter().zip(&self.counts) {
            let count = count.load(Ordering::Relaxed);
            if count > 0 {
                self.cx.sink.count(pass, &statistic.name, count);
            }
        }
    }
}

/// A pass that was made, its options set. It may be run often, and from several threads.
pub struct PassHandle {
    provider: Arc<Provider>,
    index: usize,
    options: Value,
    object: Made<PassObject>,
}

/// The result of a pass.
#[derive(Clone, Default)]
pub struct Outcome {
    /// The new module; nothing when the pass changed nothing.
    pub module: Option<IRModule>,
    /// The globals that it changed, added or removed, in module order.
    pub changed: Vec<String>,
}

/// A pass that failed. The module is as it was.
#[derive(Clone, Debug)]
pub struct PassFailure {
    /// The pass.
    pub pass: String,
    /// Its plugin.
    pub plugin: String,
    /// The plugin's version.
    pub version: semver::Version,
    /// Why.
    pub error: PassError,
}

impl fmt::Display for PassFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pass, plugin, version, error } = self;
        let verb = if error.is_panic() { "" } else { "failed: " };
        write!(f, "pass `{pass}` of plugin `{plugin} {version}` {verb}{error}")
    }
}

impl std::error::Error for PassFailure {}

impl PassHandle {
    pub(crate) fn new(provider: Arc<Provider>, index: usize, options: Value, object: Made<PassObject>) -> Self {
        Self { provider, index, options, object }
    }

    /// Returns the pass's record.
    pub fn record(&self) -> &PassRecord {
        &self.provider.records().passes[self.index]
    }

    /// Returns its plugin's record.
    pub fn plugin(&self) -> &PluginRecord {
        &self.provider.records().plugin
    }

    /// Its options, defaults included.
    pub fn options(&self) -> &Value {
        &self.options
    }

    /// The members of a sequential pass: names and options, as its author defines them.
    ///
    /// # Errors
    /// Returns an error if they cannot be determined.
    pub fn members(&self) -> Result<Vec<(String, Value)>, PassError> {
        if self.record().level != Level::SEQUENTIAL {
            return Ok(Vec::new());
        }
        let _running = Running::new(self.object.what());
        let steps = self.object.steps().into_result()?.into_iter();
        let member = |step: StepRec| Ok((step.pass.into(), Value::decode(&step.options).map_err(PassError::new)?));
        steps.map(member).collect()
    }

    /// Runs the pass, whatever its level. Rules about levels and lists are the caller's (rule R3).
    ///
    /// # Errors
    /// Returns an error if it returns an error, panics, or emits a diagnostic of severity error.
    pub fn run(&self, module: &IRModule, cx: &RunCx<'_>) -> Result<Outcome, PassFailure> {
        let _running = Running::new(self.object.what());
        let is_shared_out = self.record().parallel && !matches!(self.record().level, Level::MODULE | Level::SEQUENTIAL);
        let nest = if is_shared_out { cx.nest.shared_out() } else { cx.nest };
        let cx = &RunCx { nest, ..*cx };
        let run = &Run::new(cx, self.record());
        let outcome = match self.record().level {
            Level::MODULE => self.run_module(module, run),
            Level::FUNCTION | Level::REWRITE => {
                self.run_globals(module, run, |call, function| self.object.run_function(call, function).into_result())
            }
            Level::PRIM_FUNC => self
                .run_globals(module, run, |call, prim_func| self.object.run_prim_func(call, prim_func).into_result()),
            Level::SEQUENTIAL => self.run_steps(module, cx),
            level => {
                let message = format!("passes of level {} are of a later version: update the host", level.0);
                Err(self.failure(PassError::new(message)))
            }
        }?;
        run.tell_counts(self.record());
        Ok(outcome)
    }

    /// Asks the pass whether it can work on a module, before any pass of the run has worked.
    ///
    /// # Errors
    /// If it cannot, panics, or emits a diagnostic of severity error.
    pub fn check(&self, module: &IRModule, cx: &RunCx<'_>) -> Result<(), PassFailure> {
        let _running = Running::new(self.object.what());
        let run = &Run::new(cx, self.record());
        let answer = |call: &CallCx<'_>| self.object.check(call, module).into_result().map(|()| ROption::RNone::<()>);
        self.settle(cx, self.call(run, module, "", answer)).map(drop)
    }

    /// Calls a function pass on one function and ignores the result: only the boundary, for benchmarks.
    #[doc(hidden)]
    pub fn bench_call<'a>(&'a self, cx: &'a RunCx<'a>, function: &'a RArc<Function>) -> impl FnMut() + 'a {
        let module = IRModule::new();
        move || {
            self.bench_cx(cx, &module, |call| drop(std::hint::black_box(self.object.run_function(&call, function))));
        }
    }

    /// Calls `body` with the context of the pass, for benchmarks that call its Rust function.
    #[doc(hidden)]
    pub fn bench_cx<R>(&self, cx: &RunCx<'_>, module: &IRModule, body: impl FnOnce(CallCx<'_>) -> R) -> R {
        let run = Run::new(cx, self.record());
        let state = CallState::new(&run, self, module, "");
        body(state.call())
    }

    pub(crate) fn failure(&self, error: PassError) -> PassFailure {
        let PluginRecord { name, version, .. } = self.plugin();
        PassFailure { pass: self.record().name.clone(), plugin: name.clone(), version: version.clone(), error }
    }

    fn call<T>(
        &self,
        run: &Run<'_>,
        module: &IRModule,
        global: &str,
        f: impl FnOnce(&CallCx<'_>) -> Result<ROption<T>, PassError>,
    ) -> Call<T> {
        let state = CallState::new(run, self, module, global);
        let call = state.call();
        let result = f(&call).map(ROption::into_option).map_err(cut_error);
        // If the host failed during a call, the plugin's result is discarded.
        let result = state.fault().map_or(result, Err);
        let result = match global {
            "" => result,
            global => result.map_err(|error| error.in_function(global)),
        };
        // The operator's plugin has failed, whatever the pass does next.
        let broken = state.broken.into_inner().unwrap_or_else(PoisonError::into_inner);
        let result = match broken {
            None => result,
            Some(error) => Err(error.in_function(global)),
        };
        Call { result, said: state.said.into_inner().unwrap_or_else(PoisonError::into_inner) }
    }

    /// Passes on the messages; an error among them is the pass's, unless it failed otherwise.
    fn settle<T>(&self, cx: &RunCx<'_>, call: Call<T>) -> Result<Option<T>, PassFailure> {
        call.said.iter().for_each(|said| cx.sink.diagnostic(self.record(), said));
        let new = call.result.map_err(|error| self.failure(error))?;
        match first_error(&call.said) {
            None => Ok(new),
            Some(error) => Err(self.failure(error)),
        }
    }

    fn run_module(&self, module: &IRModule, run: &Run<'_>) -> Result<Outcome, PassFailure> {
        let call = self.call(run, module, "", |call| self.object.run_module(call, module).into_result());
        Ok(match self.settle(run.cx, call)? {
            None => Outcome::default(),
            Some(new) => Outcome { changed: changed_globals(module, &new), module: Some(new) },
        })
    }

    /// Runs on each global that a pass of this level sees; the results come out in module order.
    fn run_globals<T: Send + Sync + IntoGlobal>(
        &self,
        module: &IRModule,
        run: &Run<'_>,
        enter: impl Fn(&CallCx<'_>, &RArc<T>) -> Result<ROption<RArc<T>>, PassError> + Sync,
    ) -> Result<Outcome, PassFailure>
    where
        RArc<T>: Send + Sync,
    {
        let shown: Vec<(&str, &RArc<T>)> =
            module.globals().iter().filter_map(|global| Some((global.name.as_str(), T::shown(global)?))).collect();
        let one = |&(name, old): &(&str, &RArc<T>)| {
            // After a cancellation, globals that have not begun do not begin.
            if run.cx.cancel.load(Ordering::Relaxed) {
                return Call { result: Err(cancelled()), said: Vec::new() };
            }
            self.call(run, module, name, |call| enter(call, old))
        };
        let calls: Vec<Call<RArc<T>>> = if self.record().parallel && shown.len() > 1 {
            let entered = || run.context.push_quietly();
            run.cx.install(|| shown.par_iter().map_init(entered, |_, shown| one(shown)).collect())
        } else {
            shown.iter().map(one).collect()
        };
        let mut outcome = Outcome::default();
        let mut changed = Vec::new();
        for ((name, _), call) in shown.iter().zip(calls) {
            if let Some(new) = self.settle(run.cx, call)? {
                changed.push((*name, new));
                outcome.changed.push((*name).to_owned());
            }
        }
        if !changed.is_empty() {
            T::set_all(outcome.module.insert(module.clone()), changed);
        }
        Ok(outcome)
    }

    /// Runs the members that are on (rule R11), with their requirements.
    fn run_steps(&self, module: &IRModule, cx: &RunCx<'_>) -> Result<Outcome, PassFailure> {
        let made = || {
            let callee = Callee::Named(&self.record().name, self.options.clone());
            let scope = scope_of(&PassContext::current(), cx.config);
            Pipeline::of_call(callee, &scope, Some(cx.nest.dependencies), cx.nest.catalogue).map_err(host_error)
        };
        let new = made().and_then(|pipeline| {
            let diagnostics = |diagnostic: Diagnostic| cx.sink.diagnostic(self.record(), &diagnostic);
            let progress = |done, total| cx.sink.progress(self.record(), done, total);
            let inner = cx.for_passes(&diagnostics, &progress, &|_, _| {});
            run_nested(&pipeline, module, &inner)
        });
        let new = new.map_err(|error| self.failure(error))?;
        let changed = new.as_ref().map(|new| changed_globals(module, new)).unwrap_or_default();
        Ok(Outcome { module: new, changed })
    }
}

/// Returns the settings of a context, with additional options.
pub(crate) fn scope_of(context: &PassContext, config: &BTreeMap<String, Value>) -> Scope {
    let mut scope = context.settings().clone();
    scope.config.extend(config.iter().map(|(key, value)| (key.clone(), value.clone())));
    scope
}

/// Turns the faults of a requested pass into an error for the caller.
pub(crate) fn host_error(faults: Faults) -> PassError {
    let mut list = faults.list.into_iter();
    let Some(first) = list.next() else { return PassError::with_kind(error_kind::HOST, "it cannot be made") };
    let more = list.map(|fault| fault.message).collect::<Vec<_>>();
    let message = std::iter::once(first.message).chain(more).collect::<Vec<_>>().join("; ");
    let error = PassError::with_kind(error_kind::HOST, message);
    first.notes.iter().map(String::as_str).chain(first.help.as_deref()).fold(error, PassError::help)
}

/// The result of a call.
struct Call<T> {
    result: Result<Option<T>, PassError>,
    said: Vec<Diagnostic>,
}

/// The first thing of severity error among what a pass said, as what the pass failed with (rule R26).
pub(crate) fn first_error(said: &[Diagnostic]) -> Option<PassError> {
    let rec = said.iter().map(Diagnostic::rec).find(|rec| rec.severity >= Severity::ERROR)?;
    let error = PassError::new(&rec.message).code(&rec.code).at(rec.node).in_function(&rec.function);
    Some(error.help(&rec.help))
}

pub(crate) fn cancelled() -> PassError {
    PassError::with_kind(error_kind::CANCELLED, "cancelled")
}

/// An entry of a module.
pub(crate) trait IntoGlobal: Sized {
    /// Returns the part of a global that a pass of this level sees.
    fn shown(global: &Global) -> Option<&RArc<Self>>;

    fn set_all(module: &mut IRModule, new: Vec<(&str, RArc<Self>)>);
}

impl IntoGlobal for Function {
    /// The function, unless it asks to be left alone (rule R13).
    fn shown(global: &Global) -> Option<&RArc<Self>> {
        let function = global.function()?;
        let attrs = function.attrs(function.root());
        let skips = |name: &str| match attrs.meta(name) {
            None | Some(AttrValue::Int(0)) => false,
            Some(_) => true,
        };
        (!skips("SkipOptimization") && !skips("Compiler")).then_some(function)
    }

    fn set_all(module: &mut IRModule, new: Vec<(&str, RArc<Self>)>) {
        module.set_functions(new);
    }
}

impl IntoGlobal for PrimFunc {
    fn shown(global: &Global) -> Option<&RArc<Self>> {
        global.prim_func()
    }

    fn set_all(module: &mut IRModule, new: Vec<(&str, RArc<Self>)>) {
        new.into_iter().for_each(|(name, new)| module.set_prim_func(name, new));
    }
}

fn changed_globals(old: &IRModule, new: &IRModule) -> Vec<String> {
    let index = |module: &IRModule| -> BTreeMap<String, Global> {
        module.globals().iter().map(|global| (global.name.to_string(), global.clone())).collect()
    };
    let (old_globals, new_globals) = (index(old), index(new));
    let is_changed = |global: &&Global| {
        let other = old_globals.get(global.name.as_str());
        other.is_none_or(|other| !other.is_same(global))
    };
    let removed = old.globals().iter().filter(|global| !new_globals.contains_key(global.name.as_str()));
    let changed = new.globals().iter().filter(is_changed).chain(removed);
    changed.map(|global| global.name.to_string()).collect()
}
