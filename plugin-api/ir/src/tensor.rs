//! Constant tensors: owned bytes, a slice of a mapped file, or a splat.

mod values;

use super::{ElemType, Hash64, packed};
use crate::{bytes::Blob, diagnostics::PassError};
use abi_stable::{
    StableAbi,
    std_types::{RArc, RVec},
};
use std::{borrow::Cow, fmt};

/// How a tensor's elements are stored. Append-only.
mod storage {
    /// All elements, packed little-endian as in ONNX's `raw_data`.
    pub const DENSE: u8 = 0;
    /// One element, repeated.
    pub const SPLAT: u8 = 1;
    /// The first form of a later version.
    pub const OPAQUE: u8 = 2;
}

/// A reference-counted, immutable tensor. Cloning copies no element.
///
/// Elements are little-endian and packed as in ONNX's `raw_data` (4-bit types two to a byte, low half first).
/// A string tensor holds for each element its length as four little-endian bytes, then its bytes.
#[repr(C)]
#[derive(StableAbi, Clone)]
pub struct Tensor {
    inner: RArc<TensorInner>,
}

#[repr(C)]
#[derive(StableAbi)]
struct TensorInner {
    elem: ElemType,
    storage: u8,
    dims: Shape,
    data: Blob,
    /// The `TensorProto` this tensor was read from; empty if it was made in memory.
    encoded: Blob,
}

/// The most dimensions that need no memory of their own.
const INLINE: usize = 4;

/// Dimensions: those of nearly all tensors where the tensor is.
#[repr(C)]
#[derive(StableAbi, Clone)]
struct Shape {
    rank: u64,
    inline: [u64; INLINE],
    /// All dimensions, when there are more than `INLINE`.
    long: RVec<u64>,
}

impl Shape {
    fn new(dims: &[u64]) -> Self {
        let (mut inline, mut long) = ([0; INLINE], RVec::new());
        match inline.get_mut(..dims.len()) {
            Some(inline) => inline.copy_from_slice(dims),
            None => long = dims.into(),
        }
        Self { rank: dims.len() as u64, inline, long }
    }

    #[inline]
    fn dims(&self) -> &[u64] {
        self.inline.get(..self.rank as usize).unwrap_or(&self.long)
    }
}

/// Why a tensor could not be made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TensorError {
    /// The number of bytes does not fit element type and dimensions.
    Size {
        /// The bytes that type and dimensions require; `None` if their product is beyond 64 bits.
        expected: Option<u64>,
        /// Bytes given.
        found: u64,
    },
    /// A string tensor's bytes do not hold as many strings as the dimensions require.
    Strings,
    /// The element type is unknown.
    Elem(ElemType),
}

impl fmt::Display for TensorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size { expected: Some(expected), found } => {
                write!(f, "the data has {found} bytes where type and shape ask for {expected}")
            }
            Self::Size { expected: None, found } => {
                write!(f, "the data has {found} bytes where the shape asks for more than 2^64")
            }
            Self::Strings => f.write_str("the data does not hold one string for each element"),
            Self::Elem(elem) => write!(f, "elements of type `{elem}` cannot be held"),
        }
    }
}

impl std::error::Error for TensorError {}

impl From<TensorError> for PassError {
    fn from(error: TensorError) -> Self {
        Self::new(error)
    }
}

/// The number of elements of a shape; `None` beyond 64 bits.
pub fn element_count(dims: &[u64]) -> Option<u64> {
    if dims.contains(&0) {
        return Some(0);
    }
    dims.iter().try_fold(1u64, |count, &dim| count.checked_mul(dim))
}

impl Tensor {
    /// A hash of the layout, for the boundary's fingerprint.
    pub const LAYOUT_HASH: u64 = crate::__layout_hash!(Tensor { inner })
        ^ crate::__layout_hash!(TensorInner { elem, storage, dims, data, encoded })
        ^ crate::__layout_hash!(Shape { rank, inline, long });

