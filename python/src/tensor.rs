//! Values of constants, as NumPy sees them.

use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyBytes, PyDict, PyList, PyTuple},
};
use relais::ir::{ElemType, Tensor};

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

/// The type of `ml_dtypes` that an element type is, where NumPy has none.
fn extra_type(elem: ElemType) -> Option<&'static str> {
    Some(match elem {
        ElemType::BFLOAT16 => "bfloat16",
        ElemType::FLOAT8E4M3FN => "float8_e4m3fn",
        ElemType::FLOAT8E4M3FNUZ => "float8_e4m3fnuz",
        ElemType::FLOAT8E5M2 => "float8_e5m2",
        ElemType::FLOAT8E5M2FNUZ => "float8_e5m2fnuz",
        ElemType::FLOAT8E8M0 => "float8_e8m0fnu",
        _ => return None,
    })
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

    /// Its elements as a read-only array of NumPy: a view, without a copy, except of texts. Types that NumPy does not
    /// have are those of `ml_dtypes`.
    fn numpy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let numpy = py.import("numpy")?;
        let tensor = &slf.get().tensor;
        if tensor.elem() == ElemType::STRING {
            let texts = tensor.strings().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
            let array = numpy.call_method1("array", (PyList::new(py, texts.collect::<Vec<_>>())?, "object"))?;
            return array.call_method1("reshape", (slf.get().shape(py)?,));
        }
        if type_string(tensor.elem()).is_none() {
            let message = format!("NumPy has no type for `{}`; `to_bytes` returns the elements", slf.get().dtype());
            return Err(PyTypeError::new_err(message));
        }
        let array = numpy.call_method1("asarray", (slf,))?;
        match extra_type(tensor.elem()) {
            None => Ok(array),
            Some(name) => array.call_method1("view", (py.import("ml_dtypes")?.getattr(name)?,)),
        }
    }

    fn __repr__(&self) -> String {
        format!("<Tensor {}{:?}>", self.dtype(), self.tensor.dims())
    }
}
