//! Tensors and attributes from Python's values.

use crate::{
    errors,
    tensor::{PyTensor, of_extra_type, of_type_string},
    value::{plain, wrong},
};
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMemoryView, PyString, PyTuple},
};
use relais::ir::{Attr, AttrData, AttrValue, Dim, ElemType, Function, NodeId, Tensor, TypeId, attr_kind, packed};
use relais_plugin_api::text;

/// The element type of a name: NumPy's, or ours.
pub(crate) fn elem_type(name: &str) -> PyResult<ElemType> {
    ElemType::from_name(name).or_else(|| of_extra_type(name)).ok_or_else(|| {
        let names: Vec<&str> = ElemType::ALL.iter().filter_map(|elem| elem.name()).collect();
        PyValueError::new_err(format!("`{name}` is not an element type; these are: {}", names.join(", ")))
    })
}

/// A tensor of a `Tensor`, an array, anything with the buffer protocol, or numbers in lists.
pub(crate) fn tensor(object: &Bound<'_, PyAny>, dtype: Option<&str>) -> PyResult<Tensor> {
    let py = object.py();
    let wanted = dtype.map(elem_type).transpose()?;
    if let Ok(tensor) = object.cast::<PyTensor>() {
        let tensor = tensor.get().tensor.clone();
        return match wanted.filter(|&wanted| wanted != tensor.elem()) {
            Some(wanted) => Err(other_type(tensor.elem(), wanted)),
            None => Ok(tensor),
        };
    }
    if object.is_instance_of::<PyString>() || object.is_none() {
        return Err(wrong(object, "a constant", "a Tensor, an array, a buffer, or numbers"));
    }
    if object.is_instance_of::<PyInt>()
        || object.is_instance_of::<PyFloat>()
        || object.is_instance_of::<PyList>()
        || object.is_instance_of::<PyTuple>()
    {
        return of_numbers(object, wanted);
    }
    let has_dtype = object.hasattr("dtype")? && object.hasattr("tobytes")?;
    let array = match has_dtype {
        false if object.hasattr("__array__")? => py.import("numpy")?.call_method1("asarray", (object,))?,
        _ => object.clone(),
    };
    let (elem, dims, bytes) = if has_dtype || !array.is(object) {
        let dtype = array.getattr("dtype")?;
        let kind: String = dtype.getattr("str")?.extract()?;
        let elem = match of_type_string(&kind) {
            Some(elem) => elem,
            None if kind.starts_with('>') => {
                return Err(PyValueError::new_err(
                    "the array is big-endian; `array.astype(array.dtype.newbyteorder('<'))` is not",
                ));
            }
            None => match dtype.getattr("name")?.extract::<String>()?.as_str() {
                "object" | "str" => ElemType::STRING,
                name if name.starts_with("str") => ElemType::STRING,
                name => elem_type(name)?,
            },
        };
        let dims: Vec<u64> = array.getattr("shape")?.extract()?;
        if elem == ElemType::STRING {
            let texts: Vec<String> = array.call_method0("ravel")?.call_method0("tolist")?.extract()?;
            return Tensor::from_strings(&dims, texts.iter().map(|text| text.as_bytes()))
                .map_err(|error| PyValueError::new_err(error.to_string()));
        }
        (elem, dims, array.call_method0("tobytes")?)
    } else {
        let view = PyMemoryView::from(object)
            .map_err(|_| wrong(object, "a constant", "a Tensor, an array, a buffer, or numbers"))?;
        let format: String = view.getattr("format")?.extract()?;
        let elem = match format.trim_start_matches(['<', '=', '@']) {
            "f" => ElemType::FLOAT,
            "d" => ElemType::DOUBLE,
            "e" => ElemType::FLOAT16,
            "?" => ElemType::BOOL,
            "b" => ElemType::INT8,
            "B" | "c" => ElemType::UINT8,
            "h" => ElemType::INT16,
            "H" => ElemType::UINT16,
            "i" => ElemType::INT32,
            "I" => ElemType::UINT32,
            "q" => ElemType::INT64,
            "Q" => ElemType::UINT64,
            // As long as the machine says.
            "l" | "n" if view.getattr("itemsize")?.extract::<usize>()? == 8 => ElemType::INT64,
            "L" | "N" if view.getattr("itemsize")?.extract::<usize>()? == 8 => ElemType::UINT64,
            "l" => ElemType::INT32,
            "L" => ElemType::UINT32,
            other => return Err(PyTypeError::new_err(format!("elements of the format `{other}` cannot be held"))),
        };
        (elem, view.getattr("shape")?.extract()?, view.call_method0("tobytes")?)
    };
    if let Some(wanted) = wanted.filter(|&wanted| wanted != elem) {
        return Err(other_type(elem, wanted));
    }
    let bytes = bytes.cast::<PyBytes>()?.as_bytes();
    let bytes = match elem.bits() {
        // An array has a byte for each.
        bits @ 1..8 => packed::pack(bytes, bits),
        _ => bytes.to_vec(),
    };
    Tensor::dense(elem, &dims, bytes).map_err(|error| PyValueError::new_err(error.to_string()))
}

