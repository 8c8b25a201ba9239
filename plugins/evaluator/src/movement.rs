//! Operators that move whole regions: each result is one walk along strides, or a few.

use crate::shared::{
    cx::{Eval, flag, int, int_list, ints_attr_or_input, opt_int, opt_ints, string, table, tensor_error},
    elems::{Elems, broadcast_strides_of, data_strides, dims_from, strided},
    shape::{axes, broadcast, checked_len, sizes, strides, uniform},
};
use relais_operator_math::movement::{self as math, Disputed};
use relais_plugin_api::{
    ir::Tensor,
    op::{EvalCx, OpError},
};

table! {
    "Transpose" @ 1 => transpose,
    "Expand" @ 8 => expand,
    "Tile" @ 1 => tile,
    "Slice" @ 1 => slice,
    "DepthToSpace" @ 1 => depth_to_space,
    "SpaceToDepth" @ 1 => space_to_depth,
    "ReverseSequence" @ 10 => reverse_sequence,
    "Trilu" @ 14 => trilu,
}

/// Product of sizes that a result has, or an error beyond 64 bits.
fn product(a: u64, b: u64) -> Eval<u64> {
    a.checked_mul(b).ok_or_else(|| OpError::unsupported("a dimension of the result is beyond 64 bits"))
}

fn transpose(cx: &EvalCx<'_>) -> Eval {
    let data = cx.require(0)?;
    let rank = data.dims().len();
    let perm = match opt_ints(cx, "perm")? {
        Some(perm) => axes(&perm, rank)?,
        None => (0..rank).rev().collect(),
    };
    if perm.len() != rank {
        return Err(OpError::invalid(format_args!("attribute `perm` has {} axes for rank {rank}", perm.len())));
    }
    let from = data_strides(data)?;
    let dims: Vec<u64> = perm.iter().map(|&at| data.dims()[at]).collect();
    let strides: Vec<isize> = perm.iter().map(|&at| from[at]).collect();
    strided(cx, data, &dims, &strides, 0)
}

fn expand(cx: &EvalCx<'_>) -> Eval {
    let data = cx.require(0)?;
    let wanted = dims_from(&int_list(cx, cx.require(1)?, "the shape")?, "the shape")?;
    let dims = broadcast(&[data.dims(), &wanted])?;
    if dims == data.dims() {
        return Ok(data.clone());
    }
    if data.len() == 1 && data.elem().bits() >= 8 {
        let element = data.as_splat().unwrap_or_else(|| data.as_dense().map_or(&[], |blob| blob));
        return uniform(data.elem(), &dims, element);
    }
    strided(cx, data, &dims, &broadcast_strides_of(data, &dims)?, 0)
}

fn tile(cx: &EvalCx<'_>) -> Eval {
    if cx.version() < 6 {
        return Err(OpError::unsupported("the form of before operator-set version 6"));
    }
    let data = cx.require(0)?;
    let repeats = dims_from(&int_list(cx, cx.require(1)?, "the repeats")?, "the repeats")?;
    if repeats.len() != data.dims().len() {
        return Err(OpError::invalid(format_args!(
            "{} repeats are given for rank {}",
            repeats.len(),
            data.dims().len()
        )));
    }
    // Every axis becomes two: which copy, and where in it.
    let (mut dims, mut walk_dims, mut walk_strides) = (Vec::new(), Vec::new(), Vec::new());
    for ((&dim, &repeat), stride) in data.dims().iter().zip(&repeats).zip(data_strides(data)?) {
        dims.push(product(dim, repeat)?);
        walk_dims.extend([repeat, dim]);
        walk_strides.extend([0, stride]);
    }
    strided(cx, data, &walk_dims, &walk_strides, 0)?.reshaped(&dims).map_err(tensor_error)
}

