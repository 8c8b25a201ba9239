//! `TopK` and `Unique`.

use super::{gather::compress, shared::util::*};
use relais_plugin_api::{ir::*, op::*};

/// `TopK`.
pub fn top_k(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let axis = int(cx, "axis")?;
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

/// `Unique`.
pub fn unique(cx: &mut InferCx<'_>) -> Outcome {
    compress(cx)?;
    for index in 1..4 {
        cx.set_tensor(index, ElemType::INT64, &[Dim::Unknown]);
    }
    Ok(())
}
