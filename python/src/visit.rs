//! The walk of an `ExprVisitor`.

use crate::{
    module::PyFunction,
    node::{handle, kind_name},
    operators::{operators, wanted},
};
use pyo3::{
    prelude::*,
    types::{PyDict, PyTuple},
};
use relais::ir::{NodeId, Walk, WalkStep, kind};

/// Offers nodes to the methods of their kinds, in program order, and each to `leave` when it and the nodes of its nested
/// functions were walked. Calls are those of some operators, or all if there are none.
#[pyfunction]
pub(crate) fn walk<'py>(
    function: &Bound<'py, PyFunction>,
    methods: &Bound<'py, PyDict>,
    leave: Option<&Bound<'py, PyAny>>,
    ops: &Bound<'py, PyTuple>,
) -> PyResult<()> {
    let f = &function.get().function;
    let ops = operators(ops)?;
    let is_wanted = wanted(f, &ops);
    let methods = (0..kind::N_KINDS).map(|kind| methods.get_item(kind_name(kind))).collect::<PyResult<Vec<_>>>()?;
    let is_offered = |id: NodeId| f.kind(id) != kind::CALL || is_wanted(id);
    let visit = |id: NodeId| match methods.get(usize::from(f.kind(id))).and_then(Option::as_ref) {
        Some(method) if is_offered(id) => method.call1((handle(function, id),)).map(drop),
        _ => Ok(()),
    };
    let leave = |id: NodeId| match leave {
        Some(leave) if is_offered(id) => leave.call1((handle(function, id),)).map(drop),
        _ => Ok(()),
    };
    for &param in f.params() {
        visit(param)?;
        leave(param)?;
    }
    let mut walk = Walk::new(f);
    while let Some(step) = walk.next(f) {
        match step {
            WalkStep::Binding(id) => {
                visit(id)?;
                // Others are left when their blocks have ended.
                if f.kind(id) != kind::FUNCTION && f.n_regions(id) == 0 {
                    leave(id)?;
                }
            }
            WalkStep::Leave(id) => leave(id)?,
            WalkStep::Enter(_) | WalkStep::Exit(_) => {}
        }
    }
    Ok(())
}
