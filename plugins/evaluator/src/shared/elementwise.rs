//! Functions of one element, or of one of each of several broadcast tensors. Uniform arguments have a uniform result
//! without being expanded.

use crate::shared::{
    cx::{Eval, same_elem, tensor_error},
    doubt::refuse,
    scalar::{Float, Scalar, dispatch},
    shape::{Rows, broadcast, broadcast_strides, checked_len, sizes, uniform, with_room},
};
use relais_plugin_api::{
    ir::{ElemType, Tensor},
    op::{EvalCx, OpError, shapes::axis_of},
};
use std::borrow::Cow;

/// The bytes of the element of a tensor that is a splat or has one element.
fn uniform_bytes(tensor: &Tensor) -> Option<&[u8]> {
    match tensor.as_dense() {
        Some(bytes) if tensor.len() == 1 => Some(bytes),
        Some(_) => None,
        None => tensor.as_splat(),
    }
}

/// The element of a tensor that is a splat or has one element.
pub fn uniform_value<T: Scalar>(tensor: &Tensor) -> Option<T> {
    T::chunks(uniform_bytes(tensor)?).first().map(|&chunk| T::load(chunk))
}

/// Applies a function to every element.
pub fn map<A: Scalar, R: Scalar>(cx: &EvalCx<'_>, a: &Tensor, f: impl Fn(A) -> R) -> Eval {
    by_pieces(cx, R::ELEM, [a], &|[a], out| {
        for (out, &a) in R::chunks_mut(out).iter_mut().zip(A::chunks(a)) {
            *out = f(A::load(a)).store();
        }
    })
}

/// Applies a function to the elements of two tensors, broadcast to each other.
pub fn zip<A: Scalar, B: Scalar, R: Scalar>(cx: &EvalCx<'_>, a: &Tensor, b: &Tensor, f: impl Fn(A, B) -> R) -> Eval {
    by_pieces(cx, R::ELEM, [a, b], &|[a, b], out| {
        for ((out, &a), &b) in R::chunks_mut(out).iter_mut().zip(A::chunks(a)).zip(B::chunks(b)) {
            *out = f(A::load(a), B::load(b)).store();
        }
    })
}

/// The most elements of a piece, which with its copies stays in the first cache.
const PIECE: usize = 1024;

/// Writes elements, each from one of each tensor.
type OfPiece<'f, const K: usize> = dyn Fn([&[u8]; K], &mut [u8]) + 'f;

/// Makes elements of type `elem` from those of tensors that are broadcast to each other. `f` gets as many elements of
/// each tensor as it is to write. It is called for a piece at a time, so that only the innermost loop is compiled for
/// each function and type.
fn by_pieces<const K: usize>(cx: &EvalCx<'_>, elem: ElemType, tensors: [&Tensor; K], f: &OfPiece<'_, K>) -> Eval {
    let dims = broadcast(&tensors.map(Tensor::dims))?;
    if dims.contains(&0) {
        return uniform(elem, &dims, &[]);
    }
    let elements = tensors.map(uniform_bytes);
    if elements.iter().all(Option::is_some) {
        let mut out = vec![0; width(elem)];
        f(elements.map(Option::unwrap_or_default), &mut out);
        return uniform(elem, &dims, &out);
    }
    let mut out = with_room(checked_len(cx, elem, &dims)? * width(elem))?;
    let mut operands: [Operand<'_>; K] = std::array::from_fn(|_| Operand::default());
    for (operand, tensor) in operands.iter_mut().zip(tensors) {
        *operand = Operand::new(tensor, &dims)?;
    }
    let rows = Rows::<K>::new(&sizes(&dims)?, operands.each_ref().map(|operand| &operand.strides[..]));
    for offsets in rows.walk {
        for start in (0..rows.len).step_by(PIECE) {
            let len = PIECE.min(rows.len - start);
            let mut k = 0;
            let of_each = operands.each_mut().map(|operand| {
                let (offset, stride) = (offsets[k], rows.strides[k]);
                k += 1;
                operand.run((offset + start as isize * stride) as usize, stride == 0, len)
            });
            let written = out.len();
            out.resize(written + len * width(elem), 0);
            f(of_each, &mut out[written..]);
        }
    }
    Tensor::dense(elem, &dims, out).map_err(tensor_error)
}

/// The bytes of an element.
fn width(elem: ElemType) -> usize {
    elem.bits().div_ceil(8) as usize
}

/// The elements of a tensor that is broadcast; one represents all of a splat.
#[derive(Default)]
struct Operand<'a> {
    bytes: Cow<'a, [u8]>,
    width: usize,
    /// Strides within the result.
    strides: Vec<isize>,
    copies: Vec<u8>,
}

