//! Passes: those of plugins, and those that are written in Python.

use crate::{
    context, entering, errors,
    held::{Handle, Held, Owner},
    judged::Judged,
    library::{self, Registered},
    log,
    module::{Origin, PyFunction, PyIrModule, is_same},
    pass_info::PyPassInfo,
    plugins::registry,
    rewrite::{self, OwnRules},
    rules::{Told, judge_own},
    run::{keep, run},
    schema,
    spoken::heard,
    value,
};
use abi_stable::std_types::RArc;
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    gc::{PyTraverseError, PyVisit},
    prelude::*,
    types::{PyDict, PyTuple},
};
use relais::{
    ir::{Function, IRModule, global_kind},
    manager::{ManagerOptions, RunReport},
    pass::{Dependencies, RunCx},
    transform::Pass,
};
use relais_plugin_api::{diagnostics::PassError, options::Value, pass::Requirement};
use relais_session::pipeline::StatedRules;
use std::sync::Arc;

/// A pass: from a module to a module.
#[pyclass(frozen, subclass, name = "Pass", module = "relais_onnx")]
pub(crate) struct PyPass {
    pub pass: Pass,
    /// The rules that it rewrites by, and those of its members.
    pub rules: Vec<Arc<Judged>>,
    /// The passes that its members require.
    required: Vec<Requirement>,
    /// The way in which a run of it follows requirements, if it is a sequence that says so.
    dependencies: Option<Dependencies>,
    /// The code that its native part calls, and the passes that it is made of.
    owner: Arc<Owner>,
}