/// The start and length of a slice of an axis.
fn slice_axis(dim: u64, start: i64, end: i64, step: i64) -> Eval<(i64, u64)> {
    let dim = i64::try_from(dim).map_err(|_| OpError::unsupported("a dimension is beyond 63 bits"))?;
    let slice = math::slice(dim, start, end, step).ok_or_else(|| OpError::invalid("a step is zero"))?;
    match slice.disputed {
        Some(Disputed::End) => Err(OpError::unsupported("a slice goes backwards to an end beyond its axis")),
        Some(Disputed::Start) | None => Ok((slice.first, slice.count)),
    }
}

fn slice(cx: &EvalCx<'_>) -> Eval {
    let data = cx.require(0)?;
    let rank = data.dims().len();
    let required = |name: &str, index| {
        ints_attr_or_input(cx, name, index, 10)?.ok_or_else(|| OpError::invalid(format_args!("`{name}` are missing")))
    };
    let (starts, ends) = (required("starts", 1)?, required("ends", 2)?);
    let at: Vec<usize> = match ints_attr_or_input(cx, "axes", 3, 10)? {
        Some(list) => axes(&list, rank)?,
        None if starts.len() <= rank => (0..starts.len()).collect(),
        None => return Err(OpError::invalid(format_args!("{} starts are given for rank {rank}", starts.len()))),
    };
    let steps = match cx.input(4).filter(|_| cx.version() >= 10) {
        Some(steps) => int_list(cx, steps, "the steps")?,
        None => vec![1; starts.len()],
    };
    if [starts.len(), ends.len(), steps.len()].iter().any(|&len| len != at.len()) {
        return Err(OpError::invalid("`starts`, `ends`, `axes` and `steps` have different lengths"));
    }
    let mut dims = data.dims().to_vec();
    let mut strides = data_strides(data)?;
    let mut offset = 0isize;
    for (i, &at) in at.iter().enumerate() {
        let (start, len) = slice_axis(dims[at], starts[i], ends[i], steps[i])?;
        dims[at] = len;
        if len > 0 {
            offset = offset.wrapping_add((start as isize).wrapping_mul(strides[at]));
        }
        // A step is never taken when there is but one element, however long it is.
        strides[at] = if len > 1 { strides[at].wrapping_mul(steps[i] as isize) } else { 0 };
    }
    strided(cx, data, &dims, &strides, offset)
}

/// Data of rank 4 and the block size, which divides the dimensions given.
fn blocks<'a>(cx: &'a EvalCx<'_>) -> Eval<(&'a Tensor, [u64; 4], u64)> {
    let data = cx.require(0)?;
    let dims = <[u64; 4]>::try_from(data.dims())
        .map_err(|_| OpError::invalid(format_args!("the data must have rank 4, not {}", data.dims().len())))?;
    match opt_int(cx, "blocksize")? {
        // Beyond this its square would overflow, and no dimension is divisible by it.
        Some(block @ 1..=0x7fff_ffff) => Ok((data, dims, block as u64)),
        _ => Err(OpError::invalid("attribute `blocksize` must be positive")),
    }
}

fn depth_column_row(cx: &EvalCx<'_>) -> Eval<bool> {
    match string(cx, "mode")? {
        "DCR" => Ok(true),
        "CRD" => Ok(false),
        _ => Err(OpError::invalid("attribute `mode` must be `DCR` or `CRD`")),
    }
}

/// Reshapes, transposes, reshapes.
fn shuffle(cx: &EvalCx<'_>, data: &Tensor, middle: [u64; 6], perm: [usize; 6], dims: &[u64]) -> Eval {
    let strides = if data.as_splat().is_some() { vec![0; 6] } else { strides(&sizes(&middle)?) };
    let walk_dims = perm.map(|at| middle[at]);
    let walk_strides = perm.map(|at| strides[at]);
    strided(cx, data, &walk_dims, &walk_strides, 0)?.reshaped(dims).map_err(tensor_error)
}

fn depth_to_space(cx: &EvalCx<'_>) -> Eval {
    let (data, [n, c, h, w], block) = blocks(cx)?;
    if c % (block * block) != 0 {
        return Err(OpError::invalid(format_args!(
            "{c} channels are not a multiple of the block size {block} squared"
        )));
    }
    let depth = c / (block * block);
    let dims = [n, depth, product(h, block)?, product(w, block)?];
    if depth_column_row(cx)? {
        shuffle(cx, data, [n, block, block, depth, h, w], [0, 3, 4, 1, 5, 2], &dims)
    } else {
        shuffle(cx, data, [n, depth, block, block, h, w], [0, 1, 4, 2, 5, 3], &dims)
    }
}

