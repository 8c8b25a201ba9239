//! Instruments, which watch passes (rules R17 to R20).

use super::{AnalysisUse, PassFacts, PassMessage};
use relais_plugin_api::{
    boundary::{guard::caught, record::Level},
    diagnostics::PassError,
    ir::IRModule,
    pass::Requirement,
};
use std::{
    fmt,
    time::{Duration, Instant},
};

/// An instrument's view of a pass.
#[derive(Clone, Copy, Debug)]
pub struct PassInfo<'a> {
    /// Its full name.
    pub name: &'a str,
    /// The plugin that provides it; empty for a sequence of the pipeline.
    pub plugin: &'a str,
    /// The unit that it receives.
    pub level: Level,
    /// Its optimisation level.
    pub opt_level: u8,
    /// The names of the passes that it requires.
    pub required: &'a [Requirement],
}

impl<'a> From<&'a PassFacts> for PassInfo<'a> {
    fn from(facts: &'a PassFacts) -> Self {
        let PassFacts { name, plugin, level, opt_level, required, .. } = facts;
        Self { name, plugin, level: *level, opt_level: *opt_level, required }
    }
}

/// Watches passes. Hooks run in the order of the list; only the innermost context's instruments are asked.
pub trait PassInstrument: Send + Sync {
    /// Its name.
    fn name(&self) -> &str;

    /// Its context is about to be entered.
    ///
    /// # Errors
    /// Returns an error if it fails, which keeps the context from being entered.
    fn enter(&self) -> Result<(), PassError> {
        Ok(())
    }

    /// Its context was left.
    ///
    /// # Errors
    /// Returns an error if it fails.
    fn exit(&self) -> Result<(), PassError> {
        Ok(())
    }

    /// Whether a pass may run. Every instrument is asked; one veto is enough.
    ///
    /// # Errors
    /// Returns an error if it fails, which fails the run.
    fn should_run(&self, _module: &IRModule, _pass: &PassInfo<'_>) -> Result<bool, PassError> {
        Ok(true)
    }

    /// A pass is about to run.
    ///
    /// # Errors
    /// Returns an error if it fails, which fails the run.
    fn before(&self, _module: &IRModule, _pass: &PassInfo<'_>) -> Result<(), PassError> {
        Ok(())
    }

    /// A pass ran; the module is its result.
    ///
    /// # Errors
    /// Returns an error if it fails, which fails the run.
    fn after(&self, _module: &IRModule, _pass: &PassInfo<'_>) -> Result<(), PassError> {
        Ok(())
    }

