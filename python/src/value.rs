//! Values of options from Python.

use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple},
};
use relais::{onnx::ExternalData, pass::Dependencies};
use relais_plugin_api::{options::Value, pass::Requirement};
use std::path::PathBuf;

/// How deep lists and tables may be nested: as deep as schemas go.
const MAX_DEPTH: usize = 16;

/// The value of an option.
pub(crate) fn value(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Value> {
    nested(object, what, 0)
}

fn nested(object: &Bound<'_, PyAny>, what: &str, depth: usize) -> PyResult<Value> {
    if depth > MAX_DEPTH {
        return Err(PyValueError::new_err(format!("{what} is nested too deep")));
    }
    let object = &plain(object, true)?;
    let item = |item: Bound<'_, PyAny>| nested(&item, what, depth + 1);
    if object.is_instance_of::<PyBool>() {
        Ok(Value::Bool(object.extract()?))
    } else if object.is_instance_of::<PyInt>() {
        let outside = |_| PyValueError::new_err(format!("{what} does not fit into 64 bits"));
        Ok(Value::Int(object.extract().map_err(outside)?))
    } else if object.is_instance_of::<PyFloat>() {
        Ok(Value::Float(object.extract()?))
    } else if object.is_instance_of::<PyString>() {
        Ok(Value::Str(object.extract()?))
    } else if let Ok(list) = object.cast::<PyList>() {
        Ok(Value::List(list.iter().map(item).collect::<PyResult<_>>()?))
    } else if let Ok(tuple) = object.cast::<PyTuple>() {
        Ok(Value::List(tuple.iter().map(item).collect::<PyResult<_>>()?))
    } else if let Ok(table) = object.cast::<PyDict>() {
        let entry = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| Ok((text(&key, what)?, item(value)?));
        Ok(Value::Struct(table.iter().map(entry).collect::<PyResult<_>>()?))
    } else if let Ok(path) = object.extract::<PathBuf>() {
        Ok(Value::Str(path.to_string_lossy().into_owned()))
    } else {
        let expected = "a bool, an int, a float, a str, a path, or a list or dict of these";
        Err(wrong(object, what, expected))
    }
}

/// A number of NumPy's as Python's own, and anything else as it is. With `is_list`, arrays become lists of numbers.
pub(crate) fn plain<'py>(object: &Bound<'py, PyAny>, is_list: bool) -> PyResult<Bound<'py, PyAny>> {
    let is_own = object.is_none()
        || object.is_instance_of::<PyInt>()
        || object.is_instance_of::<PyFloat>()
        || object.is_instance_of::<PyString>()
        || object.is_instance_of::<PyList>()
        || object.is_instance_of::<PyTuple>();
    if is_own {
        return Ok(object.clone());
    }
    // Before NumPy is imported, no value is one of its numbers; importing it takes long.
    let modules = object.py().import("sys")?.getattr("modules")?.cast_into::<PyDict>()?;
    let Some(numpy) = modules.get_item("numpy")? else { return Ok(object.clone()) };
    if object.is_instance(&numpy.getattr("generic")?)? {
        return object.call_method0("item");
    }
    match is_list && object.is_instance(&numpy.getattr("ndarray")?)? {
        true => object.call_method0("tolist"),
        false => Ok(object.clone()),
    }
}

/// The entries of a dict of options; none of `None`.
pub(crate) fn entries(object: Option<&Bound<'_, PyAny>>, what: &str) -> PyResult<Vec<(String, Value)>> {
    let Some(object) = object.filter(|object| !object.is_none()) else { return Ok(Vec::new()) };
    let table = object.cast::<PyDict>().map_err(|_| wrong(object, what, "a dict"))?;
    table
        .iter()
        .map(|(key, object)| {
            let key = text(&key, what)?;
            let value = value(&object, &format!("`{key}` of {what}"))?;
            Ok((key, value))
        })
        .collect()
}

/// Names: of any iterable but a string, which would be its letters; none of `None`.
pub(crate) fn names(object: Option<&Bound<'_, PyAny>>, what: &str) -> PyResult<Vec<String>> {
    items(object, what, "names")?.iter().map(|item| text(item, what)).collect()
}

/// A pass that another one requires: its name, or a pair of its name and its options.
pub(crate) struct Required(pub Requirement);

