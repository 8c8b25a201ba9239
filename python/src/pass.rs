//! Passes: those of plugins, and those that are written in Python.

use crate::{
    context, errors, library,
    module::{Origin, PyFunction, PyIrModule, is_same},
    rewrite::{self, OwnRules},
    rules::{self, Judged},
    run::{keep, run},
    value,
};
use abi_stable::std_types::RArc;
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
};
use relais::{
    ir::{Function, IRModule, global_kind},
    manager::Report,
    pass::{PassFacts, PassInfo, RunCx},
    transform::Pass,
};
use relais_plugin_api::diagnostics::{PRINTED, PassError, Severity};
use relais_session::{JudgedRules, pipeline::StatedRules};
use std::sync::Arc;

/// A pass: from a module to a module.
#[pyclass(frozen, subclass, name = "Pass", module = "relais_onnx")]
pub(crate) struct PyPass {
    pub pass: Pass,
    /// The rules that it rewrites by, and those of its members.
    pub rules: Vec<Arc<Judged>>,
    /// The passes that its members require.
    required: Vec<String>,
}

/// The facts about a pass.
#[pyclass(frozen, eq, get_all, name = "PassInfo", module = "relais_onnx")]
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct PyPassInfo {
    /// Its optimisation level.
    opt_level: u8,
    /// Its name.
    name: String,
    /// The passes that it requires.
    required: Vec<String>,
    /// The unit that it receives: "module", "function", "prim-func", "rewrite" or "sequential".
    kind: String,
    /// The plugin that provides it; none for passes of the program.
    plugin: Option<String>,
}

#[pymethods]
impl PyPassInfo {
    #[new]
    #[pyo3(signature = (opt_level, name, required = None))]
    fn make(opt_level: u8, name: String, required: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let required = value::names(required, "`required`")?;
        Ok(Self { opt_level, name, required, kind: "module".into(), plugin: None })
    }

    fn __repr__(&self) -> String {
        let Self { opt_level, name, required, .. } = self;
        format!("PassInfo(opt_level={opt_level}, name={name:?}, required={required:?})")
    }
}

fn plugin(name: &str) -> Option<String> {
    Some(name.to_owned()).filter(|name| !name.is_empty())
}

impl From<&PassFacts> for PyPassInfo {
    fn from(facts: &PassFacts) -> Self {
        Self::from(&PassInfo::from(facts))
    }
}

impl From<&PassInfo<'_>> for PyPassInfo {
    fn from(info: &PassInfo<'_>) -> Self {
        Self {
            opt_level: info.opt_level,
            name: info.name.to_owned(),
            required: info.required.to_vec(),
            kind: info.level.name().to_owned(),
            plugin: plugin(info.plugin),
        }
    }
}

#[pymethods]
impl PyPass {
    /// A pass of a Python function: `kind` is "module", "function" or "prim-func". Or of a list of passes: "sequential".
    #[new]
    #[pyo3(signature = (kind, run, name, opt_level, required, doc, changes_interface = false))]
    fn make(
        kind: &str,
        run: Bound<'_, PyAny>,
        name: &str,
        opt_level: u8,
        required: Vec<String>,
        doc: &str,
        changes_interface: bool,
    ) -> PyResult<Self> {
        let required: Vec<&str> = required.iter().map(String::as_str).collect();
        if kind == "sequential" {
            let passes: Vec<Py<Self>> = run.extract()?;
            let members = passes.iter().map(|pass| pass.get().pass.clone());
            let pass = Pass::sequence(name, members).at_level(opt_level).requiring(&required).documented(doc);
            let rules = passes.iter().flat_map(|pass| pass.get().rules.iter().cloned()).collect();
            let required = passes.iter().flat_map(|pass| pass.get().all_required()).collect();
            return Ok(Self { pass, rules, required });
        }
        if kind == "rules" {
            let OwnRules { rules, pass, is_judged } = rewrite::pass(run.py(), name, opt_level, &run)?;
            let pass = pass.requiring(&required).documented(doc);
            let judged = Judged::own(rules, pass.clone(), is_judged);
            return Ok(Self { pass, rules: vec![Arc::new(judged)], required: Vec::new() });
        }
        if !run.is_callable() {
            return Err(PyTypeError::new_err("a pass is made of a callable"));
        }
        let run = run.unbind();
        let pass = match kind {
            "module" => Pass::module(name, opt_level, move |module, _| on_module(&run, module)),
            "function" => {
                let on = move |module: &Py<PyIrModule>, name: &str, f: &_, _: &RunCx<'_>| {
                    on_function(&run, (global_kind::FUNCTION, name), f, module)
                };
                Pass::function_with(name, opt_level, handle_of, on)
            }
            "prim-func" => {
                let on = move |module: &Py<PyIrModule>, name: &str, f: &_, _: &RunCx<'_>| {
                    on_function(&run, (global_kind::PRIM_FUNC, name), f, module)
                };
                Pass::prim_func_with(name, opt_level, handle_of, on)
            }
            _ => return Err(PyValueError::new_err(format!("`{kind}` is not a kind of pass"))),
        };
        let pass = if changes_interface { pass.changing_interface() } else { pass };
        Ok(Self { pass: pass.serial().requiring(&required).documented(doc), rules: Vec::new(), required: Vec::new() })
    }

    /// The facts about it.
    #[getter]
    fn info(&self) -> PyPassInfo {
        self.pass.info().into()
    }

    /// Runs it in the current context. The module that is given stays as it is.
    fn __call__(&self, py: Python<'_>, module: &Bound<'_, PyAny>) -> PyResult<Py<PyIrModule>> {
        let module =
            module.cast::<PyIrModule>().map_err(|_| value::wrong(module, "the argument of a pass", "an IRModule"))?;
        let given = module.get();
        let (library, own) = library::known_of(library::registry(py)?);
        let required = own.rules_of_required(&library, &self.required);
        self.rules.iter().chain(&required).try_for_each(|rules| rules.judge(py))?;
        let (ran, state) = run(py, None, |options| self.pass.run_with(&library, &given.module, options))?;
        match ran {
            Ok((new, report)) => {
                say(py, &report)?;
                match is_same(&new, &given.module) {
                    true => Ok(module.clone().unbind()),
                    false => Py::new(py, PyIrModule::new(new, given.origin.clone())),
                }
            }
            Err(error) => {
                if let relais::transform::RunError::Failed(failure) = &error {
                    say(py, &failure.report)?;
                }
                Err(errors::of_run(py, &error, &state))
            }
        }
    }

    fn __str__(&self) -> String {
        let facts = self.pass.info();
        let kind = facts.level.name();
        format!("{kind} pass `{}` of level {}", facts.name, facts.opt_level)
    }

    fn __repr__(&self) -> String {
        format!("<{}>", self.__str__())
    }
}

