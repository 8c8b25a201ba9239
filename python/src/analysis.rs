//! Analyses of functions and modules, by name.

use crate::{
    errors::helped,
    library::{self, RegisteredAnalysis},
    module::{Origin, PyFunction, PyIrModule},
    run::{detached, keep},
    spoken,
    tensor::PyTensor,
    value,
};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyDict};
use relais::{
    ir::{ElemType, Function, Lists, Numbers, Tensor, TensorError, global_kind},
    transform::OwnAnalysis,
};
use relais_plugin_api::{
    analysis::{SubjectKind, SubjectRec},
    diagnostics::PassError,
};
use std::cell::RefCell;

/// The lists of an analysis of a function or a module, by their names. In a pass, its run keeps the result.
#[pyfunction]
pub(crate) fn analysis<'py>(py: Python<'py>, name: &str, of: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let (library, analyses) = (library::library(py)?, spoken::analyses());
    let ask = |of: SubjectRec<'_>| analyses.analysis(name, &of, &library);
    let found = if let Ok(function) = of.cast::<PyFunction>() {
        let function = &function.get().function;
        detached(py, || ask(SubjectRec::function(function)))?
    } else if let Ok(module) = of.cast::<PyIrModule>() {
        let module = &module.get().module;
        detached(py, || ask(SubjectRec::module(module)))?
    } else {
        return Err(value::wrong(of, "`of`", "a Function or an IRModule"));
    };
    let object = found.map_err(|error| failed(py, &error))?;
    if object.lists().is_empty() {
        let error = PassError::new(format_args!("`{name}` has no lists: only its own plugin can read it"));
        return Err(failed(py, &error));
    }
    let out = PyDict::new(py);
    for name in object.lists().names() {
        let tensor = tensor(object.lists(), name).map_err(|error| PyValueError::new_err(error.to_string()))?;
        out.set_item(name, Bound::new(py, PyTensor { tensor })?)?;
    }
    Ok(out)
}

thread_local! {
    /// The analyses that Python computes on this thread, the innermost last, each with the address of its subject.
    static COMPUTED: RefCell<Vec<(String, usize)>> = const { RefCell::new(Vec::new()) };
}

/// While this is alive, an analysis is computed.
struct Computed;

impl Computed {
    /// # Errors
    /// Returns an error if it is computed already, because it needs itself.
    fn begin(name: &str, of: &SubjectRec<'_>) -> Result<Self, PassError> {
        let function = of.as_function().map(|f| std::ptr::from_ref::<Function>(f).addr());
        let at = function.or_else(|| of.as_module().map(|module| module.globals().as_ptr().addr())).unwrap_or(0);
        COMPUTED.with_borrow_mut(|all| {
            if let Some(first) = all.iter().position(|(known, place)| known == name && *place == at) {
                let chain = all[first..].iter().map(|(known, _)| format!("`{known}` needs "));
                let message =
                    format_args!("analysis `{name}` depends on itself: {}`{name}`", chain.collect::<String>());
                return Err(PassError::new(message));
            }
            all.push((name.to_owned(), at));
            Ok(Self)
        })
    }
}

impl Drop for Computed {
    fn drop(&mut self) {
        COMPUTED.with_borrow_mut(|all| drop(all.pop()));
    }
}

/// Makes an analysis of a callable known, which gives a dict of lists of numbers.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are those of a decorator in Python")]
pub(crate) fn register_analysis(
    py: Python<'_>,
    name: String,
    compute: Py<PyAny>,
    is_of_module: bool,
    is_structure: bool,
    lists: Vec<(String, String)>,
    doc: &str,
    module: String,
    is_override: bool,
) -> PyResult<()> {
    let named: Vec<(&str, &str)> = lists.iter().map(|(name, doc)| (name.as_str(), doc.as_str())).collect();
    let subject = if is_of_module { SubjectKind::MODULE } else { SubjectKind::FUNCTION };
    let (own, names) = (name.clone(), lists.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>());
    let analysis = OwnAnalysis::new(&name, subject, &named, move |of, cx| {
        let _computed = Computed::begin(&own, of)?;
        Python::attach(|py| {
            let call = || -> PyResult<Lists> {
                let given = match (of.as_function(), of.as_module()) {
                    (Some(function), _) => {
                        let is_prim = function.ops().iter().any(|op| function.str(op.domain) == "tir");
                        let kind = if is_prim { global_kind::PRIM_FUNC } else { global_kind::FUNCTION };
                        Py::new(py, PyFunction::new(String::new(), kind, function.clone()))?.into_any()
                    }
                    (None, Some(module)) => Py::new(py, PyIrModule::new(module.clone(), Origin::none()))?.into_any(),
                    (None, None) => py.None(),
                };
                given_lists(&own, &names, compute.bind(py).call1((given,))?)
            };
            spoken::heard(cx, call).map_err(|error| keep(py, error))
        })
    });
    let analysis = analysis.documented(doc);
    let analysis = if is_structure { analysis.of_structure() } else { analysis };
    library::register_analysis(py, RegisteredAnalysis { analysis, module }, is_override)
}

/// The lists that an analysis in Python gave, in the order in which it declares them.
fn given_lists(analysis: &str, names: &[String], given: Bound<'_, PyAny>) -> PyResult<Lists> {
    let what = format!("what analysis `{analysis}` gives");
    let given = given.cast::<PyDict>().map_err(|_| value::wrong(&given, &what, "a dict of lists of numbers"))?;
    if let Some(other) = given.keys().iter().find(|key| !key.extract::<String>().is_ok_and(|key| names.contains(&key)))
    {
        let message = format!("analysis `{analysis}` gives a list {}, which it does not declare", other.repr()?);
        return Err(PyValueError::new_err(message));
    }
    names.iter().try_fold(Lists::new(), |lists, name| {
        let missing =
            || PyValueError::new_err(format!("analysis `{analysis}` declares a list `{name}`, and does not give it"));
        let list = given.get_item(name)?.ok_or_else(missing)?;
        let what = format!("the list `{name}` of analysis `{analysis}`");
        if let Ok(tensor) = list.cast::<PyTensor>() {
            let tensor = &tensor.get().tensor;
            let numbers = tensor.to_i64s().filter(|_| tensor.dims().len() == 1);
            let numbers = numbers.ok_or_else(|| value::wrong(&list, &what, "a tensor of integers with one axis"))?;
            return Ok(lists.with(name, &Numbers::from(numbers)));
        }
        // Arrays of other libraries, too.
        let numbers = list.call_method0("tolist").unwrap_or_else(|_| list.clone());
        let numbers: Vec<i64> =
            numbers.extract().map_err(|_| value::wrong(&list, &what, "a list of integers of 64 bits"))?;
        Ok(lists.with(name, &Numbers::from(numbers)))
    })
}

fn failed(py: Python<'_>, error: &PassError) -> PyErr {
    let rec = error.rec();
    let message = rec.notes.iter().fold(rec.message.to_string(), |all, note| format!("{all}\n  note: {note}"));
    helped(py, "RelaisError", message, &rec.help)
}

/// A list as a tensor of one axis.
fn tensor(lists: &Lists, name: &str) -> Result<Tensor, TensorError> {
    if let Some(narrow) = lists.narrow(name) {
        let bytes: Vec<u8> = narrow.iter().flat_map(|number| number.to_le_bytes()).collect();
        return Tensor::dense(ElemType::UINT32, &[narrow.len() as u64], bytes);
    }
    let wide = lists.wide(name).map_or(&[][..], |list| list);
    Ok(Tensor::from_i64(&[wide.len() as u64], wide))
}
