//! A pipeline over a model: arguments in, a module or an exception out.

use crate::{
    context::{self, Around},
    errors,
    library::{self, OwnItems},
    log,
    module::PyIrModule,
    pass::{PyPass, say},
    plugins::registry,
    rules::own_rules,
    run::{RunState, current, detached, run},
    value,
};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyDict, PyList, PyString},
};
use relais::{
    pass::Catalogue,
    pipeline::{Code, Faults, PipelineFault, fault::Sources, toml},
    registry::Registry,
    transform::Pass,
};
use relais_conformance::numbers::Tolerance;
use relais_session::{
    Argument, Finished, OutputRequest, OwnPass, Reproducers, Request, Session, StopCause, Stopped,
    check::CheckRequest,
    model::Part,
    pipeline::{Chosen, PipelineRequest},
};
use std::{
    collections::BTreeMap,
    num::NonZero,
    path::{Path, PathBuf},
    sync::Arc,
};

/// What a caller asks for.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Wanted {
    level: Option<u8>,
    pipeline: Option<String>,
    passes: Option<Vec<Asked>>,
    disable: Vec<String>,
    require: Vec<String>,
    dependencies: Option<String>,
    input_shapes: Vec<String>,
    inputs: Vec<String>,
    outputs: Vec<String>,
    keep: Vec<String>,
    target_opset: Option<u32>,
    rules: Vec<String>,
    rule_files: Vec<PathBuf>,
    dtype: Option<String>,
    check: u32,
    check_rtol: f64,
    check_atol: Option<f64>,
    threads: Option<NonZero<u16>>,
}

/// A pass that is asked for.
#[derive(FromPyObject)]
enum Asked {
    Name(String),
    Pass(Py<PyPass>),
}

/// The arguments of a call, which were checked except for what only native code can tell.
pub(crate) fn wanted(dict: &Bound<'_, PyDict>) -> PyResult<Wanted> {
    dict.extract().map_err(|error| {
        let is_wrong = |object: &Bound<'_, PyAny>| {
            object.is_instance_of::<PyBytes>() || object.cast::<PyString>().is_ok_and(|text| text.to_cow().is_err())
        };
        let wrong_in = |(key, given): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            let items = given.cast::<PyList>().map_or_else(|_| vec![given.clone()], |list| list.iter().collect());
            let wrong = items.into_iter().find(is_wrong)?;
            Some(value::wrong(&wrong, &format!("`{key}`"), "a str or a path"))
        };
        dict.iter().find_map(wrong_in).unwrap_or(error)
    })
}

impl Asked {
    /// The name of the step that runs it. That of an object is none that a pass can have: two objects may have the same.
    fn step(&self, at: usize) -> String {
        match self {
            Self::Name(name) => name.clone(),
            Self::Pass(_) => format!("passes[{at}]"),
        }
    }
}

impl Wanted {
    /// The request, without a model, in the context that was entered around the call.
    pub fn request(self, config: Option<&Bound<'_, PyAny>>, around: &Around) -> PyResult<Request> {
        Ok(Request {
            part: Part {
                input_shapes: self.input_shapes.clone(),
                inputs: self.inputs.clone(),
                outputs: self.outputs.clone(),
                ..Part::default()
            },
            keep: self.keep.clone(),
            threads: self.threads,
            check: CheckRequest {
                tolerance: Tolerance { relative: self.check_rtol, absolute: self.check_atol },
                ..CheckRequest::random(self.check)
            },
            pipeline: PipelineRequest {
                dependencies: self.dependencies.as_deref().map(value::dependencies).transpose()?,
                ..self.pipeline(settings(config, around)?, around)
            },
            ..Request::default()
        })
    }

    fn pipeline(self, settings: Vec<String>, around: &Around) -> PipelineRequest {
        let chosen = match (self.pipeline, &self.passes, self.level) {
            (Some(name), ..) => Chosen::Named(name),
            (None, Some(passes), _) => {
                let steps = passes.iter().enumerate().map(|(at, asked)| asked.step(at));
                Chosen::Passes(Argument::numbered("passes", steps))
            }
            (None, None, Some(level)) => Chosen::Level(level),
            (None, None, None) => Chosen::Default,
        };
        let switched = |around: &[String], origin: &str, names: Vec<String>| {
            let around = Argument::each("the current context", around.iter().cloned());
            around.into_iter().chain(Argument::each(origin, names)).collect()
        };
        PipelineRequest {
            chosen,
            opt_level: self.level.or(around.level),
            rules: Argument::numbered("rules", self.rules),
            rule_files: self.rule_files,
            target_opset: self.target_opset.map(|target| Argument::new("target_opset", target)),
            dtype: self.dtype.map(|dtype| Argument::new("dtype", dtype)),
            disabled: switched(&around.disabled, "disable", self.disable),
            required: switched(&around.required, "require", self.require),
            settings: Argument::each("config", settings),
            ..PipelineRequest::default()
        }
    }

