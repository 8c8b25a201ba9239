//! One execution of a pass: its input, accepting its result, and the consequences of a failure (rules R15, R25).

use super::{
    checks::Interface,
    deadline,
    machine::{Machine, Stop, Turn, blamed},
    module_state::{PassTypes, Taken},
    report::{FailureKind, Fate, MAX_FAULTS, PassFault},
};
use crate::{
    pass::{
        Deadline, HookFault, Nest, OnFailure, PassContext, PassFacts, PassInfo, PassMessage, Remarks, RunCx,
        RunnablePass, Touched, Verify, Watch, cancelled, check_module, check_preserved,
    },
    pipeline::PassInstance,
};
use relais_plugin_api::{
    diagnostics::{Diagnostic, PassError},
    ir::{Global, IRModule},
    options::Value,
    pass::check_file_name,
};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// Whether two modules have exactly the same content, like an unchanged copy.
fn is_same(a: &IRModule, b: &IRModule) -> bool {
    let is_same = |(a, b): (&Global, &Global)| a.name == b.name && a.is_same(b);
    a.globals().len() == b.globals().len()
        && a.globals().iter().zip(b.globals()).all(is_same)
        && a.attrs == b.attrs
        && a.sources.len() == b.sources.len()
}

/// Whether a pass may change the interface of the entry function: its record names the option that asks for it.
fn interface(pass: &PassInstance) -> Interface {
    let option = pass.facts.changes_interface.as_deref();
    if option == Some("") {
        return Interface::Open;
    }
    let asked = option.and_then(|option| pass.options.get(option));
    match asked {
        None | Some(Value::Bool(false)) => Interface::Kept,
        Some(Value::List(list)) if list.is_empty() => Interface::Kept,
        Some(Value::Str(text)) if text.is_empty() => Interface::Kept,
        Some(_) => Interface::Open,
    }
}

/// A call of a pass on the current module.
pub(super) type Work = dyn Fn(&dyn RunnablePass, &IRModule, &RunCx<'_>) -> Result<Option<IRModule>, PassError> + Sync;

static NEVER: AtomicBool = AtomicBool::new(false);

/// The messages, counts and files of a pass while it runs, from any thread.
#[derive(Default)]
pub(super) struct Heard {
    said: Mutex<Vec<Diagnostic>>,
    pub(super) counts: Mutex<BTreeMap<String, u64>>,
    files: Mutex<BTreeMap<String, Vec<u8>>>,
}

impl Heard {
    fn count(&self, statistic: &str, n: u64) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(statistic.to_owned()).or_default();
        *count = count.saturating_add(n);
    }

    fn file(&self, known: &BTreeMap<String, Vec<u8>>, name: &str, contents: &[u8]) -> Result<(), PassError> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        check_file_name(name, known.keys().chain(files.keys()).map(String::as_str))?;
        files.insert(name.to_owned(), contents.to_owned());
        Ok(())
    }
}

impl<'a> Machine<'a> {
    pub(super) fn execute(&mut self, watch: &Watch, pass: usize, info: &PassInfo<'a>) -> Result<(), Stop> {
        let pipeline = self.pipeline;
        let instance = &pipeline.passes[pass];
        let facts: &'a PassFacts = &instance.facts;
        watch.before(self.state.module(), info)?;
        if let Some(progress) = self.options.progress {
            progress.begins(&facts.name);
        }
        match facts.plugin.as_str() {
            "" => log::debug!("pass `{}` of the program begins", facts.name),
            plugin => log::debug!("pass `{}` of plugin `{plugin}` begins", facts.name),
        }
        self.n_executions += 1;
        if self.is_stopped() {
            self.report.stopped_after = Some((self.n_executions, facts.name.clone()));
        }
        let heard = Heard::default();
        let deadline = watch.deadline(info);
        let began = Instant::now();
        let result = self.call(watch, pass, &heard, deadline.as_ref(), &|pass, module, cx| pass.run(module, cx));
        let duration = began.elapsed();
        watch.took(info, duration);
        if let Some(progress) = self.options.progress {
            progress.took(&facts.name, duration);
        }
        let files = std::mem::take(&mut *heard.files.lock().unwrap_or_else(PoisonError::into_inner));
        self.pass_on(watch, facts, info, heard);
        let result = match result {
            Ok(result) => result,
            Err(fault) => {
                watch.failed(info, &fault.error);
                return Err(Stop::Hook(fault));
            }
        };
        let n_nodes = self.state.n_nodes();
        // Those of a pass that another one runs are files of that one.
        let result = match self.outer {
            Some(outer) => result.and_then(|new| {
                let mut files = files.iter();
                files.try_for_each(|(name, contents)| (outer.file)(name, contents)).map(|()| new)
            }),
            None => result,
        };
        let taken = result.and_then(|new| match new {
            None => Ok(None),
            Some(new) if is_same(&new, self.state.module()) => Ok(None),
            Some(new) => {
                let analyses = self.outer.and_then(|outer| outer.nest.analyses).unwrap_or(&self.own_analyses);
                let plan = analyses.plan(self.state.module(), &new);
                let (catalogue, verify) = (self.catalogue, self.verify);
                let accept = |module: &IRModule, touched: &Touched| {
                    let carried = analyses.carried(&plan, module, touched, facts);
                    if verify == Verify::Each {
                        check_preserved(&carried, module, facts, catalogue)?;
                    }
                    watch.accept(module, info)?;
                    analyses.carry(carried);
                    Ok(())
                };
                let stated = match facts.establishes_types && verify != Verify::Each {
                    true => PassTypes::Believed,
                    false => PassTypes::Checked,
                };
                self.state.take(new, catalogue, verify, interface(instance), stated, &accept).map(Some)
            }
        });
        if self.outer.is_none() && matches!(taken, Ok(Some(_))) {
            self.own_analyses.retain(self.state.module());
        }
        self.pass_on_analyses(watch, info);
        match taken {
            Ok(taken) => {
                self.report.files.extend(files);
                self.succeeded(watch, pass, info, duration, n_nodes, taken)
            }
            Err(error) => self.failed(watch, pass, info, duration, error),
        }
    }

