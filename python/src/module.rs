//! Modules and functions.

use crate::{
    convert::{self, plain_attr},
    errors, html, log,
    operators::ops_of,
    plugins::registry,
    run::detached,
    value,
};
use abi_stable::std_types::RArc;
use pyo3::{
    exceptions::{PyKeyError, PyModuleNotFoundError, PyTypeError, PyValueError},
    prelude::*,
    types::{PyBytes, PyDict, PyMapping, PyString, PyTuple},
};
use relais::{
    files::{Destination, Existing},
    ir::{
        Attr, AttrRec, Blob, CallView, ConstId, Function, Global, IRModule, NodeId, attr_flag, equal, equal_functions,
        global_kind, kind,
    },
    onnx::{self, ExternalData, WriteOptions},
};
use relais_conformance::interface::output_names;
use relais_plugin_api::{
    prim::OUTPUTS,
    text::{self, Large, PrintOptions},
};
use relais_session::model::{Format, Model, NotWritten, OperatorNames, as_written, write};
use sha2::{Digest, Sha256};
use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
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
        Arc::new(Self { format: model.format, operators: model.operators.clone() })
    }
}

/// Returns whether both have the same objects.
pub(crate) fn is_same(a: &IRModule, b: &IRModule) -> bool {
    let same = |(a, b): (&Global, &Global)| a.name == b.name && a.is_same(b);
    a.globals().len() == b.globals().len() && a.globals().iter().zip(b.globals()).all(same)
}

