//! The edits that an editor makes: its methods that take and return nodes.

use crate::{
    convert::{self, Keywords},
    draft::Draft,
    editor::PyEditor,
    errors,
    node::{Owner, PyNode, handle_in, handles_in},
    operators::{operators, wanted},
    tensor::PyTensor,
    value,
};
use pyo3::{
    IntoPyObjectExt,
    exceptions::PyAttributeError,
    prelude::*,
    types::{PyDict, PyList, PyTuple},
};
use relais::ir::{Attr, NodeId};

#[pymethods]
impl PyEditor {
    /// The parameters, in order.
    #[getter]
    fn params<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyList>> {
        let ids = slf.get().draft(slf.py(), |draft| draft.function().params().to_vec())?;
        handles_in(slf, &ids)
    }

    /// The results, in order.
    #[getter]
    fn results<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyList>> {
        let ids =
            slf.get().draft(slf.py(), |draft| draft.outputs().into_iter().map(|(_, id)| id).collect::<Vec<_>>())?;
        handles_in(slf, &ids)
    }

    /// All bindings, those of nested functions too: in program order, then new ones.
    #[getter]
    fn nodes<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyList>> {
        let ids = slf.get().draft(slf.py(), |draft| draft.bindings())?;
        handles_in(slf, &ids)
    }

    /// The calls of some operators (`Conv`, `acme::Silu`), or of all: in program order, then new ones.
    #[pyo3(signature = (*ops))]
    fn calls<'py>(slf: &Bound<'py, Self>, ops: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyList>> {
        let ops = operators(ops)?;
        let ids = slf.get().draft(slf.py(), |draft| {
            let is_wanted = wanted(draft.function(), &ops);
            draft.bindings().into_iter().filter(|&id| is_wanted(id)).collect::<Vec<_>>()
        })?;
        handles_in(slf, &ids)
    }

    /// Whether a node is one of the editor, or of the function that it edits, and was not removed.
    fn __contains__(&self, py: Python<'_>, node: &Bound<'_, PyAny>) -> bool {
        self.id_of(py, node, "`node`").is_ok()
    }

    /// A new parameter, after the others.
    #[pyo3(signature = (name, dtype, shape = None))]
    fn input<'py>(
        slf: &Bound<'py, Self>,
        name: &str,
        dtype: &str,
        shape: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<PyNode>> {
        let shape = shape.filter(|shape| !shape.is_none());
        let ty = convert::tensor_type(dtype, shape)?;
        let id = slf.get().edit(slf.py(), |draft| draft.input(name, ty))?;
        Ok(handle_in(slf, id))
    }

    /// Adds an output after the others; its name is that of the node unless another one is given.
    #[pyo3(signature = (node, name = None))]
    fn output(&self, py: Python<'_>, node: &Bound<'_, PyAny>, name: Option<&str>) -> PyResult<()> {
        let id = self.id_of(py, node, "an output")?;
        self.edit(py, |draft| {
            let mut outputs = draft.outputs();
            let mut name = name.unwrap_or(draft.function().name(id)).to_owned();
            if name.is_empty() {
                name = format!("output_{}", outputs.len());
            }
            if draft.function().name(id).is_empty() {
                draft.rename(id, &name);
            }
            outputs.push((name, id));
            draft.set_outputs(&outputs)
        })
    }

    /// A constant: of a `Tensor`, an array, anything with the buffer protocol, or numbers, which are `float32`, `int64` or
    /// `bool` unless `dtype` says otherwise.
    #[pyo3(signature = (value, dtype = None, *, name = ""))]
    fn constant(
        slf: &Bound<'_, Self>,
        value: &Bound<'_, PyAny>,
        dtype: Option<&str>,
        name: &str,
    ) -> PyResult<Option<PyNode>> {
        let tensor = convert::tensor(value, dtype)?;
        let id = slf.get().draft(slf.py(), |draft| draft.constant(tensor, name))?;
        Ok(handle_in(slf, id))
    }

