//! Values of constants, as NumPy sees them.

use pyo3::{
    exceptions::{PyBufferError, PyTypeError},
    prelude::*,
    sync::PyOnceLock,
    types::{PyBytes, PyDict, PyList, PyTuple},
};
use relais::ir::{ElemType, Tensor, packed};

/// The value of a constant. Nothing changes it.
#[pyclass(frozen, name = "Tensor", module = "relais_onnx")]
pub(crate) struct PyTensor {
    pub tensor: Tensor,
}

/// NumPy's name of an element type: of the type itself, or of the integers that have its bits.
fn type_string(elem: ElemType) -> Option<&'static str> {
    Some(match elem {
        ElemType::FLOAT => "<f4",
        ElemType::DOUBLE => "<f8",
        ElemType::FLOAT16 => "<f2",
        ElemType::UINT8 => "|u1",
        ElemType::INT8 => "|i1",
        ElemType::UINT16 | ElemType::BFLOAT16 => "<u2",
        ElemType::INT16 => "<i2",
        ElemType::UINT32 => "<u4",
        ElemType::INT32 => "<i4",
        ElemType::UINT64 => "<u8",
        ElemType::INT64 => "<i8",
        ElemType::BOOL => "|b1",
        ElemType::COMPLEX64 => "<c8",
        ElemType::COMPLEX128 => "<c16",
        ElemType::FLOAT8E4M3FN
        | ElemType::FLOAT8E4M3FNUZ
        | ElemType::FLOAT8E5M2
        | ElemType::FLOAT8E5M2FNUZ
        | ElemType::FLOAT8E8M0 => "|u1",
        _ => return None,
    })
}

/// The element type of a type of NumPy's own, as its protocol writes it.
pub(crate) fn of_type_string(kind: &str) -> Option<ElemType> {
    ElemType::ALL.iter().copied().find(|&elem| extra_type(elem).is_none() && type_string(elem) == Some(kind))
}

/// The type of `ml_dtypes` that an element type is, where NumPy has none.
fn extra_type(elem: ElemType) -> Option<&'static str> {
    Some(match elem {
        ElemType::BFLOAT16 => "bfloat16",
        ElemType::FLOAT8E4M3FN => "float8_e4m3fn",
        ElemType::FLOAT8E4M3FNUZ => "float8_e4m3fnuz",
        ElemType::FLOAT8E5M2 => "float8_e5m2",
        ElemType::FLOAT8E5M2FNUZ => "float8_e5m2fnuz",
        ElemType::FLOAT8E8M0 => "float8_e8m0fnu",
        ElemType::UINT4 => "uint4",
        ElemType::INT4 => "int4",
        ElemType::FLOAT4E2M1 => "float4_e2m1fn",
        ElemType::UINT2 => "uint2",
        ElemType::INT2 => "int2",
        ElemType::FLOAT6E2M3 => "float6_e2m3fn",
        ElemType::FLOAT6E3M2 => "float6_e3m2fn",
        _ => return None,
    })
}

/// The element type that `ml_dtypes` gives a name.
pub(crate) fn of_extra_type(name: &str) -> Option<ElemType> {
    ElemType::ALL.iter().copied().find(|&elem| extra_type(elem) == Some(name))
}

