//! Modules and functions.

use crate::{errors, library, node::handles, run::detached, value};
use abi_stable::std_types::RArc;
use pyo3::{
    exceptions::{PyKeyError, PyValueError},
    prelude::*,
    types::{PyBytes, PyDict, PyList, PyString},
};
use relais::{
    files::{Destination, Existing, write_text_form},
    frontend::{Format, Model, OperatorNames, operators_of, with_bodies},
    ir::{Blob, Function, Global, IRModule, NodeId, equal, equal_functions, global_kind},
    onnx::{self, ExternalData, WriteOptions},
};
use relais_conformance::interface::output_names;
use relais_plugin_api::text::{self, PrintOptions};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

/// A module: functions by name. Nothing changes it; passes return others.
#[pyclass(frozen, name = "IRModule", module = "relais_onnx", mapping)]
pub(crate) struct PyIrModule {
    pub module: IRModule,
    pub origin: Arc<Origin>,
}

/// The facts about the file that a module was read from.
pub(crate) struct Origin {
    /// How it was written down.
    pub format: Format,
    /// The operators with which it was read: a runtime knows them.
    pub operators: OperatorNames,
}

impl Origin {
    /// Of a module that was made here.
    pub fn none() -> Arc<Self> {
        Arc::new(Self { format: Format::Onnx, operators: OperatorNames::new() })
    }

    fn of(model: &Model) -> Arc<Self> {
        // A model in a file has run before; one from text has not.
        let operators = match model.format {
            Format::Onnx => operators_of(&model.module),
            Format::Text => OperatorNames::new(),
        };
        Arc::new(Self { format: model.format, operators })
    }
}

/// Returns whether both have the same objects.
pub(crate) fn is_same(a: &IRModule, b: &IRModule) -> bool {
    let same = |(a, b): (&Global, &Global)| a.name == b.name && a.is_same(b);
    a.globals().len() == b.globals().len() && a.globals().iter().zip(b.globals()).all(same)
}

fn read_model(
    py: Python<'_>,
    read: impl FnOnce() -> Result<Model, relais::frontend::Error> + Send,
) -> PyResult<PyIrModule> {
    let model = detached(py, read)?.map_err(|error| errors::of_model(py, &error))?;
    model.warnings.iter().for_each(crate::log::warn);
    crate::log::hand_over(py);
    Ok(PyIrModule { origin: Origin::of(&model), module: model.module })
}

/// Reads a file.
#[pyfunction]
pub(crate) fn read(py: Python<'_>, path: PathBuf) -> PyResult<PyIrModule> {
    read_model(py, move || Model::read(&path))
}

/// Reads a model in memory. With a folder, its weights may be in files there.
#[pyfunction]
#[pyo3(signature = (bytes, folder))]
pub(crate) fn read_bytes(py: Python<'_>, bytes: Vec<u8>, folder: Option<PathBuf>) -> PyResult<PyIrModule> {
    let bytes = Blob::from(bytes);
    match folder {
        None => read_model(py, move || Model::from_bytes(Path::new("<bytes>"), bytes)),
        Some(folder) => read_model(py, move || Model::from_bytes_in(Path::new("<bytes>"), bytes, &folder)),
    }
}

/// Parses the text form.
#[pyfunction]
pub(crate) fn parse(py: Python<'_>, text: String) -> PyResult<PyIrModule> {
    read_model(py, move || Model::from_bytes(Path::new("<text>.relay"), Blob::from(text.into_bytes())))
}

impl PyIrModule {
    pub fn new(module: IRModule, origin: Arc<Origin>) -> Self {
        Self { module, origin }
    }

    fn function_of(&self, name: &str) -> Option<PyFunction> {
        let global = self.module.global(name)?;
        Some(PyFunction::new(name.to_owned(), global.kind, global.body().clone()))
    }
}

#[pymethods]
impl PyIrModule {
    /// A module of functions by name.
    #[new]
    #[pyo3(signature = (functions = None))]
    fn make(functions: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let mut module = IRModule::new();
        if let Some(functions) = functions.filter(|functions| !functions.is_none()) {
            let dict = functions.cast::<PyDict>().map_err(|_| value::wrong(functions, "`functions`", "a dict"))?;
            for (name, function) in dict {
                set(&mut module, &name, &function)?;
            }
        }
        Ok(Self::new(module, Origin::none()))
    }