    /// The session of a request: with the passes that are objects, as the steps that run them.
    fn session(&self, py: Python<'_>, own: &OwnItems) -> PyResult<Session> {
        let objects = self.passes.iter().flatten().enumerate().filter_map(|(at, asked)| match asked {
            Asked::Name(_) => None,
            Asked::Pass(object) => {
                let object = object.get();
                let pass = Pass::sequence(&asked.step(at), [object.pass.clone().as_step(0)]);
                Some(OwnPass { pass, rules: own_rules(&object.rules) })
            }
        });
        Ok(objects.fold(session(registry(py)?, own), Session::with_pass))
    }

    /// The first pass that is an object, which nothing outside this process has.
    pub fn object(&self) -> Option<String> {
        self.passes.iter().flatten().find_map(|asked| match asked {
            Asked::Name(_) => None,
            Asked::Pass(object) => Some(object.get().pass.info().name.clone()),
        })
    }
}

/// A session with the passes and options of the program, which are to be kept as long as it.
pub(crate) fn session(registry: &Registry, own: &OwnItems) -> Session {
    let passes = own.passes.iter().map(|own| OwnPass { rules: own_rules(&own.rules), pass: own.pass.clone() });
    let session = passes.fold(Session::of(registry.clone()), Session::with_pass);
    let session = own.config.iter().fold(session, |session, own| session.with_config(own.schema.clone()));
    own.analyses.iter().fold(session, |session, own| session.with_analysis(own.analysis.clone()))
}

/// The options of passes as settings of a pipeline: those of the call, then those of the context around it.
fn settings(config: Option<&Bound<'_, PyAny>>, around: &Around) -> PyResult<Vec<String>> {
    let given = value::entries(config, "`config`")?;
    let Some(config) = config else {
        return Ok(around.config.iter().map(|(key, value)| format!("{key}={}", toml(value))).collect());
    };
    let known = library::library(config.py())?.config_options();
    let full = |key: &String| match known.iter().find(|facts| facts.is_named(key)) {
        Some(facts) => facts.schema.name.clone(),
        None => key.clone(),
    };
    let mut names = BTreeMap::new();
    for (key, _) in &given {
        if let Some(other) = names.insert(full(key), key) {
            let fault = PipelineFault::new(Code::Duplicate, None, format!("option `{}` is given twice", full(key)));
            let fault =
                fault.note(format!("`{other}` and `{key}` are names of one option")).help("remove one of the two");
            let faults = Faults { list: vec![fault], sources: Sources::default() };
            return Err(errors::of_faults(config.py(), "PipelineError", &faults));
        }
    }
    let others = around.config.iter().filter(|(key, _)| !names.contains_key(key));
    Ok(given.iter().chain(others).map(|(key, value)| format!("{key}={}", toml(value))).collect())
}

/// The files of a call: where the result goes, where its weights do, and where reproducers do.
type Files = (Option<PathBuf>, String, Option<PathBuf>);

/// Runs a pipeline over a model, and writes the result to a file if one is named; also by the settings of the context that was
/// entered around the call if `in_context` says so.
#[pyfunction]
#[pyo3(signature = (module, wanted, config, in_context = false, files = None))]
pub(crate) fn optimize(
    py: Python<'_>,
    module: &PyIrModule,
    wanted: &Bound<'_, PyDict>,
    config: Option<&Bound<'_, PyAny>>,
    in_context: bool,
    files: Option<Files>,
) -> PyResult<PyIrModule> {
    let (out, external_data, reproducer_dir) = files.unwrap_or_default();
    let wanted = self::wanted(wanted)?;
    let around = if in_context { context::around(py)? } else { Around::default() };
    let own = OwnItems::now();
    let session = around.instruments.iter().cloned().fold(wanted.session(py, &own)?, Session::with_instrument);
    let reproducers = reproducer_dir.map(|folder| {
        let beside = out.as_deref().and_then(Path::file_name).map_or_else(|| "model".into(), PathBuf::from);
        Reproducers { folder: Some(folder), ..Reproducers::beside(beside) }
    });
    let output = out.map(|out| output(&out, &external_data)).transpose()?;
    let request = Request { model: module.model().into(), output, reproducers, ..wanted.request(config, &around)? };
    let (done, state) = run(py, None, |_| session.run_with(&*current().unwrap_or_default(), &request))?;
    match done {
        Ok(Finished { module: new, course, .. }) => {
            say(py, &course.report)?;
            course.closing(None).iter().for_each(log::notice);
            course.reproducers.iter().for_each(|folder| log::warn(reproducer(folder)));
            log::hand_over(py)?;
            Ok(PyIrModule::new(new, module.origin.clone()))
        }
        Err(stopped) => Err(exception(py, *stopped, &state)),
    }
}