#[pymethods]
impl PyPass {
    /// A pass of a Python function: `kind` is "module", "function" or "prim-func". Or of a list of passes: "sequential".
    #[new]
    #[pyo3(signature = (kind, run, name, opt_level, required, doc, changes_interface = false, options = None, dependencies = None))]
    #[expect(clippy::too_many_arguments, reason = "they are those of a constructor in Python")]
    fn make(
        kind: &str,
        run: Bound<'_, PyAny>,
        name: &str,
        opt_level: u8,
        required: Vec<value::Required>,
        doc: &str,
        changes_interface: bool,
        options: Option<(Bound<'_, PyAny>, Py<PyAny>)>,
        dependencies: Option<&str>,
    ) -> PyResult<Self> {
        let requiring = |pass: Pass| {
            let required = required.into_iter().map(|value::Required(required)| required);
            required.fold(pass, Pass::requiring_one)
        };
        let owner = Arc::new(Owner::default());
        if kind == "sequential" {
            let (py, passes) = (run.py(), run.extract::<Vec<Py<Self>>>()?);
            let members = passes.iter().map(|pass| pass.get().pass.clone());
            let pass = requiring(Pass::sequence(name, members).at_level(opt_level)).documented(doc);
            let rules = passes.iter().flat_map(|pass| pass.get().rules.iter().cloned()).collect();
            let required = passes.iter().flat_map(|pass| pass.get().all_required()).collect();
            passes.iter().for_each(|pass| _ = owner.own(pass.clone_ref(py).into_any()));
            let dependencies = dependencies.map(value::dependencies).transpose()?;
            return Ok(Self { pass, rules, required, dependencies, owner });
        }
        if kind == "rules" {
            let OwnRules { rules, pass, is_judged } = rewrite::pass(name, opt_level, &run, &owner)?;
            let pass = requiring(pass).documented(doc);
            let judged = Judged::own(rules, pass.clone(), is_judged);
            return Ok(Self { pass, rules: vec![Arc::new(judged)], required: Vec::new(), dependencies: None, owner });
        }
        if !run.is_callable() {
            return Err(PyTypeError::new_err("a pass is made of a callable"));
        }
        let Some(make) = maker(kind) else {
            return Err(PyValueError::new_err(format!("`{kind}` is not a kind of pass")));
        };
        let run = owner.own(run.unbind());
        let pass = match options {
            None => make(name, opt_level, run, None),
            Some((schema, build)) => {
                let (schema, named) = (schema::options(&schema)?, name.to_owned());
                let (build, lender) = (owner.own(build), Arc::downgrade(&owner));
                let with = move |options: &Value| {
                    Python::attach(|py| {
                        let given = value::object(py, options).and_then(|values| build.get(py)?.call1((values,)));
                        let given = given.map_err(|error| keep(py, error))?.unbind();
                        let given = lender.upgrade().map(|owner| owner.lend(given));
                        Ok(make(&named, opt_level, run.clone(), given))
                    })
                };
                let blank = make(name, opt_level, Handle::default(), None);
                blank.with_options(schema, with).map_err(|error| PyValueError::new_err(error.to_string()))?
            }
        };
        let pass = if changes_interface { pass.changing_interface() } else { pass };
        let pass = requiring(pass.serial()).documented(doc);
        Ok(Self { pass, rules: Vec::new(), required: Vec::new(), dependencies: None, owner })
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.owner.traverse(&visit)
    }

    fn __clear__(&self) {
        self.owner.clear();
    }

    /// The same pass with values of its options.
    #[pyo3(signature = (**options))]
    fn with_options(slf: &Bound<'_, Self>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let py = slf.py();
        let this = slf.get();
        let options = value::entries(options.map(|dict| dict.as_any()), "the options")?;
        let pass = this.pass.with_values(options, registry(py)?);
        let pass = pass.map_err(|faults| errors::of_faults(py, "PipelineError", &faults))?;
        let owner = Arc::new(Owner::of(vec![Arc::new(slf.clone().into_any().unbind())]));
        Ok(Self {
            pass,
            rules: this.rules.clone(),
            required: this.required.clone(),
            dependencies: this.dependencies,
            owner,
        })
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
        let (library, own) = library::known_of(registry(py)?);
        let required = own.rules_of_required(&library, &self.required);
        self.rules.iter().chain(&required).try_for_each(|rules| rules.judge(py))?;
        let (ran, state) = run(py, None, |options| {
            let options = ManagerOptions { dependencies: self.dependencies, ..options.clone() };
            self.pass.run_with(&library, &given.module, &options)
        })?;
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

/// Makes a pass of its name, its level, its code, and the object of its options, which the code takes last.
type Maker = fn(&str, u8, Handle, Option<Held>) -> Pass;

/// The function that makes passes of a kind.
fn maker(kind: &str) -> Option<Maker> {
    Some(match kind {
        "module" => |name, opt_level, run, options| {
            let on = move |module: &IRModule, cx: &RunCx<'_>| heard(cx, || on_module(&run, module, options.as_ref()));
            Pass::module(name, opt_level, on)
        },
        "function" => |name, opt_level, run, options| {
            let on = move |module: &Py<PyIrModule>, name: &str, f: &_, cx: &RunCx<'_>| {
                heard(cx, || on_function(&run, (global_kind::FUNCTION, name), f, module, options.as_ref()))
            };
            Pass::function_with(name, opt_level, handle_of, on)
        },
        "prim-func" => |name, opt_level, run, options| {
            let on = move |module: &Py<PyIrModule>, name: &str, f: &_, cx: &RunCx<'_>| {
                heard(cx, || on_function(&run, (global_kind::PRIM_FUNC, name), f, module, options.as_ref()))
            };
            Pass::prim_func_with(name, opt_level, handle_of, on)
        },
        _ => return None,
    })
}

/// The arguments of a pass's code, with the object of its options.
fn with_options<'py>(
    py: Python<'py>,
    arguments: impl IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error = PyErr>,
    options: Option<&Held>,
) -> PyResult<Bound<'py, PyTuple>> {
    let arguments = arguments.into_pyobject(py)?;
    match options {
        None => Ok(arguments),
        Some(options) => Ok(arguments.add(PyTuple::new(py, [options.bind(py)])?)?.cast_into()?),
    }
}