    /// A call of an operator, `Relu` or `acme::Silu`: a node, or a list with a node for each of `n_results`.
    #[pyo3(signature = (op, /, *args, attrs = None, n_results = None, name = ""))]
    fn call<'py>(
        slf: &Bound<'py, Self>,
        op: &str,
        args: &Bound<'py, PyTuple>,
        attrs: Option<&Bound<'py, PyDict>>,
        n_results: Option<&Bound<'py, PyAny>>,
        name: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let (domain, op) = convert::operator(py, op)?;
        let n_results = n_results.map(convert::n_results).transpose()?.flatten();
        let mut given = Keywords { domain: Some(domain), n_results, name: name.to_owned(), attrs: Vec::new() };
        for (name, value) in attrs.into_iter().flatten() {
            given.attrs.push((name.extract()?, value.unbind()));
        }
        Self::call_with(slf, &op, args, given)
    }

    /// A call of a function of the module: a list with a node for each of its results.
    #[pyo3(signature = (function, /, *args, n_results = 1, name = ""))]
    fn call_function<'py>(
        slf: &Bound<'py, Self>,
        function: &str,
        args: &Bound<'py, PyTuple>,
        n_results: u16,
        name: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let args = slf.get().args(py, args.iter())?;
        let function = function.trim_start_matches('@');
        let made =
            slf.get().typed(py, |draft, relations| draft.call_function(relations, function, &args, n_results, name))?;
        Self::make(slf, made, true)
    }

    /// `editor.Relu(x, _outputs=…, _domain=…, _name=…, …)`: a call of that operator; other keywords are its attributes.
    fn __getattr__(slf: &Bound<'_, Self>, op: &str) -> PyResult<Operator> {
        if !op.starts_with(|first: char| first.is_ascii_uppercase()) {
            return Err(PyAttributeError::new_err(format!(
                "an Editor has no attribute `{op}`; operators begin with a capital letter"
            )));
        }
        Ok(Operator { editor: slf.clone().unbind(), op: op.to_owned() })
    }

    /// Lets `new` take the place of a binding in everything that uses it, and removes it. A node with several results is
    /// replaced by a list. Uses by `new` itself, and by nodes made here that it is computed from, stay.
    fn replace(&self, py: Python<'_>, old: &Bound<'_, PyAny>, new: &Bound<'_, PyAny>) -> PyResult<()> {
        let old = self.id_of(py, old, "`old`")?;
        let new = match new.cast::<PyNode>() {
            Ok(_) => vec![self.id_of(py, new, "`new`")?],
            Err(_) => {
                let nodes = value::items(Some(new), "`new`", "nodes")?;
                nodes.iter().map(|node| self.id_of(py, node, "a node of `new`")).collect::<PyResult<_>>()?
            }
        };
        self.edit(py, |draft| draft.replace(old, &new))
    }

    /// Lets `new` take the place of a value in everything that uses it; the value stays.
    fn replace_uses(&self, py: Python<'_>, old: &Bound<'_, PyAny>, new: &Bound<'_, PyAny>) -> PyResult<()> {
        let (old, new) = (self.id_of(py, old, "`old`")?, self.id_of(py, new, "`new`")?);
        self.draft(py, |draft| draft.replace_uses(old, new))
    }

    /// Removes a binding or a parameter; nothing may use it when the edit ends.
    fn remove(&self, py: Python<'_>, node: &Bound<'_, PyAny>) -> PyResult<()> {
        let id = self.id_of(py, node, "`node`")?;
        self.edit(py, |draft| draft.remove(id))
    }

    /// Sets the arguments of a call, as many as it has; None is an argument that is left out.
    fn set_args(&self, py: Python<'_>, node: &Bound<'_, PyAny>, args: &Bound<'_, PyAny>) -> PyResult<()> {
        let id = self.id_of(py, node, "`node`")?;
        let args = value::items(Some(args), "`args`", "nodes")?;
        let args: Vec<NodeId> =
            args.iter().enumerate().map(|(at, arg)| self.arg(py, arg, at)).collect::<PyResult<_>>()?;
        self.typed(py, |draft, relations| draft.set_args(relations, id, &args))
    }

    /// Sets an attribute of a call, or takes it out if the value is None.
    fn set_attr(&self, py: Python<'_>, node: &Bound<'_, PyAny>, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let id = self.id_of(py, node, "`node`")?;
        let op = self.read(py, id, |f| {
            let op = f.op(f.call(id)?.op()?);
            Some((f.str(op.domain).to_owned(), f.str(op.name).to_owned()))
        })?;
        let new = match op {
            _ if value.is_none() => None,
            Some((domain, op)) => {
                let given = [(name.to_owned(), value.clone().unbind())];
                self.attrs(py, (&domain, &op), given.into_iter())?.into_iter().next()
            }
            None => Some(convert::attr(name, value, None)?),
        };
        self.typed(py, |draft, relations| draft.set_attr(relations, id, name, new))
    }

    /// Begins a graph, for an attribute of a call that is made later. Within `with editor.graph() as graph:`, new nodes
    /// are put into it.
    fn graph(slf: &Bound<'_, Self>) -> PyResult<PyGraph> {
        let function = slf.get().draft(slf.py(), Draft::graph)?;
        Ok(PyGraph { editor: slf.clone().unbind(), function })
    }
}

