//! The driver: a pipeline's steps, with a stack of its own.

use super::{
    ManagerOptions,
    module_state::ModuleState,
    report::{Execution, Failure, FailureKind, Fate, RunReport, Statistic},
};
use crate::{
    instruments::{self, StandardError},
    pass::{
        Analyses, Catalogue, ContextError, Dependencies, Hook, HookFault, PassContext, PassFacts, PassInfo,
        PassInstrument, Quarantine, RunCx, Scope, SkipReason, Verify, Watch, check_programs,
    },
    pipeline::{Pipeline, ResolvedStep},
};
use relais_plugin_api::{
    boundary::{guard::caught, record::Level},
    diagnostics::{Diagnostic, PassError},
    ir::IRModule,
    options::Value,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, Instant},
};

pub(super) struct Machine<'a> {
    pub(super) pipeline: &'a Pipeline,
    pub(super) catalogue: &'a dyn Catalogue,
    pub(super) options: &'a ManagerOptions<'a>,
    pub(super) state: ModuleState,
    pub(super) verify: Verify,
    frames: Vec<Frame<'a>>,
    /// The contexts that are open, innermost last.
    pub(super) scopes: Vec<&'a Scope>,
    /// The instruments of scopes, by the scope's step.
    scoped: BTreeMap<usize, Vec<Arc<dyn PassInstrument>>>,
    /// How many scopes with instruments are open.
    n_watched_scopes: usize,
    /// How many fixpoints are open.
    pub(super) n_fixpoints: usize,
    /// For each pass that ran, the version of the module that it left.
    pub(super) left: BTreeMap<usize, u64>,
    /// For each pass that changed nothing, the version of the module that it saw.
    pub(super) settled: BTreeMap<usize, u64>,
    /// Whether types hold, as after the pass that infers them.
    pub(super) types_hold: bool,
    quarantine: Quarantine,
    /// The input of the pass that runs this one.
    pub(super) outer: Option<&'a RunCx<'a>>,
    /// The outcome of the requirement that ran last; read by the pass that requires it.
    pub(super) last: Turn,
    /// The counts of passes, by a pass's full name and a statistic's name.
    pub(super) counts: BTreeMap<(String, String), u64>,
    /// The results of analyses, unless this is a part of a run that has them.
    pub(super) own_analyses: Arc<Analyses>,
    /// How many passes were executed.
    pub(super) n_executions: u64,
    /// Faults during the cleanup.
    also: Vec<HookFault>,
    pub(super) report: RunReport,
}

/// How many scopes with instruments may be within each other.
const MAX_WATCHED_SCOPES: usize = 64;

/// Something that is under way.
enum Frame<'a> {
    /// Steps, one after another.
    Group { steps: &'a [usize], next: usize, end: End<'a> },
    /// A pass whose requirements run.
    Pass { pass: usize, next: usize, role: Role, lost: Option<&'a str> },
    /// A sequence of the pipeline whose requirements run.
    Sequence { sequence: Sequence<'a>, next: usize, lost: Option<&'a str> },
}

/// A sequence of the pipeline.
#[derive(Clone, Copy)]
struct Sequence<'a> {
    name: &'a str,
    opt_level: u8,
    required: &'a [usize],
    steps: &'a [usize],
}

/// The action after the steps of a group.
enum End<'a> {
    Nothing,
    /// The scope is closed.
    Scope,
    /// Another round, perhaps.
    Fixpoint {
        round: u32,
        max_rounds: u32,
        version: u64,
    },
    /// The `after` hooks of a sequence.
    Hooks(PassInfo<'a>),
}

/// Why a pass runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Step,
    /// Something requires it; whether it should run has been asked, under `transitive`.
    Requirement,
}

/// The outcome of a pass.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// It ran, or need not.
    Done,
    /// It did not run, though it should have.
    Lost,
}

