//! Passes of plugins that were made, and running them.

#[cfg(target_os = "linux")]
use super::outer::Outer;
use super::{
    rules::HostRules,
    services::{CallState, Entered, Run},
};
use crate::{
    ir::{Function, Global, IRModule},
    manager::{resolve_nested, run_nested},
    pass::{Answer, Member, Order, PassContext, RunCx, RunnablePass, Shown, changed_within, over_globals},
    pipeline::Callee,
    plugin::{Here, Made, PassRecord, PluginRecord, Running, cut_error},
    registry::{CreateError, Provider, Registry},
};
use abi_stable::std_types::{RArc, ROption};
#[cfg(target_os = "linux")]
use relais_plugin_api::boundary::abi::BegunObject;
use relais_plugin_api::{
    boundary::{
        abi::{CallCx, PassObject, StepRec},
        record::Level,
    },
    diagnostics::PassError,
    options::Value,
};
use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, PoisonError},
};

/// A pass that was made, its options set. It may be run often, and from several threads.
pub struct PassHandle {
    registry: Registry,
    provider: Arc<Provider>,
    index: usize,
    options: Value,
    object: Made<PassObject>,
    /// Its rules, if it consists of them and they need no code of the plugin: the host's engine runs them.
    rules: Option<HostRules>,
}

