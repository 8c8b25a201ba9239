//! Instruments, which watch passes (rules R17 to R20), as a plugin writes them.

pub use crate::abi::instrument::SkipKind;

use crate::{
    context::PassContext,
    options::{PassOptions, Value},
    record::{InstrumentSpec, Level},
};
use relais_ir::{
    IRModule,
    diagnostics::{Diagnostic, PassError},
};
use std::{fmt, time::Duration};

/// An instrument's view of a pass.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
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
    pub required: &'a [&'a str],
}

/// Why a pass did not run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Skipped<'a> {
    /// The kind of reason.
    pub kind: SkipKind,
    /// The reason as text.
    pub reason: &'a str,
}

impl fmt::Display for Skipped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason)
    }
}

/// A message of a pass.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Said<'a> {
    /// The message.
    pub diagnostic: Diagnostic,
    /// The line that it is about, as in the printed text of the module before the pass.
    pub line: Option<&'a str>,
}

/// The findings of an instrument, for people and for programs.
#[derive(Clone, PartialEq, Debug)]
pub struct Findings {
    /// As text: whole lines.
    pub text: String,
    /// As data; a table becomes an object of the report.
    pub data: Value,
}

/// The time that a pass has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TimeLimit {
    /// How long it may take.
    pub duration: Duration,
    /// The message about a pass that takes longer, after its name.
    pub message: String,
}

/// The context of an instrument's hook.
pub struct InstrumentCx<'a> {
    spec: &'a InstrumentSpec,
}

impl<'a> InstrumentCx<'a> {
    pub(crate) fn new(spec: &'a InstrumentSpec) -> Self {
        Self { spec }
    }

    /// The instrument's full name.
    pub fn name(&self) -> &'a str {
        self.spec.name
    }

    /// The context that is current: in `enter` and `exit` the one around the instrument's own.
    pub fn context(&self) -> PassContext {
        PassContext::current()
    }

    /// Logs an error, with the instrument's name.
    pub fn error(&self, message: impl fmt::Display) {
        log::error!("{}: {message}", self.spec.name);
    }

    /// Logs a warning, with the instrument's name.
    pub fn warn(&self, message: impl fmt::Display) {
        log::warn!("{}: {message}", self.spec.name);
    }

    /// Logs something to know, with the instrument's name.
    pub fn info(&self, message: impl fmt::Display) {
        log::info!("{}: {message}", self.spec.name);
    }

    /// Logs a detail, with the instrument's name.
    pub fn debug(&self, message: impl fmt::Display) {
        log::debug!("{}: {message}", self.spec.name);
    }
}

/// Watches passes. Hooks run in the order of the list of instruments; only the innermost context's are asked. They may
/// be called from different threads, one at a time within a run.
///
/// ```
/// use relais_plugin_api::prelude::*;
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// #[derive(Default)]
/// struct Counter(AtomicUsize);
///
/// /// Counts the passes that ran.
/// #[instrument(name = "acme.Counter")]
/// impl Instrument for Counter {
///     fn after(&self, _: &IRModule, _: &PassInfo<'_>, _: &InstrumentCx<'_>) -> Result<(), PassError> {
///         self.0.fetch_add(1, Ordering::Relaxed);
///         Ok(())
///     }
///
///     fn exit(&self, cx: &InstrumentCx<'_>) -> Result<(), PassError> {
///         cx.info(format_args!("{} passes ran", self.0.load(Ordering::Relaxed)));
///         Ok(())
///     }
/// }
/// ```
///
/// The attribute fills in omitted items: `type Options = ();` and a `new` that is `Self::default()`.
pub trait Instrument: Send + Sync + Sized + 'static {
    /// Its options: `()`, or a struct that derives `PassOptions`.
    type Options: PassOptions;

    /// Makes one; its options were checked.
    ///
    /// # Errors
    /// Returns an error if it cannot work.
    fn new(options: Self::Options) -> Result<Self, PassError>;

    /// Its context is about to be entered.
    ///
    /// # Errors
    /// Returns an error if it fails, which keeps the context from being entered.
    fn enter(&self, _cx: &InstrumentCx<'_>) -> Result<(), PassError> {
        Ok(())
    }

    /// Its context was left.
    ///
    /// # Errors
    /// Returns an error if it fails.
    fn exit(&self, _cx: &InstrumentCx<'_>) -> Result<(), PassError> {
        Ok(())
    }

    /// Whether a pass may run. Every instrument is asked; one veto is enough.
    ///
    /// # Errors
    /// Returns an error if it fails, which fails the run.
    fn should_run(&self, _module: &IRModule, _pass: &PassInfo<'_>, _cx: &InstrumentCx<'_>) -> Result<bool, PassError> {
        Ok(true)
    }

    /// A pass is about to run.
    ///
    /// # Errors
    /// Returns an error if it fails, which fails the run.
    fn before(&self, _module: &IRModule, _pass: &PassInfo<'_>, _cx: &InstrumentCx<'_>) -> Result<(), PassError> {
        Ok(())
    }

    /// A pass ran; the module is its result.
    ///
    /// # Errors
    /// Returns an error if it fails, which fails the run.
    fn after(&self, _module: &IRModule, _pass: &PassInfo<'_>, _cx: &InstrumentCx<'_>) -> Result<(), PassError> {
        Ok(())
    }

    /// A pass did not run, for a reason other than its level and the lists.
    fn skipped(&self, _module: &IRModule, _pass: &PassInfo<'_>, _reason: &Skipped<'_>, _cx: &InstrumentCx<'_>) {}

    /// A pass that `before` was called for failed; no `after` follows.
    fn failed(&self, _pass: &PassInfo<'_>, _error: &PassError, _cx: &InstrumentCx<'_>) {}

    /// A pass counted something: called before its `after` or `failed`, in the order of the names.
    fn counted(&self, _pass: &PassInfo<'_>, _statistic: &str, _n: u64, _cx: &InstrumentCx<'_>) {}

    /// A pass said something: called before its `after` or `failed`, in module order.
    fn said(&self, _pass: &PassInfo<'_>, _said: &Said<'_>, _cx: &InstrumentCx<'_>) {}

    /// The time of the running pass by itself, without the hooks around it. Nothing may depend on it.
    fn took(&self, _pass: &PassInfo<'_>, _duration: Duration, _cx: &InstrumentCx<'_>) {}

    /// Whether the result of a pass is accepted. If not, the pass failed, and the policy decides.
    ///
    /// # Errors
    /// Returns an error if it is not.
    fn accept(&self, _module: &IRModule, _pass: &PassInfo<'_>, _cx: &InstrumentCx<'_>) -> Result<(), PassError> {
        Ok(())
    }

    /// Its findings, which the run reports. Called after its context was left, also after a fault.
    fn findings(&self, _cx: &InstrumentCx<'_>) -> Option<Findings> {
        None
    }

    /// Whether it reads remarks. If one instrument does, passes make them.
    fn wants_remarks(&self) -> bool {
        false
    }

    /// The time that a pass has, which begins now: when it is over, the pass is asked to stop, as by a cancellation.
    fn time_limit(&self, _pass: &PassInfo<'_>, _cx: &InstrumentCx<'_>) -> Option<TimeLimit> {
        None
    }
}
