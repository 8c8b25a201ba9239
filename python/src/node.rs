//! Nodes of functions: a snapshot and a number, so that none can dangle.

use crate::{module::PyFunction, tensor::PyTensor};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyDict, PyList, PyTuple},
};
use relais::ir::{AttrValue, Dim, DimRec, Function, NodeId, Type, attr_kind, kind, normal_domain};
use relais_plugin_api::text;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A node of a function. Nothing changes it.
#[pyclass(frozen, name = "Node", module = "relais_onnx")]
pub(crate) struct PyNode {
    pub function: Py<PyFunction>,
    pub id: NodeId,
}

/// The node of that id as a handle; none for the absent operand.
pub(crate) fn handle(function: &Bound<'_, PyFunction>, id: NodeId) -> Option<PyNode> {
    (!id.is_absent()).then(|| PyNode { function: function.clone().unbind(), id })
}

/// Handles of nodes, with None for absent operands.
pub(crate) fn handles<'py>(function: &Bound<'py, PyFunction>, ids: &[NodeId]) -> PyResult<Bound<'py, PyList>> {
    PyList::new(function.py(), ids.iter().map(|&id| handle(function, id)).collect::<Vec<_>>())
}

impl PyNode {
    fn f(&self) -> &Function {
        &self.function.get().function
    }

    fn others<'py>(&self, py: Python<'py>, ids: &[NodeId]) -> PyResult<Bound<'py, PyList>> {
        handles(self.function.bind(py), ids)
    }
}

#[pymethods]
impl PyNode {
    /// Its number in the function.
    #[getter]
    fn id(&self) -> usize {
        self.id.index()
    }

    /// The function that it is in.
    #[getter]
    fn function(&self, py: Python<'_>) -> Py<PyFunction> {
        self.function.clone_ref(py)
    }

    /// "param", "constant", "call", "if", "tuple", "item", "function" or "other".
    #[getter]
    fn kind(&self) -> &'static str {
        match self.f().kind(self.id) {
            kind::VAR => "param",
            kind::CONSTANT => "constant",
            kind::CALL => "call",
            kind::IF => "if",
            kind::TUPLE => "tuple",
            kind::TUPLE_GET_ITEM => "item",
            kind::FUNCTION => "function",
            _ => "other",
        }
    }

    /// The name of the operator that it calls; none if it is not such a call.
    #[getter]
    fn op(&self) -> Option<&str> {
        let f = self.f();
        Some(f.str(f.op(f.call(self.id)?.op()?).name))
    }

    /// The domain of that operator; empty is ONNX's own.
    #[getter]
    fn domain(&self) -> Option<&str> {
        let f = self.f();
        Some(normal_domain(f.str(f.op(f.call(self.id)?.op()?).domain)))
    }

    /// Its name; empty if it has none.
    #[getter]
    fn name(&self) -> &str {
        self.f().name(self.id)
    }

    /// What it is computed from, with None for what is left out: the arguments of a call, the condition of an `If`, the
    /// fields of a tuple, the parameters of a function.
    #[getter]
    fn args<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let f = self.f();
        if let Some(call) = f.call(self.id) {
            return self.others(py, call.args());
        }
        let operands = f.operands(self.id);
        self.others(py, &operands[..operands.len() - f.n_regions(self.id)])
    }

    /// The functions that it contains: the branches of an `If`, the bodies of a loop.
    #[getter]
    fn regions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.others(py, self.f().regions(self.id))
    }

    /// The bindings of a nested function, in order; none of anything else.
    #[getter]
    fn body<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let f = self.f();
        match f.kind(self.id) {
            kind::FUNCTION => self.others(py, f.bindings(f.block_of(self.id))),
            _ => Ok(PyList::empty(py)),
        }
    }

    /// The results of a nested function, in order; none of anything else.
    #[getter]
    fn results<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let f = self.f();
        match f.kind(self.id) {
            kind::FUNCTION => self.others(py, f.results(f.block_of(self.id))),
            _ => Ok(PyList::empty(py)),
        }
    }

    /// The attributes that are given, by name.
    #[getter]
    fn attrs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let attrs = PyDict::new(py);
        for (name, value) in self.f().attrs(self.id).iter() {
            attrs.set_item(name, self.attr(py, value)?)?;
        }
        Ok(attrs)
    }

    /// Its type, as the text form has it; `?` if nothing is known.
    #[getter]
    fn r#type(&self) -> String {
        text::display_type(self.f(), self.f().type_id(self.id)).to_string()
    }

    /// The element type of a tensor, such as `float32`; none if it is not known.
    #[getter]
    fn dtype(&self) -> Option<&'static str> {
        self.f().type_of(self.id).elem()?.name()
    }

    /// The shape of a tensor: sizes, names of sizes, and None for what is not known. None if not even the rank is.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let f = self.f();
        let Type::Tensor { shape: Some(shape), .. } = f.type_of(self.id) else { return Ok(None) };
        let dim = |&dim: &DimRec| -> PyResult<Bound<'py, PyAny>> {
            Ok(match Dim::from(dim) {
                Dim::Static(size) => size.into_pyobject(py)?.into_any(),
                Dim::Symbol(name) => f.str(name).into_pyobject(py)?.into_any(),
                _ => py.None().into_bound(py),
            })
        };
        let dims = shape.iter().map(dim).collect::<PyResult<Vec<_>>>()?;
        PyTuple::new(py, dims).map(Some)
    }

    /// The value of a constant; none of anything else.
    #[getter]
    fn tensor(&self) -> Option<PyTensor> {
        self.f().constant(self.id).map(|tensor| PyTensor { tensor: tensor.clone() })
    }

    /// The bindings that use it, in program order, each once; the results of functions are no bindings.
    #[getter]
    fn users<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let users = self.function.get().users();
        self.others(py, users.get(&self.id).map_or(&[][..], Vec::as_slice))
    }

    /// The node of this number in another function, such as an earlier or later state of this one.
    fn in_(&self, function: &Bound<'_, PyFunction>) -> Option<Self> {
        let is_there = self.id.index() < function.get().function.n_nodes();
        handle(function, self.id).filter(|_| is_there)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let Ok(other) = other.cast::<Self>() else { return false };
        let other = other.get();
        self.id == other.id && std::ptr::eq(self.f(), other.f())
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (std::ptr::from_ref(self.f()).addr(), self.id.index()).hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        text::display(self.f(), self.id).to_string()
    }
}