/// Why the machine stops.
pub(super) enum Stop {
    Pass(Box<FailureKind>),
    Hook(HookFault),
}

impl From<HookFault> for Stop {
    fn from(fault: HookFault) -> Self {
        Self::Hook(fault)
    }
}

impl<'a> Machine<'a> {
    pub fn new(
        pipeline: &'a Pipeline,
        module: IRModule,
        catalogue: &'a dyn Catalogue,
        options: &'a ManagerOptions<'a>,
    ) -> Self {
        let by_default = if cfg!(debug_assertions) { Verify::Each } else { Verify::Off };
        Self {
            pipeline,
            catalogue,
            options,
            state: ModuleState::new(module),
            verify: options.verify.or(pipeline.run.verify).unwrap_or(by_default),
            frames: Vec::new(),
            scopes: Vec::new(),
            scoped: BTreeMap::new(),
            n_watched_scopes: 0,
            n_fixpoints: 0,
            left: BTreeMap::new(),
            settled: BTreeMap::new(),
            types_hold: false,
            quarantine: Quarantine::default(),
            outer: None,
            last: Turn::Done,
            counts: BTreeMap::new(),
            own_analyses: Arc::default(),
            n_executions: 0,
            also: Vec::new(),
            report: RunReport::default(),
        }
    }

    pub fn run(self) -> Result<(IRModule, RunReport), Box<Failure>> {
        self.within_context(Self::steps)
    }

    /// Runs the one pass that there is (rule R3).
    pub fn run_directly(self) -> Result<(IRModule, RunReport), Box<Failure>> {
        self.within_context(Self::direct)
    }

    /// The same for a pass that runs it: the settings of the run apply. `None` if it changed nothing.
    pub fn run_within(mut self, watch: &Watch, outer: &'a RunCx<'a>) -> Result<Option<IRModule>, Stop> {
        self.outer = Some(outer);
        self.direct(watch)?;
        watch.take_fault().map_or(Ok(()), |fault| Err(Stop::Hook(fault)))?;
        for warning in std::mem::take(&mut self.report.warnings) {
            (outer.diagnostics)(Diagnostic::warning(warning));
        }
        Ok((self.state.version() > 0).then(|| self.state.into_module()))
    }

    /// The only pass. The members of a sequence are subject to levels and lists (rule R11).
    fn direct(&mut self, watch: &Watch) -> Result<(), Stop> {
        let pipeline = self.pipeline;
        self.scopes.push(&pipeline.scope);
        let instance = &pipeline.passes[0];
        let facts = &instance.facts;
        let info = PassInfo::from(&**facts);
        let reason = match self.quarantine().contains(blamed(facts)) {
            true => Some(SkipReason::Quarantined),
            false => (!self.may_run(watch, &info)?).then_some(SkipReason::Vetoed),
        };
        match (reason, &instance.members) {
            (Some(reason), _) => {
                self.skip(watch, facts, &info, reason);
                Ok(())
            }
            (None, Some(members)) => {
                self.check_callee(watch)?;
                watch.before(self.state.module(), &info)?;
                self.frames.push(Frame::Group { steps: members, next: 0, end: End::Hooks(info) });
                self.drain(watch)
            }
            (None, None) => {
                self.check_callee(watch)?;
                self.execute(watch, 0, &info)
            }
        }
    }

    /// Returns the results of analyses that the run keeps.
    pub(super) fn analyses(&self) -> &Arc<Analyses> {
        self.outer.and_then(|outer| outer.nest.analyses).unwrap_or(&self.own_analyses)
    }

    /// Returns the plugins and passes that are excluded for the rest of the run.
    pub(super) fn quarantine(&self) -> &Quarantine {
        self.outer.and_then(|outer| outer.nest.quarantine).unwrap_or(&self.quarantine)
    }

