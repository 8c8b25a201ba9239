//! Pass contexts as context managers.

use crate::{
    current::{now, of_program, top},
    entering::{enter, hooks, leave},
    errors,
    held::{Held, Owner},
    instrument::{self, installed},
    library, log, spoken, value,
};
use pyo3::{
    exceptions::PyRuntimeError,
    gc::{PyTraverseError, PyVisit},
    prelude::*,
    sync::PyOnceLock,
    types::{PyBool, PyDict, PyInt, PyList},
};
use relais::{
    manager::ContextBuilder,
    pass::{Catalogue, PROGRAM, PassContext, PassInstrument, Scope},
    pipeline::Faults,
};
use relais_plugin_api::{
    diagnostics::{Diagnostic, Severity},
    options::Value,
};
use std::sync::Arc;

/// The settings of the passes that run in it: levels, lists, options, instruments.
#[pyclass(frozen, name = "PassContext", module = "relais_onnx")]
pub(crate) struct PyPassContext {
    context: Arc<PassContext>,
    /// Whether it was given a level. Otherwise a pipeline that runs in it has its own.
    states_level: bool,
    /// Its instruments as they were given.
    given: Owner,
}

/// The current context: the object that was entered, if one was.
pub(crate) fn current(py: Python<'_>) -> PyResult<Py<PyPassContext>> {
    let Some(top) = top(py)? else { return object(py, &PassContext::current()) };
    let top = top.get();
    if let Some(object) = top.object.get() {
        return Ok(object.bind(py).cast::<PyPassContext>()?.clone().unbind());
    }
    let made = object(py, &top.context)?;
    let _ = top.object.set(made.clone_ref(py).into_any());
    Ok(made)
}

/// A context that code of Python has not made, as an object.
fn object(py: Python<'_>, context: &Arc<PassContext>) -> PyResult<Py<PyPassContext>> {
    let is_default = Arc::ptr_eq(context, &PassContext::of_thread());
    // A run has a level, the default context was given none.
    let made = || {
        let (context, given) = (context.clone(), Owner::default());
        Py::new(py, PyPassContext { context, states_level: !is_default, given })
    };
    if !is_default {
        return made();
    }
    // The default of this thread owns the instruments that it is given, and so is kept as long as the thread.
    static LOCAL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let make = || py.import("threading")?.getattr("local")?.call0().map(Bound::unbind);
    let local = LOCAL.get_or_try_init(py, make)?.bind(py);
    if let Some(known) = local.getattr_opt("context")? {
        return Ok(known.cast_into::<PyPassContext>()?.unbind());
    }
    let made = made()?;
    local.setattr("context", &made)?;
    Ok(made)
}

/// The settings of the context that was entered last, for a pipeline that runs in it.
#[derive(Default)]
pub(crate) struct Around {
    pub level: Option<u8>,
    pub required: Vec<String>,
    pub disabled: Vec<String>,
    pub config: Vec<(String, Value)>,
    pub instruments: Vec<Arc<dyn PassInstrument>>,
}

/// The settings of the context that code of Python entered last, unless a run has entered one of its own. If nothing was
/// entered, the default context has instruments, and no settings.
pub(crate) fn around(py: Python<'_>) -> PyResult<Around> {
    let instruments = |context: &PassContext| context.instruments().into_iter().map(instrument::entered).collect();
    let Some(entered) = of_program(py)? else {
        let instruments = if top(py)?.is_none() { instruments(&PassContext::current()) } else { Vec::new() };
        return Ok(Around { instruments, ..Around::default() });
    };
    let (current, object) = (&entered.get().context, entered.get().object.get());
    let states_level = object
        .is_none_or(|object| object.bind(py).cast::<PyPassContext>().is_ok_and(|context| context.get().states_level));
    let settings = current.settings();
    Ok(Around {
        level: states_level.then_some(settings.opt_level),
        required: settings.required.iter().cloned().collect(),
        disabled: settings.disabled.iter().cloned().collect(),
        config: settings.config.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
        instruments: instruments(current),
    })
}

type Instruments = Vec<Arc<dyn PassInstrument>>;

