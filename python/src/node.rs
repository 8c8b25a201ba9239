//! Nodes of functions: a snapshot, or an editor, and a number, so that none can dangle.

use crate::{
    convert::AttrRead, current_match::read_match, editor::PyEditor, module::PyFunction, tensor::PyTensor, value,
};
use pyo3::{
    exceptions::PyAttributeError,
    prelude::*,
    types::{PyDict, PyList, PyTuple},
};
use relais::ir::{Dim, DimRec, ElemType, Function, NodeId, Type, kind, normal_domain};
use relais_plugin_api::text;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Where a node is.
pub(crate) enum Owner {
    /// In a function, which nothing changes.
    Function(Py<PyFunction>),
    /// In a function that is being edited.
    Editor(Py<PyEditor>),
    /// In the function of a match, as long as a function looks at it: the match's number.
    Match(u64),
}

/// A node of a function, or of an editor.
#[pyclass(frozen, name = "Node", module = "relais_onnx")]
pub(crate) struct PyNode {
    pub owner: Owner,
    pub id: NodeId,
}

/// The node of that id as a handle; none for the absent operand.
pub(crate) fn handle(function: &Bound<'_, PyFunction>, id: NodeId) -> Option<PyNode> {
    (!id.is_absent()).then(|| PyNode { owner: Owner::Function(function.clone().unbind()), id })
}

/// Handles of nodes, with None for absent operands.
pub(crate) fn handles<'py>(function: &Bound<'py, PyFunction>, ids: &[NodeId]) -> PyResult<Bound<'py, PyList>> {
    PyList::new(function.py(), ids.iter().map(|&id| handle(function, id)))
}

/// Handles of nodes of an editor.
pub(crate) fn handles_in<'py>(editor: &Bound<'py, PyEditor>, ids: &[NodeId]) -> PyResult<Bound<'py, PyList>> {
    PyList::new(editor.py(), ids.iter().map(|&id| handle_in(editor, id)))
}

/// A node of an editor; none for the absent operand.
pub(crate) fn handle_in(editor: &Bound<'_, PyEditor>, id: NodeId) -> Option<PyNode> {
    (!id.is_absent()).then(|| PyNode { owner: Owner::Editor(editor.clone().unbind()), id })
}

/// The kind of a node, for people.
pub(crate) fn kind_name(kind: u8) -> &'static str {
    match kind {
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

impl PyNode {
    /// Reads the function that it is in. What is read from an editor must not be an object of Python's.
    pub fn read<R>(&self, py: Python<'_>, read: impl FnOnce(&Function) -> R) -> PyResult<R> {
        match &self.owner {
            Owner::Function(function) => Ok(read(&function.get().function)),
            Owner::Editor(editor) => editor.get().read(py, self.id, read),
            Owner::Match(number) => read_match(py, *number, read),
        }
    }

    fn others<'py>(&self, py: Python<'py>, ids: &[NodeId]) -> PyResult<Bound<'py, PyList>> {
        match &self.owner {
            Owner::Function(function) => handles(function.bind(py), ids),
            Owner::Editor(editor) => handles_in(editor.bind(py), ids),
            Owner::Match(number) => {
                let node = |&id: &NodeId| (!id.is_absent()).then(|| Self { owner: Owner::Match(*number), id });
                PyList::new(py, ids.iter().map(node))
            }
        }
    }
}

/// A size that was read.
enum SizeRead {
    Known(u64),
    Named(String),
    Open,
}

#[pymethods]
impl PyNode {
    /// Its number in the function.
    #[getter]
    fn id(&self) -> usize {
        self.id.index()
    }

    /// The function that it is in; of a node of an editor, the one that is edited.
    #[getter]
    fn function(&self, py: Python<'_>) -> PyResult<Py<PyFunction>> {
        match &self.owner {
            Owner::Function(function) => Ok(function.clone_ref(py)),
            Owner::Editor(editor) => Ok(editor.get().base().clone_ref(py)),
            Owner::Match(_) => Err(PyAttributeError::new_err("a node of a match has no function")),
        }
    }

    /// "param", "constant", "call", "if", "tuple", "item", "function" or "other".
    #[getter]
    fn kind(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.read(py, |f| kind_name(f.kind(self.id)))
    }

    /// The name of the operator that it calls; none if it is not such a call.
    #[getter]
    fn op(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.read(py, |f| Some(f.str(f.op(f.call(self.id)?.op()?).name).to_owned()))
    }

    /// The domain of that operator; empty is ONNX's own.
    #[getter]
    fn domain(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.read(py, |f| Some(normal_domain(f.str(f.op(f.call(self.id)?.op()?).domain)).to_owned()))
    }

    /// Its name; empty if it has none.
    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<String> {
        self.read(py, |f| f.name(self.id).to_owned())
    }

    /// Renames a node of an editor.
    #[setter]
    fn set_name(&self, py: Python<'_>, name: &Bound<'_, PyAny>) -> PyResult<()> {
        match &self.owner {
            Owner::Function(_) | Owner::Match(_) => {
                Err(PyAttributeError::new_err("a node of a function cannot be changed; `function.edit()` edits a copy"))
            }
            Owner::Editor(editor) => {
                let name: String = name.extract().map_err(|_| value::wrong(name, "the name of a node", "a str"))?;
                editor.get().rename(py, self.id, &name)
            }
        }
    }