    /// Runs `body` in the context that was entered for it, or in one of the pipeline's own.
    fn within_context(
        mut self,
        body: impl FnOnce(&mut Self, &Watch) -> Result<(), Stop>,
    ) -> Result<(IRModule, RunReport), Box<Failure>> {
        if let Err(fault) = self.make_scoped() {
            return Err(self.failure(Stop::Hook(fault), Vec::new()));
        }
        if let Some(context) = &self.options.context {
            let more = Arc::new(PassContext::default().with_instruments(self.options.instruments.clone()));
            if let Err(fault) = more.enter_instruments() {
                return Err(self.failure(Stop::Hook(fault), Vec::new()));
            }
            let watch = Watch::of(context.clone()).and(more.clone());
            let result = self.watched(&watch, body);
            let left = more.exit_instruments().map_err(ContextError::Hook);
            let instruments = &self.options.instruments;
            return self.finish(result, left, instruments);
        }
        let instruments = match self.instruments() {
            Ok(instruments) => instruments,
            Err(fault) => return Err(self.failure(Stop::Hook(fault), Vec::new())),
        };
        let context = Arc::new(PassContext::new(self.pipeline.scope.clone()).with_instruments(instruments.clone()));
        let guard = match context.enter() {
            Ok(guard) => guard,
            Err(fault) => return Err(self.failure(Stop::Hook(fault), Vec::new())),
        };
        let watch = Watch::of(context);
        let began = Instant::now();
        let result = self.watched(&watch, body);
        self.report.elapsed = began.elapsed();
        let left = guard.leave();
        self.finish(result, left, &instruments)
    }

    fn watched(&mut self, watch: &Watch, body: impl FnOnce(&mut Self, &Watch) -> Result<(), Stop>) -> Result<(), Stop> {
        self.analyses().retain(self.state.module());
        let result = body(self, watch).and_then(|()| self.check_result());
        match watch.take_fault() {
            Some(fault) if result.is_ok() => Err(Stop::Hook(fault)),
            Some(fault) => {
                self.also.push(fault);
                result
            }
            None => result,
        }
    }

    fn finish(
        mut self,
        result: Result<(), Stop>,
        left: Result<(), ContextError>,
        instruments: &[Arc<dyn PassInstrument>],
    ) -> Result<(IRModule, RunReport), Box<Failure>> {
        let mut left = left;
        let scoped: Vec<_> = std::mem::take(&mut self.scoped).into_values().flatten().collect();
        for instrument in instruments.iter().chain(&scoped) {
            match caught(|| Some((instrument.name().to_owned(), instrument.findings()?))) {
                Ok(findings) => self.report.findings.extend(findings),
                Err(error) if left.is_ok() => {
                    left = Err(ContextError::Hook(HookFault::new(&**instrument, Hook::Findings, error)));
                }
                Err(error) => self.also.push(HookFault::new(&**instrument, Hook::Findings, error)),
            }
        }
        self.report.analyses = self.own_analyses.total();
        let counts = std::mem::take(&mut self.counts).into_iter();
        self.report.statistics = counts.map(|((pass, name), count)| Statistic { pass, name, count }).collect();
        match (result, left) {
            (Ok(()), Ok(())) => Ok((self.state.into_module(), self.report)),
            (Ok(()), Err(ContextError::Hook(fault))) => Err(self.failure(Stop::Hook(fault), Vec::new())),
            (Err(stop), Err(ContextError::Hook(fault))) => Err(self.failure(stop, vec![fault])),
            (Ok(()), Err(ContextError::OutOfOrder)) => Ok((self.state.into_module(), self.report)),
            (Err(stop), _) => Err(self.failure(stop, Vec::new())),
        }
    }

    /// Creates the instruments that the pipeline names, followed by those of the caller.
    fn instruments(&self) -> Result<Vec<Arc<dyn PassInstrument>>, HookFault> {
        let mut list = self.made(&self.pipeline.run.instruments)?;
        list.extend(self.options.instruments.iter().cloned());
        Ok(list)
    }