#[pymethods]
impl PyTensor {
    /// A tensor of an array, anything with the buffer protocol, or numbers, which are `float32`, `int64` or `bool` unless
    /// `dtype` says otherwise. It is a copy.
    #[new]
    #[pyo3(signature = (value, dtype = None))]
    fn make(value: &Bound<'_, PyAny>, dtype: Option<&str>) -> PyResult<Self> {
        Ok(Self { tensor: tensor(value, dtype)? })
    }
}

fn other_type(elem: ElemType, wanted: ElemType) -> PyErr {
    PyTypeError::new_err(format!("the elements are of type `{elem}`, not `{wanted}`; convert the array first"))
}

/// A number of a list.
enum Number {
    Bool(bool),
    Int(i128),
    Float(f64),
}

/// A tensor of numbers: `int64`, `float32` or `bool` unless another type is wanted.
fn of_numbers(object: &Bound<'_, PyAny>, wanted: Option<ElemType>) -> PyResult<Tensor> {
    let (mut dims, mut numbers) = (Vec::new(), Vec::new());
    flatten(object, 0, &mut dims, &mut numbers)?;
    let elem = wanted.unwrap_or_else(|| match numbers.as_slice() {
        [] => ElemType::FLOAT,
        numbers if numbers.iter().all(|number| matches!(number, Number::Bool(_))) => ElemType::BOOL,
        numbers if numbers.iter().any(|number| matches!(number, Number::Float(_))) => ElemType::FLOAT,
        _ => ElemType::INT64,
    });
    let mut bytes: Vec<u8> = Vec::new();
    for number in &numbers {
        let outside = |what: &dyn std::fmt::Display| PyValueError::new_err(format!("`{elem}` cannot hold {what}"));
        let float = match *number {
            Number::Bool(value) => f64::from(u8::from(value)),
            Number::Int(value) => value as f64,
            Number::Float(value) => value,
        };
        let int = || match *number {
            Number::Bool(value) => Ok(i128::from(value)),
            Number::Int(value) => Ok(value),
            Number::Float(value) => Err(outside(&value)),
        };
        macro_rules! push {
            ($ty:ty) => {{
                let value = int()?;
                bytes.extend(<$ty>::try_from(value).map_err(|_| outside(&value))?.to_le_bytes())
            }};
        }
        match elem {
            ElemType::FLOAT => bytes.extend((float as f32).to_le_bytes()),
            ElemType::DOUBLE => bytes.extend(float.to_le_bytes()),
            ElemType::BOOL => bytes.push(match int()? {
                value @ 0..=1 => value as u8,
                value => return Err(outside(&value)),
            }),
            ElemType::INT8 => push!(i8),
            ElemType::UINT8 => push!(u8),
            ElemType::INT16 => push!(i16),
            ElemType::UINT16 => push!(u16),
            ElemType::INT32 => push!(i32),
            ElemType::UINT32 => push!(u32),
            ElemType::INT64 => push!(i64),
            ElemType::UINT64 => push!(u64),
            _ => {
                let message = format!("numbers cannot be made elements of `{elem}` here; give an array");
                return Err(PyTypeError::new_err(message));
            }
        }
    }
    Tensor::dense(elem, &dims, bytes).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// How deep lists of numbers may be nested.
const MAX_RANK: usize = 64;

fn flatten(object: &Bound<'_, PyAny>, depth: usize, dims: &mut Vec<u64>, numbers: &mut Vec<Number>) -> PyResult<()> {
    let ragged = || PyValueError::new_err("the lists of numbers have different lengths");
    if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        if depth == MAX_RANK {
            return Err(PyValueError::new_err("the lists of numbers are nested too deep"));
        }
        let len = object.len()? as u64;
        match dims.get(depth) {
            None if numbers.is_empty() => dims.push(len),
            Some(&known) if known == len => {}
            _ => return Err(ragged()),
        }
        for item in object.try_iter()? {
            flatten(&item?, depth + 1, dims, numbers)?;
        }
        return Ok(());
    }
    if depth != dims.len() {
        return Err(ragged());
    }
    numbers.push(if object.is_instance_of::<PyBool>() {
        Number::Bool(object.extract()?)
    } else if object.is_instance_of::<PyInt>() {
        let outside = |_| PyValueError::new_err("a number does not fit into 64 bits");
        Number::Int(object.extract().map_err(outside)?)
    } else if object.is_instance_of::<PyFloat>() {
        Number::Float(object.extract()?)
    } else {
        return Err(wrong(object, "an element of a constant", "a number"));
    });
    Ok(())
}

