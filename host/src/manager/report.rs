//! The results of a run.

use crate::pass::{AnalysisUse, HookFault, InstrumentFindings, PassMessage, Scope, SkipReason, Verify, line_of};
use relais_plugin_api::{
    diagnostics::{PassError, Severity},
    ir::IRModule,
};
use std::{collections::BTreeMap, fmt, time::Duration};

/// The results of a run, pass by pass.
#[derive(Clone, Debug, Default)]
pub struct RunReport {
    /// Every pass that was reached, in the order in which they ended. Disabled ones are not among them.
    pub executions: Vec<Execution>,
    /// The messages of passes, in order.
    pub said: Vec<PassMessage>,
    /// The driver's messages: fixpoints that did not settle, passes that were skipped.
    pub warnings: Vec<String>,
    /// The findings of instruments, in the order of their list: name and findings.
    pub findings: Vec<(String, InstrumentFindings)>,
    /// The counts of passes, ordered by pass and name.
    pub statistics: Vec<Statistic>,
    /// How analyses were used, by name.
    pub analyses: BTreeMap<String, AnalysisUse>,
    /// The files that passes made, by name.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The execution of a pass after which the run was stopped, and that pass.
    pub stopped_after: Option<(u64, String)>,
    /// The time of the whole run: of its passes, and of all that is checked and typed around them.
    pub elapsed: Duration,
    /// The passes that failed, with the data for a reproducer; the first [`MAX_FAULTS`] of them.
    pub faults: Vec<PassFault>,
}

impl RunReport {
    /// Whether a pass failed with something that it said about the program, which is among the messages.
    pub fn has_said(&self, error: &PassError) -> bool {
        let error = error.rec();
        self.said.iter().map(|said| said.diagnostic.rec()).any(|said| {
            said.severity >= Severity::ERROR
                && (&said.code, &said.message, said.node) == (&error.code, &error.message, error.node)
        })
    }
}

/// More failing passes are not kept with their modules.
pub const MAX_FAULTS: usize = 8;

/// A pass that failed, and where it stood.
#[derive(Clone)]
pub struct PassFault {
    /// The pass, by index into the pipeline's passes.
    pub pass: usize,
    /// Which execution it was, counted from 1.
    pub execution: u64,
    /// The module just before it.
    pub module: IRModule,
    /// The settings that applied to it.
    pub scope: Scope,
    /// Whether its result was verified.
    pub verify: Verify,
    /// Why it failed.
    pub error: PassError,
}

impl fmt::Debug for PassFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pass {} in execution {}: {}", self.pass, self.execution, self.error)
    }
}

/// Something that a pass counted over a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Statistic {
    /// The pass's full name.
    pub pass: String,
    /// The statistic's name.
    pub name: String,
    /// How much was counted.
    pub count: u64,
}

/// A pass whose turn came.
#[derive(Clone, Debug)]
pub struct Execution {
    /// Its full name.
    pub name: String,
    /// The plugin that provides it, with its version.
    pub plugin: String,
    /// How long it took.
    pub duration: Duration,
    /// How long it took to infer types afterwards.
    pub types: Duration,
    /// How many operator calls the module had before it.
    pub n_nodes_before: u64,
    /// How many it has after it.
    pub n_nodes_after: u64,
    /// Its outcome.
    pub fate: Fate,
}

/// The outcome of a pass.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Fate {
    /// It changed the module.
    Changed,
    /// It ran and changed nothing.
    Unchanged,
    /// It did not run.
    Skipped(SkipReason),
    /// It failed; the module is as it was.
    Failed(String),
}

/// Why a run ended early.
#[derive(Debug)]
pub struct Failure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// How many passes had been executed, the one that failed included.
    pub execution: u64,
    /// Faults during the cleanup.
    pub also: Vec<HookFault>,
    /// The results up to the failure.
    pub report: RunReport,
}

/// The kinds of failure.
#[derive(Debug)]
#[non_exhaustive]
pub enum FailureKind {
    /// A pass.
    Pass {
        /// Its full name.
        pass: String,
        /// The plugin that provides it.
        plugin: String,
        /// That plugin's version.
        version: semver::Version,
        /// Its error.
        error: PassError,
        /// The line where it failed, as in the printed text.
        line: Option<String>,
    },
    /// A pass that cannot work on the program; no pass has run.
    Check {
        /// Its full name.
        pass: String,
        /// The plugin that provides it.
        plugin: String,
        /// That plugin's version.
        version: semver::Version,
        /// Its place in the pipeline; empty if it was run directly.
        place: String,
        /// Its error.
        error: PassError,
        /// The line that the error is about, as in the printed text.
        line: Option<String>,
    },
    /// One of several passes, whose results were not checked individually.
    Program {
        /// The passes that changed the program, with their plugins, as they are shown.
        passes: Vec<String>,
        /// The error.
        error: PassError,
    },
    /// An instrument.
    Instrument(HookFault),
}

impl FailureKind {
    pub(super) fn pass(facts: &crate::pass::PassFacts, error: PassError, before: &IRModule) -> Self {
        let line = line_of(before, &error.rec().function, error.rec().node);
        let (pass, plugin, version) = (facts.name.clone(), facts.plugin.clone(), facts.plugin_version.clone());
        Self::Pass { pass, plugin, version, error, line }
    }

    pub(super) fn check(facts: &crate::pass::PassFacts, error: PassError, before: &IRModule, place: &str) -> Self {
        let line = line_of(before, &error.rec().function, error.rec().node);
        let (pass, plugin, version) = (facts.name.clone(), facts.plugin.clone(), facts.plugin_version.clone());
        Self::Check { pass, plugin, version, place: place.to_owned(), error, line }
    }

    /// Returns the error.
    pub fn error(&self) -> &PassError {
        match self {
            Self::Pass { error, .. } | Self::Check { error, .. } | Self::Program { error, .. } => error,
            Self::Instrument(fault) => &fault.error,
        }
    }
}

impl FailureKind {
    /// The code of the failure; empty if it has none.
    pub fn code(&self) -> &str {
        &self.error().rec().code
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pass { pass, plugin, version, error, line } => {
                let verb = if error.is_panic() { "" } else { "failed: " };
                match plugin.as_str() {
                    // One of the program's own.
                    "" => write!(f, "pass `{pass}` {verb}{error}")?,
                    plugin => write!(f, "pass `{pass}` of plugin `{plugin}` {version} {verb}{error}")?,
                }
                match line {
                    Some(line) => write!(f, "\n  at: {line}"),
                    None => Ok(()),
                }
            }
            Self::Check { pass, plugin, version, place, error, line } => {
                let verb = if error.is_panic() { "" } else { "refuses the run: " };
                match plugin.as_str() {
                    "" => write!(f, "pass `{pass}`, asked before the first pass ran, {verb}{error}")?,
                    plugin => write!(
                        f,
                        "pass `{pass}` of plugin `{plugin}` {version}, asked before the first pass ran, {verb}{error}"
                    )?,
                }
                if let Some(line) = line {
                    write!(f, "\n  at: {line}")?;
                }
                match place.as_str() {
                    "" => Ok(()),
                    place => write!(f, "\n  in the pipeline: {place}"),
                }
            }
            Self::Program { passes, error } => {
                write!(f, "a pass failed, one of {}: {error}", passes.join(", "))
            }
            Self::Instrument(fault) => fault.fmt(f),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)?;
        self.also.iter().try_for_each(|fault| write!(f, "\n  then {fault}"))
    }
}

impl std::error::Error for Failure {}
