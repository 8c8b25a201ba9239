//! Operators that read or write elements at places given by an index tensor.

use crate::{
    cx::{Eval, int, int_list, int_values, same_elem, string, table},
    elems::Elems,
    scalar::{Number, dispatch},
    shape::{Walk, axis, checked_len, sizes, strides, uniform},
};
use relais_plugin_api::{
    ir::{ElemType, Tensor, element_count},
    op::{EvalCx, OpError},
};

table! {
    "Gather" @ 1 => gather,
    "GatherElements" @ 11 => gather_elements,
    "GatherND" @ 11 => gather_nd,
    "Compress" @ 9 => compress,
    "Scatter" @ 9 => scatter_elements,
    "ScatterElements" @ 11 => scatter_elements,
    "ScatterND" @ 11 => scatter_nd,
    "TensorScatter" @ 24 => tensor_scatter,
}

/// An index along an axis, negative ones counting from the end.
fn index(index: i64, dim: usize) -> Eval<usize> {
    let at = if index < 0 { index.saturating_add(dim as i64) } else { index };
    usize::try_from(at)
        .ok()
        .filter(|&at| at < dim)
        .ok_or_else(|| OpError::invalid(format_args!("index {index} is out of range for size {dim}")))
}

fn product(dims: &[usize]) -> Eval<usize> {
    if dims.contains(&0) {
        return Ok(0);
    }
    let product = dims.iter().try_fold(1usize, |product, &dim| product.checked_mul(dim));
    product.ok_or_else(|| OpError::unsupported("a shape does not fit memory"))
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

fn gather(cx: &EvalCx<'_>) -> Eval {
    let (data, indices) = (cx.require(0)?, cx.require(1)?);
    let at = axis(int(cx, "axis")?.unwrap_or(0), data.dims().len())?;
    let mut dims = data.dims()[..at].to_vec();
    dims.extend_from_slice(indices.dims());
    dims.extend_from_slice(&data.dims()[at + 1..]);
    let data_dims = sizes(data.dims())?;
    let picked: Vec<usize> =
        int_values(cx, indices, "the indices")?.iter().map(|&i| index(i, data_dims[at])).collect::<Eval<_>>()?;
    if data.as_splat().is_some() {
        return pick(cx, data, &dims, 0, Vec::new());
    }
    let len = checked_len(cx, data.elem(), &dims)?;
    let piece = product(&data_dims[at + 1..])?;
    let n_outer = if len == 0 { 0 } else { product(&data_dims[..at])? };
    let starts = (0..n_outer).flat_map(|outer| picked.iter().map(move |i| (outer, i)));
    pick(cx, data, &dims, piece, starts.map(|(outer, i)| (outer * data_dims[at] + i) * piece).collect())
}

/// For every index of an elementwise gather or scatter, the element of the data it means.
fn element_targets(cx: &EvalCx<'_>, data: &Tensor, indices: &Tensor) -> Eval<Vec<usize>> {
    let rank = data.dims().len();
    let at = axis(int(cx, "axis")?.unwrap_or(0), rank)?;
    let fits = |(i, (&index, &data)): (usize, (&u64, &u64))| i == at || index <= data;
    if indices.dims().len() != rank || !indices.dims().iter().zip(data.dims()).enumerate().all(fits) {
        return Err(OpError::invalid(format_args!(
            "indices of shape {:?} do not fit data of shape {:?}",
            indices.dims(),
            data.dims()
        )));
    }
    let values = int_values(cx, indices, "the indices")?;
    let data_dims = sizes(data.dims())?;
    let mut strides = strides(&data_dims);
    let stride = std::mem::replace(&mut strides[at], 0) as usize;
    let walk = Walk::new(&sizes(indices.dims())?, [&strides]);
    walk.zip(values)
        .map(|([offset], i)| Ok((offset as usize).wrapping_add(index(i, data_dims[at])?.wrapping_mul(stride))))
        .collect()
}

fn gather_elements(cx: &EvalCx<'_>) -> Eval {
    let (data, indices) = (cx.require(0)?, cx.require(1)?);
    let starts = element_targets(cx, data, indices)?;
    pick(cx, data, indices.dims(), 1, starts)
}

/// Where the pieces that rows of indices mean start, and how many dimensions of the data a row names beside the
/// batches.
fn piece_starts(cx: &EvalCx<'_>, data: &Tensor, indices: &Tensor, n_batch: usize) -> Eval<(Vec<usize>, usize)> {
    let (rank, index_rank) = (data.dims().len(), indices.dims().len());
    let Some((&depth, rows)) = indices.dims().split_last() else {
        return Err(OpError::invalid("the indices must not be a scalar"));
    };
    let depth = usize::try_from(depth).unwrap_or(usize::MAX);
    if n_batch >= rank.min(index_rank) || depth > rank - n_batch || depth == 0 {
        return Err(OpError::invalid(format_args!(
            "indices of shape {:?} with {n_batch} batch axes do not fit data of shape {:?}",
            indices.dims(),
            data.dims()
        )));
    }
    if indices.dims()[..n_batch] != data.dims()[..n_batch] {
        return Err(OpError::invalid("the batch axes of data and indices differ"));
    }
    let data_dims = sizes(data.dims())?;
    let strides = strides(&data_dims);
    let n_rows = element_count(rows).unwrap_or(0) as usize;
    let per_batch = n_rows / product(&data_dims[..n_batch])?.max(1);
    let batch = product(&data_dims[n_batch..])?;
    let values = int_values(cx, indices, "the indices")?;
    let starts = values.chunks_exact(depth).enumerate().map(|(row, values)| {
        let start = (row / per_batch.max(1)).wrapping_mul(batch);
        values.iter().enumerate().try_fold(start, |start, (i, &value)| {
            // Of empty data the products may overflow, and nothing is read there.
            let at = index(value, data_dims[n_batch + i])?;
            Ok(start.wrapping_add(at.wrapping_mul(strides[n_batch + i] as usize)))
        })
    });
    Ok((starts.collect::<Eval<_>>()?, depth))
}

fn gather_nd(cx: &EvalCx<'_>) -> Eval {
    let (data, indices) = (cx.require(0)?, cx.require(1)?);
    let n_batch = usize::try_from(int(cx, "batch_dims")?.unwrap_or(0))
        .map_err(|_| OpError::invalid("attribute `batch_dims` is negative"))?;
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
    crate::cx::readable(cx, condition)?;
    let condition = condition.to_bytes();
    let flat;
    let (data, at) = match int(cx, "axis")? {
        Some(at) => (data, axis(at, data.dims().len())?),
        None => {
            flat = data.reshaped(&[data.len()]).map_err(crate::cx::tensor_error)?;
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
    if data.as_splat().is_some() {
        return pick(cx, data, &dims, 0, Vec::new());
    }
    let len = checked_len(cx, data.elem(), &dims)?;
    let piece = product(&data_dims[at + 1..])?;
    let n_outer = if len == 0 { 0 } else { product(&data_dims[..at])? };
    let starts = (0..n_outer).flat_map(|outer| taken.iter().map(move |i| (outer, i)));
    pick(cx, data, &dims, piece, starts.map(|(outer, i)| (outer * data_dims[at] + i) * piece).collect())
}

/// How an update is combined with the value at its place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reduction {
    None,
    Add,
    Mul,
    Max,
    Min,
}

impl Reduction {
    fn of(cx: &EvalCx<'_>) -> Eval<Self> {
        match string(cx, "reduction")? {
            None | Some(b"none") => Ok(Self::None),
            Some(b"add") => Ok(Self::Add),
            Some(b"mul") => Ok(Self::Mul),
            Some(b"max") => Ok(Self::Max),
            Some(b"min") => Ok(Self::Min),
            Some(other) => {
                Err(OpError::invalid(format_args!("attribute `reduction` is `{}`", String::from_utf8_lossy(other))))
            }
        }
    }

    fn apply<T: Number>(self, old: T, update: T) -> T {
        match self {
            Self::None => update,
            Self::Add => old.add(update),
            Self::Mul => old.mul(update),
            Self::Max => old.greater_of(update),
            Self::Min => old.lesser_of(update),
        }
    }
}

/// The data with pieces of `piece` elements of the updates written at `starts`, in order.
fn put(cx: &EvalCx<'_>, data: &Tensor, updates: &Tensor, piece: usize, starts: &[usize]) -> Eval {
    same_elem(data, updates)?;
    if starts.is_empty() || piece == 0 {
        return Ok(data.clone());
    }
    checked_len(cx, data.elem(), data.dims())?;
    let reduction = Reduction::of(cx)?;
    if reduction == Reduction::None {
        let mut out = Elems::of(cx, data)?;
        let from = Elems::of(cx, updates)?;
        for (row, &start) in starts.iter().enumerate() {
            out.replace(start, &from, row * piece, piece);
        }
        return out.into_tensor(cx, data.elem(), data.dims());
    }
    crate::cx::readable(cx, updates)?;
    dispatch!(data.elem(), T in numbers => put_reduced::<T>(data, updates, piece, starts, reduction))
}

fn put_reduced<T: Number>(
    data: &Tensor,
    updates: &Tensor,
    piece: usize,
    starts: &[usize],
    reduction: Reduction,
) -> Eval {
    let mut out = T::chunks(&data.to_bytes()).to_vec();
    let updates = updates.to_bytes();
    for (updates, &start) in T::chunks(&updates).chunks_exact(piece).zip(starts) {
        for (old, &update) in out[start..start + piece].iter_mut().zip(updates) {
            *old = reduction.apply(T::load(*old), T::load(update)).store();
        }
    }
    Tensor::dense(T::ELEM, data.dims(), T::flatten(out)).map_err(crate::cx::tensor_error)
}

/// Without a reduction, of several updates of one element the last one counts.
fn scatter_elements(cx: &EvalCx<'_>) -> Eval {
    let (data, indices, updates) = (cx.require(0)?, cx.require(1)?, cx.require(2)?);
    if indices.dims() != updates.dims() {
        return Err(OpError::invalid(format_args!(
            "indices and updates have different shapes, {:?} and {:?}",
            indices.dims(),
            updates.dims()
        )));
    }
    put(cx, data, updates, 1, &element_targets(cx, data, indices)?)
}

fn scatter_nd(cx: &EvalCx<'_>) -> Eval {
    let (data, indices, updates) = (cx.require(0)?, cx.require(1)?, cx.require(2)?);
    let (starts, depth) = piece_starts(cx, data, indices, 0)?;
    let rest = &data.dims()[depth..];
    let rows = &indices.dims()[..indices.dims().len() - 1];
    if updates.dims() != [rows, rest].concat() {
        return Err(OpError::invalid(format_args!(
            "updates of shape {:?} do not fit indices of shape {:?}",
            updates.dims(),
            indices.dims()
        )));
    }
    put(cx, data, updates, product(&sizes(rest)?)?, &starts)
}

fn tensor_scatter(cx: &EvalCx<'_>) -> Eval {
    let (cache, update) = (cx.require(0)?, cx.require(1)?);
    let rank = cache.dims().len();
    let at = axis(int(cx, "axis")?.unwrap_or(-2), rank)?;
    let fits = |(i, (&update, &cache)): (usize, (&u64, &u64))| update == cache || (i == at && update < cache);
    if at == 0 || update.dims().len() != rank || !update.dims().iter().zip(cache.dims()).enumerate().all(fits) {
        return Err(OpError::invalid(format_args!(
            "an update of shape {:?} does not fit a cache of shape {:?}",
            update.dims(),
            cache.dims()
        )));
    }
    let circular = match string(cx, "mode")? {
        None | Some(b"linear") => false,
        Some(b"circular") => true,
        Some(_) => return Err(OpError::invalid("attribute `mode` must be `linear` or `circular`")),
    };
    let (dims, update_dims) = (sizes(cache.dims())?, sizes(update.dims())?);
    checked_len(cx, update.elem(), update.dims())?;
    let first = match cx.input(2) {
        Some(first) => int_list(cx, first, "the write indices")?,
        None => Vec::new(),
    };
    if !first.is_empty() && first.len() != dims[0] {
        return Err(OpError::invalid(format_args!("{} write indices for {} batches", first.len(), dims[0])));
    }
    let n_steps = update_dims[at];
    let mut starts = Vec::new();
    let piece = product(&dims[at + 1..])?;
    if !update.is_empty() {
        let per_batch = product(&dims[1..at])?;
        for prefix in 0..dims[0] * per_batch {
            let first = first.get(prefix / per_batch).copied().unwrap_or(0);
            for step in 0..n_steps as i64 {
                let step = first.saturating_add(step);
                let step = if circular { step.rem_euclid(dims[at] as i64) } else { step };
                if !(0..dims[at] as i64).contains(&step) {
                    return Err(OpError::invalid(format_args!("write index {first} leaves the cache")));
                }
                starts.push((prefix * dims[at] + step as usize) * piece);
            }
        }
    }
    put(cx, cache, update, piece, &starts)
}
