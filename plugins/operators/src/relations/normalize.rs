//! Normalisations.

use super::shared::util::*;
use relais_plugin_api::{ir::*, op::*};

/// `BatchNormalization`: results beyond the first are statistics, one number for each channel. Before version 14 there
/// are all four of them or none.
pub fn batch_normalization(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let n_results = cx.n_outputs();
    if cx.version() < 14 && !matches!(n_results, 1 | 5) {
        return Err(OpError::invalid(format_args!("{n_results} results, where it has 1 or 5 before version 14")));
    }
    let ty = cx.input_id(0);
    cx.set_output(0, ty);
    // Early versions also have statistics for each element of a sample.
    if n_results == 1 || !flag(cx, "spatial")? {
        return Ok(());
    }
    let elem = cx.elem(if cx.version() >= 14 { 3 } else { 0 });
    let channels = match cx.dims(0).as_deref() {
        Some([_, channels, ..]) => *channels,
        Some([_]) => Dim::Static(1),
        _ => Dim::Unknown,
    };
    let scale = dims_of_rank(cx, 1, 1)?.map_or(Dim::Unknown, |dims| dims[0]);
    let channels = merge_dim(channels, scale)
        .map_err(|error| OpError::invalid(format_args!("channels of input and scale: {error}")))?;
    for index in 1..n_results {
        cx.set_tensor(index, elem, &[channels]);
    }
    Ok(())
}

/// `LayerNormalization`: the other results keep the axes that are averaged over, with size 1.
pub fn layer_normalization(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let ty = cx.input_id(0);
    cx.set_output(0, ty);
    if cx.n_outputs() == 1 {
        return Ok(());
    }
    let axis = int(cx, "axis")?;
    let elem = elem_type(cx, "stash_type")?;
    let mut dims = cx.dims(0);
    if let Some(dims) = &mut dims {
        let axis = axis_of(axis, dims.len())?;
        dims[axis..].fill(Dim::Static(1));
    }
    for index in 1..cx.n_outputs() {
        set(cx, index, elem, dims.as_deref());
    }
    Ok(())
}

/// `RMSNormalization`: the element type is that of the scale.
pub fn rms_normalization(cx: &mut InferCx<'_>) -> Outcome {
    let elem = cx.elem(1);
    super::shared::elementwise::with_elem(cx, elem)
}
