//! Instruments: those of the host and of plugins by name, and those that are written in Python.

use crate::{
    entering, errors,
    held::{Handle, Held},
    library,
    module::{Origin, PyIrModule},
    pass_info::PyPassInfo,
    run::keep,
    stderr::Stderr,
    value,
};
use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyBool, PyType},
};
use relais::{
    ir::IRModule,
    pass::{Deadline, InstrumentFindings, PassInfo, PassInstrument, PassMessage, SkipReason},
};
use relais_plugin_api::diagnostics::PassError;
use std::{panic::resume_unwind, sync::Arc, time::Duration};

/// An instrument of the host or of a plugin.
#[pyclass(frozen, subclass, name = "Instrument", module = "relais_onnx")]
pub(crate) struct NamedInstrument {
    instrument: Arc<dyn PassInstrument>,
}

#[pymethods]
impl NamedInstrument {
    #[new]
    #[pyo3(signature = (name, **options))]
    fn make(py: Python<'_>, name: &str, options: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let options = value::entries(options, "the options")?;
        let library = library::library(py)?;
        let built = library.context().output(Arc::new(Stderr)).instrument_by_name(name, options).build();
        let built = built.map_err(|faults| errors::of_faults(py, "PipelineError", &faults))?;
        let instrument = built.instruments().into_iter().next();
        let missing = || PyTypeError::new_err(format!("`{name}` is not an instrument"));
        Ok(Self { instrument: instrument.ok_or_else(missing)? })
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        self.instrument.name()
    }

    /// The findings as text.
    fn render(&self, py: Python<'_>) -> String {
        py.detach(|| self.instrument.findings()).map(|found| found.text).unwrap_or_default()
    }

    /// The findings as data.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let data = py.detach(|| self.instrument.findings()).map(|found| found.data).unwrap_or_default();
        py.import("json")?.call_method1("loads", (data.to_string(),))
    }

    fn __repr__(&self) -> String {
        format!("<instrument {}>", self.instrument.name())
    }
}

/// The names of instruments.
pub(crate) fn installed(instruments: &[Arc<dyn PassInstrument>]) -> String {
    instruments.iter().map(|instrument| instrument.name().to_owned()).collect::<Vec<_>>().join(", ")
}

/// The instrument that an object is, which lives as long as the object is held.
pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<(Held, Arc<dyn PassInstrument>)> {
    let held = Arc::new(object.clone().unbind());
    if let Ok(named) = object.cast::<NamedInstrument>() {
        return Ok((held, named.get().instrument.clone()));
    }
    if object.is_instance_of::<PyType>() {
        let message =
            format!("an instrument is an object, not the class `{}`: call it", object.cast::<PyType>()?.name()?);
        return Err(PyTypeError::new_err(message));
    }
    let class = object.get_type();
    let base = object.py().import("relais_onnx.instrument")?.getattr("PassInstrument")?;
    // A method that a class does not override is never called.
    let overrides = |hook: &str| -> PyResult<bool> {
        let Ok(own) = class.getattr(hook) else { return Ok(false) };
        Ok(!own.is(&base.getattr(hook)?))
    };
    let mut hooks = Hooks::default();
    for (hook, is_there) in [
        ("enter_pass_ctx", &mut hooks.enter),
        ("exit_pass_ctx", &mut hooks.exit),
        ("should_run", &mut hooks.should_run),
        ("run_before_pass", &mut hooks.before),
        ("run_after_pass", &mut hooks.after),
        ("skipped", &mut hooks.skipped),
        ("failed", &mut hooks.failed),
        ("counted", &mut hooks.counted),
        ("said", &mut hooks.said),
    ] {
        *is_there = overrides(hook)?;
    }
    if hooks == Hooks::default() && !object.is_instance(&base)? {
        return Err(value::wrong(object, "an instrument", "an object with hooks such as `run_before_pass`"));
    }
    let name = match object.getattr("name").and_then(|name| name.extract()) {
        Ok(name) => name,
        Err(_) => class.name()?.to_string(),
    };
    let own = Own { name, hooks, object: Handle::of(&held) };
    Ok((held, Arc::new(own)))
}

/// The hooks that an instrument has.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Hooks {
    enter: bool,
    exit: bool,
    should_run: bool,
    before: bool,
    after: bool,
    skipped: bool,
    failed: bool,
    counted: bool,
    said: bool,
}

/// An instrument that is written in Python.
struct Own {
    name: String,
    hooks: Hooks,
    object: Handle,
}

impl Own {
    /// Calls a hook with arguments that `args` makes. One that was replaced while a run goes on, and freed, is told nothing.
    fn call<T: Default>(
        &self,
        hook: &str,
        args: impl FnOnce(Python<'_>, Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Result<T, PassError> {
        Python::attach(|py| {
            let Some(object) = self.object.find(py) else { return Ok(T::default()) };
            let call = || args(py, object.getattr(hook)?);
            entering::scope(py, call).map_err(|error| keep(py, error))
        })
    }

    /// The same for a hook that returns nothing: its error is a panic to those who watch it.
    fn tell(&self, hook: &str, args: impl FnOnce(Python<'_>, Bound<'_, PyAny>) -> PyResult<()>) {
        if let Err(error) = self.call(hook, args) {
            resume_unwind(Box::new(error.rec().message.to_string()));
        }
    }
}

/// An instrument of a context that was entered, for runs within it: it is not entered again.
pub(crate) fn entered(instrument: Arc<dyn PassInstrument>) -> Arc<dyn PassInstrument> {
    Arc::new(Entered(instrument))
}

struct Entered(Arc<dyn PassInstrument>);

impl PassInstrument for Entered {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn should_run(&self, module: &IRModule, pass: &PassInfo<'_>) -> Result<bool, PassError> {
        self.0.should_run(module, pass)
    }

