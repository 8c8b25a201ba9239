//! Plugins that are files of Python, in the process in which they run.

use crate::{
    library::{OwnItems, Registered, known_of},
    log, plugins,
    run::{RunState, within},
};
use pyo3::{
    exceptions::{PyModuleNotFoundError, PyPermissionError},
    prelude::*,
    types::PyBytes,
};
use relais::{
    ir::IRModule,
    pass::{RunCx, RunnablePass},
    plugin::{ProgramFacts, describe_facts},
    registry::Registry,
    serve::{Language, Loading, Program},
    transform::Pass,
};
use relais_plugin_api::{diagnostics::PassError, options::Value};
use std::{path::PathBuf, sync::Arc};

/// The interpreter.
struct Interpreter;

impl Language for Interpreter {
    fn version(&self) -> String {
        Python::attach(|py| {
            let version = py.version_info();
            format!("Python {}.{}.{}", version.major, version.minor, version.patch)
        })
    }

    fn interpreter(&self) -> String {
        let executable = |py: Python<'_>| py.import("sys")?.getattr("executable")?.extract();
        Python::attach(|py| executable(py).unwrap_or_default())
    }

    fn reads(&self) -> Vec<PathBuf> {
        let folders = |py: Python<'_>| -> PyResult<Vec<PathBuf>> {
            let sys = py.import("sys")?;
            let mut folders: Vec<PathBuf> = sys.getattr("path")?.extract()?;
            for prefix in ["prefix", "base_prefix"] {
                // Libraries that come with the interpreter.
                folders.push(sys.getattr(prefix)?.extract::<PathBuf>()?.join("lib"));
            }
            Ok(folders)
        };
        let folders = Python::attach(|py| folders(py).unwrap_or_default());
        folders.into_iter().filter(|folder| folder.is_absolute() && folder.exists()).collect()
    }

    fn load(&self, loading: Loading<'_>) -> Result<Box<dyn Program>, PassError> {
        let Loading { path, source, sha256, beside, registry } = loading;
        let registry = plugins::use_alone(registry);
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let state = Arc::new(RunState::default());
        let loaded = Python::attach(|py| {
            let load = || -> PyResult<(String, String)> {
                let worker = py.import("relais_onnx.worker")?;
                let beside = beside.iter().map(|file| file.as_os_str()).collect::<Vec<_>>();
                let arguments = (stem, path.as_os_str(), beside, PyBytes::new(py, &source), log::lowest());
                worker.call_method1("load", arguments)?.extract()
            };
            within(&state, load).map_err(|error| failure(py, &error))
        });
        let (version, doc) = loaded.map_err(|error| {
            let failed = PassError::new(format_args!("it cannot be loaded: {}", error.rec().message));
            let failed = error.rec().notes.iter().fold(failed, |failed, note| failed.with_note(note));
            if error.rec().help.is_empty() { failed } else { failed.help(&error.rec().help) }
        })?;
        let own = OwnItems::now();
        let name = name_of(&own)?;
        version.parse::<semver::Version>().map_err(|error| {
            let message = format_args!("its `__version__`, `{version}`, is not a semantic version: {error}");
            PassError::new(message).help("write three numbers, as in `__version__ = \"0.1.0\"`")
        })?;
        Ok(Box::new(Served { name, version, doc, sha256, own, registry }))
    }
}

/// The name of the plugin, with which those of its passes begin.
fn name_of(own: &OwnItems) -> Result<String, PassError> {
    let help = "`register_pass` makes a pass known, whose name begins with that of the plugin, as in `acme.MyPass`";
    let mut names = own.passes.iter().map(|own| own.pass.info().name.as_str());
    let prefix = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    let Some(first) = names.next() else { return Err(PassError::new("it registers no pass").help(help)) };
    match names.find(|name| prefix(name) != prefix(first)) {
        None => Ok(prefix(first)),
        Some(other) => {
            let message = format_args!("the names of its passes begin differently: `{first}` and `{other}`");
            Err(PassError::new(message).help(help))
        }
    }
}

/// A file of Python that was loaded.
struct Served {
    name: String,
    version: String,
    doc: String,
    sha256: String,
    own: OwnItems,
    registry: &'static Registry,
}