    /// Creates the instruments of scopes.
    fn make_scoped(&mut self) -> Result<(), HookFault> {
        let pipeline = self.pipeline;
        for (node, step) in pipeline.nodes.iter().enumerate() {
            if let ResolvedStep::Scope { instruments: Some(used), .. } = step {
                let made = self.made(used)?;
                self.scoped.insert(node, made);
            }
        }
        Ok(())
    }

    fn made(&self, used: &[(String, Value)]) -> Result<Vec<Arc<dyn PassInstrument>>, HookFault> {
        let output = self.options.output.clone().unwrap_or_else(|| Arc::new(StandardError));
        let make = |(name, options): &(String, Value)| {
            let fault = |error| HookFault { instrument: name.clone(), hook: Hook::Make, error, also: Vec::new() };
            instruments::make(name, options, self.catalogue, &output).map_err(fault)
        };
        used.iter().map(make).collect()
    }

    /// Checks the whole of what comes out of a run, however its passes were checked.
    fn check_result(&self) -> Result<(), Stop> {
        if self.state.version() == 0 {
            return Ok(());
        }
        check_programs(self.state.module()).map_err(|error| Stop::Pass(Box::new(self.broken(error))))
    }

    /// One of the passes that changed the program broke it.
    pub(super) fn broken(&self, error: PassError) -> FailureKind {
        let changed = self.report.executions.iter().filter(|execution| execution.fate == Fate::Changed);
        let shown = |Execution { name, plugin, .. }: &Execution| match plugin.as_str() {
            "" => format!("`{name}`"),
            plugin => format!("`{name}` of plugin `{plugin}`"),
        };
        let passes: BTreeSet<String> = changed.map(shown).collect();
        let error = error.help("`--verify-each` says which pass it was; its author has to mend it");
        FailureKind::Program { passes: passes.into_iter().collect(), error }
    }

    fn failure(mut self, stop: Stop, mut also: Vec<HookFault>) -> Box<Failure> {
        also.append(&mut self.also);
        let kind = match stop {
            Stop::Pass(kind) => *kind,
            Stop::Hook(fault) => FailureKind::Instrument(fault),
        };
        Box::new(Failure { kind, execution: self.n_executions, also, report: self.report })
    }

    fn steps(&mut self, watch: &Watch) -> Result<(), Stop> {
        let pipeline = self.pipeline;
        self.scopes.push(&pipeline.scope);
        self.check_steps(watch)?;
        let whole = Sequence { name: &pipeline.name, opt_level: 0, required: &[], steps: &pipeline.steps };
        self.sequence(watch, whole, 0, None)?;
        self.drain(watch)
    }

    /// Goes on until nothing is under way.
    fn drain(&mut self, watch: &Watch) -> Result<(), Stop> {
        while let Some(frame) = self.frames.pop() {
            let result = match frame {
                Frame::Group { steps, next, end } => match steps.get(next) {
                    Some(&step) if !self.is_stopped() => {
                        self.frames.push(Frame::Group { steps, next: next + 1, end });
                        self.step(watch, step)
                    }
                    _ => self.end(watch, steps, end),
                },
                Frame::Pass { .. } | Frame::Sequence { .. } if self.is_stopped() => Ok(()),
                Frame::Sequence { sequence, next, lost } => self.sequence(watch, sequence, next, lost),
                Frame::Pass { pass, next, role, lost } => self.pass(watch, pass, next, role, lost),
            };
            if let Err(stop) = result {
                self.unwind(watch, &stop);
                return Err(stop);
            }
        }
        Ok(())
    }

    /// Reports the sequences under way to the instruments.
    fn unwind(&mut self, watch: &Watch, stop: &Stop) {
        let error = match stop {
            Stop::Hook(fault) => &fault.error,
            Stop::Pass(kind) => kind.error(),
        };
        while let Some(frame) = self.frames.pop() {
            if let Frame::Group { end: End::Hooks(info), .. } = frame {
                watch.failed(&info, error);
            }
        }
    }

