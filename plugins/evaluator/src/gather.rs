//! Elements taken by index.

use crate::shared::{
    cx::{Eval, int, int_values, opt_int, table},
    elems::Elems,
    index::{element_targets, index, piece_starts, product},
    shape::{checked_len, sizes, uniform},
};
use relais_plugin_api::{
    ir::{ElemType, Tensor},
    op::{EvalCx, OpError, shapes::axis_of},
};

table! {
    "Gather" @ 1 => gather,
    "GatherElements" @ 11 => gather_elements,
    "GatherND" @ 11 => gather_nd,
    "Compress" @ 9 => compress,
}

/// Elements of `data` in pieces of `piece`, each starting at an element of `starts`.
fn pick(cx: &EvalCx<'_>, data: &Tensor, dims: &[u64], piece: usize, starts: Vec<usize>) -> Eval {
    if let Some(element) = data.as_splat() {
        return uniform(data.elem(), dims, element);
    }
    let len = checked_len(cx, data.elem(), dims)?;
    let from = Elems::of(cx, data)?;
    let mut out = from.empty(len)?;
    if len > 0 {
        for start in starts {
            out.extend(&from, start, piece);
        }
    }
    out.into_tensor(cx, data.elem(), dims)
}

/// The parts at some indices of an axis, as a tensor with dimensions `dims`.
fn pick_along(cx: &EvalCx<'_>, data: &Tensor, axis: usize, picked: &[usize], dims: &[u64]) -> Eval {
    if data.as_splat().is_some() {
        return pick(cx, data, dims, 0, Vec::new());
    }
    let (len, data_dims) = (checked_len(cx, data.elem(), dims)?, sizes(data.dims())?);
    let (size, piece) = (data_dims[axis], product(&data_dims[axis + 1..])?);
    let n_outer = if len == 0 { 0 } else { product(&data_dims[..axis])? };
    let starts = (0..n_outer).flat_map(|outer| picked.iter().map(move |i| (outer * size + i) * piece));
    pick(cx, data, dims, piece, starts.collect())
}

fn gather(cx: &EvalCx<'_>) -> Eval {
    let (data, indices) = (cx.require(0)?, cx.require(1)?);
    let at = axis_of(int(cx, "axis")?, data.dims().len())?;
    let mut dims = data.dims()[..at].to_vec();
    dims.extend_from_slice(indices.dims());
    dims.extend_from_slice(&data.dims()[at + 1..]);
    let data_dims = sizes(data.dims())?;
    let picked: Vec<usize> =
        int_values(cx, indices, "the indices")?.iter().map(|&i| index(i, data_dims[at])).collect::<Eval<_>>()?;
    pick_along(cx, data, at, &picked, &dims)
}

fn gather_elements(cx: &EvalCx<'_>) -> Eval {
    let (data, indices) = (cx.require(0)?, cx.require(1)?);
    let starts = element_targets(cx, data, indices)?;
    pick(cx, data, indices.dims(), 1, starts)
}

fn gather_nd(cx: &EvalCx<'_>) -> Eval {
    let (data, indices) = (cx.require(0)?, cx.require(1)?);
    let n_batch =
        usize::try_from(int(cx, "batch_dims")?).map_err(|_| OpError::invalid("attribute `batch_dims` is negative"))?;
    let (starts, depth) = piece_starts(cx, data, indices, n_batch)?;
    let rest = &data.dims()[n_batch + depth..];
    let mut dims = indices.dims()[..indices.dims().len() - 1].to_vec();
    dims.extend_from_slice(rest);
    pick(cx, data, &dims, product(&sizes(rest)?)?, starts)
}

fn compress(cx: &EvalCx<'_>) -> Eval {
    let (data, condition) = (cx.require(0)?, cx.require(1)?);
    if condition.elem() != ElemType::BOOL || condition.dims().len() != 1 {
        return Err(OpError::invalid("the condition must be a list of `bool`"));
    }
    crate::shared::cx::readable(cx, condition)?;
    let condition = condition.to_bytes();
    let flat;
    let (data, at) = match opt_int(cx, "axis")? {
        Some(at) => (data, axis_of(at, data.dims().len())?),
        None => {
            flat = data.reshaped(&[data.len()]).map_err(crate::shared::cx::tensor_error)?;
            (&flat, 0)
        }
    };
    let data_dims = sizes(data.dims())?;
    if condition.iter().skip(data_dims[at]).any(|&taken| taken != 0) {
        return Err(OpError::invalid("the condition is longer than the axis"));
    }
    let taken: Vec<usize> = (0..condition.len()).filter(|&i| condition[i] != 0).collect();
    let mut dims = data.dims().to_vec();
    dims[at] = taken.len() as u64;
    pick_along(cx, data, at, &taken, &dims)
}