impl PyPass {
    /// The rules that are judged before it runs in a pipeline.
    pub fn own_rules(&self) -> Vec<Arc<dyn JudgedRules>> {
        rules::own_rules(&self.rules)
    }

    /// The passes that it and its members require.
    fn all_required(&self) -> Vec<String> {
        self.pass.info().required.iter().chain(&self.required).cloned().collect()
    }
}

/// Prints what passes printed, and logs the rest of what was said.
pub(crate) fn say(py: Python<'_>, report: &Report) -> PyResult<()> {
    for said in &report.said {
        let rec = said.diagnostic.rec();
        if rec.code == PRINTED {
            write(py, &format!("{}\n", rec.message))?;
        } else if rec.severity >= Severity::WARNING {
            crate::log::warn(said.to_string());
        }
    }
    report.warnings.iter().for_each(crate::log::warn);
    crate::log::hand_over(py)
}

/// Writes to `sys.stderr`, as it is now: notebooks and test programs replace it.
pub(crate) fn write(py: Python<'_>, text: &str) -> PyResult<()> {
    let stderr = py.import("sys")?.getattr("stderr")?;
    if stderr.is_none() {
        return Ok(());
    }
    stderr.call_method1("write", (text,)).map(drop)
}

fn on_module(run: &Py<PyAny>, module: &IRModule) -> Result<Option<IRModule>, PassError> {
    Python::attach(|py| {
        let call = || -> PyResult<Option<IRModule>> {
            let given = Py::new(py, PyIrModule::new(module.clone(), Origin::none()))?;
            let context = context::current(py)?;
            let result = context::scope(py, || run.bind(py).call1((given, context)))?;
            if result.is_none() {
                return Ok(None);
            }
            let new = result
                .cast::<PyIrModule>()
                .map_err(|_| value::wrong(&result, "what a module pass returns", "an IRModule or None"))?;
            let new = &new.get().module;
            Ok((!is_same(new, module)).then(|| new.clone()))
        };
        call().map_err(|error| keep(py, error))
    })
}

/// The module as an object, made once for all of its functions.
fn handle_of(module: &IRModule, _: &RunCx<'_>) -> Result<Py<PyIrModule>, PassError> {
    Python::attach(|py| Py::new(py, PyIrModule::new(module.clone(), Origin::none())).map_err(|error| keep(py, error)))
}

fn on_function(
    run: &Py<PyAny>,
    (kind, name): (u8, &str),
    f: &RArc<Function>,
    module: &Py<PyIrModule>,
) -> Result<Option<Function>, PassError> {
    Python::attach(|py| {
        let call = || -> PyResult<Option<Function>> {
            let given = PyFunction::new(name.to_owned(), kind, f.clone());
            let context = context::current(py)?;
            let result = context::scope(py, || run.bind(py).call1((given, module, context)))?;
            if result.is_none() {
                return Ok(None);
            }
            let new = result
                .cast::<PyFunction>()
                .map_err(|_| value::wrong(&result, "what a function pass returns", "a Function or None"))?;
            let new = &new.get().function;
            Ok((!std::ptr::eq(&**new, &**f)).then(|| (**new).clone()))
        };
        call().map_err(|error| keep(py, error))
    })
}

/// The pass of a name, full or short, with options.
#[pyfunction]
#[pyo3(signature = (name, options))]
pub(crate) fn get_pass(py: Python<'_>, name: &str, options: &Bound<'_, PyAny>) -> PyResult<PyPass> {
    let options = value::entries(Some(options), "the options")?;
    let (library, own) = library::known_of(library::registry(py)?);
    let found = library.get_pass_with(name, options);
    let pass = found.map_err(|faults| errors::of_faults(py, "PipelineError", &faults))?;
    let stated = StatedRules::of_pass(&pass).map_err(|error| errors::of_model(py, &error))?;
    let mut rules = own.rules_of(pass.info());
    if !stated.is_empty() {
        rules.push(Arc::new(Judged::stated(stated)));
    }
    Ok(PyPass { pass, rules, required: Vec::new() })
}