/// An attribute, of the kind that the operator expects if it is known.
pub(crate) fn attr(name: &str, object: &Bound<'_, PyAny>, expected: Option<u8>) -> PyResult<Attr> {
    let what = format!("attribute `{name}`");
    let object = &plain(object, expected.is_some_and(|kind| kind != attr_kind::TENSOR))?;
    let mismatch = |kind: u8| wrong(object, &what, &format!("of the kind `{}`", attr_kind::name(kind)));
    let text = |object: &Bound<'_, PyAny>| -> PyResult<Vec<u8>> {
        match object.cast::<PyBytes>() {
            Ok(bytes) => Ok(bytes.as_bytes().to_vec()),
            Err(_) => Ok(object.extract::<String>()?.into_bytes()),
        }
    };
    let is_text = |object: &Bound<'_, PyAny>| object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>();
    let is_number = |object: &Bound<'_, PyAny>| object.is_instance_of::<PyInt>() || object.is_instance_of::<PyFloat>();
    let outside = |_| PyValueError::new_err(format!("{what} does not fit into 64 bits"));
    let data = if object.is_instance_of::<PyInt>() {
        match expected {
            Some(attr_kind::FLOAT) => AttrData::Float(object.extract::<f64>()? as f32),
            _ => AttrData::Int(object.extract().map_err(outside)?),
        }
    } else if object.is_instance_of::<PyFloat>() {
        AttrData::Float(object.extract::<f64>()? as f32)
    } else if is_text(object) {
        AttrData::String(text(object)?)
    } else if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        let items = object.try_iter()?.map(|item| plain(&item?, false)).collect::<PyResult<Vec<_>>>()?;
        if items.is_empty() {
            match expected {
                Some(attr_kind::FLOATS) => AttrData::Floats(Vec::new()),
                Some(attr_kind::STRINGS) => AttrData::Strings(Vec::new()),
                Some(attr_kind::TENSORS) => AttrData::Tensors(Vec::new()),
                _ => AttrData::Ints(Vec::new()),
            }
        } else if items.iter().all(is_text) {
            AttrData::Strings(items.iter().map(text).collect::<PyResult<_>>()?)
        } else if items.iter().all(is_number) {
            let is_float = |item: &Bound<'_, PyAny>| item.is_instance_of::<PyFloat>();
            match expected {
                Some(attr_kind::FLOATS) => AttrData::Floats(
                    items.iter().map(|item| Ok(item.extract::<f64>()? as f32)).collect::<PyResult<_>>()?,
                ),
                None if items.iter().any(is_float) => AttrData::Floats(
                    items.iter().map(|item| Ok(item.extract::<f64>()? as f32)).collect::<PyResult<_>>()?,
                ),
                _ if items.iter().any(is_float) => return Err(mismatch(expected.unwrap_or(attr_kind::INTS))),
                _ => AttrData::Ints(items.iter().map(|item| item.extract().map_err(outside)).collect::<PyResult<_>>()?),
            }
        } else if items.iter().all(|item| item.cast::<PyTensor>().is_ok()) {
            AttrData::Tensors(items.iter().map(|item| tensor(item, None)).collect::<PyResult<_>>()?)
        } else {
            return Err(wrong(&items[0], &format!("an item of {what}"), "a number or a str, as all of them"));
        }
    } else {
        match tensor(object, None) {
            Ok(tensor) => AttrData::Tensor(tensor),
            Err(_) => {
                let expected = "an int, a float, a str, bytes, a Tensor or an array, or a list of these";
                return Err(wrong(object, &what, expected));
            }
        }
    };
    let kind = match &data {
        AttrData::Float(_) => attr_kind::FLOAT,
        AttrData::Int(_) => attr_kind::INT,
        AttrData::String(_) => attr_kind::STRING,
        AttrData::Tensor(_) => attr_kind::TENSOR,
        AttrData::Floats(_) => attr_kind::FLOATS,
        AttrData::Ints(_) => attr_kind::INTS,
        AttrData::Strings(_) => attr_kind::STRINGS,
        _ => attr_kind::TENSORS,
    };
    match expected {
        Some(expected) if expected != kind => Err(mismatch(expected)),
        _ => Ok(Attr::new(name.to_owned(), data)),
    }
}