#[pymethods]
impl PyTensor {
    /// The element type, such as `float32`.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.tensor.elem().name().unwrap_or("?")
    }

    /// The sizes.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.tensor.dims())
    }

    /// How many bytes its elements have.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.tensor.byte_len()
    }

    /// Whether it is one element, repeated, and stored once.
    #[getter]
    fn is_splat(&self) -> bool {
        self.tensor.as_splat().is_some()
    }

    /// Its elements as ONNX stores them: little-endian, packed.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.tensor.to_bytes())
    }

    /// Where its elements are, by NumPy's protocol: read-only, and kept as long as this object.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let elem = self.tensor.elem();
        let missing = || PyTypeError::new_err(format!("elements of type `{}` have no address", self.dtype()));
        let kind = type_string(elem).ok_or_else(missing)?;
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", self.shape(py)?)?;
        interface.set_item("typestr", kind)?;
        let bytes: &[u8] = match (self.tensor.as_splat(), self.tensor.as_dense()) {
            (Some(element), _) => {
                let strides = vec![0; self.tensor.dims().len()];
                interface.set_item("strides", PyTuple::new(py, strides)?)?;
                element
            }
            (None, Some(bytes)) => bytes,
            (None, None) => return Err(missing()),
        };
        interface.set_item("data", (bytes.as_ptr().addr(), true))?;
        Ok(interface)
    }

    /// Its elements as a read-only array of NumPy: a view, without a copy, except of texts and of elements of less than a
    /// byte. Types that NumPy does not have are those of `ml_dtypes`.
    fn numpy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        static AS_ARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let tensor = &slf.get().tensor;
        if tensor.elem() == ElemType::STRING {
            let texts = tensor.strings().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
            let array =
                py.import("numpy")?.call_method1("array", (PyList::new(py, texts.collect::<Vec<_>>())?, "object"))?;
            return array.call_method1("reshape", (slf.get().shape(py)?,));
        }
        if let (bits @ 1..8, Some(name)) = (tensor.elem().bits(), extra_type(tensor.elem())) {
            let packed = tensor.to_bytes();
            let n = usize::try_from(tensor.len()).map_err(|_| PyBufferError::new_err("the tensor is too large"))?;
            let is_signed = matches!(tensor.elem(), ElemType::INT2 | ElemType::INT4);
            // NumPy has a byte for each, with the sign of the value.
            let sign = if is_signed { 1u8 << (bits - 1) } else { 0 };
            let element = |at| (packed::unpack(&packed, bits, at) ^ sign).wrapping_sub(sign);
            let bytes = PyBytes::new(py, &(0..n).map(element).collect::<Vec<u8>>());
            let array = py.import("numpy")?.call_method1("frombuffer", (bytes, "int8"))?;
            let dtype = py.import("ml_dtypes")?.getattr(name)?;
            let array = match tensor.elem().is_float() {
                true => array.call_method1("view", (dtype,))?,
                false => array.call_method1("astype", (dtype,))?,
            };
            let array = array.call_method1("reshape", (slf.get().shape(py)?,))?;
            array.call_method1("setflags", (false,))?;
            return Ok(array);
        }
        if type_string(tensor.elem()).is_none() {
            let message = format!("NumPy has no type for `{}`; `to_bytes` returns the elements", slf.get().dtype());
            return Err(PyTypeError::new_err(message));
        }
        let array = AS_ARRAY.import(py, "numpy", "asarray")?.call1((slf,))?;
        match extra_type(tensor.elem()) {
            None => Ok(array),
            Some(name) => array.call_method1("view", (py.import("ml_dtypes")?.getattr(name)?,)),
        }
    }

    /// Its elements by DLPack: without a copy where the consumer takes memory that is read-only, otherwise a copy, unless
    /// `copy=False`.
    #[pyo3(signature = (*, stream = None, max_version = None, dl_device = None, copy = None))]
    fn __dlpack__<'py>(
        slf: &Bound<'py, Self>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<&Bound<'py, PyAny>>,
        dl_device: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let array = Self::numpy(slf)?;
        let is_aligned: bool = array.getattr("flags")?.getattr("aligned")?.extract()?;
        let give = |array: &Bound<'py, PyAny>, copy: Option<bool>| {
            let keywords = PyDict::new(py);
            keywords.set_item("stream", stream)?;
            keywords.set_item("max_version", max_version)?;
            keywords.set_item("dl_device", dl_device)?;
            keywords.set_item("copy", copy)?;
            array.call_method("__dlpack__", (), Some(&keywords))
        };
        match copy {
            // Files have no alignment; consumers may need one.
            Some(false) if !is_aligned => {
                Err(PyBufferError::new_err("the elements are not aligned, so that a copy is needed"))
            }
            Some(false) => give(&array, copy),
            _ => {
                let shared = if is_aligned && copy.is_none() { give(&array, None).ok() } else { None };
                match shared {
                    Some(shared) => Ok(shared),
                    None => give(&array.call_method0("copy")?, None),
                }
            }
        }
    }

    /// The device of `__dlpack__`: the processor.
    fn __dlpack_device__(&self) -> (i32, i32) {
        (1, 0)
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let Ok(other) = other.cast::<Self>() else { return Ok(py.NotImplemented()) };
        let is_equal = self.tensor == other.get().tensor;
        Ok(is_equal.into_pyobject(py)?.to_owned().into_any().unbind())
    }

    fn __hash__(&self) -> u64 {
        self.tensor.bucket_hash()
    }

    fn __repr__(&self) -> String {
        format!("<Tensor {}{:?}>", self.dtype(), self.tensor.dims())
    }
}
