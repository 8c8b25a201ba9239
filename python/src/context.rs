//! Pass contexts as context managers.

use crate::{
    errors,
    instrument::{self, installed},
    library, log,
    run::{RunState, within},
    spoken, value,
};
use pyo3::{
    exceptions::PyRuntimeError,
    prelude::*,
    types::{PyBool, PyDict, PyInt, PyList},
};
use relais::{
    pass::{Catalogue, ContextError, ContextGuard, HookFault, PassContext, PassInstrument},
    pipeline::Faults,
};
use relais_plugin_api::{
    diagnostics::{Diagnostic, Severity},
    options::Value,
};
use std::{
    cell::RefCell,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The settings of the passes that run in it: levels, lists, options, instruments.
#[pyclass(frozen, name = "PassContext", module = "relais_onnx")]
pub(crate) struct PyPassContext {
    context: Arc<PassContext>,
    /// Its instruments as they were given. No code of Python's runs while they are locked.
    given: Mutex<Vec<Py<PyAny>>>,
}

/// A context that was entered on this thread.
struct Entered {
    context: Py<PyPassContext>,
    guard: ContextGuard,
}

/// The contexts that are entered, on any thread. No code of Python's runs while it is locked.
static KNOWN: Mutex<Vec<Py<PyPassContext>>> = Mutex::new(Vec::new());

thread_local! {
    static ENTERED: RefCell<Vec<Entered>> = const { RefCell::new(Vec::new()) };
}

/// Runs what may enter contexts, and leaves those that it has not left: they would be its caller's.
pub(crate) fn scope<T>(py: Python<'_>, run: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let depth = ENTERED.with_borrow(Vec::len);
    let mut result = run();
    loop {
        let above = ENTERED.with_borrow(|entered| entered.get(depth..)?.last().map(|top| top.context.clone_ref(py)));
        let Some(above) = above else { return result };
        let left = above.get().leave(py);
        if result.is_ok() {
            let message = "a pass context that was entered here was not left\n  help: enter it by `with`";
            result = Err(left.err().unwrap_or_else(|| errors::exception(py, "ContextError", message, |_| Ok(()))));
        }
    }
}

/// The current context: the object that was entered, if one was.
pub(crate) fn current(py: Python<'_>) -> PyResult<Py<PyPassContext>> {
    let context = PassContext::current();
    let known = {
        let known = known();
        known.iter().rev().find(|it| Arc::ptr_eq(&it.get().context, &context)).map(|it| it.clone_ref(py))
    };
    match known {
        Some(known) => Ok(known),
        None => Py::new(py, PyPassContext { context, given: Mutex::default() }),
    }
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

/// The settings of the context that was entered last on this thread, unless a run has entered one of its own.
pub(crate) fn around() -> Around {
    let current = PassContext::current();
    let is_entered = ENTERED
        .with_borrow(|entered| entered.last().is_some_and(|top| Arc::ptr_eq(&top.context.get().context, &current)));
    if !is_entered {
        return Around::default();
    }
    let settings = current.settings();
    Around {
        level: Some(settings.opt_level),
        required: settings.required.iter().cloned().collect(),
        disabled: settings.disabled.iter().cloned().collect(),
        config: settings.config.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
        instruments: current.instruments().into_iter().map(instrument::entered).collect(),
    }
}

fn known() -> MutexGuard<'static, Vec<Py<PyPassContext>>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PyPassContext {
    fn given(&self) -> MutexGuard<'_, Vec<Py<PyAny>>> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves it, if it is the innermost of this thread.
    fn leave(&self, py: Python<'_>) -> PyResult<()> {
        let is_top = ENTERED
            .with_borrow(|entered| entered.last().map(|top| Arc::ptr_eq(&top.context.get().context, &self.context)));
        match is_top {
            Some(true) => {}
            Some(false) => return Err(out_of_order(py)),
            None => {
                let message = "this pass context was not entered on this thread";
                return Err(errors::exception(py, "ContextError", message, |_| Ok(())));
            }
        }
        {
            let mut known = known();
            let at = known.iter().rposition(|it| Arc::ptr_eq(&it.get().context, &self.context));
            at.map(|at| known.remove(at))
        };
        let mut is_out_of_order = false;
        let left = hooks(py, || {
            let Some(top) = ENTERED.with_borrow_mut(Vec::pop) else { return Ok(()) };
            match top.guard.leave() {
                Ok(()) => Ok(()),
                Err(ContextError::Hook(fault)) => Err(fault),
                Err(_) => {
                    is_out_of_order = true;
                    Ok(())
                }
            }
        });
        left?;
        if is_out_of_order { Err(out_of_order(py)) } else { Ok(()) }
    }
}

/// Runs hooks of instruments, without the interpreter's lock.
fn hooks<T: Send>(py: Python<'_>, run: impl FnOnce() -> Result<T, HookFault> + Send) -> PyResult<T> {
    let state = Arc::new(RunState::default());
    let result = py.detach(|| within(&state, run));
    if let Some(error) = state.ended() {
        return Err(error);
    }
    result.map_err(|fault| errors::of_hook(py, &fault, &state))
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
        let instruments = given.iter().map(instrument::of).collect::<PyResult<Vec<_>>>()?;
        let library = library::library(py)?;
        let build = |config: &[(String, Value)]| -> Result<PassContext, Faults> {
            let mut builder = if inherit { library.inherited_context() } else { library.context() };
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
        let context = Arc::new(context.with_instruments(instruments));
        Ok(Self { context, given: Mutex::new(given.into_iter().map(Bound::unbind).collect()) })
    }

    /// The innermost context of this thread; its default if none was entered.
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
        let given: Vec<_> = self.given().iter().map(|it| it.clone_ref(py)).collect();
        PyList::new(py, given)
    }

    /// Replaces its instruments: the old ones exit, the new ones enter.
    fn override_instruments(&self, py: Python<'_>, instruments: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let given = value::items(instruments, "`instruments`", "instruments")?;
        let new = given.iter().map(instrument::of).collect::<PyResult<Vec<_>>>()?;
        let given = given.into_iter().map(Bound::unbind).collect();
        let mut old = std::mem::replace(&mut *self.given(), given);
        let result = hooks(py, || self.context.override_instruments(new));
        // A fault empties the native list, unless nothing was changed.
        if result.is_err() && !self.context.instruments().is_empty() {
            std::mem::swap(&mut *self.given(), &mut old);
        }
        // Finalizers may ask this context for its instruments.
        drop(old);
        result?;
        log::hand_over(py)
    }

    fn __enter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        let py = slf.py();
        let context = slf.clone().unbind();
        let native = slf.get().context.clone();
        hooks(py, move || {
            let guard = native.enter()?;
            ENTERED.with_borrow_mut(|entered| entered.push(Entered { context, guard }));
            Ok(())
        })?;
        known().push(slf.clone().unbind());
        if let Err(error) = log::hand_over(py) {
            // Nothing else leaves it: the block of the `with` is not run.
            slf.get().leave(py)?;
            return Err(error);
        }
        Ok(slf.clone())
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.leave(py)?;
        log::hand_over(py)?;
        Ok(false)
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

fn out_of_order(py: Python<'_>) -> PyErr {
    errors::exception(py, "ContextError", ContextError::OutOfOrder, |_| Ok(()))
}

/// The options that contexts may set.
#[pyfunction]
pub(crate) fn list_configs(py: Python<'_>) -> PyResult<Py<PyAny>> {
    let mut configs = serde_json::Map::new();
    for facts in library::library(py)?.config_options() {
        let mut json = relais::listing::option_json(&facts.schema);
        json["plugin"] = facts.plugins.join(", ").into();
        json["type"] = json["takes"]["type"].clone();
        configs.insert(facts.schema.name.clone(), json);
    }
    let json = serde_json::Value::Object(configs).to_string();
    let loads = py.import("json")?.getattr("loads")?;
    loads.call1((json,)).map(Bound::unbind).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}