    /// A pass did not run, for a reason other than its level and the lists.
    fn skipped(&self, _module: &IRModule, _pass: &PassInfo<'_>, _reason: &SkipReason) {}

    /// A pass that `before` was called for failed; no `after` follows.
    fn failed(&self, _pass: &PassInfo<'_>, _error: &PassError) {}

    /// The time of the running pass by itself, without the hooks around it. Not a hook: nothing may depend on it.
    fn took(&self, _pass: &PassInfo<'_>, _duration: Duration) {}

    /// The time that the driver took to infer types within the running pass. Not a hook: nothing may depend on it.
    fn types_took(&self, _duration: Duration) {}

    /// Reports how the running pass used an analysis, with what it took to compute. Not a hook: nothing may depend on it.
    fn analysed(&self, _pass: &PassInfo<'_>, _analysis: &str, _used: &AnalysisUse) {}

    /// Reports a count of a pass: called before its `after` or `failed`, in the order of the names.
    fn counted(&self, _pass: &PassInfo<'_>, _statistic: &str, _n: u64) {}

    /// Reports a message of a pass: called before its `after` or `failed`, in module order.
    fn said(&self, _pass: &PassInfo<'_>, _said: &PassMessage) {}

    /// Whether it reads remarks. If one instrument does, passes make them.
    fn wants_remarks(&self) -> bool {
        false
    }

    /// Returns the deadline of a pass that begins now: at that time it is asked to stop, as by a cancellation.
    fn deadline(&self, _pass: &PassInfo<'_>) -> Option<Deadline> {
        None
    }

    /// Whether the result of a pass is accepted. If not, the pass failed, and the policy decides.
    ///
    /// # Errors
    /// Returns an error if it is not.
    fn accept(&self, _module: &IRModule, _pass: &PassInfo<'_>) -> Result<(), PassError> {
        Ok(())
    }

    /// Whether it limits the whole run: it watches in the scopes of a pipeline that have instruments of their own, too (rule
    /// R9).
    fn is_limit(&self) -> bool {
        false
    }

    /// Returns its findings. Called after its context was left, also after a fault.
    fn findings(&self) -> Option<InstrumentFindings> {
        None
    }
}

/// When a pass has to be done.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Deadline {
    /// The moment.
    pub at: Instant,
    /// The message about a pass that misses the deadline, after its name.
    pub message: String,
    /// How long after the moment a pass that does not stop ends the process; never by default.
    pub ends_after: Option<Duration>,
}

/// The findings of an instrument, for people and for programs.
#[derive(Clone, PartialEq, Debug)]
pub struct InstrumentFindings {
    /// As text: whole lines.
    pub text: String,
    /// As data.
    pub data: serde_json::Value,
}

/// Why a pass did not run.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SkipReason {
    /// An instrument said no.
    Vetoed,
    /// It is a requirement, and its result holds.
    Holds,
    /// It left this same module unchanged before, in an earlier round of a fixpoint.
    Settled,
    /// A pass that it requires did not run.
    RequirementLost(String),
    /// A pass of its plugin failed, and the policy is to exclude the plugin.
    Quarantined,
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Vetoed => f.write_str("vetoed by an instrument"),
            Self::Holds => f.write_str("what it establishes holds"),
            Self::Settled => f.write_str("it left this module unchanged before"),
            Self::RequirementLost(name) => write!(f, "`{name}`, which it requires, did not run"),
            Self::Quarantined => f.write_str("its plugin is in quarantine"),
        }
    }
}

/// The hooks that may fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Hook {
    /// It was being made.
    Make,
    /// See [`PassInstrument::enter`].
    Enter,
    /// See [`PassInstrument::exit`].
    Exit,
    /// See [`PassInstrument::should_run`].
    ShouldRun,
    /// See [`PassInstrument::before`].
    Before,
    /// See [`PassInstrument::after`].
    After,
    /// See [`PassInstrument::skipped`]. It cannot fail except by a panic, like those below.
    Skipped,
    /// See [`PassInstrument::failed`].
    Failed,
    /// See [`PassInstrument::counted`].
    Counted,
    /// See [`PassInstrument::said`].
    Said,
    /// See [`PassInstrument::took`].
    Took,
    /// See [`PassInstrument::findings`].
    Findings,
}

impl Hook {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Make => "make",
            Self::Enter => "enter",
            Self::Exit => "exit",
            Self::ShouldRun => "should_run",
            Self::Before => "before",
            Self::After => "after",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
            Self::Counted => "counted",
            Self::Said => "said",
            Self::Took => "took",
            Self::Findings => "findings",
        }
    }
}

/// A hook that failed.
#[derive(Debug)]
pub struct HookFault {
    /// The instrument.
    pub instrument: String,
    /// The hook.
    pub hook: Hook,
    /// Its error.
    pub error: PassError,
    /// Faults during the cleanup after it.
    pub also: Vec<HookFault>,
}

impl HookFault {
    pub(crate) fn new(instrument: &dyn PassInstrument, hook: Hook, error: PassError) -> Self {
        let name = caught(|| instrument.name().to_owned()).unwrap_or_else(|_| "?".into());
        Self { instrument: name, hook, error, also: Vec::new() }
    }
}

impl fmt::Display for HookFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { instrument, hook, error, also } = self;
        write!(f, "instrument `{instrument}` failed at `{}`: {error}", hook.name())?;
        for HookFault { instrument, hook, error, .. } in also {
            write!(f, "\n  then instrument `{instrument}` failed at `{}`: {error}", hook.name())?;
        }
        Ok(())
    }
}

impl std::error::Error for HookFault {}
