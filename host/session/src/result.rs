//! The results of requests.

use crate::{
    check::{CheckFailed, CheckPassed, NOT_CHECKED},
    error::Error,
    listener::Notice,
    model::NotWritten,
    rules::Unsound,
};
use relais::{
    ir::IRModule,
    manager::{Execution, Failure, Fate, RunReport},
    onnx::WriteReport,
    pipeline::{AddedPass, Faults},
    registry::Registry,
    report::{Summary, report_json},
};
use relais_plugin_api::diagnostics::PassError;
use serde_json::{Value, json};
use std::{fmt, path::PathBuf, time::Duration};

/// A request that was dealt with.
pub struct Finished {
    /// The result.
    pub module: IRModule,
    /// The module that the passes were given: the model, or the part of it that was wanted.
    pub given: IRModule,
    /// The passes that ran.
    pub course: Course,
    /// How it compares with the model, if that was asked for.
    pub checked: Option<CheckPassed>,
    /// How the output was written, if there is one.
    pub written: Option<WriteReport>,
    /// The contents of the output, if they were counted.
    pub after: Option<Summary>,
    /// The files that were read beside those that the request names, each with words for what it is.
    pub read: Vec<(&'static str, PathBuf)>,
    /// The plugins that the pipeline could use.
    pub plugins: Registry,
    /// Notes and warnings, in the order in which they came; those of passes are in the course.
    pub notices: Vec<Notice>,
}

/// A request that failed.
#[derive(Debug)]
pub struct Stopped {
    /// The words about it.
    pub error: Error,
    /// The cause, for programs.
    pub cause: StopCause,
    /// The passes that ran, if any did.
    pub course: Option<Course>,
    /// Notes and warnings, in the order in which they came; those of passes are in the course.
    pub notices: Vec<Notice>,
}

/// Why a request failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum StopCause {
    /// The model, or something in the request that does not fit it.
    Model,
    /// The pipeline.
    Pipeline(Faults),
    /// Rules cannot be read or parsed.
    Rules(PassError),
    /// Rules change what a module computes.
    Unsound(Vec<Unsound>),
    /// The pipeline or the plugins are not as a lock says, or cannot be locked.
    Lock,
    /// The pipeline has a pass or an option of the program, which cannot be locked.
    OwnPass,
    /// A pass or an instrument failed. Its reports are in the [`Course`].
    Failed(Box<Failure>),
    /// The result differs from the model, or cannot be compared with it.
    Check(Box<CheckFailed>),
    /// The result, or something else, cannot be written.
    NotWritten(NotWritten),
    /// A plugin failed while its objects were dropped.
    Dropped,
    /// The listener stopped it.
    Interrupted,
}

/// The passes of a request, and what they did.
#[derive(Clone, Debug, Default)]
pub struct Course {
    /// The model, as it was named.
    pub model: String,
    /// The output, as it was named.
    pub output: Option<String>,
    /// The pipeline as it was resolved, in TOML.
    pub pipeline: String,
    /// The passes that plugins added to it.
    pub additions: Vec<AddedPass>,
    /// The contents of the model, if they were counted.
    pub before: Option<Summary>,
    /// The deeds and words of the passes.
    pub report: RunReport,
    /// The reproducers of passes that failed.
    pub reproducers: Vec<PathBuf>,
    /// How long everything took.
    pub elapsed: Duration,
}

impl Course {
    /// Notices for the end: about files that are not written, a run that was stopped as the request says, passes that
    /// changed nothing.
    pub fn closing(&self, stop_after: Option<u64>) -> Vec<Notice> {
        let mut notices: Vec<Notice> = self.stopped(stop_after).into_iter().collect();
        let RunReport { executions, files, .. } = &self.report;
        if !files.is_empty() {
            let files = files.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            let notice = Notice::warning(format_args!("the files {files} of passes are not written"));
            notices.push(notice.with_help("`relais build` writes them"));
        }
        if executions.iter().any(has_run) && executions.iter().all(|it| it.fate != Fate::Changed) {
            notices.push(Notice::note("no pass changed anything"));
        }
        notices
    }

    fn stopped(&self, stop_after: Option<u64>) -> Option<Notice> {
        let asked = stop_after?;
        Some(Notice::note(match (&self.report.stopped_after, asked) {
            (Some((n, pass)), _) => format!("stopped after execution {n}, of `{pass}`: nothing that follows was run"),
            (None, 0) => "stopped before the first pass: nothing was run".to_owned(),
            (None, n) => {
                let n_ran = self.report.executions.iter().filter(|it| has_run(it)).count();
                format!("nothing was stopped: there were {n_ran} executions, not more than {n}")
            }
        }))
    }

    fn to_json(&self) -> Value {
        let addition =
            |it: &AddedPass| json!({ "point": it.point, "pass": it.pass, "plugin": it.plugin, "version": it.version });
        json!({
            "model": self.model,
            "output": Value::Null,
            "pipeline": self.pipeline,
            "extensions": self.additions.iter().map(addition).collect::<Vec<_>>(),
            "before": self.before.as_ref().map(Summary::to_json),
            "after": Value::Null,
            "run": report_json(&self.report),
            "reproducers": self.reproducers.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
            "seconds": self.elapsed.as_secs_f64(),
        })
    }
}

fn has_run(execution: &Execution) -> bool {
    !matches!(execution.fate, Fate::Skipped(_))
}

impl Finished {
    /// The report.
    pub fn to_json(&self) -> Value {
        let mut json = self.course.to_json();
        json["output"] = self.course.output.as_deref().into();
        json["after"] = self.after.as_ref().map(Summary::to_json).into();
        json["check"] = self.checked.as_ref().map(|checked| checked.json.clone()).into();
        json
    }
}

impl Stopped {
    pub(crate) fn new(error: Error, cause: StopCause) -> Box<Self> {
        Box::new(Self { error, cause, course: None, notices: Vec::new() })
    }

    /// The end of a request whose check cannot be made, or was not asked for rightly.
    pub(crate) fn before_check(error: Error) -> Box<Self> {
        match error.code() {
            NOT_CHECKED => {
                let failed = CheckFailed { error: error.clone(), json: Value::Null, inputs: None };
                Self::new(error, StopCause::Check(Box::new(failed)))
            }
            _ => error.into(),
        }
    }

    /// The report.
    pub fn to_json(&self) -> Value {
        let mut json = self.course.as_ref().map(Course::to_json).unwrap_or_default();
        json["error"] = self.error.to_string().into();
        if let StopCause::Check(failed) = &self.cause {
            json["check"] = failed.json.clone();
        }
        json
    }
}

/// The message, with the suggestion.
impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)?;
        self.error.help().map_or(Ok(()), |help| write!(f, "\n  help: {help}"))
    }
}

impl std::error::Error for Stopped {}

impl From<Error> for Box<Stopped> {
    fn from(error: Error) -> Self {
        Stopped::new(error, StopCause::Model)
    }
}

impl From<Faults> for Box<Stopped> {
    fn from(faults: Faults) -> Self {
        let code = faults.list.first().map_or("", |fault| fault.code.as_str());
        Stopped::new(Error::new(&faults).with_code(code), StopCause::Pipeline(faults))
    }
}

impl From<PassError> for Box<Stopped> {
    fn from(error: PassError) -> Self {
        Stopped::new(error.clone().into(), StopCause::Rules(error))
    }
}

impl From<NotWritten> for Box<Stopped> {
    fn from(error: NotWritten) -> Self {
        Stopped::new(error.error(), StopCause::NotWritten(error))
    }
}
