//! Editing functions.

use crate::{
    convert::{self, Keywords},
    draft::{Draft, Refused},
    errors, library,
    module::PyFunction,
    node::{Owner, PyNode, handle_in, handles_in},
    run::detached,
    tensor::PyTensor,
    value,
};
use abi_stable::std_types::RArc;
use pyo3::{
    IntoPyObjectExt,
    exceptions::{PyAttributeError, PyTypeError, PyValueError},
    prelude::*,
    types::{PyDict, PyList, PyTuple},
};
use relais::{
    ir::{Attr, Function, NodeId, global_kind},
    registry::Registry,
};
use relais_plugin_api::{facts::OpFactsTable, infer::TypeRelations};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A function that is being edited, or built.
#[pyclass(frozen, name = "Editor", module = "relais_onnx")]
pub(crate) struct PyEditor {
    base: Py<PyFunction>,
    /// No code of Python's runs while it is locked.
    state: Mutex<State>,
}

/// What an editor works on: the function, and what is known of operators.
struct Open {
    draft: Draft,
    relations: OpFactsTable<'static, &'static Registry>,
}

/// The state of an editor.
enum State {
    Open(Box<Open>),
    Done(Py<PyFunction>),
    Discarded,
}

impl PyEditor {
    /// Edits a function.
    pub fn of(py: Python<'_>, base: Py<PyFunction>) -> PyResult<Self> {
        let draft = Draft::new(base.get().function.clone());
        let open = Open { draft, relations: OpFactsTable::empty(library::registry(py)?) };
        Ok(Self { base, state: Mutex::new(State::Open(Box::new(open))) })
    }

