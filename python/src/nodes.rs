//! The nodes of a function: its parameters, results and bindings, and all of its bindings as a sequence, and as columns.

use crate::{
    module::PyFunction,
    node::{PyNode, handle, handles},
    operators::{op_name, operators, wanted},
    tensor::PyTensor,
};
use pyo3::{
    exceptions::{PyIndexError, PyOverflowError, PyValueError},
    prelude::*,
    types::{PyList, PySlice, PyTuple, slice::PySliceIndices},
};
use relais::ir::{CallView, ElemType, NodeId, Tensor};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The bindings of a function in program order. A node is made on request.
#[pyclass(frozen, name = "Nodes", module = "relais_onnx", sequence)]
pub(crate) struct PyNodes {
    function: Py<PyFunction>,
    ids: Vec<NodeId>,
}

impl PyNodes {
    pub fn of(function: &Bound<'_, PyFunction>) -> Self {
        let ids = function.get().function.all_bindings().collect();
        Self { function: function.clone().unbind(), ids }
    }

    fn column<const N: usize>(&self, elem: ElemType, of: impl Fn(NodeId) -> [u8; N]) -> PyResult<PyTensor> {
        let bytes: Vec<u8> = self.ids.iter().flat_map(|&id| of(id)).collect();
        let tensor = Tensor::dense(elem, &[self.ids.len() as u64], bytes);
        tensor.map(|tensor| PyTensor { tensor }).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        handles(self.function.bind(py), &self.ids)
    }
}

/// The nodes of a function, one after another.
#[pyclass(frozen, name = "NodesIterator", module = "relais_onnx")]
struct PyNodesIterator {
    nodes: Py<PyNodes>,
    next: AtomicUsize,
}

#[pymethods]
impl PyNodesIterator {
    fn __iter__(iterator: Py<Self>) -> Py<Self> {
        iterator
    }

    fn __next__(&self, py: Python<'_>) -> Option<PyNode> {
        let nodes = self.nodes.get();
        let id = nodes.ids.get(self.next.fetch_add(1, Relaxed))?;
        handle(nodes.function.bind(py), *id)
    }

    fn __length_hint__(&self) -> usize {
        self.nodes.get().ids.len().saturating_sub(self.next.load(Relaxed))
    }
}

#[pymethods]
impl PyNodes {
    fn __len__(&self) -> usize {
        self.ids.len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, at: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let function = self.function.bind(py);
        if let Ok(slice) = at.cast::<PySlice>() {
            let PySliceIndices { start, step, slicelength, .. } = slice.indices(self.ids.len() as isize)?;
            let ids: Vec<NodeId> = (0..slicelength as isize).map(|at| self.ids[(start + at * step) as usize]).collect();
            return Ok(handles(function, &ids)?.into_any());
        }
        let outside = || PyIndexError::new_err(format!("there are {} nodes", self.ids.len()));
        let at: isize = match at.extract::<isize>() {
            Err(error) if error.is_instance_of::<PyOverflowError>(py) => return Err(outside()),
            at => at?,
        };
        let index = if at < 0 { at + self.ids.len() as isize } else { at };
        let id = usize::try_from(index).ok().and_then(|index| self.ids.get(index));
        let &id = id.ok_or_else(outside)?;
        Ok(handle(function, id).into_pyobject(py)?.into_any())
    }

    fn __iter__(nodes: Py<Self>) -> PyNodesIterator {
        PyNodesIterator { nodes, next: AtomicUsize::new(0) }
    }

    fn __contains__(&self, node: &Bound<'_, PyAny>) -> bool {
        let Ok(node) = node.cast::<PyNode>() else { return false };
        self.ids.contains(&node.get().id) && node.get().is_in(&self.function)
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        match other.cast::<Self>() {
            Ok(other) => Ok(self.ids == other.get().ids
                && self.function.bind(py).get().is_same(other.get().function.bind(py).get())),
            Err(_) => self.list(py)?.eq(other),
        }
    }

    /// The numbers of the nodes.
    #[getter]
    fn ids(&self) -> PyResult<PyTensor> {
        self.column(ElemType::UINT32, |id| (id.index() as u32).to_le_bytes())
    }

    /// Their kinds, as numbers of the boundary between host and plugins: 4 is a constant, 7 a call, 8 an `If`.
    #[getter]
    fn kinds(&self, py: Python<'_>) -> PyResult<PyTensor> {
        let f = &self.function.bind(py).get().function;
        self.column(ElemType::UINT8, |id| [f.kind(id)])
    }

    /// The operator that each calls, as its place in `op_names`; -1 if it calls none.
    #[getter]
    fn ops(&self, py: Python<'_>) -> PyResult<PyTensor> {
        let f = &self.function.bind(py).get().function;
        self.column(ElemType::INT32, |id| {
            let op = f.call(id).and_then(CallView::op);
            op.map_or(-1, |op| op.index() as i32).to_le_bytes()
        })
    }

    /// How many arguments each has.
    #[getter]
    fn n_args(&self, py: Python<'_>) -> PyResult<PyTensor> {
        let f = &self.function.bind(py).get().function;
        self.column(ElemType::UINT32, |id| (f.call(id).map_or(0, |call| call.args().len()) as u32).to_le_bytes())
    }

    /// The operators that `ops` means, with their domains if these are not ONNX's own.
    #[getter]
    fn op_names(&self, py: Python<'_>) -> Vec<String> {
        let f = &self.function.bind(py).get().function;
        f.ops().iter().map(|op| op_name(f, op)).collect()
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<{} nodes of @{}>", self.ids.len(), self.function.bind(py).get().name)
    }
}

#[pymethods]
impl PyFunction {
    /// Its parameters, in order.
    #[getter]
    fn params<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyList>> {
        handles(slf, slf.get().function.params())
    }

    /// Its results, in order.
    #[getter]
    fn results<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyList>> {
        let f = &slf.get().function;
        handles(slf, f.results(f.body()))
    }

    /// Its bindings, in order: calls and constants, without those of nested functions.
    #[getter]
    fn body<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyList>> {
        let f = &slf.get().function;
        handles(slf, f.bindings(f.body()))
    }

    /// All bindings in program order, those of nested functions too.
    #[getter]
    fn nodes(slf: &Bound<'_, Self>) -> PyNodes {
        PyNodes::of(slf)
    }

    /// The calls of some operators (`Conv`, `acme::Silu`), or of all, in program order, those of nested functions too.
    #[pyo3(signature = (*ops))]
    fn calls<'py>(slf: &Bound<'py, Self>, ops: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyList>> {
        let (f, ops) = (&slf.get().function, operators(ops)?);
        let is_wanted = wanted(f, &ops);
        handles(slf, &f.all_bindings().filter(|&id| is_wanted(id)).collect::<Vec<_>>())
    }
}