    /// Passes the use of analyses on to the instruments.
    fn pass_on_analyses(&self, watch: &Watch, info: &PassInfo<'_>) {
        for (name, used) in self.analyses().take_used() {
            watch.analysed(info, &name, &used);
        }
    }

    /// Passes the messages and counts of a pass on to the instruments.
    pub(super) fn pass_on(&mut self, watch: &Watch, facts: &PassFacts, info: &PassInfo<'_>, heard: Heard) {
        if let Some(outer) = self.outer {
            // It is reported as a message of the calling pass.
            let said = heard.said.into_inner().unwrap_or_else(PoisonError::into_inner);
            said.into_iter().for_each(|diagnostic| (outer.diagnostics)(diagnostic));
            for (statistic, n) in heard.counts.into_inner().unwrap_or_else(PoisonError::into_inner) {
                (outer.count)(&format!("{}: {statistic}", facts.name), n);
            }
            return;
        }
        let before = self.state.module();
        let said = heard.said.into_inner().unwrap_or_else(PoisonError::into_inner);
        for diagnostic in said {
            let said = PassMessage::new(&facts.name, diagnostic, before);
            watch.said(info, &said);
            if let Some(progress) = self.options.progress {
                progress.said(&said);
            }
            self.report.said.push(said);
        }
        for (statistic, n) in heard.counts.into_inner().unwrap_or_else(PoisonError::into_inner) {
            watch.counted(info, &statistic, n);
            if let Some(progress) = self.options.progress {
                progress.counted(&facts.name, &statistic, n);
            }
            let count = self.counts.entry((facts.name.clone(), statistic)).or_default();
            *count = count.saturating_add(n);
        }
    }

    /// Does a pass's work, as `work` says.
    ///
    /// # Errors
    /// Returns an error if a hook fails for a pass that this one runs.
    pub(super) fn call(
        &self,
        watch: &Watch,
        pass: usize,
        heard: &Heard,
        deadline: Option<&Deadline>,
        work: &Work,
    ) -> Result<Result<Option<IRModule>, PassError>, HookFault> {
        let cancel = self.options.cancel.unwrap_or(&NEVER);
        if cancel.load(Ordering::Relaxed) {
            return Ok(Err(cancelled()));
        }
        let diagnostics = |diagnostic| heard.said.lock().unwrap_or_else(PoisonError::into_inner).push(diagnostic);
        let outer = self.outer.map(|outer| outer.progress);
        let remarks = if watch.wants_remarks() { Remarks::Show } else { self.options.remarks };
        let progress = self.options.progress;
        // A nested scope is the current context of its passes (rule R10); its hooks are the run's.
        let nested = (self.scopes.len() > 1).then(|| {
            let around = watch.contexts().first().cloned().unwrap_or_default();
            Arc::new(around.with_settings(self.scope().clone()))
        });
        let _guard = nested.as_ref().map(|context| context.adopt());
        let run = |cancel: &AtomicBool| {
            let cx = RunCx {
                diagnostics: &diagnostics,
                progress: &|done, total| match (progress, outer) {
                    (Some(progress), _) => progress.is_at(done, total),
                    (None, Some(outer)) => outer(done, total),
                    (None, None) => {}
                },
                count: &|statistic, n| heard.count(statistic, n),
                file: &|name, contents| heard.file(&self.report.files, name, contents),
                remarks,
                cancel,
                config: &self.scope().config,
                pool: None,
                catalogue: self.catalogue,
                nest: self.nest(watch),
            };
            work(&**self.pipeline.passes[pass].pass(), self.state.module(), &cx)
        };
        let result = match deadline {
            None => run(cancel),
            Some(deadline) => {
                let PassFacts { name, plugin, .. } = &*self.pipeline.passes[pass].facts;
                let of_plugin = if plugin.is_empty() { String::new() } else { format!(" of plugin `{plugin}`") };
                deadline::keep(deadline, &format!("pass `{name}`{of_plugin}"), cancel, run)
            }
        };
        PassContext::current().take_fault().map_or(Ok(result), Err)
    }