impl<'a> Operand<'a> {
    fn new(tensor: &'a Tensor, dims: &[u64]) -> Eval<Self> {
        let (bytes, strides) = match tensor.as_splat() {
            Some(element) => (Cow::Borrowed(element), vec![0; dims.len()]),
            None => (tensor.to_bytes(), broadcast_strides(tensor.dims(), dims)?),
        };
        Ok(Self { bytes, width: width(tensor.elem()), strides, copies: Vec::new() })
    }

    /// `len` elements from one on, or as many copies of one that repeats.
    fn run(&mut self, at: usize, repeats: bool, len: usize) -> &[u8] {
        let bytes = &self.bytes[at * self.width..];
        if !repeats {
            return &bytes[..len * self.width];
        }
        let element = &bytes[..self.width];
        if self.copies.len() < len * self.width || !self.copies.starts_with(element) {
            self.copies = element.repeat(len);
        }
        &self.copies[..len * self.width]
    }
}

/// Whether any element of a tensor has a property.
pub fn any<T: Scalar>(tensor: &Tensor, f: impl Fn(T) -> bool) -> bool {
    if let Some(value) = uniform_value(tensor) {
        return !tensor.is_empty() && f(value);
    }
    // A block at a time, so that the loop has no exit in it.
    let bytes = tensor.to_bytes();
    T::chunks(&bytes).chunks(4096).any(|block| block.iter().fold(false, |found, &chunk| found | f(T::load(chunk))))
}

/// The two arguments of a binary operator, of one element type. Before operator-set version 7, where an attribute
/// requests broadcasting, the second comes with the dimensions by which the general rule does the same.
pub fn operands(cx: &EvalCx<'_>) -> Eval<(Tensor, Tensor)> {
    let (a, b) = operands_of_any_elem(cx)?;
    same_elem(&a, &b)?;
    Ok((a, b))
}

/// As [`operands`], where the element types may differ.
pub fn operands_of_any_elem(cx: &EvalCx<'_>) -> Eval<(Tensor, Tensor)> {
    let (a, b) = (cx.require(0)?.clone(), cx.require(1)?.clone());
    if cx.version() >= 7 {
        return Ok((a, b));
    }
    if !crate::shared::cx::flag(cx, "broadcast")? {
        if a.dims() != b.dims() {
            return Err(OpError::invalid(format_args!(
                "shapes {:?} and {:?} differ and attribute `broadcast` is not set",
                a.dims(),
                b.dims()
            )));
        }
        return Ok((a, b));
    }
    if b.len() == 1 && b.dims().len() <= a.dims().len() {
        return Ok((a, b.reshaped(&[]).map_err(tensor_error)?));
    }
    let (rank, b_rank) = (a.dims().len(), b.dims().len());
    let mismatch = || {
        OpError::invalid(format_args!("shape {:?} is not a part of shape {:?} at attribute `axis`", b.dims(), a.dims()))
    };
    let first = match crate::shared::cx::opt_int(cx, "axis")? {
        Some(axis) => axis_of(axis, rank.max(1))?,
        None => rank.checked_sub(b_rank).ok_or_else(mismatch)?,
    };
    if a.dims().get(first..first + b_rank) != Some(b.dims()) {
        return Err(mismatch());
    }
    let mut dims = b.dims().to_vec();
    dims.resize(rank - first, 1);
    Ok((a, b.reshaped(&dims).map_err(tensor_error)?))
}

/// Applies a function of numbers of type `T` to every element of the argument, which must be of a set of types.
macro_rules! unary {
    ($cx:expr, $set:ident, $f:expr) => {{
        let x = $cx.require(0)?;
        crate::shared::scalar::dispatch!(x.elem(), T in $set => crate::shared::elementwise::map::<T, T>($cx, x, $f))
    }};
}

pub(crate) use unary;

pub fn function(cx: &EvalCx<'_>, f: impl Fn(f64) -> f64) -> Eval {
    let x = cx.require(0)?;
    dispatch!(x.elem(), T in floats => map::<T, T>(cx, x, |x| x.via_f64(&f)))
}

/// Refuses doubles, for which some runtimes compute fewer digits.
pub fn no_doubles<'a, 'b>(cx: &'a EvalCx<'b>) -> Eval<&'a EvalCx<'b>> {
    let is_double = cx.require(0)?.elem() == ElemType::DOUBLE;
    refuse(cx, is_double, "runtimes compute this of doubles with fewer digits")?;
    Ok(cx)
}