    /// The function that is edited.
    pub fn base(&self) -> &Py<PyFunction> {
        &self.base
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with the draft, while the editor is open.
    fn draft<R>(&self, py: Python<'_>, work: impl FnOnce(&mut Draft) -> R) -> PyResult<R> {
        let mut state = self.state();
        if let State::Open(open) = &mut *state {
            return Ok(work(&mut open.draft));
        }
        // An exception is made by code of Python's.
        drop(state);
        Err(closed(py))
    }

    /// An edit that may be refused.
    fn edit<R>(&self, py: Python<'_>, work: impl FnOnce(&mut Draft) -> Result<R, Refused>) -> PyResult<R> {
        self.draft(py, work)?.map_err(|refused| exception(py, &refused))
    }

    /// The same with the type relations of operators.
    fn typed<R>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Draft, &mut dyn TypeRelations) -> Result<R, Refused>,
    ) -> PyResult<R> {
        let done = match &mut *self.state() {
            State::Open(open) => Some(work(&mut open.draft, &mut open.relations)),
            _ => None,
        };
        done.ok_or_else(|| closed(py))?.map_err(|refused| exception(py, &refused))
    }

    /// Reads a node.
    pub fn read<R>(&self, py: Python<'_>, id: NodeId, read: impl FnOnce(&Function) -> R) -> PyResult<R> {
        let value = self.draft(py, |draft| (!draft.is_removed(id)).then(|| read(draft.function())))?;
        value.ok_or_else(|| stale(py, "the node was removed from its function"))
    }

    /// The bindings that use a node.
    pub fn users(&self, py: Python<'_>, id: NodeId) -> PyResult<Vec<NodeId>> {
        self.read(py, id, |_| ())?;
        self.draft(py, |draft| draft.users(id))
    }

    pub fn rename(&self, py: Python<'_>, id: NodeId, name: &str) -> PyResult<()> {
        self.read(py, id, |_| ())?;
        self.draft(py, |draft| draft.rename(id, name))
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

fn closed(py: Python<'_>) -> PyErr {
    stale(py, "the editor was left; its nodes are those of its result: `node.in_(editor.result())`")
}

fn stale(py: Python<'_>, message: &str) -> PyErr {
    errors::exception(py, "StaleNodeError", message, |_| Ok(()))
}

fn exception(py: Python<'_>, refused: &Refused) -> PyErr {
    errors::helped(py, "ModelError", &refused.message, &refused.help)
}

#[pymethods]
impl PyEditor {
    /// Builds a function: with a version of ONNX's operators, and versions of other domains.
    #[new]
    #[pyo3(signature = (opset, imports = None, *, name = "main"))]
    fn build(
        py: Python<'_>,
        opset: &Bound<'_, PyAny>,
        imports: Option<&Bound<'_, PyAny>>,
        name: &str,
    ) -> PyResult<Self> {
        let mut f = Function::new();
        let opset: i64 = value::whole(opset, "`opset`", i64::MAX)?;
        let mut all = vec![(String::new(), opset)];
        for (domain, version) in value::entries(imports, "`imports`")? {
            match version {
                relais_plugin_api::options::Value::Int(version) => all.push((domain, version)),
                _ => {
                    let message = format!("the version of `{domain}` in `imports` must be an int");
                    return Err(PyTypeError::new_err(message));
                }
            }
        }
        if let Some((domain, version)) = all.iter().find(|(_, version)| *version < 1) {
            return Err(PyValueError::new_err(format!(
                "the version {version} of the domain `{domain}` is not above 0"
            )));
        }
        let all: Vec<(&str, i64)> = all.iter().map(|(domain, version)| (domain.as_str(), *version)).collect();
        f.set_opset_imports(&all);
        f.set_results(f.body(), &[]);
        let base = PyFunction::new(name.to_owned(), global_kind::FUNCTION, RArc::new(f));
        Self::of(py, Py::new(py, base)?)
    }

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
        let ops = crate::module::operators(ops)?;
        let ids = slf.get().draft(slf.py(), |draft| {
            let is_wanted = crate::module::wanted(draft.function(), &ops);
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

    /// Removes an output, by name. Its value stays.
    fn remove_output(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        self.edit(py, |draft| {
            let mut outputs = draft.outputs();
            match outputs.iter().position(|(known, _)| known == name) {
                Some(at) => {
                    outputs.remove(at);
                    draft.set_outputs(&outputs)
                }
                None => {
                    let names: Vec<String> = outputs.into_iter().map(|(name, _)| format!("`{name}`")).collect();
                    let help = format!("the outputs are {}", names.join(", "));
                    Err(Refused { message: format!("there is no output `{name}`"), help })
                }
            }
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

    /// Imports a version of the operators of a domain.
    fn import_opset(&self, py: Python<'_>, domain: &str, version: i64) -> PyResult<()> {
        if version < 1 {
            return Err(PyValueError::new_err(format!("the version {version} is not above 0")));
        }
        self.edit(py, |draft| draft.import(domain, version))
    }

    /// Begins a graph, for an attribute of a call that is made later. Within `with editor.graph() as graph:`, new nodes
    /// are put into it.
    fn graph(slf: &Bound<'_, Self>) -> PyResult<PyGraph> {
        let function = slf.get().draft(slf.py(), Draft::graph)?;
        Ok(PyGraph { editor: slf.clone().unbind(), function })
    }

    /// Ends the edit, if it has not ended, and returns the function: the one that was edited if nothing was changed.
    fn result(slf: &Bound<'_, Self>) -> PyResult<Py<PyFunction>> {
        let (py, this) = (slf.py(), slf.get());
        let taken = {
            let mut state = this.state();
            match &*state {
                State::Done(function) => return Ok(function.clone_ref(py)),
                _ => std::mem::replace(&mut *state, State::Discarded),
            }
        };
        let State::Open(mut open) = taken else { return Err(stale(py, "the edit was discarded")) };
        let finished = detached(py, move || open.draft.finish(&mut open.relations))?;
        let function = finished.map_err(|refused| exception(py, &refused))?;
        let base = this.base.get();
        let result = match std::ptr::eq(&*function, &*base.function) {
            true => this.base.clone_ref(py),
            false => Py::new(py, PyFunction::new(base.name.clone(), base.kind, function))?,
        };
        *this.state() = State::Done(result.clone_ref(py));
        Ok(result)
    }

    /// Forgets all changes. The editor is left.
    fn discard(&self) {
        let mut state = self.state();
        if let State::Open(_) = &*state {
            let old = std::mem::replace(&mut *state, State::Discarded);
            drop(state);
            drop(old);
        }
    }

    fn __enter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        slf.get().draft(slf.py(), |_| ())?;
        Ok(slf.clone())
    }

    /// Ends the edit, or discards it if there was an exception.
    #[pyo3(signature = (*exception))]
    fn __exit__(slf: &Bound<'_, Self>, exception: &Bound<'_, PyTuple>) -> PyResult<bool> {
        let failed = exception.iter().next().is_some_and(|class| !class.is_none());
        let is_open = matches!(&*slf.get().state(), State::Open(_));
        if failed {
            slf.get().discard();
        } else if is_open {
            Self::result(slf)?;
        }
        Ok(false)
    }

    fn __repr__(&self) -> String {
        let state = match &*self.state() {
            State::Open(open) => format!("of {} bindings", open.draft.bindings().len()),
            State::Done(_) => "that was left".to_owned(),
            State::Discarded => "that was discarded".to_owned(),
        };
        format!("<Editor {state}>")
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
