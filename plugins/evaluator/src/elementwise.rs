//! Functions of one element, or of one of each of several broadcast tensors. Uniform arguments have a uniform result
//! without being expanded.

use crate::{
    cx::{Eval, same_elem, tensor_error},
    scalar::Scalar,
    shape::{Rows, broadcast, broadcast_strides, checked_len, sizes, uniform, with_room},
};
use relais_plugin_api::{
    ir::Tensor,
    op::{EvalCx, OpError},
};
use std::borrow::Cow;

/// The element of a tensor that is a splat or has one element.
pub fn uniform_value<T: Scalar>(tensor: &Tensor) -> Option<T> {
    let bytes: &[u8] = match tensor.as_dense() {
        Some(bytes) if tensor.len() == 1 => bytes,
        Some(_) => return None,
        None => tensor.as_splat()?,
    };
    T::chunks(bytes).first().map(|&chunk| T::load(chunk))
}

/// Applies a function to every element.
pub fn map<A: Scalar, R: Scalar>(cx: &EvalCx<'_>, a: &Tensor, f: impl Fn(A) -> R) -> Eval {
    if let Some(value) = uniform_value::<A>(a) {
        return uniform(R::ELEM, a.dims(), f(value).store().as_ref());
    }
    let mut out = with_room(checked_len(cx, R::ELEM, a.dims())?)?;
    out.extend(A::chunks(&a.to_bytes()).iter().map(|&chunk| f(A::load(chunk)).store()));
    Tensor::dense(R::ELEM, a.dims(), R::flatten(out)).map_err(tensor_error)
}

/// The bytes of an operand and its strides within the result; one element represents all of a splat.
fn operand<'a>(tensor: &'a Tensor, dims: &[u64]) -> Eval<(Cow<'a, [u8]>, Vec<isize>)> {
    match tensor.as_splat() {
        Some(element) => Ok((Cow::Borrowed(element), vec![0; dims.len()])),
        None => Ok((tensor.to_bytes(), broadcast_strides(tensor.dims(), dims)?)),
    }
}

/// Applies a function to the elements of two tensors, broadcast to each other.
pub fn zip<A: Scalar, B: Scalar, R: Scalar>(cx: &EvalCx<'_>, a: &Tensor, b: &Tensor, f: impl Fn(A, B) -> R) -> Eval {
    let dims = broadcast(&[a.dims(), b.dims()])?;
    if let (Some(a), Some(b)) = (uniform_value(a), uniform_value(b)) {
        return uniform(R::ELEM, &dims, f(a, b).store().as_ref());
    }
    let len = checked_len(cx, R::ELEM, &dims)?;
    let mut out = with_room(len)?;
    if len > 0 {
        let (a_bytes, a_strides) = operand(a, &dims)?;
        let (b_bytes, b_strides) = operand(b, &dims)?;
        let (a, b) = (A::chunks(&a_bytes), B::chunks(&b_bytes));
        let rows = Rows::new(&sizes(&dims)?, [&a_strides, &b_strides]);
        for [at_a, at_b] in rows.walk {
            let (a, b) = (&a[at_a as usize..], &b[at_b as usize..]);
            match rows.strides {
                [0, 0] => out.extend(std::iter::repeat_n(f(A::load(a[0]), B::load(b[0])).store(), rows.len)),
                [0, _] => {
                    let a = A::load(a[0]);
                    out.extend(b[..rows.len].iter().map(|&b| f(a, B::load(b)).store()));
                }
                [_, 0] => {
                    let b = B::load(b[0]);
                    out.extend(a[..rows.len].iter().map(|&a| f(A::load(a), b).store()));
                }
                _ => {
                    let pairs = a[..rows.len].iter().zip(&b[..rows.len]);
                    out.extend(pairs.map(|(&a, &b)| f(A::load(a), B::load(b)).store()));
                }
            }
        }
    }
    Tensor::dense(R::ELEM, &dims, R::flatten(out)).map_err(tensor_error)
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
    if !crate::cx::flag(cx, "broadcast", false)? {
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
        OpError::invalid(format_args!("shape {:?} is no part of shape {:?} at attribute `axis`", b.dims(), a.dims()))
    };
    let first = match crate::cx::int(cx, "axis")? {
        Some(axis) => crate::shape::axis(axis, rank.max(1))?,
        None => rank.checked_sub(b_rank).ok_or_else(mismatch)?,
    };
    if a.dims().get(first..first + b_rank) != Some(b.dims()) {
        return Err(mismatch());
    }
    let mut dims = b.dims().to_vec();
    dims.resize(rank - first, 1);
    Ok((a, b.reshaped(&dims).map_err(tensor_error)?))
}