/// A size of a shape.
enum Size {
    Known(u64),
    Named(String),
    Open,
}

/// The type of tensors with an element type and a shape: sizes, names of sizes, and None. None alone is any shape.
pub(crate) fn tensor_type(
    dtype: &str,
    shape: Option<&Bound<'_, PyAny>>,
) -> PyResult<impl FnOnce(&mut Function) -> TypeId + use<>> {
    let elem = elem_type(dtype)?;
    let sizes = match shape {
        None => None,
        Some(shape) => {
            let items = crate::value::items(Some(shape), "`shape`", "sizes")?;
            let size = |item: &Bound<'_, PyAny>| -> PyResult<Size> {
                let item = &plain(item, false)?;
                if item.is_none() {
                    Ok(Size::Open)
                } else if item.is_instance_of::<PyString>() {
                    Ok(Size::Named(item.extract()?))
                } else if item.is_instance_of::<PyInt>() && !item.is_instance_of::<PyBool>() {
                    let negative = |_| PyValueError::new_err("a size in `shape` is negative or too large");
                    Ok(Size::Known(item.extract::<u32>().map(u64::from).or_else(|_| item.extract()).map_err(negative)?))
                } else {
                    Err(wrong(item, "a size in `shape`", "an int, a str or None"))
                }
            };
            Some(items.iter().map(size).collect::<PyResult<Vec<_>>>()?)
        }
    };
    Ok(move |f: &mut Function| match sizes {
        None => f.add_type(relais::ir::Type::Tensor { elem, shape: None }),
        Some(sizes) => {
            let dims: Vec<Dim> = sizes
                .into_iter()
                .map(|size| match size {
                    Size::Known(size) => Dim::Static(size),
                    Size::Named(name) => Dim::Symbol(f.intern(&name)),
                    Size::Open => Dim::Unknown,
                })
                .collect();
            f.tensor_type(elem, &dims)
        }
    })
}

/// What a call is given beside its arguments.
#[derive(Default)]
pub(crate) struct Keywords {
    /// `_domain`.
    pub domain: Option<String>,
    /// `_outputs`.
    pub n_results: Option<u16>,
    /// `_name`.
    pub name: String,
    /// The others: attributes.
    pub attrs: Vec<(String, Py<PyAny>)>,
}