    fn before(&self, module: &IRModule, pass: &PassInfo<'_>) -> Result<(), PassError> {
        self.0.before(module, pass)
    }

    fn after(&self, module: &IRModule, pass: &PassInfo<'_>) -> Result<(), PassError> {
        self.0.after(module, pass)
    }

    fn skipped(&self, module: &IRModule, pass: &PassInfo<'_>, reason: &SkipReason) {
        self.0.skipped(module, pass, reason);
    }

    fn failed(&self, pass: &PassInfo<'_>, error: &PassError) {
        self.0.failed(pass, error);
    }

    fn took(&self, pass: &PassInfo<'_>, duration: Duration) {
        self.0.took(pass, duration);
    }

    fn types_took(&self, duration: Duration) {
        self.0.types_took(duration);
    }

    fn counted(&self, pass: &PassInfo<'_>, statistic: &str, n: u64) {
        self.0.counted(pass, statistic, n);
    }

    fn said(&self, pass: &PassInfo<'_>, said: &PassMessage) {
        self.0.said(pass, said);
    }

    fn wants_remarks(&self) -> bool {
        self.0.wants_remarks()
    }

    fn deadline(&self, pass: &PassInfo<'_>) -> Option<Deadline> {
        self.0.deadline(pass)
    }

    fn accept(&self, module: &IRModule, pass: &PassInfo<'_>) -> Result<(), PassError> {
        self.0.accept(module, pass)
    }
}

fn shown(py: Python<'_>, module: &IRModule) -> PyResult<Py<PyIrModule>> {
    Py::new(py, PyIrModule::new(module.clone(), Origin::none()))
}

impl PassInstrument for Own {
    fn name(&self) -> &str {
        &self.name
    }

    fn enter(&self) -> Result<(), PassError> {
        if !self.hooks.enter {
            return Ok(());
        }
        self.call("enter_pass_ctx", |_, hook| hook.call0().map(drop))
    }

    fn exit(&self) -> Result<(), PassError> {
        if !self.hooks.exit {
            return Ok(());
        }
        self.call("exit_pass_ctx", |_, hook| hook.call0().map(drop))
    }

    fn should_run(&self, module: &IRModule, pass: &PassInfo<'_>) -> Result<bool, PassError> {
        if !self.hooks.should_run {
            return Ok(true);
        }
        let is_vetoed = self.call("should_run", |py, hook| {
            let answer = hook.call1((shown(py, module)?, PyPassInfo::from(pass)))?;
            match answer.cast::<PyBool>() {
                Ok(answer) => Ok(!answer.is_true()),
                Err(_) => Err(value::wrong(&answer, "what `should_run` returns", "a bool")),
            }
        });
        is_vetoed.map(|is_vetoed| !is_vetoed)
    }

    fn before(&self, module: &IRModule, pass: &PassInfo<'_>) -> Result<(), PassError> {
        if !self.hooks.before {
            return Ok(());
        }
        self.call("run_before_pass", |py, hook| hook.call1((shown(py, module)?, PyPassInfo::from(pass))).map(drop))
    }

    fn after(&self, module: &IRModule, pass: &PassInfo<'_>) -> Result<(), PassError> {
        if !self.hooks.after {
            return Ok(());
        }
        self.call("run_after_pass", |py, hook| hook.call1((shown(py, module)?, PyPassInfo::from(pass))).map(drop))
    }

    fn skipped(&self, module: &IRModule, pass: &PassInfo<'_>, reason: &SkipReason) {
        if self.hooks.skipped {
            self.tell("skipped", |py, hook| {
                hook.call1((shown(py, module)?, PyPassInfo::from(pass), reason.to_string())).map(drop)
            });
        }
    }

    fn failed(&self, pass: &PassInfo<'_>, error: &PassError) {
        if self.hooks.failed {
            self.tell("failed", |_, hook| hook.call1((PyPassInfo::from(pass), error.to_string())).map(drop));
        }
    }

    fn counted(&self, pass: &PassInfo<'_>, statistic: &str, n: u64) {
        if self.hooks.counted {
            self.tell("counted", |_, hook| hook.call1((PyPassInfo::from(pass), statistic, n)).map(drop));
        }
    }

    fn said(&self, pass: &PassInfo<'_>, said: &PassMessage) {
        if self.hooks.said {
            self.tell("said", |_, hook| hook.call1((PyPassInfo::from(pass), said.to_string())).map(drop));
        }
    }

    fn findings(&self) -> Option<InstrumentFindings> {
        None
    }
}