    /// Whether that many passes were executed that nothing more runs.
    pub(super) fn is_stopped(&self) -> bool {
        self.options.stop_after.is_some_and(|most| self.n_executions >= most)
    }

    pub(super) fn scope(&self) -> &'a Scope {
        self.scopes.last().expect("the pipeline's own scope is never closed")
    }

    fn step(&mut self, watch: &Watch, node: usize) -> Result<(), Stop> {
        let pipeline = self.pipeline;
        match &pipeline.nodes[node] {
            &ResolvedStep::Pass { pass, opt_level } => {
                if self.scope().enables(&pipeline.passes[pass].facts.name, opt_level) {
                    self.frames.push(Frame::Pass { pass, next: 0, role: Role::Step, lost: None });
                }
            }
            &ResolvedStep::Sequence { ref name, opt_level, ref required, ref steps } => {
                if self.scope().enables(name, opt_level) {
                    let sequence = Sequence { name, opt_level, required, steps };
                    self.frames.push(Frame::Sequence { sequence, next: 0, lost: None });
                }
            }
            ResolvedStep::Fixpoint { steps, max_rounds } => {
                self.n_fixpoints += 1;
                let end = End::Fixpoint { round: 1, max_rounds: *max_rounds, version: self.state.version() };
                self.frames.push(Frame::Group { steps, next: 0, end });
            }
            ResolvedStep::Scope { scope, instruments: Some(used), steps } => {
                self.watched_scope(watch, node, scope, used, steps)?;
            }
            ResolvedStep::Scope { scope, instruments: None, steps } => {
                self.scopes.push(scope);
                self.frames.push(Frame::Group { steps, next: 0, end: End::Scope });
            }
            ResolvedStep::When { operators, steps } => {
                if self.state.calls_any(operators) {
                    self.frames.push(Frame::Group { steps, next: 0, end: End::Nothing });
                }
            }
        }
        Ok(())
    }

    /// Runs steps in a context with instruments of its own, which alone watch them, beside those that limit the run (rules R9
    /// and R17). They are entered as often as the steps run.
    fn watched_scope(
        &mut self,
        watch: &Watch,
        node: usize,
        scope: &'a Scope,
        used: &[(String, Value)],
        steps: &'a [usize],
    ) -> Result<(), Stop> {
        if self.n_watched_scopes == MAX_WATCHED_SCOPES {
            let message = format_args!("more than {MAX_WATCHED_SCOPES} scopes with instruments are within each other");
            let instrument = used.first().map_or_else(String::new, |(name, _)| name.clone());
            return Err(Stop::Hook(HookFault {
                instrument,
                hook: Hook::Make,
                error: PassError::new(message),
                also: Vec::new(),
            }));
        }
        let instruments = self.scoped.get(&node).cloned().unwrap_or_default();
        let context = Arc::new(PassContext::new(scope.clone()).with_instruments(instruments));
        let guard = context.enter()?;
        let inner = Watch::of(context).limited_by(watch);
        let around = std::mem::take(&mut self.frames);
        self.n_watched_scopes += 1;
        self.scopes.push(scope);
        self.frames.push(Frame::Group { steps, next: 0, end: End::Scope });
        let result = self.drain(&inner);
        self.frames = around;
        self.n_watched_scopes -= 1;
        let mut faults = inner.take_fault().into_iter().collect::<Vec<_>>();
        faults.extend(guard.leave().err().and_then(|error| match error {
            ContextError::Hook(fault) => Some(fault),
            ContextError::OutOfOrder => None,
        }));
        let mut faults = faults.into_iter();
        let result = result.and_then(|()| faults.next().map_or(Ok(()), |fault| Err(Stop::Hook(fault))));
        self.also.extend(faults);
        result
    }

    /// Goes on with a sequence that is on: its next requirement, or itself. It may be vetoed, and its hooks are around those
    /// of its members.
    fn sequence(
        &mut self,
        watch: &Watch,
        sequence: Sequence<'a>,
        next: usize,
        lost: Option<&'a str>,
    ) -> Result<(), Stop> {
        let Sequence { name, opt_level, required, steps } = sequence;
        let lost = self.lost(required, next, lost);
        if let Some(&requirement) = required.get(next) {
            self.frames.push(Frame::Sequence { sequence, next: next + 1, lost });
            return self.requirement(watch, requirement, self.is_transitive());
        }
        let info = PassInfo { name, plugin: "", level: Level::SEQUENTIAL, opt_level, required: &[] };
        let reason = match lost {
            Some(lost) => Some(self.without(name, lost)),
            None => (!self.may_run(watch, &info)?).then_some(SkipReason::Vetoed),
        };
        if let Some(reason) = reason {
            watch.skipped(self.state.module(), &info, &reason);
            return Ok(());
        }
        watch.before(self.state.module(), &info)?;
        self.frames.push(Frame::Group { steps, next: 0, end: End::Hooks(info) });
        Ok(())
    }

    fn is_transitive(&self) -> bool {
        self.pipeline.run.dependencies == Dependencies::Transitive
    }

    /// The first requirement that did not run, once the one before `next` has had its turn (rule R6).
    fn lost(&mut self, required: &[usize], next: usize, lost: Option<&'a str>) -> Option<&'a str> {
        let last = std::mem::replace(&mut self.last, Turn::Done);
        let pipeline = self.pipeline;
        match next.checked_sub(1) {
            Some(before) if self.is_transitive() && last == Turn::Lost => {
                lost.or(Some(&pipeline.passes[required[before]].facts.name))
            }
            _ => lost,
        }
    }

    /// Says that something is skipped since a requirement did not run.
    fn without(&mut self, name: &str, lost: &str) -> SkipReason {
        self.report.warnings.push(format!("`{name}` is skipped: `{lost}`, which it requires, did not run"));
        SkipReason::RequirementLost(lost.to_owned())
    }

    fn end(&mut self, watch: &Watch, steps: &'a [usize], end: End<'a>) -> Result<(), Stop> {
        match end {
            End::Nothing => {}
            End::Scope => {
                self.scopes.pop();
            }
            End::Hooks(info) => {
                watch.after(self.state.module(), &info)?;
                self.last = Turn::Done;
            }
            End::Fixpoint { round, max_rounds, version } => {
                let now = self.state.version();
                if now != version && round < max_rounds && !self.is_stopped() {
                    let end = End::Fixpoint { round: round + 1, max_rounds, version: now };
                    self.frames.push(Frame::Group { steps, next: 0, end });
                    return Ok(());
                }
                if now != version && !self.is_stopped() {
                    let message = format!("a fixpoint did not settle in {max_rounds} rounds");
                    self.report.warnings.push(message);
                }
                self.n_fixpoints -= 1;
            }
        }
        Ok(())
    }

    /// Whether the instruments let a pass run; they are not asked about passes that the context requires (rule R17).
    fn may_run(&self, watch: &Watch, info: &PassInfo<'_>) -> Result<bool, Stop> {
        if self.scope().required.contains(info.name) {
            return Ok(true);
        }
        Ok(watch.should_run(self.state.module(), info)?)
    }

    /// Goes on with a pass: its next requirement, or itself.
    fn pass(&mut self, watch: &Watch, pass: usize, next: usize, role: Role, lost: Option<&'a str>) -> Result<(), Stop> {
        let pipeline = self.pipeline;
        let instance = &pipeline.passes[pass];
        let is_transitive = self.is_transitive();
        let required: &'a [usize] = match (is_transitive, role) {
            (false, Role::Requirement) => &[],
            _ => &instance.required,
        };
        let lost = self.lost(required, next, lost);
        if let Some(&requirement) = required.get(next) {
            self.frames.push(Frame::Pass { pass, next: next + 1, role, lost });
            return self.requirement(watch, requirement, is_transitive);
        }
        let facts = &instance.facts;
        let info = PassInfo::from(&**facts);
        let reason = match lost {
            Some(lost) => Some(self.without(&facts.name, lost)),
            None if self.quarantine().contains(blamed(facts)) => Some(SkipReason::Quarantined),
            None if role == Role::Step && self.is_settled(pass) => Some(SkipReason::Settled),
            None => {
                let was_asked = is_transitive && role == Role::Requirement;
                (!was_asked && !self.may_run(watch, &info)?).then_some(SkipReason::Vetoed)
            }
        };
        if let Some(reason) = reason {
            let is_lost = reason != SkipReason::Settled;
            self.skip(watch, facts, &info, reason);
            self.last = if is_lost { Turn::Lost } else { Turn::Done };
            return Ok(());
        }
        match &instance.members {
            Some(members) if facts.level == Level::SEQUENTIAL => {
                watch.before(self.state.module(), &info)?;
                self.frames.push(Frame::Group { steps: members, next: 0, end: End::Hooks(info) });
                Ok(())
            }
            _ => self.execute(watch, pass, &info),
        }
    }

    /// Begins a requirement, unless it is vetoed or its result holds (rules R5, R6).
    fn requirement(&mut self, watch: &Watch, pass: usize, is_transitive: bool) -> Result<(), Stop> {
        let pipeline = self.pipeline;
        let facts = &pipeline.passes[pass].facts;
        if is_transitive {
            let info = PassInfo::from(&**facts);
            let reason = match self.may_run(watch, &info)? {
                false => Some(SkipReason::Vetoed),
                true if self.holds(pass) => Some(SkipReason::Holds),
                true => None,
            };
            if let Some(reason) = reason {
                let is_lost = reason == SkipReason::Vetoed;
                self.skip(watch, facts, &info, reason);
                self.last = if is_lost { Turn::Lost } else { Turn::Done };
                return Ok(());
            }
        }
        self.frames.push(Frame::Pass { pass, next: 0, role: Role::Requirement, lost: None });
        Ok(())
    }

    fn holds(&self, pass: usize) -> bool {
        let is_types = self.types_hold && self.pipeline.passes[pass].facts.establishes_types;
        is_types || self.left.get(&pass) == Some(&self.state.version())
    }

    /// Whether a pass left this same module unchanged before. Outside fixpoints a step runs as often as it is named.
    fn is_settled(&self, pass: usize) -> bool {
        self.n_fixpoints > 0 && self.settled.get(&pass) == Some(&self.state.version())
    }

    fn skip(&mut self, watch: &Watch, facts: &PassFacts, info: &PassInfo<'_>, reason: SkipReason) {
        watch.skipped(self.state.module(), info, &reason);
        log::debug!("pass `{}` is skipped: {reason}", facts.name);
        self.record(facts, Duration::ZERO, Duration::ZERO, self.state.n_nodes(), Fate::Skipped(reason));
    }

    pub(super) fn record(
        &mut self,
        facts: &PassFacts,
        duration: Duration,
        types: Duration,
        n_nodes_before: u64,
        fate: Fate,
    ) {
        self.report.executions.push(Execution {
            name: facts.name.clone(),
            plugin: format!("{} {}", facts.plugin, facts.plugin_version),
            duration,
            types,
            n_nodes_before,
            n_nodes_after: self.state.n_nodes(),
            fate,
        });
    }
}

/// Returns the name to exclude when a pass fails: its plugin, or the pass itself if it is the program's own.
pub(super) fn blamed(facts: &PassFacts) -> &str {
    if facts.plugin.is_empty() { &facts.name } else { &facts.plugin }
}