/// Instruments, with the objects that they are.
fn instruments(given: &[Bound<'_, PyAny>]) -> PyResult<(Vec<Held>, Instruments)> {
    given.iter().map(instrument::of).collect()
}

fn level(object: &Bound<'_, PyAny>) -> PyResult<u8> {
    if !object.is_instance_of::<PyInt>() || object.is_instance_of::<PyBool>() {
        return Err(value::wrong(object, "`opt_level`", "an int"));
    }
    let outside = |_| pyo3::exceptions::PyValueError::new_err("`opt_level` is outside 0 to 255");
    object.extract().map_err(outside)
}

#[pymethods]
impl PyPassContext {
    #[new]
    #[pyo3(signature = (opt_level = None, required_pass = None, disabled_pass = None, instruments = None, config = None, *, inherit = false))]
    fn make(
        py: Python<'_>,
        opt_level: Option<&Bound<'_, PyAny>>,
        required_pass: Option<&Bound<'_, PyAny>>,
        disabled_pass: Option<&Bound<'_, PyAny>>,
        instruments: Option<&Bound<'_, PyAny>>,
        config: Option<&Bound<'_, PyAny>>,
        inherit: bool,
    ) -> PyResult<Self> {
        let opt_level = opt_level.map(level).transpose()?;
        let required = value::names(required_pass, "`required_pass`")?;
        let disabled = value::names(disabled_pass, "`disabled_pass`")?;
        let config = value::entries(config, "`config`")?;
        let given = value::items(instruments, "`instruments`", "instruments")?;
        let (given, instruments) = self::instruments(&given)?;
        let library = library::library(py)?;
        let around = if inherit { now(py)?.settings().clone() } else { Scope::default() };
        let inherits_level = inherit && current(py)?.get().states_level;
        let build = |config: &[(String, Value)]| -> Result<PassContext, Faults> {
            let mut builder = ContextBuilder::new(&library, &around);
            if let Some(opt_level) = opt_level {
                builder = builder.opt_level(opt_level);
            }
            builder = required.iter().fold(builder, |builder, pass| builder.require(pass));
            builder = disabled.iter().fold(builder, |builder, pass| builder.disable(pass));
            builder = config.iter().fold(builder, |builder, (key, value)| builder.config(key, value.clone()));
            builder.build()
        };
        build(&[]).map_err(|faults| errors::of_faults(py, "PipelineError", &faults))?;
        let context = build(&config).map_err(|faults| errors::of_faults(py, "ConfigError", &faults))?;
        Ok(Self {
            context: Arc::new(context.with_instruments(instruments)),
            states_level: opt_level.is_some() || inherits_level,
            given: Owner::of(given),
        })
    }

    /// The innermost context of this task or thread; the default of the thread if none was entered. While a pass runs, the
    /// context of the run.
    #[staticmethod]
    fn current(py: Python<'_>) -> PyResult<Py<Self>> {
        current(py)
    }

    /// The options that contexts may set: each with its type, default, documentation and plugin.
    #[staticmethod]
    fn list_configs(py: Python<'_>) -> PyResult<Py<PyAny>> {
        list_configs(py)
    }

    /// Passes up to this level are on.
    #[getter]
    fn opt_level(&self) -> u8 {
        self.context.settings().opt_level
    }

    /// The passes that are on at any level, by full name.
    #[getter]
    fn required_pass(&self) -> Vec<&str> {
        self.context.settings().required.iter().map(String::as_str).collect()
    }

    /// The passes that are off, by full name.
    #[getter]
    fn disabled_pass(&self) -> Vec<&str> {
        self.context.settings().disabled.iter().map(String::as_str).collect()
    }

    /// The options of contexts, by key: those that are set, and the defaults of the others.
    #[getter]
    fn config<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let config = PyDict::new(py);
        for facts in library::library(py)?.config_options() {
            if let Some(default) = facts.schema.default {
                config.set_item(facts.schema.name, value::object(py, &default)?)?;
            }
        }
        for (key, value) in &self.context.settings().config {
            config.set_item(key, value::object(py, value)?)?;
        }
        Ok(config)
    }

    /// Its instruments, in order.
    #[getter]
    fn instruments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        // A fault empties the native list.
        let now = self.context.instruments();
        if now.is_empty() {
            return Ok(PyList::empty(py));
        }
        PyList::new(py, self.given.held().iter().map(|held| held.bind(py)))
    }

    /// Replaces its instruments: the old ones exit, the new ones enter.
    fn override_instruments(&self, py: Python<'_>, instruments: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let given = value::items(instruments, "`instruments`", "instruments")?;
        let (given, new) = self::instruments(&given)?;
        let mut old = self.given.replace(given);
        let result = hooks(py, || self.context.override_instruments(new));
        // A fault empties the native list, unless nothing was changed.
        if result.is_err() && !self.context.instruments().is_empty() {
            old = self.given.replace(old);
        }
        drop(old);
        result?;
        log::hand_over(py)
    }

    fn __enter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        let (py, context) = (slf.py(), &slf.get().context);
        enter(py, context, slf.clone().into_any().unbind())?;
        if let Err(error) = log::hand_over(py) {
            // Nothing else leaves it: the block of the `with` is not run.
            leave(py, context)?;
            return Err(error);
        }
        Ok(slf.clone())
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyAny>) -> PyResult<bool> {
        leave(py, &self.context)?;
        log::hand_over(py)?;
        Ok(false)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.given.traverse(&visit)
    }

    fn __clear__(&self) {
        self.given.clear();
    }

    /// Says that something is wrong, as the pass that runs: it has failed when it ends.
    #[pyo3(signature = (message, node = None, *, code = None, help = None))]
    fn error(
        &self,
        message: &str,
        node: Option<&Bound<'_, PyAny>>,
        code: Option<&str>,
        help: Option<&str>,
    ) -> PyResult<()> {
        spoken::diagnostic("error", Diagnostic::error(message), node, code, help)
    }

    /// Warns, as the pass that runs.
    #[pyo3(signature = (message, node = None, *, code = None, help = None))]
    fn warning(
        &self,
        message: &str,
        node: Option<&Bound<'_, PyAny>>,
        code: Option<&str>,
        help: Option<&str>,
    ) -> PyResult<()> {
        spoken::diagnostic("warning", Diagnostic::warning(message), node, code, help)
    }

    /// Says something that users may want to know, as the pass that runs.
    #[pyo3(signature = (message, node = None, *, code = None, help = None))]
    fn note(
        &self,
        message: &str,
        node: Option<&Bound<'_, PyAny>>,
        code: Option<&str>,
        help: Option<&str>,
    ) -> PyResult<()> {
        spoken::diagnostic("note", Diagnostic::note(message), node, code, help)
    }

    /// Says why something was left as it is, as the pass that runs.
    #[pyo3(signature = (message, node = None, *, code = None, help = None))]
    fn remark(
        &self,
        message: &str,
        node: Option<&Bound<'_, PyAny>>,
        code: Option<&str>,
        help: Option<&str>,
    ) -> PyResult<()> {
        spoken::diagnostic("remark", Diagnostic::new(Severity::REMARK, message), node, code, help)
    }

    /// Adds to a count of the pass that runs; instruments see it.
    #[pyo3(signature = (name, n = value::Count(1)), text_signature = "($self, name, n=1)")]
    fn count(&self, name: &str, n: value::Count) -> PyResult<()> {
        spoken::count(name, n.0)
    }

    /// Whether both are one context.
    fn same_as(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.context, &other.context)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| self.same_as(other.get()))
    }

    fn __hash__(&self) -> usize {
        Arc::as_ptr(&self.context).addr()
    }

    fn __repr__(&self) -> String {
        let settings = self.context.settings();
        format!(
            "PassContext(opt_level={}, required_pass={:?}, disabled_pass={:?}, {} options, instruments=[{}])",
            settings.opt_level,
            settings.required,
            settings.disabled,
            settings.config.len(),
            installed(&self.context.instruments()),
        )
    }
}

/// The options that contexts may set.
#[pyfunction]
pub(crate) fn list_configs(py: Python<'_>) -> PyResult<Py<PyAny>> {
    let mut configs = serde_json::Map::new();
    for facts in library::library(py)?.config_options() {
        let mut json = relais::listing::option_json(&facts.schema);
        let plugins: Vec<&str> = facts.plugins.iter().map(String::as_str).filter(|by| *by != PROGRAM).collect();
        json["plugin"] = (!plugins.is_empty()).then(|| plugins.join(", ")).into();
        json["type"] = json["takes"]["type"].clone();
        configs.insert(facts.schema.name.clone(), json);
    }
    let json = serde_json::Value::Object(configs).to_string();
    let loads = py.import("json")?.getattr("loads")?;
    loads.call1((json,)).map(Bound::unbind).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}