impl PyNode {
    fn attr<'py>(&self, py: Python<'py>, value: AttrValue<'_>) -> PyResult<Bound<'py, PyAny>> {
        let f = self.f();
        let string = |bytes: &[u8]| -> PyResult<Bound<'py, PyAny>> {
            Ok(match std::str::from_utf8(bytes) {
                Ok(text) => text.into_pyobject(py)?.into_any(),
                Err(_) => PyBytes::new(py, bytes).into_any(),
            })
        };
        let ty = |id| text::display_type(f, id).to_string();
        Ok(match value {
            AttrValue::Float(value) => value.into_pyobject(py)?.into_any(),
            AttrValue::Int(value) => value.into_pyobject(py)?.into_any(),
            AttrValue::String(bytes) => string(bytes)?,
            AttrValue::Tensor(tensor) => Bound::new(py, PyTensor { tensor: tensor.clone() })?.into_any(),
            AttrValue::Graph(id) => handle(self.function.bind(py), id).into_pyobject(py)?.into_any(),
            AttrValue::Floats(words) => PyList::new(py, words.floats().collect::<Vec<_>>())?.into_any(),
            AttrValue::Ints(words) => PyList::new(py, words.ints().collect::<Vec<_>>())?.into_any(),
            AttrValue::Strings(words) => {
                PyList::new(py, words.strings().map(string).collect::<PyResult<Vec<_>>>()?)?.into_any()
            }
            AttrValue::Tensors(words) => {
                let tensors = words.tensors().map(|tensor| PyTensor { tensor: tensor.clone() });
                PyList::new(py, tensors.collect::<Vec<_>>())?.into_any()
            }
            AttrValue::Graphs(ids) => self.others(py, ids)?.into_any(),
            AttrValue::Type(id) => ty(id).into_pyobject(py)?.into_any(),
            AttrValue::Types(words) => PyList::new(py, words.types().map(ty).collect::<Vec<_>>())?.into_any(),
            AttrValue::Ref { name, kind } => format!("{}({name})", attr_kind::name(kind)).into_pyobject(py)?.into_any(),
            AttrValue::SparseTensor(bytes) | AttrValue::Raw(bytes) => PyBytes::new(py, bytes).into_any(),
            // Encoded as bytes that only ONNX's own reader takes.
            _ => py.None().into_bound(py),
        })
    }
}