/// The keywords of `op.Relu(x, …)`.
pub(crate) fn keywords(keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Keywords> {
    let mut given = Keywords::default();
    for (name, value) in keywords.into_iter().flatten() {
        let name: String = name.extract()?;
        let text = || value.extract::<String>().map_err(|_| wrong(&value, &format!("`{name}`"), "a str"));
        match name.as_str() {
            "_domain" => given.domain = Some(text()?),
            "_name" => given.name = text()?,
            "_outputs" => given.n_results = n_results(&value)?,
            other if other.starts_with('_') => {
                return Err(PyTypeError::new_err(format!("`{other}` is not `_domain`, `_name` or `_outputs`")));
            }
            _ => given.attrs.push((name, value.unbind())),
        }
    }
    Ok(given)
}

/// A number of results.
pub(crate) fn n_results(object: &Bound<'_, PyAny>) -> PyResult<Option<u16>> {
    if object.is_none() {
        return Ok(None);
    }
    if !object.is_instance_of::<PyInt>() || object.is_instance_of::<PyBool>() {
        return Err(wrong(object, "the number of results", "an int"));
    }
    match object.extract::<u16>() {
        Ok(n) if n > 0 => Ok(Some(n)),
        _ => Err(PyValueError::new_err("the number of results must be between 1 and 65535")),
    }
}

/// The domain and the name of an operator: `acme::Silu`, `Relu`.
pub(crate) fn operator(py: Python<'_>, name: &str) -> PyResult<(String, String)> {
    let (domain, op) = name.rsplit_once("::").unwrap_or(("", name));
    if op.is_empty() || domain.contains("::") {
        let message = format!("`{name}` is not the name of an operator");
        return Err(errors::helped(py, "ModelError", message, "write `Relu`, or `acme::Silu` of another domain"));
    }
    Ok((domain.to_owned(), op.to_owned()))
}

/// An attribute that was read.
pub(crate) enum AttrRead {
    Float(f32),
    Int(i64),
    String(Vec<u8>),
    Tensor(Tensor),
    Floats(Vec<f32>),
    Ints(Vec<i64>),
    Strings(Vec<Vec<u8>>),
    Tensors(Vec<Tensor>),
    Node(NodeId),
    Nodes(Vec<NodeId>),
    Text(String),
    Texts(Vec<String>),
    Bytes(Vec<u8>),
    Other,
}

/// The value of an attribute of a function, which has no nodes.
pub(crate) fn plain_attr<'py>(py: Python<'py>, f: &Function, value: AttrValue<'_>) -> PyResult<Bound<'py, PyAny>> {
    AttrRead::of(f, value).plain(py)
}

impl AttrRead {
    pub fn of(f: &Function, value: AttrValue<'_>) -> Self {
        let ty = |id| text::display_type(f, id).to_string();
        match value {
            AttrValue::Float(value) => Self::Float(value),
            AttrValue::Int(value) => Self::Int(value),
            AttrValue::String(bytes) => Self::String(bytes.to_vec()),
            AttrValue::Tensor(tensor) => Self::Tensor(tensor.clone()),
            AttrValue::Graph(id) => Self::Node(id),
            AttrValue::Floats(words) => Self::Floats(words.floats().collect()),
            AttrValue::Ints(words) => Self::Ints(words.ints().collect()),
            AttrValue::Strings(words) => Self::Strings(words.strings().map(<[u8]>::to_vec).collect()),
            AttrValue::Tensors(words) => Self::Tensors(words.tensors().cloned().collect()),
            AttrValue::Graphs(ids) => Self::Nodes(ids.to_vec()),
            AttrValue::Type(id) => Self::Text(ty(id)),
            AttrValue::Types(words) => Self::Texts(words.types().map(ty).collect()),
            AttrValue::Ref { name, kind } => Self::Text(format!("{}({name})", attr_kind::name(kind))),
            AttrValue::SparseTensor(bytes) | AttrValue::Raw(bytes) => Self::Bytes(bytes.to_vec()),
            // Encoded as bytes that only ONNX's own reader takes.
            _ => Self::Other,
        }
    }

    /// The value; none of one with nodes.
    pub fn plain<'py>(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let string = |bytes: Vec<u8>| -> PyResult<Bound<'py, PyAny>> {
            Ok(match String::from_utf8(bytes) {
                Ok(text) => text.into_pyobject(py)?.into_any(),
                Err(error) => PyBytes::new(py, error.as_bytes()).into_any(),
            })
        };
        Ok(match self {
            Self::Float(value) => value.into_pyobject(py)?.into_any(),
            Self::Int(value) => value.into_pyobject(py)?.into_any(),
            Self::String(bytes) => string(bytes)?,
            Self::Tensor(tensor) => Bound::new(py, PyTensor { tensor })?.into_any(),
            Self::Floats(values) => PyList::new(py, values)?.into_any(),
            Self::Ints(values) => PyList::new(py, values)?.into_any(),
            Self::Strings(values) => {
                PyList::new(py, values.into_iter().map(string).collect::<PyResult<Vec<_>>>()?)?.into_any()
            }
            Self::Tensors(values) => {
                let tensors = values.into_iter().map(|tensor| PyTensor { tensor });
                PyList::new(py, tensors.collect::<Vec<_>>())?.into_any()
            }
            Self::Text(text) => text.into_pyobject(py)?.into_any(),
            Self::Texts(texts) => PyList::new(py, texts)?.into_any(),
            Self::Bytes(bytes) => PyBytes::new(py, &bytes).into_any(),
            Self::Node(_) | Self::Nodes(_) | Self::Other => py.None().into_bound(py),
        })
    }
}