    /// A tensor of packed little-endian bytes.
    ///
    /// # Errors
    /// Returns an error if the number of bytes is not the one that `elem` and `dims` ask for.
    pub fn dense(elem: ElemType, dims: &[u64], data: impl Into<Blob>) -> Result<Self, TensorError> {
        let data = data.into();
        let found = data.len() as u64;
        let count = element_count(dims);
        if elem == ElemType::STRING {
            let strings = StringElements { rest: &data };
            let complete = strings.clone().map(|s| s.len() as u64 + 4).sum::<u64>() == found;
            if !complete || Some(strings.count() as u64) != count {
                return Err(TensorError::Strings);
            }
        } else if elem.bits() == 0 {
            return Err(TensorError::Elem(elem));
        } else {
            let expected = count.and_then(|count| elem.bytes_for(count));
            if expected != Some(found) {
                return Err(TensorError::Size { expected, found });
            }
        }
        Ok(Self::new(elem, storage::DENSE, dims, data))
    }

    /// A tensor whose elements all have the value `element` (its packed bytes; for types under a byte, the value in
    /// the low bits).
    ///
    /// # Errors
    /// Returns an error if `element` is not one element of type `elem`, or the shape has more than 2^64 elements.
    pub fn splat(elem: ElemType, dims: &[u64], element: &[u8]) -> Result<Self, TensorError> {
        let found = element.len() as u64;
        if elem.bits() == 0 {
            return Err(TensorError::Elem(elem));
        }
        let expected = elem.bytes_for(1);
        if expected != Some(found) || element_count(dims).is_none() {
            return Err(TensorError::Size { expected, found });
        }
        Ok(Self::new(elem, storage::SPLAT, dims, element.into()))
    }

    /// A tensor of 64-bit integers.
    ///
    /// # Panics
    /// Panics if the number of values is not the one that `dims` ask for.
    pub fn from_i64(dims: &[u64], values: &[i64]) -> Self {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self::dense(ElemType::INT64, dims, bytes).expect("as many values as the shape asks for")
    }

    /// A tensor of 32-bit floats.
    ///
    /// # Panics
    /// Panics if the number of values is not the one that `dims` ask for.
    pub fn from_f32(dims: &[u64], values: &[f32]) -> Self {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self::dense(ElemType::FLOAT, dims, bytes).expect("as many values as the shape asks for")
    }

