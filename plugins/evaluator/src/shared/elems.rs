//! Elements as they are moved about: of any type, packed or not, without a look at their values.

use crate::shared::{
    cx::{Eval, readable, tensor_error},
    shape::{Rows, broadcast_strides, checked_len, sizes, strides, with_room},
};
use relais_plugin_api::{
    ir::{ElemType, Tensor, packed},
    op::{EvalCx, OpError},
};
use std::borrow::Cow;

/// The elements of a tensor, each addressable.
#[derive(Clone)]
pub enum Elems<'a> {
    /// Bytes of a fixed width; types under a byte have one byte each.
    Fixed {
        /// Bytes of an element.
        width: usize,
        /// All elements.
        bytes: Cow<'a, [u8]>,
    },
    /// Strings.
    Strings(Vec<&'a [u8]>),
}

impl<'a> Elems<'a> {
    /// The elements of a tensor; a splat that is too large is refused.
    pub fn of(cx: &EvalCx<'_>, tensor: &'a Tensor) -> Eval<Self> {
        readable(cx, tensor)?;
        if tensor.elem() == ElemType::STRING {
            return Ok(Self::Strings(tensor.strings().collect()));
        }
        let bits = tensor.elem().bits();
        if bits < 8 {
            // Unpacked, the elements may exceed the limit, by a factor of at most four.
            let bytes = unpack(&tensor.to_bytes(), bits, tensor.len() as usize);
            return Ok(Self::Fixed { width: 1, bytes: Cow::Owned(bytes) });
        }
        Ok(Self::Fixed { width: bits as usize / 8, bytes: tensor.to_bytes() })
    }

    /// The first element alone; of a splat, the one that is repeated. The tensor must not be empty.
    pub fn first(tensor: &'a Tensor) -> Self {
        if let Some(string) = tensor.strings().next() {
            return Self::Strings(vec![string]);
        }
        let bits = tensor.elem().bits();
        let data = tensor.as_splat().unwrap_or_else(|| tensor.as_dense().map_or(&[], |blob| blob));
        if bits < 8 {
            return Self::Fixed { width: 1, bytes: Cow::Owned(unpack(data, bits, 1)) };
        }
        let width = bits as usize / 8;
        Self::Fixed { width, bytes: Cow::Borrowed(&data[..width]) }
    }

    /// One element of value zero (of strings, the empty string).
    pub fn zero(elem: ElemType) -> Self {
        match elem {
            ElemType::STRING => Self::Strings(vec![b""]),
            _ => {
                let width = (elem.bits() as usize).div_ceil(8);
                Self::Fixed { width, bytes: Cow::Owned(vec![0; width]) }
            }
        }
    }

    /// No elements, of the same type, with room for `len`.
    pub fn empty(&self, len: usize) -> Eval<Self> {
        Ok(match self {
            Self::Fixed { width, .. } => {
                let bytes = len.checked_mul(*width).ok_or_else(|| OpError::unsupported("a result is too large"))?;
                Self::Fixed { width: *width, bytes: Cow::Owned(with_room(bytes)?) }
            }
            Self::Strings(_) => Self::Strings(with_room(len)?),
        })
    }

    /// Adds elements `start..start + len` of `from`, which has elements of the same type.
    #[inline]
    pub fn extend(&mut self, from: &Self, start: usize, len: usize) {
        match (self, from) {
            (Self::Fixed { width, bytes }, Self::Fixed { bytes: from, .. }) => {
                bytes.to_mut().extend_from_slice(&from[start * *width..][..len * *width]);
            }
            (Self::Strings(strings), Self::Strings(from)) => strings.extend_from_slice(&from[start..][..len]),
            _ => unreachable!("elements of one type"),
        }
    }

    /// Adds element `at` of `from` `len` times.
    pub fn repeat(&mut self, from: &Self, at: usize, len: usize) {
        match (self, from) {
            (Self::Fixed { width: 1, bytes }, Self::Fixed { bytes: from, .. }) => {
                let bytes = bytes.to_mut();
                bytes.resize(bytes.len() + len, from[at]);
            }
            (this, from) => (0..len).for_each(|_| this.extend(from, at, 1)),
        }
    }

    /// Replaces the elements from `at` by elements `start..start + len` of `from`.
    #[inline]
    pub fn replace(&mut self, at: usize, from: &Self, start: usize, len: usize) {
        match (self, from) {
            (Self::Fixed { width, bytes }, Self::Fixed { bytes: from, .. }) => {
                bytes.to_mut()[at * *width..][..len * *width].copy_from_slice(&from[start * *width..][..len * *width]);
            }
            (Self::Strings(strings), Self::Strings(from)) => {
                strings[at..at + len].copy_from_slice(&from[start..start + len])
            }
            _ => unreachable!("elements of one type"),
        }
    }

