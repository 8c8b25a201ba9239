//! The side file of a text: large constants, in the safetensors format.

use crate::mapped::map_file;
use relais_plugin_api::{
    ir::{Blob, ElemType, Tensor},
    text::SideFile,
};
use safetensors::{Dtype, SafeTensorError, SafeTensors, View};
use std::{
    borrow::Cow,
    fmt, io,
    path::{Path, PathBuf},
};

/// Why a side file cannot be read or written.
#[derive(Debug)]
pub struct SideFileError(SafeTensorError);

impl fmt::Display for SideFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            SafeTensorError::IoError(error) => error.fmt(f),
            error => write!(f, "not a valid safetensors file: {error}"),
        }
    }
}

impl std::error::Error for SideFileError {}

/// The path of the side file that belongs to a text.
pub fn side_path(text: &Path) -> PathBuf {
    let mut name = text.as_os_str().to_owned();
    name.push(".safetensors");
    name.into()
}

/// Opens the side file that belongs to a text; an empty one if there is none. The bytes of a large file are mapped, not
/// read.
///
/// # Errors
/// Returns an error if the file cannot be read, or is not a safetensors file.
pub fn open_side_file(text: &Path) -> io::Result<SideFile> {
    let path = side_path(text);
    if path.exists() { parse(&map_file(&path)?).map_err(io::Error::other) } else { Ok(SideFile::default()) }
}

/// The tensors of a file whose bytes are `file`. Their bytes stay where they are.
pub(crate) fn parse(file: &Blob) -> Result<SideFile, SideFileError> {
    let bytes: &[u8] = file;
    let parsed = SafeTensors::deserialize(bytes).map_err(SideFileError)?;
    let slice_of = |data: &[u8]| {
        let start = (data.as_ptr() as usize).wrapping_sub(bytes.as_ptr() as usize) as u64;
        if data.is_empty() { Blob::default() } else { file.slice(start, data.len() as u64).unwrap_or_default() }
    };
    Ok(parsed.iter().map(|(name, tensor)| (name.to_owned(), slice_of(tensor.data()))).collect())
}

/// Writes tensors under their names to an incomplete file.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub(crate) fn write(tensors: &[(String, Tensor)], path: &Path) -> Result<(), SideFileError> {
    safetensors::serialize_to_file(entries(tensors), None, path).map_err(SideFileError)
}

/// The bytes that [`write`] writes.
///
/// # Errors
/// Returns an error if a file cannot have these tensors.
pub(crate) fn to_bytes(tensors: &[(String, Tensor)]) -> Result<Vec<u8>, SideFileError> {
    safetensors::serialize(entries(tensors), None).map_err(SideFileError)
}

fn entries(tensors: &[(String, Tensor)]) -> impl Iterator<Item = (&str, Entry<'_>)> {
    tensors.iter().map(|(name, tensor)| (name.as_str(), Entry::new(tensor)))
}

/// A tensor as it is written: with its own type if the format has it, otherwise as its bytes. The text has type and
/// shape in either case.
struct Entry<'a> {
    tensor: &'a Tensor,
    dtype: Dtype,
    shape: Vec<usize>,
}

impl<'a> Entry<'a> {
    fn new(tensor: &'a Tensor) -> Self {
        let own = || {
            let shape: Option<Vec<usize>> = tensor.dims().iter().map(|&dim| usize::try_from(dim).ok()).collect();
            Some((dtype(tensor.elem())?, shape?))
        };
        let (dtype, shape) = own().unwrap_or_else(|| (Dtype::U8, vec![tensor.byte_len() as usize]));
        Self { tensor, dtype, shape }
    }
}

impl View for Entry<'_> {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        self.tensor.to_bytes()
    }

    fn data_len(&self) -> usize {
        self.tensor.byte_len() as usize
    }
}

/// The format's name for an element type of whole bytes.
fn dtype(elem: ElemType) -> Option<Dtype> {
    Some(match elem {
        ElemType::BOOL => Dtype::BOOL,
        ElemType::UINT8 => Dtype::U8,
        ElemType::INT8 => Dtype::I8,
        ElemType::FLOAT8E5M2 => Dtype::F8_E5M2,
        ElemType::FLOAT8E4M3FN => Dtype::F8_E4M3,
        ElemType::FLOAT8E8M0 => Dtype::F8_E8M0,
        ElemType::INT16 => Dtype::I16,
        ElemType::UINT16 => Dtype::U16,
        ElemType::FLOAT16 => Dtype::F16,
        ElemType::BFLOAT16 => Dtype::BF16,
        ElemType::INT32 => Dtype::I32,
        ElemType::UINT32 => Dtype::U32,
        ElemType::FLOAT => Dtype::F32,
        ElemType::DOUBLE => Dtype::F64,
        ElemType::INT64 => Dtype::I64,
        ElemType::UINT64 => Dtype::U64,
        _ => return None,
    })
}
