//! Random tensors, and `Dropout`.

use super::shared::util::*;
use relais_plugin_api::{ir::*, op::*};

/// `RandomNormal` and `RandomUniform`.
pub fn random(cx: &mut InferCx<'_>) -> Outcome {
    let elem = elem_type(cx, "dtype")?;
    let Some(shape) = opt_ints(cx, "shape")? else {
        return invalid("attribute `shape` is missing");
    };
    let dims: Dims = shape.into_iter().map(|size| Int::Known(size).into()).collect();
    cx.set_tensor(0, elem, &dims);
    Ok(())
}

/// `Multinomial`.
pub fn multinomial(cx: &mut InferCx<'_>) -> Outcome {
    let elem = elem_type(cx, "dtype")?;
    let n_samples = Int::Known(int(cx, "sample_size")?).into();
    let batch = dims_of_rank(cx, 0, 2)?.map_or(Dim::Unknown, |dims| dims[0]);
    cx.set_tensor(0, elem, &[batch, n_samples]);
    Ok(())
}

/// `Dropout`: the mask is boolean from version 10 on.
pub fn dropout(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let ty = cx.input_id(0);
    cx.set_output(0, ty);
    let elem = if cx.version() >= 10 { ElemType::BOOL } else { cx.elem(0) };
    let dims = cx.dims(0);
    set(cx, 1, elem, dims.as_deref());
    Ok(())
}
