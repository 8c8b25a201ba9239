//! The current context as Python has it: a variable of `contextvars`, so that each task and each thread has its own.
//!
//! The host's own stack is a thread's, and has a context of Python's only while the host runs something in it.

use pyo3::{
    exceptions::{PyRuntimeError, PyValueError},
    gc::{PyTraverseError, PyVisit},
    prelude::*,
    sync::PyOnceLock,
    types::PyTuple,
};
use relais::pass::PassContext;
use std::sync::{Arc, OnceLock};

/// A context that was entered, with those around it.
#[pyclass(frozen, name = "EnteredContext", module = "relais_onnx")]
pub(crate) struct Entered {
    pub context: Arc<PassContext>,
    pub by: By,
    /// The context as an object, which is made when Python asks for it.
    pub object: OnceLock<Py<PyAny>>,
    /// The value of the variable before this was entered.
    below: Option<Py<PyTuple>>,
    /// Restores the variable, in the task or thread that set it and in no other.
    token: OnceLock<Py<PyAny>>,
}

/// The side that entered a context.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// Code of Python, by `with`.
    Program,
    /// The host, for code of Python that it calls.
    Host,
}

#[pymethods]
impl Entered {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // A token refers to the task's variables, and so to this.
        visit.call(self.object.get())?;
        visit.call(self.token.get())?;
        visit.call(&self.below)
    }
}

impl Entered {
    fn below<'py>(&self, py: Python<'py>) -> Option<Bound<'py, Self>> {
        entered(self.below.as_ref()?.bind(py)).ok()
    }
}

/// A value of the variable. It is in a tuple, which Python frees without recursion however many were entered and not left.
fn entered<'py>(value: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, Entered>> {
    Ok(value.get_item(0)?.cast_into()?)
}

fn variable(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static VARIABLE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let make = || {
        let variable = py.import("contextvars")?.getattr("ContextVar")?;
        variable.call1(("relais_onnx.PassContext",)).map(Bound::unbind)
    };
    VARIABLE.get_or_try_init(py, make).map(|variable| variable.bind(py))
}

fn value(py: Python<'_>) -> PyResult<Option<Bound<'_, PyTuple>>> {
    let value = variable(py)?.call_method1("get", (py.None(),))?;
    if value.is_none() { Ok(None) } else { Ok(Some(value.cast_into()?)) }
}

/// The context that was entered last in this task or thread, or that it inherited from the task that began it.
pub(crate) fn top(py: Python<'_>) -> PyResult<Option<Bound<'_, Entered>>> {
    value(py)?.as_ref().map(entered).transpose()
}

/// The current context: that of the host if nothing was entered.
pub(crate) fn now(py: Python<'_>) -> PyResult<Arc<PassContext>> {
    Ok(top(py)?.map_or_else(PassContext::current, |top| top.get().context.clone()))
}

/// The context that code of Python entered last, unless the host runs that code in one of its own.
pub(crate) fn of_program(py: Python<'_>) -> PyResult<Option<Bound<'_, Entered>>> {
    let mut next = top(py)?;
    while let Some(top) = next {
        let entered = top.get();
        if entered.by == By::Program {
            return Ok(Some(top));
        }
        next = entered.below(py).filter(|below| Arc::ptr_eq(&below.get().context, &entered.context));
    }
    Ok(None)
}

/// Makes a context the current one.
pub(crate) fn push<'py>(
    py: Python<'py>,
    context: Arc<PassContext>,
    by: By,
    object: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, Entered>> {
    let below = value(py)?;
    let outer = below.as_ref().map(entered).transpose()?;
    let known = || find(outer.as_ref(), &context)?.get().object.get().map(|object| object.clone_ref(py));
    let object = object.or_else(known).map_or_else(OnceLock::new, OnceLock::from);
    let below = below.map(Bound::unbind);
    let entered = Bound::new(py, Entered { context, by, object, below, token: OnceLock::new() })?;
    let token = variable(py)?.call_method1("set", (PyTuple::new(py, [&entered])?,))?;
    let _ = entered.get().token.set(token.unbind());
    Ok(entered)
}

/// Makes what was the current context before that one the current one again. False if it was entered in another task or
/// thread: nothing is changed then.
pub(crate) fn pop(entered: &Bound<'_, Entered>) -> PyResult<bool> {
    let py = entered.py();
    let Some(token) = entered.get().token.get() else { return Ok(false) };
    match variable(py)?.call_method1("reset", (token,)) {
        Ok(_) => Ok(true),
        Err(error) if error.is_instance_of::<PyValueError>(py) || error.is_instance_of::<PyRuntimeError>(py) => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// The innermost place where a context was entered, from one on outwards.
pub(crate) fn find<'py>(from: Option<&Bound<'py, Entered>>, context: &Arc<PassContext>) -> Option<Bound<'py, Entered>> {
    let mut next = from.cloned();
    while let Some(entered) = next {
        if Arc::ptr_eq(&entered.get().context, context) {
            return Some(entered);
        }
        next = entered.get().below(entered.py());
    }
    None
}