    /// What it is computed from, with None for what is left out: the arguments of a call, the condition of an `If`, the
    /// fields of a tuple, the parameters of a function.
    #[getter]
    fn args<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let args = |f: &Function| match f.call(self.id) {
            Some(call) => call.args().to_vec(),
            None => {
                let operands = f.operands(self.id);
                operands[..operands.len() - f.n_regions(self.id)].to_vec()
            }
        };
        self.others(py, &self.read(py, args)?)
    }

    /// The functions that it contains: the branches of an `If`, the bodies of a loop.
    #[getter]
    fn regions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.others(py, &self.read(py, |f| f.regions(self.id).to_vec())?)
    }

    /// The bindings of a nested function, in order; none of anything else.
    #[getter]
    fn body<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let body = |f: &Function| match f.kind(self.id) {
            kind::FUNCTION => f.bindings(f.block_of(self.id)).to_vec(),
            _ => Vec::new(),
        };
        self.others(py, &self.read(py, body)?)
    }

    /// The results of a nested function, in order; none of anything else.
    #[getter]
    fn results<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let results = |f: &Function| match f.kind(self.id) {
            kind::FUNCTION => f.results(f.block_of(self.id)).to_vec(),
            _ => Vec::new(),
        };
        self.others(py, &self.read(py, results)?)
    }

    /// The attributes that are given, by name.
    #[getter]
    fn attrs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let read: Vec<(String, AttrRead)> = self.read(py, |f| {
            f.attrs(self.id).iter().map(|(name, value)| (name.to_owned(), AttrRead::of(f, value))).collect()
        })?;
        let attrs = PyDict::new(py);
        for (name, value) in read {
            attrs.set_item(name, self.attr(py, value)?)?;
        }
        Ok(attrs)
    }

    /// Its type, as the text form has it; `?` if nothing is known.
    #[getter]
    fn r#type(&self, py: Python<'_>) -> PyResult<String> {
        self.read(py, |f| text::display_type(f, f.type_id(self.id)).to_string())
    }

    /// The element type of a tensor, such as `float32`; none if it is not known.
    #[getter]
    fn dtype(&self, py: Python<'_>) -> PyResult<Option<&'static str>> {
        self.read(py, |f| f.type_of(self.id).elem().and_then(ElemType::name))
    }

    /// The shape of a tensor: sizes, names of sizes, and None for what is not known. None if not even the rank is.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let shape = self.read(py, |f| {
            let Type::Tensor { shape: Some(shape), .. } = f.type_of(self.id) else { return None };
            let size = |&dim: &DimRec| match Dim::from(dim) {
                Dim::Static(size) => SizeRead::Known(size),
                Dim::Symbol(name) => SizeRead::Named(f.str(name).to_owned()),
                _ => SizeRead::Open,
            };
            Some(shape.iter().map(size).collect::<Vec<_>>())
        })?;
        let Some(shape) = shape else { return Ok(None) };
        let size = |size: SizeRead| -> PyResult<Bound<'py, PyAny>> {
            Ok(match size {
                SizeRead::Known(size) => size.into_pyobject(py)?.into_any(),
                SizeRead::Named(name) => name.into_pyobject(py)?.into_any(),
                SizeRead::Open => py.None().into_bound(py),
            })
        };
        PyTuple::new(py, shape.into_iter().map(size).collect::<PyResult<Vec<_>>>()?).map(Some)
    }

    /// The value of a constant; none of anything else.
    #[getter]
    fn tensor(&self, py: Python<'_>) -> PyResult<Option<PyTensor>> {
        self.read(py, |f| f.constant(self.id).map(|tensor| PyTensor { tensor: tensor.clone() }))
    }

    /// The bindings that use it, each once, of a function in program order; the results of functions are no bindings.
    #[getter]
    fn users<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        match &self.owner {
            Owner::Function(function) => {
                let users = function.get().users();
                self.others(py, users.get(&self.id).map_or(&[][..], Vec::as_slice))
            }
            Owner::Editor(editor) => self.others(py, &editor.get().users(py, self.id)?),
            Owner::Match(_) => {
                let message = "the users of a node of a match are not known; the condition `users(x)` counts them";
                Err(PyAttributeError::new_err(message))
            }
        }
    }

    /// The node of this number in another function, such as an earlier or later state of this one.
    fn in_(&self, function: &Bound<'_, PyFunction>) -> Option<Self> {
        let is_there = self.id.index() < function.get().function.n_nodes();
        handle(function, self.id).filter(|_| is_there)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let Ok(other) = other.cast::<Self>() else { return false };
        let other = other.get();
        self.id == other.id && self.owner() == other.owner()
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.owner(), self.id.index()).hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        self.read(py, |f| text::display(f, self.id).to_string()).unwrap_or_else(|_| format!("<stale node {}>", self.id))
    }
}

impl PyNode {
    /// Whether it is a node of that function.
    pub fn is_in(&self, function: &Py<PyFunction>) -> bool {
        matches!(&self.owner, Owner::Function(own) if own.get().is_same(function.get()))
    }

    /// The address of what it is in.
    fn owner(&self) -> (u8, u64) {
        match &self.owner {
            Owner::Function(function) => (0, std::ptr::from_ref::<Function>(&function.get().function).addr() as u64),
            Owner::Editor(editor) => (1, editor.as_ptr().addr() as u64),
            Owner::Match(number) => (2, *number),
        }
    }

    fn attr<'py>(&self, py: Python<'py>, value: AttrRead) -> PyResult<Bound<'py, PyAny>> {
        match value {
            AttrRead::Node(id) => self.others(py, &[id])?.get_item(0),
            AttrRead::Nodes(ids) => Ok(self.others(py, &ids)?.into_any()),
            value => value.plain(py),
        }
    }
}