impl Program for Served {
    fn description(&self) -> String {
        let mut passes: Vec<_> = self.own.passes.iter().map(|own| own.pass.info()).collect();
        passes.sort_by(|a, b| a.name.cmp(&b.name));
        let mut options: Vec<_> = self.own.config.iter().map(|own| &own.schema).collect();
        options.sort_by(|a, b| a.name.cmp(&b.name));
        describe_facts(&ProgramFacts {
            name: &self.name,
            version: &self.version,
            description: &self.doc,
            sha256: &self.sha256,
            passes,
            options,
        })
    }

    fn create(&self, name: &str, options: Value) -> Result<Arc<dyn RunnablePass>, PassError> {
        let own = self.own.passes.iter().find(|own| own.pass.info().name == name);
        let own = own.ok_or_else(|| PassError::new(format_args!("it has no pass `{name}`")))?;
        let Value::Struct(options) = options else { return Err(PassError::new("options are a table")) };
        let state = Arc::new(RunState::default());
        let made = within(&state, || own.pass.with_values(options, self.registry));
        let pass = made.map_err(|faults| raised(&state).unwrap_or_else(|| PassError::new(faults)))?;
        Ok(Arc::new(ServedPass { pass, own: own.clone(), registry: self.registry }))
    }
}

/// A pass of a file of Python, with options.
struct ServedPass {
    pass: Pass,
    own: Arc<Registered>,
    registry: &'static Registry,
}

impl RunnablePass for ServedPass {
    fn run(&self, module: &IRModule, cx: &RunCx<'_>) -> Result<Option<IRModule>, PassError> {
        let state = Arc::new(RunState::default());
        let (library, _own) = known_of(self.registry);
        within(&state, || {
            let judge = |py: Python<'_>| self.own.rules.iter().try_for_each(|rules| rules.judge(py));
            Python::attach(|py| judge(py).map_err(|error| failure(py, &error)))?;
            let result = self.pass.run_within(&cx.in_catalogue(&library), module);
            result.map_err(|error| raised(&state).unwrap_or(error))
        })
    }
}

/// The failure by the first exception of a run.
fn raised(state: &RunState) -> Option<PassError> {
    let error = state.first()?;
    Some(Python::attach(|py| failure(py, &error)))
}

/// The failure by an exception, with its traceback from the file of the plugin on.
fn failure(py: Python<'_>, error: &PyErr) -> PassError {
    let class = error.get_type(py).name().map_or_else(|_| "error".to_owned(), |name| name.to_string());
    let text = error.value(py).str().map(|text| text.to_string()).unwrap_or_default();
    let message = if text.is_empty() { class } else { format!("{class}: {text}") };
    let traceback = || -> PyResult<String> {
        let value = error.clone_ref(py).into_value(py);
        py.import("relais_onnx.worker")?.call_method1("traceback_of", (value,))?.extract()
    };
    let failed = PassError::new(message);
    let failed = match () {
        () if error.is_instance_of::<PyPermissionError>(py) => failed.help(
            "it runs in a sandbox: `read` in its settings of isolation lets it read more (`docs/isolation.md`)",
        ),
        () if error.is_instance_of::<PyModuleNotFoundError>(py) => failed.help(format_args!(
            "install it for `{}`, or let `RELAIS_PYTHON` name another Python; beside the file, other files can be imported, and \
             packages cannot",
            Interpreter.interpreter()
        )),
        () => failed,
    };
    // Without frames, it would say the same again.
    match traceback() {
        Ok(traceback) if traceback.contains("  File ") => failed.with_note(traceback),
        _ => failed,
    }
}

/// Serves the host that started this process, which ends meanwhile. Returns the status of one that could not begin.
#[pyfunction]
pub(crate) fn serve(py: Python<'_>) -> u8 {
    log::to_host();
    py.detach(|| relais::serve::serve_programs(&Interpreter));
    2
}

/// Hands a record of Python's log to the host.
#[pyfunction]
pub(crate) fn log_to_host(level: i64, name: &str, message: &str) {
    log::of_python(level, name, message);
}
