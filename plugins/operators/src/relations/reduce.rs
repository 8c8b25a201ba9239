//! Reductions.

use super::shared::{util::*, values};
use relais_plugin_api::{ir::*, op::*};

/// `ReduceSum`, whose axes are an argument from version 13 on.
pub fn reduce_sum(cx: &mut InferCx<'_>) -> Outcome {
    reduce_since(cx, 13)
}

/// The other `Reduce…` operators, whose axes are an argument from version 18 on.
pub fn reduce(cx: &mut InferCx<'_>) -> Outcome {
    reduce_since(cx, 18)
}

/// `ReduceProd`, with the product of known integers.
pub fn reduce_prod(cx: &mut InferCx<'_>) -> Outcome {
    reduce_since(cx, 18)?;
    let is_vector = cx.input(0).shape().is_some_and(|dims| dims.len() <= 1);
    let is_noop = cx.arg(1).is_none() && flag(cx, "noop_with_empty_axes")?;
    if !is_vector || is_noop || cx.elem(0) != ElemType::INT64 {
        return Ok(());
    }
    // Only the axis of a vector can be meant, unless axes are given and empty.
    if cx.arg(1).is_some() && known_ints(cx, 1).is_none_or(|axes| axes.is_empty()) {
        return Ok(());
    }
    let Some(ints) = ints_of(cx, 0) else {
        return Ok(());
    };
    let dims: Dims = ints.iter().map(|&int| int.into()).collect();
    set_ints(cx, 0, &[product(&dims).into()]);
    Ok(())
}

/// `ArgMax` and `ArgMin`.
pub fn arg_reduce(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let axis = int(cx, "axis")?;
    let keep = flag(cx, "keepdims")?;
    let dims = match cx.dims(0) {
        Some(mut dims) => {
            let axis = axis_of(axis, dims.len())?;
            if keep {
                dims[axis] = Dim::Static(1);
            } else {
                dims.remove(axis);
            }
            Some(dims)
        }
        None => None,
    };
    set(cx, 0, ElemType::INT64, dims.as_deref());
    Ok(())
}

/// Which axes are reduced.
enum Axes {
    All,
    These(IntList),
    Unknown,
}

fn reduce_since(cx: &mut InferCx<'_>, axes_argument: i64) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let keep = flag(cx, "keepdims")?;
    let given = if cx.version() < axes_argument {
        opt_ints(cx, "axes")?.map(Some)
    } else {
        cx.arg(1).map(|_| known_ints(cx, 1))
    };
    let axes = match given {
        Some(None) => Axes::Unknown,
        Some(Some(axes)) if !axes.is_empty() => Axes::These(axes),
        _ if flag(cx, "noop_with_empty_axes")? => {
            let ty = cx.input_id(0);
            cx.set_output(0, ty);
            values::forward(cx, 0);
            return Ok(());
        }
        _ => Axes::All,
    };
    let dims = match (cx.dims(0), axes) {
        (_, Axes::All) if !keep => Some(Dims::new()),
        (None, _) => None,
        (Some(dims), Axes::All) => Some(smallvec![Dim::Static(1); dims.len()]),
        (Some(dims), Axes::These(axes)) => {
            let mask = axis_mask(&axes, dims.len())?;
            let reduced = dims.iter().zip(mask).filter_map(|(&dim, reduced)| match (reduced, keep) {
                (false, _) => Some(dim),
                (true, true) => Some(Dim::Static(1)),
                (true, false) => None,
            });
            Some(reduced.collect())
        }
        (Some(dims), Axes::Unknown) => keep.then(|| smallvec![Dim::Unknown; dims.len()]),
    };
    set(cx, 0, elem, dims.as_deref());
    Ok(())
}
