//! Strings.

use crate::shared::{
    cx::{Eval, same_elem, table, tensor_error, unsupported_elem},
    elems::{Elems, encode_strings},
    shape::{broadcast, broadcast_strides, checked_len, sizes},
};
use relais_plugin_api::{
    ir::{ElemType, Tensor},
    op::EvalCx,
};

table! {
    "StringConcat" @ 20 => string_concat,
}

/// The strings of a tensor, broadcast to a shape.
pub fn broadcast_strings<'a>(cx: &EvalCx<'_>, tensor: &'a Tensor, dims: &[u64]) -> Eval<Vec<&'a [u8]>> {
    checked_len(cx, ElemType::STRING, dims)?;
    let strides = broadcast_strides(tensor.dims(), dims)?;
    match Elems::of(cx, tensor)?.strided(&sizes(dims)?, &strides, 0)? {
        Elems::Strings(strings) => Ok(strings),
        Elems::Fixed { .. } => Err(unsupported_elem(tensor.elem())),
    }
}

fn string_concat(cx: &EvalCx<'_>) -> Eval {
    let (a, b) = (cx.require(0)?, cx.require(1)?);
    same_elem(a, b)?;
    let dims = broadcast(&[a.dims(), b.dims()])?;
    let (a, b) = (broadcast_strings(cx, a, &dims)?, broadcast_strings(cx, b, &dims)?);
    let bytes = a.iter().zip(&b).fold(0u64, |sum, (a, b)| sum.saturating_add((a.len() + b.len() + 4) as u64));
    if bytes > cx.max_bytes() {
        return Err(relais_plugin_api::op::OpError::unsupported("a result is too large"));
    }
    let strings: Vec<Vec<u8>> = a.iter().zip(b).map(|(a, b)| [a, b].concat()).collect();
    Tensor::dense(ElemType::STRING, &dims, encode_strings(cx, &strings)?).map_err(tensor_error)
}
