//! Folds scale and shift for each channel into the convolution or `Gemm` before it, and into each other.
//!
//! ```text
//! %0 = Conv(%x, %w, %b);
//! %1 = BatchNormalization(%0, %scale, %bias, %mean, %variance);
//! ```
//! becomes
//! ```text
//! %1 = Conv(%x, %w1, %b1);
//! ```
//!
//! What folds is a batch normalisation in inference, and `Mul`, `Div`, `Add` and `Sub` with a constant for each channel;
//! what takes it is a `Conv`, `ConvTranspose` or `Gemm` of constant weights, another batch normalisation, or another
//! such `Mul` or `Add`. The value between must have no other user and stand in the same block.
//!
//! Results differ by rounding: weights are multiplied in double precision and rounded once. Large weights that others
//! use too stay as they are, and so do weights that would take more room scaled than not.

use crate::affine::{Affine, BatchNorm, PerChannel, arithmetic, scaled};
use relais_plugin_api::prelude::*;

/// Folds scale and shift for each channel into the producer of the value.
#[rewrite_pass(
    name = "relay._transform.BackwardFoldScaleAxis",
    opt_level = 3,
    required = ["InferType"],
    ops = ["BatchNormalization", "Mul", "Div", "Add", "Sub"],
)]
pub fn backward_fold_scale_axis(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
    let outer = if call.is_op("BatchNormalization") {
        let Some(input) = call.arg(0) else { return Rewrite::Keep };
        if cx.call_of(input).is_none() {
            return Rewrite::Keep;
        }
        match BatchNorm::of(call, cx).and_then(|norm| norm.affine(input)) {
            Ok(affine) => affine,
            Err(reason) => return Rewrite::decline(reason),
        }
    } else {
        match arithmetic(call, |value| rank(value, cx), cx) {
            Some(affine) => affine,
            None => return Rewrite::Keep,
        }
    };
    let Some(producer) = cx.call_of(outer.input) else { return Rewrite::Keep };
    let fold: Fold = match producer.op_name() {
        _ if !producer.op().is_some_and(|op| is_default(producer.owner(), op)) => return Rewrite::Keep,
        "Conv" => into_conv,
        "ConvTranspose" => into_conv_transpose,
        "Gemm" => into_gemm,
        "BatchNormalization" => into_batch_norm,
        "Mul" if outer.shift.is(0.0) => into_arithmetic,
        "Add" | "Sub" if outer.scale.is(1.0) => into_arithmetic,
        "Mul" | "Div" | "Add" | "Sub" if call.is_op("BatchNormalization") => {
            return absorb(call, producer, cx);
        }
        _ => return Rewrite::Keep,
    };
    if cx.n_uses(producer.id) != 1 {
        return Rewrite::decline("the value has a second user");
    }
    if !cx.is_in_same_block(producer.id) {
        return Rewrite::decline("the producer stands in another block");
    }
    if producer.n_results().is_some() || producer.attrs().has_refs() {
        return Rewrite::decline("the producer's results or attributes are not fixed");
    }
    match fold(producer, &outer, cx) {
        Ok(new) => Rewrite::Replace(new),
        Err(reason) => Rewrite::decline(reason),
    }
}

type Fold = for<'a> fn(CallView<'a>, &Affine, &mut RewriteCx<'a>) -> Result<NodeId, &'static str>;

/// Beyond this many bytes, weights that others use too are not copied.
const SMALL: u64 = 4096;

fn is_default(f: &Function, op: OpId) -> bool {
    is_same_domain(f.str(f.op(op).domain), "")
}

/// The rank of a value, from its type or from the weights of the convolution that makes it.
fn rank(value: NodeId, cx: &RewriteCx<'_>) -> Option<usize> {
    if let Some(shape) = cx.type_of(value).shape() {
        return Some(shape.len());
    }
    let call = cx.call_of(value)?;
    match call.op_name() {
        "Conv" | "ConvTranspose" => Some(cx.tensor(call.arg(1)?)?.dims().len()),
        "Gemm" => Some(2),
        _ => None,
    }
}

fn into_conv<'a>(conv: CallView<'a>, outer: &Affine, cx: &mut RewriteCx<'a>) -> Result<NodeId, &'static str> {
    let weights = weights(conv)?;
    let &[n_channels, ..] = weights.dims() else { return Err("the weights are a scalar") };
    let run = run(weights.len(), n_channels);
    let new = scale_weights(conv, weights, outer, n_channels, run, |channel| channel as usize, cx)?;
    with_bias(conv, new, n_channels, outer, cx)
}

