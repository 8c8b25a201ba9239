//! Native errors as Python exceptions. Their classes are in `relais_onnx/errors.py`.

use crate::run::RunState;
use pyo3::{
    prelude::*,
    types::{PyDict, PyList},
};
use relais::{
    files::{FileError, Why},
    manager::{Failure, FailureKind, RunReport},
    pass::HookFault,
    pipeline::{Faults, PipelineFault},
    report::report_json,
    transform::RunError,
};
use relais_plugin_api::diagnostics::PassError;
use relais_session::{Error, model::NotWritten};
use std::{error::Error as _, fmt, io, path::Path};

/// An exception of a class of `relais_onnx.errors`, with attributes.
pub(crate) fn exception(
    py: Python<'_>,
    class: &str,
    message: impl fmt::Display,
    attributes: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<()>,
) -> PyErr {
    let made = || -> PyResult<PyErr> {
        let class = py.import("relais_onnx.errors")?.getattr(class)?;
        let error = class.call1((in_python(&message.to_string()),))?;
        attributes(&error)?;
        Ok(PyErr::from_value(error))
    };
    made().unwrap_or_else(|error| error)
}

/// A message with its suggestion, if it has one.
pub(crate) fn with_help(message: impl fmt::Display, help: &str) -> String {
    if help.is_empty() { message.to_string() } else { format!("{message}\n  help: {help}") }
}

/// Words of suggestions for those who use the command line or write in Rust, each with the ones that are meant here.
const IN_PYTHON: [(&str, &str); 17] = [
    (
        "a pass that may do so says it in its attribute: `changes_interface = true`, or the name of the option that asks for it",
        "make a pass that may do so with `changes_interface=True`",
    ),
    ("`--disable` runs the pipeline without it", "`disable=` runs the pipeline without it"),
    ("`relais list plugins` shows", "`list_plugins()` shows"),
    ("`relais list options` shows", "`PassContext.list_configs()` shows"),
    ("`relais list passes` shows", "`list_passes()` shows"),
    ("`--plugin-dir` takes a folder", "`plugin_dirs=` takes folders"),
    ("without `--keep`", "without `keep=`"),
    ("`--plugin FILE`", "`add_plugins([file])`"),
    ("`--allow-writable-plugins`", "`add_plugins(…, allow_writable=True)`"),
    (
        "a rule has others in Rust only, beside it in its plugin",
        "`relais.rule(text, conditions={…})` makes a pass of a rule with others",
    ),
    ("name the data folder", "name the folder in `base_dir=`"),
    (", or use it as it is: `--no-judge`", ""),
    ("give inputs that it takes: `--check-inputs FILE.npz`; or compare", "compare"),
    ("give it one: `--check-inputs FILE.npz`", ELSEWHERE),
    ("compare in a runtime: `--check-with onnxruntime`", ELSEWHERE),
    ("leave the pass out: `--disable ", "leave the pass out by `disable=`: `"),
    ("; see what it did: `--print-changed=diff`", ""),
];

/// How models are compared that nothing here computes.
const ELSEWHERE: &str = "run the two models in onnxruntime instead";

/// A suggestion in the terms of this package.
pub(crate) fn in_python(help: &str) -> String {
    IN_PYTHON.iter().fold(help.to_owned(), |help, (there, here)| help.replace(there, here))
}

/// The exception of an error with a suggestion.
pub(crate) fn helped(py: Python<'_>, class: &str, message: impl fmt::Display, help: &str) -> PyErr {
    let help = in_python(help);
    exception(py, class, with_help(message, &help), |error| {
        error.setattr("help", if help.is_empty() { None } else { Some(&help) })
    })
}

/// The exception of an error with a suggestion, such as `ModelError`.
pub(crate) fn of_error(py: Python<'_>, class: &str, error: &Error) -> PyErr {
    coded(py, helped(py, class, error, error.help().unwrap_or_default()), error.code())
}

/// The same exception with a code; none if it is empty.
fn coded(py: Python<'_>, exception: PyErr, code: &str) -> PyErr {
    let set = exception.value(py).setattr("code", Some(code).filter(|code| !code.is_empty()));
    set.err().unwrap_or(exception)
}

