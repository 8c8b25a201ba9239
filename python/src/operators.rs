//! The operators that functions call, and those that are asked for by name.

use crate::{convert, value};
use pyo3::{prelude::*, types::PyTuple};
use relais::ir::{Function, NodeId, OpRec, normal_domain};

/// The name of an operator, with its domain if it is not ONNX's own.
pub(crate) fn op_name(f: &Function, op: &OpRec) -> String {
    match normal_domain(f.str(op.domain)) {
        "" => f.str(op.name).to_owned(),
        domain => format!("{domain}::{}", f.str(op.name)),
    }
}

/// The operators that a function calls, in order.
pub(crate) fn ops_of(f: &Function) -> Vec<String> {
    f.all_bindings().filter_map(|id| Some(op_name(f, f.op(f.call(id)?.op()?)))).collect()
}

/// The domains and names of operators that are asked for.
pub(crate) fn operators(ops: &Bound<'_, PyTuple>) -> PyResult<Vec<(String, String)>> {
    let name = |op: Bound<'_, PyAny>| -> PyResult<(String, String)> {
        let name: String = op.extract().map_err(|_| value::wrong(&op, "an operator", "a str"))?;
        convert::operator(op.py(), &name)
    };
    ops.iter().map(name).collect()
}

/// Whether nodes are calls of some operators, or of any if there are none.
pub(crate) fn wanted<'f>(f: &'f Function, ops: &[(String, String)]) -> impl Fn(NodeId) -> bool + use<'f> {
    let is_wanted = |op: &OpRec| {
        let (domain, name) = (normal_domain(f.str(op.domain)), f.str(op.name));
        ops.iter().any(|(d, n)| (normal_domain(d), n.as_str()) == (domain, name))
    };
    let by_op: Vec<bool> = f.ops().iter().map(is_wanted).collect();
    let is_any = ops.is_empty();
    move |id| f.call(id).is_some_and(|call| is_any || call.op().is_some_and(|op| by_op[op.index()]))
}
