//! Analyses of functions and modules, by name.

use crate::{
    errors::helped,
    module::{PyFunction, PyIrModule},
    plugins::registry,
    run::detached,
    spoken,
    tensor::PyTensor,
    value,
};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyDict};
use relais::ir::{ElemType, Lists, Tensor, TensorError};
use relais_plugin_api::{analysis::SubjectRec, diagnostics::PassError};

/// The lists of an analysis of a function or a module, by their names. In a pass, its run keeps the result.
#[pyfunction]
pub(crate) fn analysis<'py>(py: Python<'py>, name: &str, of: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let (registry, analyses) = (registry(py)?, spoken::analyses());
    let ask = |of: SubjectRec<'_>| analyses.analysis(name, &of, registry);
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