impl PyEditor {
    fn call_with<'py>(
        slf: &Bound<'py, Self>,
        op: &str,
        args: &Bound<'py, PyTuple>,
        Keywords { domain, n_results, name, mut attrs }: Keywords,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, this) = (slf.py(), slf.get());
        let domain = domain.as_deref().unwrap_or("");
        let args = this.args(py, args.iter())?;
        let graphs = this.graphs(py, &mut attrs)?;
        let attrs = this.attrs(py, (domain, op), attrs.into_iter())?;
        let made = this.typed(py, |draft, relations| {
            draft.call(relations, (domain, op), &args, (attrs, &graphs), n_results.filter(|&n| n != 1), &name)
        })?;
        Self::make(slf, made, n_results.is_some())
    }

    /// The number of a node: of this editor, or of the function that it edits.
    fn id_of(&self, py: Python<'_>, node: &Bound<'_, PyAny>, what: &str) -> PyResult<NodeId> {
        let Ok(node) = node.cast::<PyNode>() else {
            let help = match node.cast::<PyTensor>().is_ok() || node.hasattr("__array__")? {
                true => "a Node; `editor.constant(value)` makes one of a value",
                false => "a Node",
            };
            return Err(value::wrong(node, what, help));
        };
        let node = node.get();
        let is_own = match &node.owner {
            Owner::Editor(editor) => std::ptr::eq(editor.get(), self),
            Owner::Function(function) => self.draft(py, |draft| draft.is_base(&function.get().function))?,
            Owner::Match(_) => false,
        };
        if !is_own {
            let help = "use nodes of the editor, or of the function that it edits";
            return Err(errors::helped(py, "ModelError", format!("{what} is a node of another function"), help));
        }
        self.read(py, node.id, |_| ())?;
        Ok(node.id)
    }

    fn arg(&self, py: Python<'_>, arg: &Bound<'_, PyAny>, at: usize) -> PyResult<NodeId> {
        if arg.is_none() { Ok(NodeId::ABSENT) } else { self.id_of(py, arg, &format!("argument {at}")) }
    }

    fn args<'py>(&self, py: Python<'py>, args: impl Iterator<Item = Bound<'py, PyAny>>) -> PyResult<Vec<NodeId>> {
        let mut ids = args.enumerate().map(|(at, arg)| self.arg(py, &arg, at)).collect::<PyResult<Vec<_>>>()?;
        while ids.last().is_some_and(|id| id.is_absent()) {
            ids.pop();
        }
        Ok(ids)
    }

    /// The graphs among the attributes of a call, which are taken out.
    fn graphs(&self, py: Python<'_>, given: &mut Vec<(String, Py<PyAny>)>) -> PyResult<Vec<(String, NodeId)>> {
        let mut graphs = Vec::new();
        for (name, object) in std::mem::take(given) {
            match object.bind(py).cast::<PyGraph>() {
                Ok(graph) if std::ptr::eq(graph.get().editor.get(), self) => graphs.push((name, graph.get().function)),
                Ok(_) => {
                    let (message, help) = (format!("`{name}` is a graph of another editor"), "use `editor.graph()`");
                    return Err(errors::helped(py, "ModelError", message, help));
                }
                Err(_) => given.push((name, object)),
            }
        }
        Ok(graphs)
    }

    /// The attributes of a call; those that are None are left out.
    fn attrs(
        &self,
        py: Python<'_>,
        (domain, op): (&str, &str),
        given: impl Iterator<Item = (String, Py<PyAny>)>,
    ) -> PyResult<Vec<Attr>> {
        let mut attrs = Vec::new();
        for (name, object) in given {
            let object = object.bind(py);
            if object.is_none() {
                continue;
            }
            let kind = self.typed(py, |draft, relations| {
                let op = relations.other(draft.function(), domain, op);
                Ok(op.and_then(|op| Some(relations.schema(op)?.attr(&name)?.kind)))
            })?;
            attrs.push(convert::attr(&name, object, kind)?);
        }
        Ok(attrs)
    }

    /// Makes a call: a node, or a list of its results.
    fn make<'py>(slf: &Bound<'py, Self>, made: Vec<NodeId>, is_list: bool) -> PyResult<Bound<'py, PyAny>> {
        match (is_list, made.as_slice()) {
            (false, &[one]) => handle_in(slf, one).into_bound_py_any(slf.py()),
            (_, made) => Ok(handles_in(slf, made)?.into_any()),
        }
    }
}