/// The exception of a model that cannot be used, or of something that a user asked for.
pub(crate) fn of_model(py: Python<'_>, error: &Error) -> PyErr {
    of_error(py, "ModelError", error)
}

/// The exception of plugins that cannot be used.
pub(crate) fn of_plugins(py: Python<'_>, error: &Error) -> PyErr {
    of_error(py, "PluginError", error)
}

/// The exception of rules that cannot be parsed.
pub(crate) fn of_rules(py: Python<'_>, error: &PassError) -> PyErr {
    let rec = error.rec();
    let code = if rec.code.is_empty() { String::new() } else { format!("error[{}]: ", rec.code) };
    let (place, message) = rec.message.split_once(": ").unwrap_or(("", &rec.message));
    let message = rec.notes.iter().fold(format!("{place}: {code}{message}"), |all, note| format!("{all}\n{note}"));
    coded(py, helped(py, "RuleError", message, &rec.help), &rec.code)
}

/// The exception of a result that cannot be written.
pub(crate) fn of_output(py: Python<'_>, error: &NotWritten) -> PyErr {
    let (path, code) = match error {
        NotWritten::File(_, error) => (Some(error.path.as_path()), code_of_file(error)),
        NotWritten::Onnx(error) => {
            let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>()?.raw_os_error());
            (Some(error.file()).filter(|file| !file.is_empty()).map(Path::new), cause.map(Code::Of))
        }
        _ => (None, None),
    };
    let exception = of_error(py, "OutputError", &error.error());
    let described = || -> PyResult<()> {
        let value = exception.value(py);
        value.setattr("filename", path)?;
        let Some(code) = code else { return Ok(()) };
        let code = match code {
            Code::Named(name) => py.import("errno")?.getattr(name)?,
            Code::Of(code) => code.into_pyobject(py)?.into_any(),
        };
        value.setattr("errno", &code)?;
        value.setattr("strerror", py.import("os")?.call_method1("strerror", (code,))?)
    };
    described().err().unwrap_or(exception)
}

/// The number of a system's error; 0 if the system does not have it.
pub(crate) fn named(py: Python<'_>, name: &str) -> i32 {
    let number = || py.import("errno")?.getattr(name)?.extract();
    number().unwrap_or(0)
}

