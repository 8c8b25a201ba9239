//! Operators that take elements by index.

use super::shared::util::*;
use relais_plugin_api::{ir::*, op::*};

/// `Gather`.
pub fn gather(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let axis = int(cx, "axis")?;
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
    let batch = int(cx, "batch_dims")?;
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

/// `Compress`.
pub fn compress(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let dims = along_axis_or_flat(cx)?;
    set(cx, 0, elem, dims.as_deref());
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
