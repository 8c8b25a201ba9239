//! Expands what inference computes by simple operators: normalisations.
//!
//! ```text
//! %1 = BatchNormalization(%x, %scale, %bias, %mean, %variance);
//! %2 = LpNormalization(%x);
//! ```
//! becomes
//! ```text
//! %3 = Mul(%x, %factor);
//! %1 = Add(%3, %shift);
//! %4 = ReduceL2(%x, [-1]);
//! %5 = Equal(%4, 0.0);
//! %6 = Div(%x, %4);
//! %2 = Where(%5, 0.0, %6);
//! ```
//! where `%factor` and `%shift` are constants for each channel. In inference `Dropout` is its input.
//!
//! It is for pipelines that fold scales further forward, or compute normalisations without kernels for them, and not in
//! the default ones: alone it makes several calls of one. A call with a dequantised argument stays.
//!
//! `BatchNormalization`: the parameters must be constant and the rank of the input known. Factor and shift keep away from
//! the limits of the element type, as `BackwardFoldScaleAxis` says.
//!
//! `LayerNormalization`, `RMSNormalization`, `GroupNormalization`, `InstanceNormalization`, `MeanVarianceNormalization`
//! and `LpNormalization` become their bodies (`relais describe NAME`), with all results that are used: a mean, its
//! deviations, the mean of their squares, and so on. Sizes need not be known, but the element type must be, and what the
//! body depends on: for `LayerNormalization` and `RMSNormalization` the rank where `axis` is not negative, for
//! `InstanceNormalization` the rank, for `GroupNormalization` the rank and the number of channels. `LpNormalization` needs
//! version 11, from which on floats can be compared. Results differ from those of a kernel as far as it rounds or adds up
//! in another way; sums of `float16` and `bfloat16` are in `float32`. A `stash_type` with fewer digits than `float32`, or
//! than the input has, is declined, because some runtimes ignore it.

use crate::{
    affine::{BatchNorm, PerChannel},
    eliminate_no_op::dropout,
    numbers::{Limits, is_quantization, magnitude},
};
use relais_plugin_api::{op::Bodies, pass::drive, prelude::*, rewrite::DriveOptions};
use std::borrow::Cow;

/// The operators that are expanded or dropped.
const OPERATORS: &[&str] = &[
    "BatchNormalization",
    "Dropout",
    "GroupNormalization",
    "InstanceNormalization",
    "LayerNormalization",
    "LpNormalization",
    "MeanVarianceNormalization",
    "RMSNormalization",
];

/// Expands normalisations, and drops dropout, in inference.
#[function_pass(
    name = "relais.SimplifyInference",
    aliases = ["relay._transform.SimplifyInference"],
    opt_level = 0,
    required = ["relais.InferType"],
    statistics(rewritten = "calls replaced"),
)]
pub fn simplify_inference(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    let mut bodies = cx.bodies();
    let mut rule = |call: CallView<'_>, cx: &mut RewriteCx<'_>| {
        let Some(input) = call.arg(0) else { return Rewrite::Keep };
        if call.is_op("Dropout") {
            return dropout(call, input, cx);
        }
        if let Some(reason) = quantized(call, cx) {
            return Rewrite::decline(reason);
        }
        match call.is_op("BatchNormalization") {
            true => expand(call, input, cx).map_or_else(Rewrite::decline, Rewrite::Replace),
            false => by_body(call, input, cx, &mut bodies).unwrap_or_else(Rewrite::Decline),
        }
    };
    drive(edit, cx, &mut rule, OPERATORS, DriveOptions::default()).map(|_| ())
}

/// Why a call stays that belongs to a quantised operator.
fn quantized(call: CallView<'_>, cx: &RewriteCx<'_>) -> Option<&'static str> {
    let is_quantized =
        |&arg: &NodeId| cx.call_of(arg).and_then(CallView::op).is_some_and(|op| is_quantization(call.owner(), op));
    call.args().iter().any(is_quantized).then_some("the input is dequantised, and other calls would come between")
}

/// A normalisation as its body.
fn by_body(
    call: CallView<'_>,
    input: NodeId,
    cx: &mut RewriteCx<'_>,
    bodies: &mut dyn Bodies,
) -> Result<Rewrite, Cow<'static, str>> {
    let digits = cx.type_of(input).elem().and_then(digits).ok_or("the element type is not one of floats")?;
    if let Some(stash) = cx.attrs(call).int("stash_type") {
        let stash = u8::try_from(stash).ok().and_then(|stash| self::digits(ElemType(stash)));
        if stash.is_none_or(|stash| stash < digits.max(SINGLE)) {
            return Err("`stash_type` has fewer digits than the input, or than `float32`".into());
        }
    }
    let body = bodies.body_of(cx.function(), call.id).map_err(|error| error.to_string())?;
    let results = cx.expand(call, &body)?;
    Ok(match results[..] {
        [result] if call.n_results().is_none() => Rewrite::Replace(result),
        _ => Rewrite::ReplaceResults(results),
    })
}

/// The number of binary digits of `float32`.
const SINGLE: u32 = 24;

/// The number of binary digits of a type of floats.
fn digits(elem: ElemType) -> Option<u32> {
    match elem {
        ElemType::BFLOAT16 => Some(8),
        ElemType::FLOAT16 => Some(11),
        ElemType::FLOAT => Some(SINGLE),
        ElemType::DOUBLE => Some(53),
        _ => None,
    }
}

/// A batch normalisation as a multiplication and an addition.
fn expand(call: CallView<'_>, input: NodeId, cx: &mut RewriteCx<'_>) -> Result<NodeId, &'static str> {
    let norm = BatchNorm::of(call, cx)?;
    let affine = norm.affine(input)?;
    let shape =
        cx.type_of(input).shape().filter(|shape| shape.len() >= 2).ok_or("the rank of the input is not known")?;
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