/// The `errno` of an error.
enum Code {
    /// By its name in Python, for what was noticed before the system said it.
    Named(&'static str),
    Of(i32),
}

fn code_of_file(error: &FileError) -> Option<Code> {
    match &error.why {
        Why::Folder => Some(Code::Named("EISDIR")),
        Why::NoFolder(_) => Some(Code::Named("ENOENT")),
        Why::Exists => Some(Code::Named("EEXIST")),
        Why::ReadOnly => Some(Code::Named("EACCES")),
        Why::Io(cause) => cause.raw_os_error().map(Code::Of),
        _ => None,
    }
}

/// The exception of names, options and pipelines that cannot be resolved.
pub(crate) fn of_faults(py: Python<'_>, class: &str, faults: &Faults) -> PyErr {
    exception(py, class, faults, |error| {
        let make = py.import("relais_onnx.errors")?.getattr("Fault")?;
        let list = PyList::empty(py);
        for PipelineFault { code, message, place, notes, help, .. } in &faults.list {
            let kwargs = PyDict::new(py);
            kwargs.set_item("code", code.as_str())?;
            kwargs.set_item("message", message)?;
            kwargs.set_item("place", place.map(|place| faults.sources.locate(place)))?;
            kwargs.set_item("notes", notes.iter().map(|note| in_python(note)).collect::<Vec<_>>())?;
            kwargs.set_item("help", help.as_deref().map(in_python))?;
            list.append(make.call((), Some(&kwargs))?)?;
        }
        error.setattr("code", faults.list.first().map(|fault| fault.code.as_str()))?;
        error.setattr("faults", list)
    })
}

/// The exception of a run.
pub(crate) fn of_run(py: Python<'_>, error: &RunError, state: &RunState) -> PyErr {
    match error {
        RunError::Failed(failure) => of_failure(py, failure, &failure.report, state),
        RunError::Resolve(faults) => of_faults(py, "PipelineError", faults),
        error => exception(py, "RelaisError", error, |_| Ok(())),
    }
}

/// The exception of a failing pass or instrument, with what was reported before: that of its Python code, if it is one.
pub(crate) fn of_failure(py: Python<'_>, failure: &Failure, report: &RunReport, state: &RunState) -> PyErr {
    let report = |error: &Bound<'_, PyAny>| {
        let json = report_json(report).to_string();
        error.setattr("report", py.import("json")?.call_method1("loads", (json,))?)
    };
    let (native, note) = match &failure.kind {
        FailureKind::Instrument(fault) => (of_fault(py, failure, fault), note_of_hook(fault)),
        FailureKind::Pass { pass, plugin, error, line, .. } | FailureKind::Check { pass, plugin, error, line, .. } => {
            let rec = error.rec();
            let native = exception(py, "PassFailed", failure, |exception| {
                exception.setattr("pass_name", pass)?;
                exception.setattr("plugin", Some(plugin).filter(|plugin| !plugin.is_empty()))?;
                exception.setattr("line", line.as_deref())?;
                describe(exception, error)?;
                report(exception)
            });
            let place = if rec.function.is_empty() { String::new() } else { format!(", in `@{}`", rec.function) };
            (native, format!("in the pass `{pass}`{place}"))
        }
        FailureKind::Program { error, .. } => {
            let native = exception(py, "PassFailed", failure, |exception| {
                describe(exception, error)?;
                report(exception)
            });
            (native, String::new())
        }
        _ => (exception(py, "RelaisError", failure, |_| Ok(())), String::new()),
    };
    // Hooks of the cleanup: `failed`, after a pass, and others that do not hide the failure.
    let also = failure.also.iter().map(|fault| format!("then {}: {}", note_of_hook(fault), fault.error));
    let notes: Vec<String> = [note].into_iter().filter(|note| !note.is_empty()).chain(also).collect();
    raised(py, native, failure.kind.error(), &notes, state)
}

/// The exception of a hook that failed outside a run.
pub(crate) fn of_hook(py: Python<'_>, fault: &HookFault, state: &RunState) -> PyErr {
    let native = of_fault(py, fault, fault);
    raised(py, native, &fault.error, &[note_of_hook(fault)], state)
}

fn of_fault(py: Python<'_>, message: impl fmt::Display, fault: &HookFault) -> PyErr {
    exception(py, "InstrumentError", message, |exception| {
        exception.setattr("instrument", &fault.instrument)?;
        exception.setattr("hook", hook_of(fault))?;
        exception.setattr("also", fault.also.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        describe(exception, &fault.error)
    })
}

fn note_of_hook(fault: &HookFault) -> String {
    format!("in the hook `{}` of the instrument `{}`", hook_of(fault), fault.instrument)
}

/// The name that a hook has in Python, which is TVM's.
fn hook_of(fault: &HookFault) -> &'static str {
    match fault.hook.name() {
        "enter" => "enter_pass_ctx",
        "exit" => "exit_pass_ctx",
        "before" => "run_before_pass",
        "after" => "run_after_pass",
        name => name,
    }
}

fn describe(exception: &Bound<'_, PyAny>, error: &PassError) -> PyResult<()> {
    let rec = error.rec();
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    exception.setattr("code", text(&rec.code))?;
    exception.setattr("function", text(&rec.function))?;
    exception.setattr("node", (!rec.node.is_absent()).then(|| rec.node.index()))?;
    exception.setattr("help", text(&in_python(&rec.help)))?;
    exception.setattr("notes", rec.notes.iter().map(|note| note.to_string()).collect::<Vec<_>>())?;
    exception.setattr("backtrace", text(&rec.backtrace))
}

/// The exception that Python code raised, with notes; otherwise the native one.
fn raised(py: Python<'_>, native: PyErr, error: &PassError, notes: &[String], state: &RunState) -> PyErr {
    let Some(own) = state.take(&error.rec().message) else { return native };
    // An exception may refuse attributes; it is raised all the same.
    let _ = own.value(py).setattr("__relais__", native.value(py));
    for note in notes {
        let _ = own.value(py).call_method1("add_note", (note,));
    }
    own
}
