//! Operators that take or place elements by index.

use super::util::*;
use relais_plugin_api::{ir::*, op::*};

/// `Gather`.
pub fn gather(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let axis = int_or(cx, "axis", 0)?;
    let (Some(data), Some(indices)) = (cx.dims(0), cx.dims(1)) else {
        cx.set_any_rank(0, elem);
        return Ok(());
    };
    let axis = axis_of(axis, data.len())?;
    let dims = [&data[..axis], &indices, &data[axis + 1..]].concat();
    cx.set_tensor(0, elem, &dims);
    if data.len() == 1
        && indices.len() <= 1
        && let Some(ints) = gather_ints(cx, data[0])
    {
        set_ints(cx, 0, &ints);
    }
    Ok(())
}

fn gather_ints(cx: &InferCx<'_>, size: Dim) -> Option<Ints> {
    let ints = ints_of(cx, 0)?;
    if size != Dim::Static(ints.len() as u64) {
        return None;
    }
    let pick = |index: i64| Some(ints[axis_of(index, ints.len()).ok()?]);
    known_ints(cx, 1)?.into_iter().map(pick).collect()
}

/// `GatherElements`.
pub fn gather_elements(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let dims = cx.dims(1);
    set(cx, 0, elem, dims.as_deref());
    Ok(())
}

/// `GatherND`.
pub fn gather_nd(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let batch = int_or(cx, "batch_dims", 0)?;
    let (Some(data), Some(indices)) = (cx.dims(0), dims_from_rank(cx, 1, 1)?) else {
        cx.set_any_rank(0, elem);
        return Ok(());
    };
    let (kept, last) = indices.split_at(indices.len() - 1);
    let Dim::Static(depth) = last[0] else {
        cx.set_any_rank(0, elem);
        return Ok(());
    };
    let from = usize::try_from(batch).ok().and_then(|batch| batch.checked_add(usize::try_from(depth).ok()?));
    let Some(rest) = from.and_then(|from| data.get(from..)) else {
        return invalid(format_args!("indices of length {depth} do not fit data of rank {}", data.len()));
    };
    cx.set_tensor(0, elem, &[kept, rest].concat());
    Ok(())
}

/// `OneHot`.
pub fn one_hot(cx: &mut InferCx<'_>) -> Outcome {
    // The depth, and the values for off and on.
    for (at, n) in [(1, 1), (2, 2)] {
        let len =
            cx.dims(at).and_then(|dims| dims.iter().try_fold(1_u64, |n, dim| Some(n.saturating_mul(dim.known()?))));
        if len.is_some_and(|len| len != n) {
            return Err(OpError::invalid(format_args!("input {at} must have {n} elements, not {}", len.unwrap_or(0))));
        }
    }
    let elem = cx.elem(2);
    let axis = int_or(cx, "axis", -1)?;
    let dims = match cx.dims(0) {
        Some(mut dims) => {
            let axis = axis_of(axis, dims.len() + 1)?;
            dims.insert(axis, scalar_of(cx, 1).map_or(Dim::Unknown, Dim::from));
            Some(dims)
        }
        None => None,
    };
    set(cx, 0, elem, dims.as_deref());
    Ok(())
}

/// `NonZero`. For a scalar, runtimes disagree on the number of rows.
pub fn non_zero(cx: &mut InferCx<'_>) -> Outcome {
    let rank = cx.dims(0).map_or(0, |dims| dims.len() as u64);
    let rows = if rank == 0 { Dim::Unknown } else { Dim::Static(rank) };
    cx.set_tensor(0, ElemType::INT64, &[rows, Dim::Unknown]);
    Ok(())
}

/// `TopK`.
pub fn top_k(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let axis = int_or(cx, "axis", -1)?;
    let k = match cx.version() {
        ..10 => Some(Int::Known(int(cx, "k")?)),
        _ => scalar_of(cx, 1),
    };
    let dims = match cx.dims(0) {
        Some(mut dims) => {
            let axis = axis_of(axis, dims.len())?;
            match (k, dims[axis]) {
                (Some(Int::Known(k)), _) if k < 0 => return invalid(format_args!("`k` is {k}")),
                (Some(Int::Known(k)), Dim::Static(size)) if k as u64 > size => {
                    return invalid(format_args!("`k` is {k} for an axis of size {size}"));
                }
                _ => dims[axis] = k.map_or(Dim::Unknown, Dim::from),
            }
            Some(dims)
        }
        None => None,
    };
    set(cx, 0, elem, dims.as_deref());
    set(cx, 1, ElemType::INT64, dims.as_deref());
    Ok(())
}

/// `Compress`.
pub fn compress(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let dims = along_axis_or_flat(cx)?;
    set(cx, 0, elem, dims.as_deref());
    Ok(())
}

/// `Unique`.
pub fn unique(cx: &mut InferCx<'_>) -> Outcome {
    compress(cx)?;
    for index in 1..4 {
        cx.set_tensor(index, ElemType::INT64, &[Dim::Unknown]);
    }
    Ok(())
}

/// The dimensions with the one at attribute `axis` unknown; a vector if the attribute is missing.
fn along_axis_or_flat(cx: &InferCx<'_>) -> Result<Option<Dims>, OpError> {
    let Some(axis) = opt_int(cx, "axis")? else {
        return Ok(Some(smallvec![Dim::Unknown]));
    };
    let Some(mut dims) = cx.dims(0) else {
        return Ok(None);
    };
    let axis = axis_of(axis, dims.len())?;
    dims[axis] = Dim::Unknown;
    Ok(Some(dims))
}