fn into_conv_transpose<'a>(conv: CallView<'a>, outer: &Affine, cx: &mut RewriteCx<'a>) -> Result<NodeId, &'static str> {
    let weights = weights(conv)?;
    let &[n_inputs, per_group, ..] = weights.dims() else { return Err("the weights have too few dimensions") };
    let n_groups = u64::try_from(conv.attrs().int("group").unwrap_or(1)).ok().filter(|&n| n > 0 && n_inputs % n == 0);
    let n_groups = n_groups.ok_or("the number of groups does not divide the channels")?;
    let n_channels = per_group.checked_mul(n_groups).ok_or("there are too many channels")?;
    let run = run(weights.len(), n_inputs.saturating_mul(per_group));
    let inputs_per_group = (n_inputs / n_groups).max(1);
    let channel = |at: u64| {
        let (input, output) = (at / per_group.max(1), at % per_group.max(1));
        (input / inputs_per_group * per_group + output) as usize
    };
    let new = scale_weights(conv, weights, outer, n_channels, run, channel, cx)?;
    with_bias(conv, new, n_channels, outer, cx)
}

fn into_gemm<'a>(gemm: CallView<'a>, outer: &Affine, cx: &mut RewriteCx<'a>) -> Result<NodeId, &'static str> {
    let weights = weights(gemm)?;
    let &[rows, columns] = weights.dims() else { return Err("the weights are no matrix") };
    let attrs = gemm.attrs();
    let is_transposed = attrs.int("transB").unwrap_or(0) != 0;
    let n_channels = if is_transposed { rows } else { columns };
    let run = if is_transposed { columns } else { 1 };
    let channel = move |at: u64| if is_transposed { at as usize } else { (at % columns.max(1)) as usize };
    let beta = f64::from(attrs.float("beta").unwrap_or(1.0));
    let bias = match gemm.arg(2) {
        None => None,
        Some(bias) => {
            let bias = cx.tensor(bias).ok_or("the bias is not constant")?;
            let values = PerChannel::of_constant(bias, 2).filter(|values| values.fits(n_channels));
            Some(values.ok_or("the bias is not one value for each channel")?)
        }
    };
    let elem = weights.elem();
    let new = scale_weights(gemm, weights, outer, n_channels, run, channel, cx)?;
    let scaled = match &bias {
        Some(bias) => bias.zip(&outer.scale, |b, s| beta * b * s),
        None => Some(PerChannel::Uniform(0.0)),
    };
    let shift = scaled.and_then(|scaled| scaled.zip(&outer.shift, |b, t| b + t));
    let shift = shift.ok_or("the numbers of channels differ")?;
    let mut args = vec![gemm.args()[0], new];
    if bias.is_some() || !shift.is(0.0) {
        let shift = shift.to_tensor(elem, &[n_channels]).ok_or("the element type is not supported")?;
        args.push(cx.constant(shift));
    }
    Ok(cx.call_like(gemm, &args, vec![Attr::new("beta", 1f32)].into_iter().filter(|_| beta != 1.0).collect()))
}

/// `scale2 * (scale * (x - mean) / sqrt(variance + epsilon) + bias) + shift2` is a batch normalisation still.
fn into_batch_norm<'a>(inner: CallView<'a>, outer: &Affine, cx: &mut RewriteCx<'a>) -> Result<NodeId, &'static str> {
    let norm = BatchNorm::of(inner, cx)?;
    let [scale, bias, ..] = &norm.params;
    let new_scale = scale.zip(&outer.scale, |a, b| a * b);
    let new_bias = bias.zip(&outer.scale, |a, b| a * b).and_then(|bias| bias.zip(&outer.shift, |a, b| a + b));
    let mut args = inner.args().to_vec();
    for (at, value) in [(1, new_scale), (2, new_bias)] {
        let value = value.filter(|value| value.fits(norm.n_channels)).ok_or("the numbers of channels differ")?;
        let tensor = value.to_tensor(norm.elem, &[norm.n_channels]).ok_or("the element type is not supported")?;
        args[at] = cx.constant(tensor);
    }
    Ok(cx.call_like(inner, &args, Vec::new()))
}

/// Two multiplications, or two additions, by constants are one.
fn into_arithmetic<'a>(inner: CallView<'a>, outer: &Affine, cx: &mut RewriteCx<'a>) -> Result<NodeId, &'static str> {
    let rank = rank(inner.id, cx).ok_or("the rank is not known")?;
    let affine = arithmetic(inner, |value| self::rank(value, cx).or(Some(rank)), cx).ok_or("nothing to fold into")?;
    let elem = cx.type_of(inner.id).elem().ok_or("the element type is not known")?;
    let (name, combined) = if outer.shift.is(0.0) {
        if !affine.shift.is(0.0) {
            return Err("a sum is not folded into a product");
        }
        ("Mul", affine.scale.zip(&outer.scale, |a, b| a * b))
    } else {
        if !affine.scale.is(1.0) {
            return Err("a product is not folded into a sum");
        }
        ("Add", affine.shift.zip(&outer.shift, |a, b| a + b))
    };
    let combined = combined.ok_or("the numbers of channels differ")?;
    let constant = match &combined {
        PerChannel::Uniform(_) => combined.to_tensor(elem, &[]),
        PerChannel::Each(values) => {
            let mut dims = vec![1; rank - 1];
            dims[0] = values.len() as u64;
            combined.to_tensor(elem, &dims)
        }
    };
    let constant = cx.constant(constant.ok_or("the element type is not supported")?);
    Ok(cx.call(name, &[affine.input, constant]))
}