    /// A tensor of strings.
    ///
    /// # Errors
    /// Returns an error if the number of strings is not the one that `dims` ask for, or one is longer than 2^32 bytes.
    pub fn from_strings<'a>(dims: &[u64], strings: impl IntoIterator<Item = &'a [u8]>) -> Result<Self, TensorError> {
        let mut bytes = Vec::new();
        for string in strings {
            let len = u32::try_from(string.len()).map_err(|_| TensorError::Strings)?;
            bytes.extend_from_slice(&len.to_le_bytes());
            bytes.extend_from_slice(string);
        }
        Self::dense(ElemType::STRING, dims, bytes)
    }

    /// A tensor whose elements are stored in a form of a later version, which only that version can read.
    ///
    /// # Panics
    /// Panics if this version can read the form.
    pub fn opaque(form: u8, elem: ElemType, dims: &[u64], data: impl Into<Blob>) -> Self {
        assert!(form >= storage::OPAQUE, "form {form} is not of a later version");
        Self::new(elem, form, dims, data.into())
    }

    /// The form in which the elements are stored, if it is of a later version: the tensor is carried along unchanged,
    /// and nothing computes with it.
    pub fn opaque_form(&self) -> Option<u8> {
        (self.inner.storage >= storage::OPAQUE).then_some(self.inner.storage)
    }

    fn new(elem: ElemType, storage: u8, dims: &[u64], data: Blob) -> Self {
        let dims = Shape::new(dims);
        Self { inner: RArc::new(TensorInner { elem, storage, dims, data, encoded: Blob::default() }) }
    }

    /// The same tensor, remembering the `TensorProto` it was read from, so that a writer can copy that unchanged.
    pub fn with_encoded(self, encoded: Blob) -> Self {
        let TensorInner { elem, storage, dims, data, .. } = &*self.inner;
        Self {
            inner: RArc::new(TensorInner {
                elem: *elem,
                storage: *storage,
                dims: dims.clone(),
                data: data.clone(),
                encoded,
            }),
        }
    }

    /// The same elements under other dimensions; no element is copied.
    ///
    /// # Errors
    /// Returns an error if the number of elements differs.
    pub fn reshaped(&self, dims: &[u64]) -> Result<Self, TensorError> {
        let count = element_count(dims);
        if count != Some(self.len()) {
            let expected = count.and_then(|count| self.elem().bytes_for(count));
            return Err(TensorError::Size { expected, found: self.inner.data.len() as u64 });
        }
        Ok(Self::new(self.inner.elem, self.inner.storage, dims, self.inner.data.clone()))
    }

    /// The form in which the elements are stored, and their bytes.
    pub(crate) fn stored(&self) -> (u8, &Blob) {
        (self.inner.storage, &self.inner.data)
    }

    /// A tensor of what [`stored`](Self::stored) returns.
    ///
    /// # Errors
    /// Returns an error if the bytes are not those of a tensor.
    pub(crate) fn from_stored(storage: u8, elem: ElemType, dims: &[u64], data: Blob) -> Result<Self, TensorError> {
        match storage {
            storage::DENSE => Self::dense(elem, dims, data),
            storage::SPLAT => Self::splat(elem, dims, &data),
            form => Ok(Self::opaque(form, elem, dims, data)),
        }
    }

    /// Element type.
    pub fn elem(&self) -> ElemType {
        self.inner.elem
    }

    /// Dimensions; empty for a scalar.
    pub fn dims(&self) -> &[u64] {
        self.inner.dims.dims()
    }

    /// Number of elements.
    pub fn len(&self) -> u64 {
        element_count(self.dims()).unwrap_or(u64::MAX)
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of all elements, expanded; `u64::MAX` if that is beyond 64 bits. Of an opaque tensor, the bytes that it
    /// holds.
    pub fn byte_len(&self) -> u64 {
        match self.inner.storage {
            storage::DENSE | storage::OPAQUE.. => self.inner.data.len() as u64,
            _ => self.elem().bytes_for(self.len()).unwrap_or(u64::MAX),
        }
    }

    /// The repeated element, for a splat.
    pub fn as_splat(&self) -> Option<&[u8]> {
        (self.inner.storage == storage::SPLAT).then_some(&*self.inner.data)
    }

    /// The packed bytes, for a tensor that is not a splat.
    pub fn as_dense(&self) -> Option<&Blob> {
        (self.inner.storage == storage::DENSE).then_some(&self.inner.data)
    }

    /// The `TensorProto` this tensor was read from; empty if it was made in memory.
    pub fn encoded(&self) -> &Blob {
        &self.inner.encoded
    }

    /// The packed bytes of all elements; a splat is written out. Of an opaque tensor, the bytes that it holds.
    pub fn to_bytes(&self) -> Cow<'_, [u8]> {
        let Some(element) = self.as_splat() else {
            return Cow::Borrowed(&self.inner.data);
        };
        let bytes = usize::try_from(self.byte_len()).expect("a tensor that is written out fits memory");
        Cow::Owned(match (self.elem().bits(), element) {
            // Four elements of six bits, eight of two or four: three bytes hold a whole number of each.
            (bits @ (2 | 4 | 6), &[e]) => {
                let group = packed::pack(&vec![e; 24 / bits as usize], bits);
                let all = group.into_iter().cycle().take(bytes).collect();
                pack_tail(all, self.len(), bits.into())
            }
            (_, &[e]) => vec![e; bytes],
            _ => element.repeat(bytes / element.len()),
        })
    }

    /// The elements of a string tensor, in order; empty for other element types.
    pub fn strings(&self) -> impl Iterator<Item = &[u8]> + Clone {
        let is_readable = self.elem() == ElemType::STRING && self.opaque_form().is_none();
        StringElements { rest: if is_readable { &self.inner.data } else { &[] } }
    }

    /// The values as 64-bit integers, for element type `int64` or `int32`.
    pub fn to_i64s(&self) -> Option<Vec<i64>> {
        let bytes = self.to_bytes();
        match self.elem() {
            ElemType::INT64 => Some(bytes.chunks_exact(8).map(|b| i64::from_le_bytes(array(b))).collect()),
            ElemType::INT32 => Some(bytes.chunks_exact(4).map(|b| i32::from_le_bytes(array(b)).into()).collect()),
            _ => None,
        }
    }

    /// The values as 32-bit floats, for element type `float32`.
    pub fn to_f32s(&self) -> Option<Vec<f32>> {
        let bytes = self.to_bytes();
        (self.elem() == ElemType::FLOAT).then(|| bytes.chunks_exact(4).map(|b| f32::from_le_bytes(array(b))).collect())
    }

    /// Whether both are the same object: equal at no cost.
    pub fn is_same(&self, other: &Self) -> bool {
        std::ptr::eq(&*self.inner, &*other.inner)
    }

    /// A hash of type, shape and elements (of a large tensor, some of them), the same for a splat and its expanded
    /// form: for putting tensors into buckets, to be followed by a test of equality. Its cost does not grow with the
    /// tensor.
    pub fn bucket_hash(&self) -> u64 {
        const SAMPLES: usize = 16;
        /// The size up to which all bytes of a tensor are hashed.
        const SMALL: u64 = 256;
        let mut hash = self.dims().iter().fold(Hash64::new().word(self.elem().0.into()), |hash, &dim| hash.word(dim));
        let data: &[u8] = &self.inner.data;
        let width = self.elem().bits() as usize / 8;
        if self.is_empty() || self.opaque_form().is_some() {
        } else if width == 0 {
            // Strings and types under a byte: one element, in the same form as in a splat.
            let mask = if self.elem().bits() == 0 { 0xff } else { (1 << self.elem().bits()) - 1 };
            hash = hash.word(u64::from(data[0] & mask));
        } else if self.len().saturating_mul(width as u64) <= SMALL {
            let is_splat = data.len() == width || data[width..] == data[..data.len() - width];
            hash = hash.bytes(if is_splat { &data[..width] } else { data });
        } else {
            let last = data.len() / width - 1;
            for sample in 0..SAMPLES {
                let at = last * sample / (SAMPLES - 1) * width;
                hash = hash.bytes(&data[at..at + width]);
            }
        }
        hash.finish()
    }
}