/// Where a reproducer is, and how to use it.
fn reproducer(folder: &Path) -> String {
    let folder = folder.display();
    format!("`{folder}` is a reproducer: `relais replay {folder}` lets the pass fail again")
}

/// Where a result goes.
pub(crate) fn output(path: &Path, external_data: &str) -> PyResult<OutputRequest> {
    // Standard output is none of a library's.
    let path = if path.as_os_str() == "-" { Path::new(".").join(path) } else { path.to_owned() };
    Ok(OutputRequest { path, external_data: value::external_data(external_data)?, ..OutputRequest::default() })
}

/// What decides about the result beside the model: the pipeline with all its options, and the plugins that provide its
/// passes, by their contents.
#[pyfunction]
pub(crate) fn lock(py: Python<'_>, wanted: &Bound<'_, PyDict>, config: Option<&Bound<'_, PyAny>>) -> PyResult<String> {
    let wanted = self::wanted(wanted)?;
    if let Some(name) = wanted.object() {
        return Err(own_pass(py, &format!("pass `{name}` is one of this program: nothing tells when it changes")));
    }
    let session = session(registry(py)?, &OwnItems::now());
    let request = wanted.request(config, &Around::default())?;
    let locked = detached(py, || session.lock(&request.pipeline, &[]))?;
    locked.map(|lock| lock.to_toml()).map_err(|stopped| exception(py, *stopped, &Arc::default()))
}

/// Whether a pipeline can be resolved.
#[pyfunction]
pub(crate) fn resolve(py: Python<'_>, wanted: &Bound<'_, PyDict>, config: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let wanted = self::wanted(wanted)?;
    let own = OwnItems::now();
    let session = wanted.session(py, &own)?;
    let request = wanted.request(config, &Around::default())?;
    let resolved = detached(py, || session.resolve(&request.pipeline, &relais_session::Silent).map(drop))?;
    resolved.map_err(|stopped| exception(py, *stopped, &Arc::default()))
}

/// The exception of a pass of the program where the plugins decide about the result.
pub(crate) fn own_pass(py: Python<'_>, message: &str) -> PyErr {
    errors::helped(py, "PipelineError", message, "name passes of plugins, and give rules in `rules`")
}

/// An exception that names the reproducers there are.
fn with_reproducers(py: Python<'_>, error: PyErr, reproducers: &[PathBuf]) -> PyErr {
    if reproducers.is_empty() {
        return error;
    }
    let value = error.value(py);
    let named = value.setattr("reproducers", reproducers.iter().map(|folder| folder.as_path()).collect::<Vec<_>>());
    let named = named.and_then(|()| {
        reproducers.iter().try_for_each(|folder| value.call_method1("add_note", (reproducer(folder),)).map(drop))
    });
    named.err().unwrap_or(error)
}

/// The exception of a request of which nothing came. What passes said before is logged.
pub(crate) fn exception(py: Python<'_>, stopped: Stopped, state: &RunState) -> PyErr {
    if let Some(Err(error)) = stopped.course.as_ref().map(|course| say(py, &course.report)) {
        return error;
    }
    let class = match &stopped.cause {
        StopCause::Pipeline(faults) => return errors::of_faults(py, "PipelineError", faults),
        StopCause::Failed(failure) => {
            let (report, reproducers) =
                stopped.course.map(|course| (course.report, course.reproducers)).unwrap_or_default();
            let error = errors::of_failure(py, failure, &report, state);
            return with_reproducers(py, error, &reproducers);
        }
        StopCause::NotWritten(error) => return errors::of_output(py, error),
        StopCause::OwnPass => return own_pass(py, &stopped.error.to_string()),
        StopCause::Rules(error) => return errors::of_rules(py, error),
        StopCause::Unsound(_) => "RuleError",
        StopCause::Check(failed) if failed.is_difference() => "CheckFailed",
        StopCause::Check(_) => "NotCheckedError",
        StopCause::Model | StopCause::Lock => "ModelError",
        _ => "RelaisError",
    };
    errors::of_error(py, class, &stopped.error)
}