/// A batch normalisation of scaled and shifted values takes scale and shift into its own: with a mean of zero,
/// `scale * factor` and `bias + scale * (shift - mean) / sqrt(variance + epsilon)`.
fn absorb(norm_call: CallView<'_>, inner: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
    if cx.n_uses(inner.id) != 1 {
        return Rewrite::decline("the value has a second user");
    }
    let Ok(norm) = BatchNorm::of(norm_call, cx) else { return Rewrite::Keep };
    let Ok(outer) = norm.affine(inner.id) else { return Rewrite::Keep };
    let Some(affine) = arithmetic(inner, |value| rank(value, cx), cx) else { return Rewrite::Keep };
    let [scale, ..] = &norm.params;
    let new_bias = affine.shift.zip(&outer.scale, |t, s| t * s).and_then(|moved| moved.zip(&outer.shift, |a, b| a + b));
    let new = [scale.zip(&affine.scale, |a, b| a * b), new_bias, Some(PerChannel::Uniform(0.0))];
    let mut args = norm_call.args().to_vec();
    args[0] = affine.input;
    for (at, value) in new.into_iter().enumerate() {
        let tensor = value
            .filter(|value| value.fits(norm.n_channels))
            .and_then(|value| value.to_tensor(norm.elem, &[norm.n_channels]));
        let Some(tensor) = tensor else { return Rewrite::decline("the numbers of channels differ") };
        args[at + 1] = cx.constant(tensor);
    }
    Rewrite::Replace(cx.call_like(norm_call, &args, Vec::new()))
}

fn weights(call: CallView<'_>) -> Result<&Tensor, &'static str> {
    call.arg(1).and_then(|weights| call.owner().constant(weights)).ok_or("the weights are not constant")
}

fn run(n_elements: u64, n_runs: u64) -> u64 {
    n_elements.checked_div(n_runs).unwrap_or(0)
}

/// The weights, each multiplied by the factor of the channel of its run.
fn scale_weights<'a>(
    call: CallView<'a>,
    weights: &Tensor,
    outer: &Affine,
    n_channels: u64,
    run: u64,
    channel: impl Fn(u64) -> usize,
    cx: &mut RewriteCx<'a>,
) -> Result<NodeId, &'static str> {
    if !outer.scale.fits(n_channels) || !outer.shift.fits(n_channels) {
        return Err("the numbers of channels differ");
    }
    if outer.scale.is(1.0) {
        return Ok(call.args()[1]);
    }
    let is_shared = cx.n_uses(call.args()[1]) > 1;
    let is_splat = weights.as_splat().is_some();
    let stays_splat = is_splat && matches!(outer.scale, PerChannel::Uniform(_));
    if weights.byte_len() > SMALL && !stays_splat && (is_shared || is_splat) {
        return Err("the scaled weights would take more room");
    }
    let new = scaled(weights, run, &outer.scale, channel).ok_or("the element type is not supported")?;
    Ok(cx.constant(new))
}

/// The convolution with new weights, and with its bias scaled and shifted.
fn with_bias<'a>(
    conv: CallView<'a>,
    weights: NodeId,
    n_channels: u64,
    outer: &Affine,
    cx: &mut RewriteCx<'a>,
) -> Result<NodeId, &'static str> {
    let elem = cx.tensor(conv.args()[1]).map_or(ElemType::UNKNOWN, Tensor::elem);
    let old = match conv.arg(2) {
        None => PerChannel::Uniform(0.0),
        Some(bias) => {
            let bias = cx.tensor(bias).ok_or("the bias is not constant")?;
            PerChannel::of_vector(bias)
                .filter(|bias| bias.fits(n_channels))
                .ok_or("the bias is not one for each channel")?
        }
    };
    let new = old.zip(&outer.scale, |b, s| b * s).and_then(|bias| bias.zip(&outer.shift, |b, t| b + t));
    let new = new.ok_or("the numbers of channels differ")?;
    let mut args = vec![conv.args()[0], weights];
    if conv.arg(2).is_some() || !new.is(0.0) {
        args.push(cx.constant(new.to_tensor(elem, &[n_channels]).ok_or("the element type is not supported")?));
    }
    Ok(cx.call_like(conv, &args, Vec::new()))
}