impl PyPass {
    /// The passes that it and its members require.
    fn all_required(&self) -> Vec<Requirement> {
        self.pass.info().required.iter().chain(&self.required).cloned().collect()
    }
}

/// Logs what was said, except what passes printed: that was printed at once.
pub(crate) fn say(py: Python<'_>, report: &RunReport) -> PyResult<()> {
    for said in report.said.iter().filter(|said| !said.is_printed()) {
        log::diagnostic(said.severity(), said.to_string());
    }
    report.warnings.iter().for_each(log::warn);
    log::hand_over(py)
}

fn on_module(run: &Handle, module: &IRModule, options: Option<&Held>) -> Result<Option<IRModule>, PassError> {
    Python::attach(|py| {
        let call = || -> PyResult<Option<IRModule>> {
            let given = Py::new(py, PyIrModule::new(module.clone(), Origin::none()))?;
            let result = entering::scope(py, || {
                let arguments = with_options(py, (given, context::current(py)?), options)?;
                run.get(py)?.call1(arguments)
            })?;
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
    run: &Handle,
    (kind, name): (u8, &str),
    f: &RArc<Function>,
    module: &Py<PyIrModule>,
    options: Option<&Held>,
) -> Result<Option<Function>, PassError> {
    Python::attach(|py| {
        let call = || -> PyResult<Option<Function>> {
            let given = PyFunction::new(name.to_owned(), kind, f.clone());
            let result = entering::scope(py, || {
                let arguments = with_options(py, (given, module, context::current(py)?), options)?;
                run.get(py)?.call1(arguments)
            })?;
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
    let (library, own) = library::known_of(registry(py)?);
    let found = library.get_pass_with(name, options);
    let pass = found.map_err(|faults| errors::of_faults(py, "PipelineError", &faults))?;
    let stated = StatedRules::of_pass(&pass).map_err(|error| errors::of_model(py, &error))?;
    let found = own.find(pass.info());
    let mut rules = found.map(|own| own.rules.clone()).unwrap_or_default();
    if !stated.is_empty() {
        rules.push(Arc::new(Judged::stated(stated)));
    }
    let owner = Owner::of(found.map(|own| Arc::new(own.object.clone_ref(py))).into_iter().collect());
    Ok(PyPass { pass, rules, required: Vec::new(), dependencies: None, owner: Arc::new(owner) })
}

/// Makes a pass known by its name; one that the same module registered is replaced.
#[pyfunction]
pub(crate) fn register_pass(pass_: &Bound<'_, PyPass>, module: String, is_override: bool) -> PyResult<()> {
    let PyPass { pass, rules, .. } = pass_.get();
    let object = pass_.clone().into_any().unbind();
    library::register(pass_.py(), Registered { pass: pass.clone(), object, rules: rules.clone(), module }, is_override)
}

/// The most modules of one test.
const MOST_MODULES: i64 = 1 << 32;

/// Tests a pass on random modules, and its rules on instances of their left sides.
#[pyfunction(name = "judge")]
#[pyo3(signature = (pass_, modules, texts, seed, strict, allow_errors))]
pub(crate) fn judge_pass(
    py: Python<'_>,
    pass_: &PyPass,
    modules: &Bound<'_, PyAny>,
    texts: Vec<String>,
    seed: u64,
    strict: bool,
    allow_errors: bool,
) -> PyResult<Told> {
    let modules: usize = value::whole(modules, "`modules`", MOST_MODULES)?;
    let registry = registry(py)?;
    let PyPass { pass, rules, .. } = pass_;
    let (found, state) = run(py, None, |_| judge_own((pass, rules), modules, texts, seed, strict, registry))?;
    match state.first() {
        Some(error) if !allow_errors => Err(error),
        _ => Ok(found),
    }
}