fn space_to_depth(cx: &EvalCx<'_>) -> Eval {
    let (data, [n, c, h, w], block) = blocks(cx)?;
    if h % block != 0 || w % block != 0 {
        return Err(OpError::invalid(format_args!("{h} by {w} is not a multiple of the block size {block}")));
    }
    let dims = [n, product(c, block * block)?, h / block, w / block];
    let perm = if depth_column_row(cx)? { [0, 3, 5, 1, 2, 4] } else { [0, 1, 3, 5, 2, 4] };
    shuffle(cx, data, [n, c, h / block, block, w / block, block], perm, &dims)
}

fn reverse_sequence(cx: &EvalCx<'_>) -> Eval {
    let data = cx.require(0)?;
    let (time, batch) = (int(cx, "time_axis")?, int(cx, "batch_axis")?);
    if !matches!((time, batch), (0, 1) | (1, 0)) || data.dims().len() < 2 {
        return Err(OpError::invalid("`time_axis` and `batch_axis` must be the first two axes"));
    }
    let dims = sizes(data.dims())?;
    let (n_steps, n_sequences) = (dims[time as usize], dims[batch as usize]);
    let lens = int_list(cx, cx.require(1)?, "the sequence lengths")?;
    let in_range = |&len: &i64| usize::try_from(len).is_ok_and(|len| len <= n_steps);
    if lens.len() != n_sequences || !lens.iter().all(in_range) {
        return Err(OpError::invalid(format_args!(
            "there must be {n_sequences} sequence lengths of at most {n_steps}"
        )));
    }
    if data.as_splat().is_some() || data.is_empty() {
        return Ok(data.clone());
    }
    let from = Elems::of(cx, data)?;
    let mut out = from.empty(checked_len(cx, data.elem(), data.dims())?)?;
    let row = dims[2..].iter().product();
    for first in 0..dims[0] {
        for second in 0..dims[1] {
            let (step, sequence) = if time == 0 { (first, second) } else { (second, first) };
            let reversed = lens[sequence] as usize;
            let step = if step < reversed { reversed - 1 - step } else { step };
            let (first, second) = if time == 0 { (step, sequence) } else { (sequence, step) };
            out.extend(&from, (first * dims[1] + second) * row, row);
        }
    }
    out.into_tensor(cx, data.elem(), data.dims())
}

fn trilu(cx: &EvalCx<'_>) -> Eval {
    let data = cx.require(0)?;
    let upper = flag(cx, "upper")?;
    let k = match cx.input(1) {
        Some(k) => crate::shared::cx::int_scalar(cx, k, "`k`")?,
        None => 0,
    };
    let rank = data.dims().len();
    if rank < 2 {
        return Err(OpError::invalid(format_args!("the data must be matrices, but has rank {rank}")));
    }
    let len = checked_len(cx, data.elem(), data.dims())?;
    let from = Elems::of(cx, data)?;
    let zero = Elems::zero(data.elem());
    let mut out = from.empty(len)?;
    if len > 0 {
        let dims = sizes(data.dims())?;
        let (n_rows, n_columns) = (dims[rank - 2], dims[rank - 1]);
        for row in 0..len / n_columns {
            // The first column on or above the diagonal; one further, the lower triangle ends.
            let diagonal = ((row % n_rows) as i64).saturating_add(k);
            let edge = diagonal.saturating_add(i64::from(!upper)).clamp(0, n_columns as i64) as usize;
            let start = row * n_columns;
            if upper {
                out.repeat(&zero, 0, edge);
                out.extend(&from, start + edge, n_columns - edge);
            } else {
                out.extend(&from, start, edge);
                out.repeat(&zero, 0, n_columns - edge);
            }
        }
    }
    out.into_tensor(cx, data.elem(), data.dims())
}
