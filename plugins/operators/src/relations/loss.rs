//! Losses.

use super::shared::util::*;
use relais_plugin_api::{ir::*, op::*};

/// `NegativeLogLikelihoodLoss`.
pub fn nll_loss(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let dims = if string(cx, "reduction")? == "none" { cx.dims(1) } else { Some(Dims::new()) };
    set(cx, 0, elem, dims.as_deref());
    Ok(())
}

/// `SoftmaxCrossEntropyLoss`.
pub fn cross_entropy_loss(cx: &mut InferCx<'_>) -> Outcome {
    nll_loss(cx)?;
    let ty = cx.input_id(0);
    cx.set_output(1, ty);
    Ok(())
}