fn read_model(
    py: Python<'_>,
    read: impl FnOnce() -> Result<Model, relais_session::Error> + Send,
) -> PyResult<PyIrModule> {
    let model = detached(py, read)?.map_err(|error| errors::of_model(py, &error))?;
    model.warnings.iter().for_each(log::warn);
    log::hand_over(py)?;
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

    /// The model that it is.
    pub fn model(&self) -> Model {
        let Origin { format, operators } = &*self.origin;
        Model { format: *format, operators: operators.clone(), ..Model::made(self.module.clone()) }
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
            let mapping =
                functions.cast::<PyMapping>().map_err(|_| value::wrong(functions, "`functions`", "a dict"))?;
            let mut given = Vec::new();
            for item in mapping.items()? {
                let (name, function): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
                given.push(function_named(&name, &function)?);
            }
            // Many at once: names are not looked for one by one.
            if given.iter().all(|(_, function)| function.get().kind == global_kind::FUNCTION) {
                let functions = given.iter().map(|(name, function)| (name.as_str(), function.get().function.clone()));
                module.set_functions(functions);
            } else {
                for (name, function) in &given {
                    module.set_global(name, function.get().kind, function.get().function.clone());
                }
            }
        }
        Ok(Self::new(module, Origin::none()))
    }

    /// Writes it to a file: ONNX, or the text form if the name ends in `.relay`.
    #[pyo3(signature = (path, *, external_data = "auto", threshold = None))]
    fn save(
        &self,
        py: Python<'_>,
        path: PathBuf,
        external_data: &str,
        threshold: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let threshold: Option<u64> =
            threshold.map(|threshold| value::whole(threshold, "`threshold`", i64::MAX)).transpose()?;
        let external_data = match (value::external_data(external_data)?, threshold) {
            (ExternalData::Auto { .. }, Some(threshold)) => ExternalData::Auto { threshold },
            (ExternalData::Keep { .. }, Some(threshold)) => ExternalData::Keep { threshold },
            (ExternalData::External { .. }, Some(min_bytes)) => ExternalData::External { min_bytes },
            (external_data, _) => external_data,
        };
        let registry = registry(py)?;
        let written = detached(py, || -> Result<(), NotWritten> {
            let destination =
                Destination::new(&path, Existing::Replace).map_err(|error| NotWritten::File("output", error))?;
            let format = Format::of_name(&path).unwrap_or(self.origin.format);
            let whole = as_written(&self.module, format, &self.origin.operators, registry)?;
            write(&whole, &destination, format, &WriteOptions::default().with_external_data(external_data)).map(drop)
        })?;
        written.map_err(|error| errors::of_output(py, &error))
    }

    /// The model as ONNX, with all weights in it.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let registry = registry(py)?;
        let written = detached(py, || -> Result<Vec<u8>, NotWritten> {
            let whole = as_written(&self.module, Format::Onnx, &self.origin.operators, registry)?;
            let mut bytes = Vec::new();
            Ok(onnx::write_to(&whole, &mut bytes).map(|_| bytes)?)
        })?;
        let bytes = written.map_err(|error| errors::of_output(py, &error))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The model as an `onnx.ModelProto`.
    fn to_proto<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let onnx = py.import("onnx").map_err(|error| match error.is_instance_of::<PyModuleNotFoundError>(py) {
            true => PyModuleNotFoundError::new_err(
                "`to_proto` needs the package `onnx`\n  help: pip install 'relais-onnx[onnx]'",
            ),
            false => error,
        })?;
        let proto = onnx.getattr("ModelProto")?.call0()?;
        proto.call_method1("ParseFromString", (self.to_bytes(py)?,))?;
        Ok(proto)
    }

    /// The files that it was read from, the model first.
    #[getter]
    fn sources(&self) -> Vec<String> {
        self.module.sources.iter().map(|source| source.name.to_string()).collect()
    }

    /// A hash of the files that it was read from, and of the weights that it has in others; of its text, if it was not
    /// read from ONNX.
    fn digest(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || {
            let sources = &self.module.sources;
            let mut hasher = Sha256::new();
            if sources.is_empty() {
                let options = PrintOptions { large: Large::SideFile, ..PrintOptions::default() };
                // A hasher takes everything.
                let rest = text::print_io(&self.module, &options, &mut hasher).unwrap_or_default();
                for (_, tensor) in rest {
                    hasher.update(&*tensor.to_bytes());
                }
                return hex(&hasher.finalize());
            }
            for source in sources {
                hasher.update(source.bytes.len().to_le_bytes());
                hasher.update(&*source.bytes);
            }
            let is_inside = |bytes: &[u8]| {
                let (start, end) = (bytes.as_ptr().addr(), bytes.as_ptr().addr() + bytes.len());
                sources.iter().any(|source| {
                    let from = source.bytes.as_ptr().addr();
                    from <= start && end <= from + source.bytes.len()
                })
            };
            let functions = self.module.globals().iter().map(|global| global.body());
            for tensor in functions.flat_map(|f| (0..f.n_constants()).map(|at| f.tensor(ConstId::from_index(at)))) {
                if let Some(element) = tensor.as_splat() {
                    hasher.update(element);
                } else if !tensor.as_dense().is_some_and(|bytes| is_inside(bytes)) {
                    let bytes = tensor.to_bytes();
                    hasher.update(bytes.len().to_le_bytes());
                    hasher.update(&*bytes);
                }
            }
            hex(&hasher.finalize())
        })
    }

    /// Whether both are the same object, or have the same functions as objects.
    fn same_as(&self, other: &Self) -> bool {
        is_same(&self.module, &other.module)
    }

    /// A module with a function put in, or in the place of one.
    fn with_function(&self, name: &Bound<'_, PyString>, function: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut module = self.module.clone();
        let (name, function) = function_named(name, function)?;
        module.set_global(&name, function.get().kind, function.get().function.clone());
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

    /// A module with the functions of another one put in, or in the place of those of their names.
    fn update(&self, other: &Self) -> Self {
        let mut module = self.module.clone();
        let globals = other.module.globals().iter();
        module.set_globals(globals.map(|global| (global.name.as_str(), global.kind, global.body().clone())));
        Self::new(module, self.origin.clone())
    }

    /// To be pickled: as ONNX if that gives the same module again, otherwise in the text form.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let native = py.import("relais_onnx._native")?;
        let registry = registry(py)?;
        let bytes = detached(py, || -> Option<Vec<u8>> {
            let whole = as_written(&self.module, Format::Onnx, &self.origin.operators, registry).ok()?;
            let mut bytes = Vec::new();
            onnx::write_to(&whole, &mut bytes).ok()?;
            let again = Model::from_bytes(Path::new("<bytes>"), Blob::from(bytes.clone())).ok()?;
            equal(&self.module, &again.module).is_ok().then_some(bytes)
        })?;
        Ok(match bytes {
            Some(bytes) => (native.getattr("from_bytes")?, (PyBytes::new(py, &bytes), py.None()).into_pyobject(py)?),
            None => (native.getattr("parse")?, (self.__str__(),).into_pyobject(py)?),
        })
    }

    /// The names of its functions, in order.
    fn keys(&self) -> Vec<String> {
        self.module.globals().iter().map(|global| global.name.to_string()).collect()
    }

    /// Its functions, in order.
    fn values(&self) -> Vec<PyFunction> {
        let function = |global: &Global| PyFunction::new(global.name.to_string(), global.kind, global.body().clone());
        self.module.globals().iter().map(function).collect()
    }

    /// Its functions with their names, in order.
    fn items(&self) -> Vec<(String, PyFunction)> {
        self.keys().into_iter().zip(self.values()).collect()
    }

    fn __getitem__(&self, name: &str) -> PyResult<PyFunction> {
        self.function_of(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }

    /// Returns the function of a name, or `default` if there is none.
    #[pyo3(signature = (name, default = None, /))]
    fn get<'py>(
        &self,
        name: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        match name.extract().ok().and_then(|name: &str| self.function_of(name)) {
            Some(function) => Ok(Some(Bound::new(name.py(), function)?.into_any())),
            None => Ok(default),
        }
    }

    fn __contains__(&self, name: &Bound<'_, PyAny>) -> bool {
        name.extract().is_ok_and(|name: &str| self.module.global(name).is_some())
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

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for global in self.module.globals() {
            global.name.as_str().hash(&mut hasher);
            structural_hash(global.body(), &mut hasher);
        }
        hasher.finish()
    }

    /// A table of operators and the text, for notebooks.
    fn _repr_html_(&self) -> String {
        html::of_module(&self.module)
    }

    fn __str__(&self) -> String {
        text::print(&self.module, &PrintOptions::default())
    }

    fn __repr__(&self) -> String {
        format!("<IRModule of {}>", self.keys().iter().map(|name| format!("@{name}")).collect::<Vec<_>>().join(", "))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A function with its name in a module.
fn function_named<'py>(
    name: &Bound<'py, PyAny>,
    function: &Bound<'py, PyAny>,
) -> PyResult<(String, Bound<'py, PyFunction>)> {
    let name: String = name.extract().map_err(|_| value::wrong(name, "the name of a function", "a str"))?;
    match function.cast::<PyFunction>() {
        Ok(function) => Ok((name, function.clone())),
        Err(_) => Err(value::wrong(function, &format!("function `{name}`"), "a Function")),
    }
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

    /// Whether both are the same object.
    pub fn is_same(&self, other: &Self) -> bool {
        std::ptr::eq(&*self.function, &*other.function)
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

/// Whether metadata of a function is not an attribute: its operator sets, which parameters of a prim func are outputs, and what
/// the reader of ONNX files keeps for the writer.
fn is_kept_apart(name: &str) -> bool {
    name == OUTPUTS || name.starts_with("opset_") || onnx::meta::is_of_function(name)
}

impl PyFunction {
    /// The function with one attribute of a name, or none.
    fn with_attrs(&self, name: &str, new: Option<Attr>) -> PyResult<Self> {
        let mut f = (*self.function).clone();
        let root = f.root();
        let id = f.intern(name);
        let is_other = |rec: &&AttrRec| rec.name != id || rec.flags & attr_flag::META == 0;
        let mut recs: Vec<AttrRec> = f.attr_recs(root).iter().filter(is_other).copied().collect();
        recs.extend(new.map(|attr| f.encode_attr(&attr)));
        f.set_attr_recs(root, &recs);
        Ok(Self::new(self.name.clone(), self.kind, RArc::new(f)))
    }
}

/// A number that is equal for functions of equal contents.
fn structural_hash(f: &Function, hasher: &mut DefaultHasher) {
    f.params().len().hash(hasher);
    for id in f.all_bindings() {
        (f.kind(id), f.operands(id).len()).hash(hasher);
        if let Some(op) = f.call(id).and_then(CallView::op) {
            f.str(f.op(op).name).hash(hasher);
        }
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
        ops_of(&self.function)
    }

    /// Its attributes, by name: those that passes gave it, such as TVM's `SkipOptimization` and `Compiler`.
    #[getter]
    fn attrs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let f = &self.function;
        let attrs = PyDict::new(py);
        for (name, value) in f.attrs(f.root()).metadata().filter(|(name, _)| !is_kept_apart(name)) {
            attrs.set_item(name, plain_attr(py, f, value)?)?;
        }
        Ok(attrs)
    }

    /// The function with an attribute: a number, a string, or a list of them.
    fn with_attr(&self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<Self> {
        if name.is_empty() || is_kept_apart(name) {
            return Err(PyValueError::new_err(format!("`{name}` is not the name of an attribute that can be set")));
        }
        let data = convert::attr(name, value, None)?.value;
        self.with_attrs(name, Some(Attr::meta(name.to_owned(), data)))
    }

    /// The function without an attribute.
    fn without_attr(&self, name: &str) -> PyResult<Self> {
        let f = &self.function;
        match f.attrs(f.root()).meta(name).is_some() && !is_kept_apart(name) {
            true => self.with_attrs(name, None),
            false => Err(PyKeyError::new_err(name.to_owned())),
        }
    }

    /// To be pickled, as a module that has it.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let f = &self.function;
        let calls_others = |id: NodeId| f.operands(id).iter().any(|&operand| f.kind(operand) == kind::GLOBAL_VAR);
        if f.all_bindings().any(calls_others) {
            let error = format!("function `{}` calls others, and cannot be pickled without them", self.name);
            return Err(PyTypeError::new_err(error + "\n  help: pickle its module"));
        }
        let mut module = IRModule::new();
        module.set_global(&self.name, self.kind, self.function.clone());
        let module = Py::new(py, PyIrModule::new(module, Origin::none()))?;
        let get = py.import("operator")?.getattr("getitem")?;
        Ok((get, (module, &self.name).into_pyobject(py)?))
    }

    /// Whether both are the same object.
    fn same_as(&self, other: &Self) -> bool {
        self.is_same(other)
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let Ok(other) = other.cast::<Self>() else { return Ok(py.NotImplemented()) };
        let other = other.get();
        let is_equal = self.kind == other.kind && equal_functions(&self.function, &other.function).is_ok();
        Ok(is_equal.into_pyobject(py)?.to_owned().into_any().unbind())
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        structural_hash(&self.function, &mut hasher);
        hasher.finish()
    }

    /// A table of operators and the text, for notebooks.
    fn _repr_html_(&self) -> String {
        html::of_function(&self.name, &self.function, true)
    }

    fn __str__(&self) -> String {
        text::print_function(&self.name, &self.function, &PrintOptions::default())
    }

    fn __repr__(&self) -> String {
        format!("<Function @{} of {} calls>", self.name, self.ops().len())
    }
}