    /// Writes it to a file: ONNX, or the text form if the name ends in `.relay`.
    #[pyo3(signature = (path, *, external_data = "auto", threshold = None))]
    fn save(&self, py: Python<'_>, path: PathBuf, external_data: &str, threshold: Option<u64>) -> PyResult<()> {
        let external_data = match (external_data, threshold) {
            ("auto", None) => ExternalData::default(),
            ("auto", Some(threshold)) => ExternalData::Auto { threshold },
            ("always", _) => ExternalData::External { min_bytes: threshold.unwrap_or(1024) },
            ("never", _) => ExternalData::Inline,
            _ => return Err(PyValueError::new_err("`external_data` must be \"auto\", \"always\" or \"never\"")),
        };
        let registry = library::registry(py)?;
        let written = detached(py, || -> Result<(), (String, String)> {
            let failed = |error: relais::files::FileError| (error.of("output"), error.help().to_string());
            let destination = Destination::new(&path, Existing::Replace).map_err(failed)?;
            if Format::of_name(&path).unwrap_or(self.origin.format) == Format::Text {
                return write_text_form(&self.module, &destination, &PrintOptions::default()).map(drop).map_err(failed);
            }
            let whole = with_bodies(&self.module, &self.origin.operators, &registry)
                .map_err(|error| (error.to_string(), error.help().unwrap_or_default().to_owned()))?;
            let options = WriteOptions::default().with_external_data(external_data);
            let written = onnx::write_destination(&whole, &destination, &options);
            written.map(drop).map_err(|error| (format!("output {error}"), error.help().to_owned()))
        })?;
        written.map_err(|(message, help)| errors::helped(py, "OutputError", message, &help))
    }

    /// The model as ONNX, with all weights in it.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let registry = library::registry(py)?;
        let written = detached(py, || -> Result<Vec<u8>, (String, String)> {
            let whole = with_bodies(&self.module, &self.origin.operators, &registry)
                .map_err(|error| (error.to_string(), error.help().unwrap_or_default().to_owned()))?;
            let mut bytes = Vec::new();
            let written = onnx::write_to(&whole, &mut bytes);
            written.map(|_| bytes).map_err(|error| (format!("output {error}"), error.help().to_owned()))
        })?;
        let bytes = written.map_err(|(message, help)| errors::helped(py, "OutputError", message, &help))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The model as an `onnx.ModelProto`.
    fn to_proto<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let proto = py.import("onnx")?.getattr("ModelProto")?.call0()?;
        proto.call_method1("ParseFromString", (self.to_bytes(py)?,))?;
        Ok(proto)
    }

    /// Whether both are the same object, or have the same functions as objects.
    fn same_as(&self, other: &Self) -> bool {
        is_same(&self.module, &other.module)
    }

    /// A module with a function put in, or in the place of one.
    fn with_function(&self, name: &Bound<'_, PyString>, function: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut module = self.module.clone();
        set(&mut module, name, function)?;
        Ok(Self::new(module, self.origin.clone()))
    }

    /// A module without a function.
    fn without_function(&self, name: &str) -> PyResult<Self> {
        let mut module = self.module.clone();
        match module.remove(name) {
            true => Ok(Self::new(module, self.origin.clone())),
            false => Err(PyKeyError::new_err(name.to_owned())),
        }
    }

    /// The names of its functions, in order.
    fn keys(&self) -> Vec<String> {
        self.module.globals().iter().map(|global| global.name.to_string()).collect()
    }

    /// Its functions, in order.
    fn values(&self) -> Vec<PyFunction> {
        self.keys().iter().filter_map(|name| self.function_of(name)).collect()
    }

    /// Its functions with their names, in order.
    fn items(&self) -> Vec<(String, PyFunction)> {
        self.keys().into_iter().zip(self.values()).collect()
    }

    fn __getitem__(&self, name: &str) -> PyResult<PyFunction> {
        self.function_of(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }

    fn __contains__(&self, name: &str) -> bool {
        self.module.global(name).is_some()
    }

    fn __len__(&self) -> usize {
        self.module.globals().len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.keys().into_pyobject(py)?.call_method0("__iter__")
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let Ok(other) = other.cast::<Self>() else { return Ok(py.NotImplemented()) };
        let is_equal = equal(&self.module, &other.get().module).is_ok();
        Ok(is_equal.into_pyobject(py)?.to_owned().into_any().unbind())
    }

    fn __str__(&self) -> String {
        text::print(&self.module, &PrintOptions::default())
    }

    fn __repr__(&self) -> String {
        format!("<IRModule of {}>", self.keys().iter().map(|name| format!("@{name}")).collect::<Vec<_>>().join(", "))
    }
}

