//! Elements placed by index.

use crate::shared::{
    cx::{Eval, int, int_list, named, opt_string, same_elem, string, table},
    elems::Elems,
    index::{element_targets, piece_starts, product},
    scalar::{Number, dispatch},
    shape::{checked_len, sizes},
};
use relais_plugin_api::{
    ir::Tensor,
    op::{EvalCx, OpError, shapes::axis_of},
};

table! {
    "Scatter" @ 9 => scatter_elements,
    "ScatterElements" @ 11 => scatter_elements,
    "ScatterND" @ 11 => scatter_nd,
    "TensorScatter" @ 24 => tensor_scatter,
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
    /// That of a call; `Scatter` and `TensorScatter` have none.
    fn of(cx: &EvalCx<'_>) -> Eval<Self> {
        if opt_string(cx, "reduction")?.is_none() {
            return Ok(Self::None);
        }
        named(cx, "reduction", |name| match name {
            "none" => Some(Self::None),
            "add" => Some(Self::Add),
            "mul" => Some(Self::Mul),
            "max" => Some(Self::Max),
            "min" => Some(Self::Min),
            _ => None,
        })
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
    crate::shared::cx::readable(cx, updates)?;
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
    Tensor::dense(T::ELEM, data.dims(), T::flatten(out)).map_err(crate::shared::cx::tensor_error)
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
    let at = axis_of(int(cx, "axis")?, rank)?;
    let fits = |(i, (&update, &cache)): (usize, (&u64, &u64))| update == cache || (i == at && update < cache);
    if at == 0 || update.dims().len() != rank || !update.dims().iter().zip(cache.dims()).enumerate().all(fits) {
        return Err(OpError::invalid(format_args!(
            "an update of shape {:?} does not fit a cache of shape {:?}",
            update.dims(),
            cache.dims()
        )));
    }
    let circular = match string(cx, "mode")? {
        "linear" => false,
        "circular" => true,
        _ => return Err(OpError::invalid("attribute `mode` must be `linear` or `circular`")),
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