impl<'py> FromPyObject<'_, 'py> for Required {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(name) = object.extract::<String>() {
            return Ok(Self(name.as_str().into()));
        }
        let (pass, options) = object
            .extract::<(String, Bound<'py, PyAny>)>()
            .map_err(|_| wrong(&object, "a pass in `required`", "a str, or a pair of a str and a dict"))?;
        let options = entries(Some(&options), &format!("the options of `{pass}`"))?;
        Ok(Self(Requirement { pass, options: Value::Struct(options) }))
    }
}

/// The items of any iterable but a string; none of `None`.
pub(crate) fn items<'py>(object: Option<&Bound<'py, PyAny>>, what: &str, of: &str) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let Some(object) = object.filter(|object| !object.is_none()) else { return Ok(Vec::new()) };
    let expected = format!("a list of {of}");
    if object.is_instance_of::<PyString>() {
        return Err(wrong(object, what, &expected));
    }
    let iterator = object.try_iter().map_err(|_| wrong(object, what, &expected))?;
    iterator.collect()
}

fn text(object: &Bound<'_, PyAny>, what: &str) -> PyResult<String> {
    object.extract().map_err(|_| wrong(object, &format!("a name in {what}"), "a str"))
}

/// A number of things, as an argument.
#[derive(Clone, Copy)]
pub(crate) struct Count(pub u64);

impl<'py> FromPyObject<'_, 'py> for Count {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        whole(&object, "`n`", i64::MAX).map(Self)
    }
}

/// A whole number from 0 to a limit.
pub(crate) fn whole<T: TryFrom<i64>>(object: &Bound<'_, PyAny>, what: &str, most: i64) -> PyResult<T> {
    let object = &plain(object, false)?;
    if !object.is_instance_of::<PyInt>() || object.is_instance_of::<PyBool>() {
        return Err(wrong(object, what, "an int"));
    }
    let number = object.extract::<i64>().ok().filter(|number| (0..=most).contains(number));
    let number = number.and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| PyValueError::new_err(format!("{what} must be between 0 and {most}")))
}

/// The error of a value of another type.
pub(crate) fn wrong(object: &Bound<'_, PyAny>, what: &str, expected: &str) -> PyErr {
    if object.cast::<PyString>().is_ok_and(|text| text.to_cow().is_err()) {
        let shown = object.repr().map_or_else(|_| "?".to_owned(), |shown| shown.to_string());
        return PyValueError::new_err(format!("{what} must be text, and has half a character: {shown}"));
    }
    let class = object.get_type();
    let mut is = class.name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
    // `numpy.bool` is not `bool`.
    if let (true, Ok(module)) = (expected.split([' ', ',']).any(|word| word == is), class.module()) {
        is = format!("{module}.{is}");
    }
    PyTypeError::new_err(format!("{what} must be {expected}, not `{is}`"))
}

/// Where weights go: `"auto"`, `"keep"`, `"always"` or `"never"`.
pub(crate) fn external_data(name: &str) -> PyResult<ExternalData> {
    match name {
        "auto" => Ok(ExternalData::default()),
        "keep" => Ok(ExternalData::Keep { threshold: 1024 }),
        "always" => Ok(ExternalData::External { min_bytes: 1024 }),
        "never" => Ok(ExternalData::Inline),
        _ => Err(PyValueError::new_err("`external_data` must be \"auto\", \"keep\", \"always\" or \"never\"")),
    }
}

/// The way in which requirements are followed, by its name.
pub(crate) fn dependencies(name: &str) -> PyResult<Dependencies> {
    let found = Dependencies::NAMES.into_iter().find(|(known, _)| *known == name);
    let wrong = || PyValueError::new_err("`dependencies` must be \"transitive\", \"direct\" or \"assumed\"");
    found.map(|(_, dependencies)| dependencies).ok_or_else(wrong)
}

/// A value as a Python object.
pub(crate) fn object(py: Python<'_>, value: &Value) -> PyResult<Py<PyAny>> {
    let object = match value {
        Value::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
        Value::Int(value) => value.into_pyobject(py)?.into_any(),
        Value::Float(value) => value.into_pyobject(py)?.into_any(),
        Value::Str(value) => value.into_pyobject(py)?.into_any(),
        Value::List(items) => {
            let items = items.iter().map(|item| object(py, item)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, items)?.into_any()
        }
        Value::Struct(entries) => {
            let dict = PyDict::new(py);
            for (key, value) in entries {
                dict.set_item(key, object(py, value)?)?;
            }
            dict.into_any()
        }
        _ => return Err(PyTypeError::new_err("the option has a value of a later version")),
    };
    Ok(object.unbind())
}