    /// The elements at the positions of a walk: along `dims` with `strides`, from `offset`.
    pub fn strided(&self, dims: &[usize], strides: &[isize], offset: isize) -> Eval<Self> {
        let len = if dims.contains(&0) { 0 } else { dims.iter().product() };
        let mut out = self.empty(len)?;
        if len == 0 {
            return Ok(out);
        }
        let rows = Rows::new(dims, [strides]);
        let [stride] = rows.strides;
        for [start] in rows.walk {
            let start = start + offset;
            if stride == 1 {
                out.extend(self, start as usize, rows.len);
                continue;
            }
            match (&mut out, self) {
                (Self::Fixed { width, bytes: out }, Self::Fixed { bytes, .. }) => {
                    let out = out.to_mut();
                    match width {
                        1 => pick::<1>(bytes, out, start, stride, rows.len),
                        2 => pick::<2>(bytes, out, start, stride, rows.len),
                        4 => pick::<4>(bytes, out, start, stride, rows.len),
                        8 => pick::<8>(bytes, out, start, stride, rows.len),
                        _ => pick::<16>(bytes, out, start, stride, rows.len),
                    }
                }
                (Self::Strings(out), Self::Strings(from)) => {
                    out.extend((0..rows.len as isize).map(|i| from[(start + i * stride) as usize]));
                }
                _ => unreachable!("elements of one type"),
            }
        }
        Ok(out)
    }

    /// The elements as a tensor.
    pub fn into_tensor(self, cx: &EvalCx<'_>, elem: ElemType, dims: &[u64]) -> Eval {
        checked_len(cx, elem, dims)?;
        let bytes = match self {
            Self::Fixed { bytes, .. } if elem.bits() < 8 => packed::pack(&bytes, elem.bits()),
            Self::Fixed { bytes, .. } => bytes.into_owned(),
            Self::Strings(strings) => encode_strings(cx, &strings)?,
        };
        Tensor::dense(elem, dims, bytes).map_err(tensor_error)
    }
}

fn pick<const W: usize>(from: &[u8], out: &mut Vec<u8>, start: isize, stride: isize, len: usize) {
    let (from, _) = from.as_chunks::<W>();
    out.extend((0..len as isize).flat_map(|i| from[(start + i * stride) as usize]));
}

/// The encoding of strings as a tensor holds them.
pub fn encode_strings(cx: &EvalCx<'_>, strings: &[impl AsRef<[u8]>]) -> Eval<Vec<u8>> {
    let len = strings.iter().fold(0usize, |len, string| len.saturating_add(string.as_ref().len() + 4));
    if len as u64 > cx.max_bytes() {
        return Err(OpError::unsupported("a result is too large"));
    }
    let mut bytes = with_room(len)?;
    for string in strings.iter().map(AsRef::as_ref) {
        let len = u32::try_from(string.len()).map_err(|_| OpError::unsupported("a string is too long"))?;
        bytes.extend_from_slice(&len.to_le_bytes());
        bytes.extend_from_slice(string);
    }
    Ok(bytes)
}

/// Elements under a byte, one to a byte.
fn unpack(bytes: &[u8], bits: u32, len: usize) -> Vec<u8> {
    (0..len).map(|at| packed::unpack(bytes, bits, at)).collect()
}

/// A tensor whose elements are those of `data` at the positions of a walk; a splat stays one.
pub fn strided(cx: &EvalCx<'_>, data: &Tensor, dims: &[u64], strides: &[isize], offset: isize) -> Eval {
    if let Some(element) = data.as_splat() {
        return crate::shared::shape::uniform(data.elem(), dims, element);
    }
    checked_len(cx, data.elem(), dims)?;
    Elems::of(cx, data)?.strided(&sizes(dims)?, strides, offset)?.into_tensor(cx, data.elem(), dims)
}

/// The strides of a tensor; of a splat, whose elements need no place, all zero.
pub fn data_strides(data: &Tensor) -> Eval<Vec<isize>> {
    match data.as_splat() {
        Some(_) => Ok(vec![0; data.dims().len()]),
        None => Ok(strides(&sizes(data.dims())?)),
    }
}

pub fn dims_from(list: &[i64], what: &str) -> Eval<Vec<u64>> {
    let convert = |&dim| u64::try_from(dim).map_err(|_| OpError::invalid(format_args!("{what} has the entry {dim}")));
    list.iter().map(convert).collect()
}

pub fn broadcast_strides_of(data: &Tensor, dims: &[u64]) -> Eval<Vec<isize>> {
    match data.as_splat() {
        Some(_) => Ok(vec![0; dims.len()]),
        None => broadcast_strides(data.dims(), dims),
    }
}