/// A request to a worker about a pass.
#[cfg(target_os = "linux")]
pub(crate) enum Asked<'a> {
    /// Run on a function.
    Function(&'a RArc<Function>),
    /// Run on a loop program.
    PrimFunc(&'a RArc<Function>),
    /// Run on a module.
    Module(&'a IRModule),
    /// Say whether it can work on a module.
    Check(&'a IRModule),
    /// Begin on a module.
    Begin(&'a IRModule),
    /// Run on a function, having begun.
    OnFunction(&'a BegunObject, &'a RArc<Function>),
    /// End on a module.
    End(BegunObject, &'a IRModule),
}

/// The answer to it.
#[cfg(target_os = "linux")]
pub(crate) enum Answered {
    /// Nothing changed, or there is no result.
    Nothing,
    /// A function.
    Function(RArc<Function>),
    /// A module.
    Module(IRModule),
    /// The state of a pass that has begun.
    Begun(BegunObject),
}

/// The result of a pass.
#[derive(Clone, Default)]
pub struct PassOutcome {
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

impl Registry {
    /// Makes a pass, by any of its names; `options` is a table. Its library is opened if it was not.
    ///
    /// # Errors
    /// Returns an error if it has no such options, or its plugin cannot be opened.
    pub fn create(&self, name: &str, options: &Value) -> Result<PassHandle, CreateError> {
        let (provider, index) = self.provider_of_pass(name)?;
        let PassRecord { name, options: schema, rules, level, .. } = &provider.records().passes[index];
        let (options, object) = provider
            .make(&format!("pass `{name}`"), schema, options, |open, options| open.create_pass(name, options))?;
        let rules = rules.as_ref().and_then(|text| HostRules::of(text, *level));
        Ok(PassHandle { registry: self.clone(), provider: provider.clone(), index, options, object, rules })
    }
}

impl PassHandle {
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

    /// Runs the pass, whatever its level. Rules about levels and lists are the caller's (rule R3).
    ///
    /// # Errors
    /// Returns an error if it returns an error, panics, or emits a diagnostic of severity error.
    pub fn run(&self, module: &IRModule, cx: &RunCx<'_>) -> Result<PassOutcome, PassFailure> {
        let new = RunnablePass::run(self, module, cx).map_err(|error| self.failure(error))?;
        let changed = new.as_ref().map(|new| changed_globals(module, new)).unwrap_or_default();
        Ok(PassOutcome { module: new, changed })
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
        let run = self.start(cx);
        let state = CallState::new(&run, module, "");
        body(state.call())
    }

    /// Does one thing for a host in another process; diagnostics and counts go to `cx`.
    #[cfg(target_os = "linux")]
    pub(crate) fn answer(
        &self,
        asked: Asked<'_>,
        global: &str,
        cx: &RunCx<'_>,
        outer: &dyn Outer,
    ) -> Result<Answered, PassError> {
        let _running = Running::new(self.object.what());
        let mut run = self.start(cx);
        run.outer = Some(outer);
        let none = IRModule::new();
        let function = |new: Option<RArc<Function>>| new.map_or(Answered::Nothing, Answered::Function);
        let nothing = |()| Answered::Nothing;
        let answer = self.call(&run, &none, global, |call| match asked {
            Asked::Function(old) => match &self.rules {
                Some(rules) => rules.run(*call, old).map(function),
                None => self.object.run_function(call, old).into_result().map(|new| function(new.into_option())),
            },
            Asked::PrimFunc(old) => match &self.rules {
                Some(rules) => rules.run(*call, old).map(function),
                None => self.object.run_prim_func(call, old).into_result().map(|new| function(new.into_option())),
            },
            Asked::Module(old) => {
                let new = self.object.run_module(call, old).into_result()?.into_option();
                Ok(new.map_or(Answered::Nothing, Answered::Module))
            }
            Asked::Check(module) => match &self.rules {
                Some(rules) => rules.check(*call, module).map(nothing),
                None => self.object.check(call, module).into_result().map(nothing),
            },
            Asked::Begin(module) => self.object.begin(call, module).into_result().map(Answered::Begun),
            Asked::OnFunction(begun, old) => {
                self.object.run_begun(begun, call, old).into_result().map(|new| function(new.into_option()))
            }
            Asked::End(begun, module) => self.object.end(begun, call, module).into_result().map(nothing),
        });
        let result = answer.tell(cx);
        run.tell_counts();
        result
    }

    /// The members of a sequential pass, as its plugin names them.
    #[cfg(target_os = "linux")]
    pub(crate) fn steps(&self) -> Result<Vec<StepRec>, PassError> {
        let _running = Running::new(self.object.what());
        self.object.steps().into_result().map(Into::into)
    }

    fn failure(&self, error: PassError) -> PassFailure {
        let PluginRecord { name, version, .. } = self.plugin();
        PassFailure { pass: self.record().name.clone(), plugin: name.clone(), version: version.clone(), error }
    }

    fn start<'a>(&'a self, cx: &'a RunCx<'a>) -> Run<'a> {
        let mut run = Run::new(cx, &self.registry, self.plugin(), &self.record().statistics);
        run.counts_all = self.provider.is_program();
        run
    }

    fn call<T>(
        &self,
        run: &Run<'_>,
        module: &IRModule,
        global: &str,
        f: impl FnOnce(&CallCx<'_>) -> Result<T, PassError>,
    ) -> Answer<T> {
        let state = CallState::new(run, module, global);
        let call = state.call();
        let entered = Entered::begin();
        let _here = Here::new(self.object.what(), global);
        let result = f(&call).map_err(cut_error);
        drop(entered);
        // If the host failed during a call, the plugin's result is discarded.
        let result = state.fault().map_or(result, Err);
        // The operator's plugin has failed, whatever the pass does next.
        let broken = state.broken.into_inner().unwrap_or_else(PoisonError::into_inner);
        let result = broken.map_or(result, Err);
        let said = state.said.into_inner().unwrap_or_else(PoisonError::into_inner);
        match global {
            "" => Answer::new(result, said),
            global => Answer::new(result, said).in_function(global),
        }
    }

    fn run_module(&self, module: &IRModule, run: &Run<'_>) -> Result<Option<IRModule>, PassError> {
        let answer = self.call(run, module, "", |call| self.object.run_module(call, module).into_result());
        Ok(answer.tell(run.cx)?.into_option())
    }

    /// Runs on the module as a whole, of which the pass may change the globals that one of its level sees.
    fn run_whole(&self, module: &IRModule, run: &Run<'_>, shown: Shown) -> Result<Option<IRModule>, PassError> {
        match self.run_module(module, run)? {
            Some(new) => changed_within(module, &new, shown),
            None => Ok(None),
        }
    }

    /// Runs on each global that a pass of this level sees; the results come out in module order.
    fn run_globals(&self, module: &IRModule, run: &Run<'_>, shown: Shown) -> Result<Option<IRModule>, PassError> {
        let order = if self.record().parallel { Order::Parallel } else { Order::Serial };
        let begin = || self.call(run, module, "", |call| self.object.begin(call, module).into_result()).tell(run.cx);
        let begun = self.record().begins.then(begin).transpose()?;
        let new = over_globals(module, run.cx, shown, order, &run.context, |name, old| {
            self.call(run, module, name, |call| {
                if let Some(rules) = &self.rules {
                    return rules.run(*call, old);
                }
                let new = match (&begun, shown) {
                    (Some(begun), _) => self.object.run_begun(begun, call, old),
                    (None, Shown::Functions) => self.object.run_function(call, old),
                    (None, Shown::PrimFuncs) => self.object.run_prim_func(call, old),
                };
                new.into_result().map(ROption::into_option)
            })
        })?;
        if let Some(begun) = begun {
            let result = new.as_ref().unwrap_or(module);
            self.call(run, module, "", |call| self.object.end(begun, call, result).into_result()).tell(run.cx)?;
        }
        Ok(new)
    }

    /// Runs the members that are on (rule R11), with their requirements.
    fn run_steps(&self, module: &IRModule, cx: &RunCx<'_>) -> Result<Option<IRModule>, PassError> {
        let callee = Callee::Named(&self.record().name, self.options.clone());
        let pipeline = resolve_nested(callee, &PassContext::current(), cx)?;
        run_nested(&pipeline, module, &RunCx { count: &|_, _| {}, ..*cx })
    }
}

impl RunnablePass for PassHandle {
    fn run(&self, module: &IRModule, cx: &RunCx<'_>) -> Result<Option<IRModule>, PassError> {
        let _running = Running::new(self.object.what());
        let PassRecord { level, parallel, .. } = *self.record();
        let is_shared_out = parallel && !matches!(level, Level::MODULE | Level::SEQUENTIAL);
        let nest = if is_shared_out { cx.nest.shared_out() } else { cx.nest };
        let cx = &RunCx { nest, ..*cx };
        let run = &self.start(cx);
        let new = match level {
            Level::MODULE => self.run_module(module, run)?,
            Level::FUNCTION if self.provider.is_program() => self.run_whole(module, run, Shown::Functions)?,
            Level::PRIM_FUNC if self.provider.is_program() => self.run_whole(module, run, Shown::PrimFuncs)?,
            Level::FUNCTION | Level::REWRITE => self.run_globals(module, run, Shown::Functions)?,
            Level::PRIM_FUNC => self.run_globals(module, run, Shown::PrimFuncs)?,
            Level::SEQUENTIAL => self.run_steps(module, cx)?,
            level => {
                let message = format!("passes of level {} are of a later version: update the host", level.0);
                return Err(PassError::new(message));
            }
        };
        run.tell_counts();
        Ok(new)
    }

    fn check(&self, module: &IRModule, cx: &RunCx<'_>) -> Result<(), PassError> {
        let _running = Running::new(self.object.what());
        let answer = self.call(&self.start(cx), module, "", |call| match &self.rules {
            Some(rules) => rules.check(*call, module),
            None => self.object.check(call, module).into_result(),
        });
        answer.tell(cx)
    }

    fn members(&self) -> Result<Vec<Member>, PassError> {
        if self.record().level != Level::SEQUENTIAL {
            return Ok(Vec::new());
        }
        let _running = Running::new(self.object.what());
        let steps = self.object.steps().into_result()?.into_iter();
        let options = |step: &StepRec| Value::decode(&step.options).map_err(PassError::new);
        steps.map(|step| Ok(Member::Named(step.pass.to_string(), options(&step)?))).collect()
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