/// The first `N` bytes of a chunk that has at least as many.
fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[..N]);
    array
}

/// Clears the unused high bits of the last byte.
fn pack_tail(mut bytes: Vec<u8>, count: u64, bits: u64) -> Vec<u8> {
    let used = count * bits % 8;
    if let (Some(last), 1..) = (bytes.last_mut(), used) {
        *last &= (1u8 << used) - 1;
    }
    bytes
}

#[derive(Clone)]
struct StringElements<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for StringElements<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (len, rest) = self.rest.split_first_chunk::<4>()?;
        let (string, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        self.rest = rest;
        Some(string)
    }
}

/// Equality by type, shape and bits: `-0.0` differs from `0.0`, and a NaN equals itself.
impl PartialEq for Tensor {
    fn eq(&self, other: &Self) -> bool {
        if self.is_same(other) {
            return true;
        }
        let is_alike = self.elem() == other.elem() && self.dims() == other.dims();
        if !is_alike || self.opaque_form() != other.opaque_form() {
            return false;
        }
        match (self.as_splat(), other.as_splat()) {
            (Some(a), Some(b)) => a == b || self.is_empty(),
            _ => self.to_bytes() == other.to_bytes(),
        }
    }
}

impl Eq for Tensor {}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = match self.inner.storage {
            storage::DENSE => "dense",
            storage::SPLAT => "splat",
            _ => "opaque",
        };
        write!(f, "Tensor[{:?}, {}] ({form}, {} bytes)", self.dims(), self.elem(), self.byte_len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_splat_has_the_hash_of_its_written_out_form() {
        for n in [0u64, 1, 2, 63, 64, 65, 1000] {
            let splat = Tensor::splat(ElemType::FLOAT, &[n], &1.5f32.to_le_bytes()).unwrap();
            let dense = Tensor::from_f32(&[n], &vec![1.5; n as usize]);
            assert_eq!((&splat, splat.bucket_hash()), (&dense, dense.bucket_hash()), "{n}");
        }
    }

    #[test]
    fn dimensions_are_kept_at_every_rank() {
        for rank in 0..=2 * INLINE as u64 {
            let dims: Vec<u64> = (0..rank).map(|axis| axis % 3 + 1).collect();
            let splat = Tensor::splat(ElemType::INT8, &dims, &[7]).unwrap();
            assert_eq!((splat.dims(), splat.len()), (&*dims, dims.iter().product()));
            assert_eq!(splat.with_encoded(Blob::default()).dims(), dims);
        }
    }

    #[test]
    fn every_element_of_a_small_tensor_counts_in_its_hash() {
        let zero = Tensor::from_f32(&[64], &[0.0; 64]);
        for at in 0..64 {
            let mut values = [0.0; 64];
            values[at] = 1.0;
            assert_ne!(Tensor::from_f32(&[64], &values).bucket_hash(), zero.bucket_hash(), "{at}");
        }
    }
}