/// An operator of an editor: calling it makes a call.
#[pyclass(frozen, name = "Operator", module = "relais_onnx")]
pub(crate) struct Operator {
    editor: Py<PyEditor>,
    op: String,
}

#[pymethods]
impl Operator {
    #[pyo3(signature = (*args, **keywords))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        PyEditor::call_with(self.editor.bind(py), &self.op, args, convert::keywords(keywords)?)
    }
}

/// A graph that an editor makes for an attribute of a call: a branch of an `If`, the body of a `Loop` or `Scan`.
#[pyclass(frozen, name = "Graph", module = "relais_onnx")]
pub(crate) struct PyGraph {
    editor: Py<PyEditor>,
    function: NodeId,
}

#[pymethods]
impl PyGraph {
    /// A new parameter, after the others.
    #[pyo3(signature = (name, dtype, shape = None))]
    fn input(
        &self,
        py: Python<'_>,
        name: &str,
        dtype: &str,
        shape: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<PyNode>> {
        let ty = convert::tensor_type(dtype, shape.filter(|shape| !shape.is_none()))?;
        let editor = self.editor.bind(py);
        let id = editor.get().edit(py, |draft| draft.graph_input(self.function, name, ty))?;
        Ok(handle_in(editor, id))
    }

    /// Adds a result after the others: a value of the graph, or of one around it.
    fn output(&self, py: Python<'_>, node: &Bound<'_, PyAny>) -> PyResult<()> {
        let editor = self.editor.get();
        let id = editor.id_of(py, node, "an output")?;
        editor.edit(py, |draft| draft.graph_output(self.function, id))
    }

    fn __enter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        let graph = slf.get();
        graph.editor.get().edit(slf.py(), |draft| draft.enter(graph.function))?;
        Ok(slf.clone())
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> bool {
        // An editor that was left meanwhile has nothing open.
        let _ = self.editor.get().draft(py, |draft| draft.leave(self.function));
        false
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let counts = self.editor.get().draft(py, |draft| {
            let f = draft.function();
            (f.operands(self.function).len(), f.results(f.block_of(self.function)).len())
        });
        match counts {
            Ok((inputs, outputs)) => format!("<Graph with {inputs} inputs and {outputs} outputs>"),
            Err(_) => "<Graph of an editor that was left>".to_owned(),
        }
    }
}
