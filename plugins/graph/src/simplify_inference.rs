//! Expands what inference computes simply: a batch normalisation is a multiplication and an addition.
//!
//! ```text
//! %1 = BatchNormalization(%x, %scale, %bias, %mean, %variance);
//! ```
//! becomes
//! ```text
//! %2 = Mul(%x, %factor);
//! %1 = Add(%2, %shift);
//! ```
//! where `%factor` and `%shift` are constants for each channel. In inference `Dropout` is its input.
//!
//! It is for pipelines that fold scales further forward, and not in the default ones: alone it makes two calls of one.
//! Parameters must be constant and the rank of the input known. Factor and shift keep away from the limits of the element
//! type, as `BackwardFoldScaleAxis` says, and a batch normalisation of a `DequantizeLinear` stays one.

use crate::{
    affine::{BatchNorm, PerChannel},
    eliminate_no_op::dropout,
    numbers::{Limits, is_quantization, magnitude},
};
use relais_plugin_api::{pass::drive, prelude::*, rewrite::DriveOptions};

/// Expands batch normalisation, and drops dropout, in inference.
#[function_pass(
    name = "relais.SimplifyInference",
    aliases = ["relay._transform.SimplifyInference"],
    opt_level = 0,
    required = ["relais.InferType"],
    statistics(rewritten = "calls replaced"),
)]
pub fn simplify_inference(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    let mut rule = |call: CallView<'_>, cx: &mut RewriteCx<'_>| match (call.arg(0), call.is_op("Dropout")) {
        (None, _) => Rewrite::Keep,
        (Some(input), true) => dropout(call, input, cx),
        (Some(input), false) => expand(call, input, cx).map_or_else(Rewrite::decline, Rewrite::Replace),
    };
    drive(edit, cx, &mut rule, &["BatchNormalization", "Dropout"], DriveOptions::default()).map(|_| ())
}

/// A batch normalisation as a multiplication and an addition.
fn expand(call: CallView<'_>, input: NodeId, cx: &mut RewriteCx<'_>) -> Result<NodeId, &'static str> {
    let norm = BatchNorm::of(call, cx)?;
    let affine = norm.affine(input)?;
    let shape =
        cx.type_of(input).shape().filter(|shape| shape.len() >= 2).ok_or("the rank of the input is not known")?;
    if cx.call_of(input).and_then(CallView::op).is_some_and(|op| is_quantization(call.owner(), op)) {
        return Err("the input is dequantised, and the addition would come between");
    }
    let limits = Limits::of(norm.elem)?;
    let within = |value: &PerChannel, check: &dyn Fn(f64) -> Result<(), &'static str>| match value {
        PerChannel::Uniform(value) => check(*value),
        PerChannel::Each(values) => values.iter().try_for_each(|&value| check(value)),
    };
    within(&affine.scale, &|scale| limits.weights(magnitude(1.0, scale)))?;
    within(&affine.shift, &|shift| limits.bias(0.0, 1.0, shift).map(|_| ()))?;
    let mut dims = vec![1; shape.len() - 1];
    dims[0] = norm.n_channels;
    let constant = |value: &PerChannel| value.to_tensor(norm.elem, &dims).ok_or("the element type is not supported");
    let (factor, shift) = (constant(&affine.scale)?, constant(&affine.shift)?);
    let (factor, shift) = (cx.constant(factor), cx.constant(shift));
    let product = cx.call("Mul", &[input, factor]);
    Ok(cx.call("Add", &[product, shift]))
}
