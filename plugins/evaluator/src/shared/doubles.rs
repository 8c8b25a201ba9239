//! Floats of any type as doubles, and back. Operators that add up many elements compute in double precision and round
//! once, so that one loop serves all types.

use crate::shared::{
    cx::{Eval, readable, tensor_error},
    scalar::{Number, Scalar, dispatch},
    shape::{Walk, broadcast, broadcast_strides, sizes, with_room},
};
use relais_plugin_api::{
    ir::{ElemType, Tensor},
    op::{EvalCx, OpError},
};

/// The elements of a tensor of floats.
pub fn doubles(cx: &EvalCx<'_>, tensor: &Tensor) -> Eval<Vec<f64>> {
    readable(cx, tensor)?;
    let bytes = tensor.to_bytes();
    let mut values = with_room(sizes(&[tensor.len()])?[0])?;
    dispatch!(tensor.elem(), T in floats => {
        values.extend(T::chunks(&bytes).iter().map(|&chunk| Number::to_f64(T::load(chunk))));
        Ok(values)
    })
}

/// The elements of a tensor that is a list with `len` elements; `what` is its name in messages.
pub fn double_list(cx: &EvalCx<'_>, tensor: &Tensor, len: u64, what: &str) -> Eval<Vec<f64>> {
    if tensor.dims() != [len] {
        let dims = tensor.dims();
        return Err(OpError::invalid(format_args!("{what} must be a list of {len} elements, not of shape {dims:?}")));
    }
    doubles(cx, tensor)
}

/// The elements of a tensor that is broadcast to `dims`, which may not grow.
pub fn spread_doubles(cx: &EvalCx<'_>, tensor: &Tensor, dims: &[u64], what: &str) -> Eval<Vec<f64>> {
    if tensor.dims().len() > dims.len() || broadcast(&[tensor.dims(), dims])? != dims {
        return Err(OpError::invalid(format_args!("{what} of shape {:?} does not fit {dims:?}", tensor.dims())));
    }
    let values = doubles(cx, tensor)?;
    if tensor.dims() == dims {
        return Ok(values);
    }
    let (strides, sizes) = (broadcast_strides(tensor.dims(), dims)?, sizes(dims)?);
    Ok(Walk::new(&sizes, [&strides]).map(|[at]| values[at as usize]).collect())
}

/// A tensor of floats of type `elem`, each rounded once.
pub fn rounded(elem: ElemType, dims: &[u64], values: &[f64]) -> Eval {
    dispatch!(elem, T in floats => {
        let mut out: Vec<<T as Scalar>::Bytes> = with_room(values.len())?;
        out.extend(values.iter().map(|&value| T::rounded(value).store()));
        Tensor::dense(T::ELEM, dims, T::flatten(out)).map_err(tensor_error)
    })
}

/// The number of elements of some axes, which must not be empty if others are huge.
pub fn volume(dims: &[u64]) -> Eval<usize> {
    let volume = dims.iter().try_fold(1u64, |volume, &dim| volume.checked_mul(dim));
    let volume = volume.and_then(|volume| usize::try_from(volume).ok());
    volume.ok_or_else(|| OpError::unsupported("a shape does not fit memory"))
}

/// Replaces every line of values along one axis, of which there are `len`, `stride` values apart from each other.
pub fn for_each_line(values: &mut [f64], len: usize, stride: usize, f: &mut dyn FnMut(&mut [f64])) {
    if len == 0 || stride == 0 {
        return;
    }
    if stride == 1 {
        return values.chunks_exact_mut(len).for_each(f);
    }
    let mut line = vec![0.0; len];
    for block in values.chunks_exact_mut(len * stride) {
        for start in 0..stride {
            for (to, from) in line.iter_mut().zip(block[start..].iter().step_by(stride)) {
                *to = *from;
            }
            f(&mut line);
            for (to, from) in block[start..].iter_mut().step_by(stride).zip(&line) {
                *to = *from;
            }
        }
    }
}