    /// Returns the settings for the passes that a pass runs.
    fn nest<'b>(&'b self, watch: &'b Watch) -> Nest<'b> {
        let run = &self.pipeline.run;
        let around = self.outer.map(|outer| outer.nest);
        let around = around.unwrap_or_else(|| Nest::alone().under(run.on_failure));
        around.within(run.dependencies, self.verify, self.quarantine(), watch, self.analyses())
    }

    /// Keeps the data for a reproducer of a failing pass.
    fn keep_fault(&mut self, pass: usize, error: &PassError) {
        if self.report.faults.len() < MAX_FAULTS {
            self.report.faults.push(PassFault {
                pass,
                execution: self.n_executions,
                module: self.state.module().clone(),
                scope: self.scope().clone(),
                verify: self.verify,
                error: error.clone(),
            });
        }
    }

    fn succeeded(
        &mut self,
        watch: &Watch,
        pass: usize,
        info: &PassInfo<'a>,
        duration: Duration,
        n_nodes: u64,
        taken: Option<Taken>,
    ) -> Result<(), Stop> {
        let facts = &self.pipeline.passes[pass].facts;
        let version = self.state.version();
        let (fate, types, is_alike) = match taken {
            Some(Taken { types, is_alike, overruled }) => {
                if let Some(why) = overruled {
                    let what = format!("`{}` states a type that cannot be: {why}, which counts", facts.name);
                    // Once, in however many rounds.
                    if !self.report.warnings.contains(&what) {
                        self.report.warnings.push(what);
                    }
                }
                (Fate::Changed, types, is_alike)
            }
            None => {
                self.settled.insert(pass, version);
                (Fate::Unchanged, Duration::ZERO, false)
            }
        };
        self.types_hold |= facts.establishes_types;
        if facts.establishes_types && is_alike {
            // The results of passes hold with types, too.
            self.left.values_mut().filter(|left| **left + 1 == version).for_each(|left| *left = version);
        }
        self.left.insert(pass, version);
        if types > Duration::ZERO {
            watch.types_took(types);
        }
        self.record(facts, duration, types, n_nodes, fate);
        watch.after(self.state.module(), info)?;
        self.last = Turn::Done;
        Ok(())
    }

    fn failed(
        &mut self,
        watch: &Watch,
        pass: usize,
        info: &PassInfo<'a>,
        duration: Duration,
        error: PassError,
    ) -> Result<(), Stop> {
        let pipeline = self.pipeline;
        let facts: &'a PassFacts = &pipeline.passes[pass].facts;
        self.keep_fault(pass, &error);
        watch.failed(info, &error);
        // For example an operator's.
        let at_fault = error.rec().plugin.to_string();
        let is_suspicious = error.is_panic() && self.verify == Verify::Off;
        let kind = match is_suspicious.then(|| check_module(self.state.module())) {
            // A pass is not at fault for errors that others left.
            Some(Err(broken)) => self.broken(broken.with_note(format!("then `{}` {error}", facts.name))),
            _ => FailureKind::pass(facts, error, self.state.module()),
        };
        let kind = Box::new(kind);
        let fate = Fate::Failed(kind.to_string());
        self.record(facts, duration, Duration::ZERO, self.state.n_nodes(), fate);
        self.last = Turn::Lost;
        let on_failure = self.outer.map_or(pipeline.run.on_failure, |outer| outer.nest.on_failure);
        if on_failure == OnFailure::Quarantine {
            self.quarantine().insert(if at_fault.is_empty() { blamed(facts) } else { &at_fault });
        }
        // A run that was cancelled does not go on, whatever the policy.
        let is_cancelled = self.options.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed));
        match self.pipeline.run.on_failure {
            _ if is_cancelled => return Err(Stop::Pass(kind)),
            OnFailure::Fail => return Err(Stop::Pass(kind)),
            OnFailure::Skip => self.report.warnings.push(format!("{kind}\n  the run goes on without it")),
            OnFailure::Quarantine => {
                let (what, guilty) = match at_fault.as_str() {
                    "" if facts.plugin.is_empty() => ("pass", blamed(facts)),
                    "" => ("plugin", blamed(facts)),
                    other => ("plugin", other),
                };
                self.report.warnings.push(format!("{kind}\n  the run goes on without {what} `{guilty}`"));
            }
        }
        Ok(())
    }
}
