//! Editors: what an edit works on, how it begins and how it ends.

use crate::{
    draft::{Draft, Refused},
    errors,
    module::PyFunction,
    plugins::registry,
    run::detached,
    value,
};
use abi_stable::std_types::RArc;
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::PyTuple,
};
use relais::{
    ir::{Function, NodeId, global_kind},
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
        let open = Open { draft, relations: OpFactsTable::empty(registry(py)?) };
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
    pub fn draft<R>(&self, py: Python<'_>, work: impl FnOnce(&mut Draft) -> R) -> PyResult<R> {
        let mut state = self.state();
        if let State::Open(open) = &mut *state {
            return Ok(work(&mut open.draft));
        }
        // An exception is made by code of Python's.
        drop(state);
        Err(closed(py))
    }

    /// An edit that may be refused.
    pub fn edit<R>(&self, py: Python<'_>, work: impl FnOnce(&mut Draft) -> Result<R, Refused>) -> PyResult<R> {
        self.draft(py, work)?.map_err(|refused| exception(py, &refused))
    }

    /// The same with the type relations of operators.
    pub fn typed<R>(
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
impl PyFunction {
    /// Edits it: `with function.edit() as editor`. What comes out is `editor.result()`; the function stays as it is.
    fn edit(slf: &Bound<'_, Self>) -> PyResult<PyEditor> {
        PyEditor::of(slf.py(), slf.clone().unbind())
    }
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

    /// Imports a version of the operators of a domain.
    fn import_opset(&self, py: Python<'_>, domain: &str, version: i64) -> PyResult<()> {
        if version < 1 {
            return Err(PyValueError::new_err(format!("the version {version} is not above 0")));
        }
        self.edit(py, |draft| draft.import(domain, version))
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