fn set(module: &mut IRModule, name: &Bound<'_, PyAny>, function: &Bound<'_, PyAny>) -> PyResult<()> {
    let name: String = name.extract().map_err(|_| value::wrong(name, "the name of a function", "a str"))?;
    let function = function
        .cast::<PyFunction>()
        .map_err(|_| value::wrong(function, &format!("function `{name}`"), "a Function"))?;
    let function = function.get();
    module.set_global(&name, function.kind, function.function.clone());
    Ok(())
}

/// A function or prim func of a module. Nothing changes it.
#[pyclass(frozen, name = "Function", module = "relais_onnx")]
pub(crate) struct PyFunction {
    pub name: String,
    pub kind: u8,
    pub function: RArc<Function>,
    /// The bindings that use each node; made when first asked for.
    users: OnceLock<HashMap<NodeId, Vec<NodeId>>>,
}

impl PyFunction {
    pub fn new(name: String, kind: u8, function: RArc<Function>) -> Self {
        Self { name, kind, function, users: OnceLock::new() }
    }

    /// The bindings that use each node, in program order.
    pub fn users(&self) -> &HashMap<NodeId, Vec<NodeId>> {
        self.users.get_or_init(|| {
            let f = &self.function;
            let mut users: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
            for id in f.all_bindings() {
                for &operand in f.operands(id) {
                    let of = users.entry(operand).or_default();
                    if of.last() != Some(&id) {
                        of.push(id);
                    }
                }
            }
            users
        })
    }
}

#[pymethods]
impl PyFunction {
    /// Its name in the module that it was taken from.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is a prim func: a loop program.
    #[getter]
    fn is_prim_func(&self) -> bool {
        self.kind == global_kind::PRIM_FUNC
    }

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
    fn nodes<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyList>> {
        handles(slf, &slf.get().function.all_bindings().collect::<Vec<_>>())
    }

    /// The names of its inputs, in order.
    #[getter]
    fn input_names(&self) -> Vec<String> {
        let f = &self.function;
        f.params().iter().map(|&param| f.name(param).to_owned()).collect()
    }

    /// The names of its outputs, in order.
    #[getter]
    fn output_names(&self) -> Vec<String> {
        output_names(&self.function)
    }

    /// The version of ONNX's operators that it uses; none if it does not say.
    #[getter]
    fn opset(&self) -> Option<i64> {
        self.function.opset_version("")
    }

    /// The operators that it calls, in order, those of nested functions too; with their domain if it is not ONNX's own.
    #[getter]
    fn ops(&self) -> Vec<String> {
        let f = &self.function;
        let name = |id| {
            let op = f.op(f.call(id)?.op()?);
            Some(match relais::ir::normal_domain(f.str(op.domain)) {
                "" => f.str(op.name).to_owned(),
                domain => format!("{domain}::{}", f.str(op.name)),
            })
        };
        f.all_bindings().filter_map(name).collect()
    }

    /// Whether both are the same object.
    fn same_as(&self, other: &Self) -> bool {
        std::ptr::eq(&*self.function, &*other.function)
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let Ok(other) = other.cast::<Self>() else { return Ok(py.NotImplemented()) };
        let other = other.get();
        let is_equal = self.kind == other.kind && equal_functions(&self.function, &other.function).is_ok();
        Ok(is_equal.into_pyobject(py)?.to_owned().into_any().unbind())
    }

    fn __str__(&self) -> String {
        text::print_function(&self.name, &self.function, &PrintOptions::default())
    }

    fn __repr__(&self) -> String {
        format!("<Function @{} of {} calls>", self.name, self.ops().len())
    }
}
