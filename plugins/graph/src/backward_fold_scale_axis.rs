//! Folds scale and shift for each channel into the convolution or product of matrices before it, and into each other.
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
//! A batch normalisation in inference, and `Mul`, `Div`, `Add` and `Sub` with a constant for each channel, are folded
//! into a `Conv`, `ConvTranspose`, `Gemm` or `MatMul` of constant weights, another batch normalisation, or another
//! such `Mul` or `Add`. The value between must have no other user and be in the same block.
//!
//! Results differ by rounding: weights are multiplied in double precision and rounded once. Where all partial sums, before
//! and after, stay below M/256, M being the largest finite number of the element type, a result that is a sum of n terms
//! differs by at most 4 u (n sum|w x s| + |b s| + |t|), where u is the type's unit roundoff, and what underflow takes;
//! `docs/numbers.md` says it in full. The pass declines, with a remark:
//!
//! - weights or biases that, scaled, come nearer to M than that, or whose largest is below the least normal number;
//! - two factors of which one is above 1 and the other below, in half precision, or where the first of them is far from 1;
//! - two summands, unless they are integers, which wrap: `x + 1e8 - 1e8` is not `x`. `reassociate = true` folds them.
//!
//! Large weights that others use too stay as they are, and so do weights that would take more room scaled than not.

use crate::{
    affine::{Affine, Arithmetic, BatchNorm, Channels, Layout, PerChannel, Rows, biased, scaled, takes_more_room},
    combine::{Sums, combine},
    numbers::{Limits, is_of_onnx, magnitude},
};
use relais_plugin_api::prelude::*;

/// Options of `BackwardFoldScaleAxis`.
#[derive(PassOptions)]
pub struct BackwardFoldScaleAxisOptions {
    /// Whether `x + c1 + c2` of floating-point numbers becomes `x + c`, which may change results by any amount.
    #[option(default = false)]
    pub reassociate: bool,
}

/// Folds scale and shift for each channel into the producer of the value.
#[rewrite_pass(
    name = "relais.BackwardFoldScaleAxis",
    aliases = ["relay._transform.BackwardFoldScaleAxis"],
    opt_level = 3,
    required = ["relais.InferType"],
    ops = ["BatchNormalization", "Mul", "Div", "Add", "Sub"],
)]
pub fn backward_fold_scale_axis(
    call: CallView<'_>,
    cx: &mut RewriteCx<'_>,
    options: &BackwardFoldScaleAxisOptions,
) -> Rewrite {
    let outer = match Outer::of(call, cx) {
        Some(outer) => outer,
        None => return Rewrite::Keep,
    };
    let Some(producer) = cx.call_of(outer.input()) else { return Rewrite::Keep };
    if !is_of_onnx(producer.owner(), producer) {
        return Rewrite::Keep;
    }
    let sums = if options.reassociate { Sums::Reassociate } else { Sums::Keep };
    let fold = match (producer.op_name(), outer) {
        ("Conv", _) => Fold::Into(into_conv),
        ("ConvTranspose", _) => Fold::Into(into_conv_transpose),
        ("Gemm", _) => Fold::Into(into_gemm),
        ("MatMul", _) => Fold::Into(into_mat_mul),
        ("BatchNormalization", _) => Fold::Into(into_batch_norm),
        (_, Outer::Arithmetic(outer)) => match Arithmetic::of(producer, cx) {
            Some(inner) if inner.action.is_product() && outer.action.is_product() => Fold::Combine(inner, outer),
            Some(inner) if inner.action.is_sum() && outer.action.is_sum() => Fold::Combine(inner, outer),
            _ => return Rewrite::Keep,
        },
        (_, Outer::Norm(_)) => match Arithmetic::of(producer, cx) {
            Some(inner) => Fold::Absorb(inner),
            None => return Rewrite::Keep,
        },
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
    let folded = match fold {
        Fold::Into(fold) => outer.affine(call, producer, cx).and_then(|affine| fold(producer, &affine, cx)),
        Fold::Combine(inner, outer) => combine(inner, outer, sums, cx),
        Fold::Absorb(inner) => absorb(call, inner, cx),
    };
    folded.map_or_else(Rewrite::decline, Rewrite::Replace)
}

/// The call that scales and shifts.
#[derive(Clone, Copy)]
enum Outer {
    Norm(NodeId),
    Arithmetic(Arithmetic),
}

impl Outer {
    fn of(call: CallView<'_>, cx: &RewriteCx<'_>) -> Option<Self> {
        match call.is_op("BatchNormalization") {
            true => call.arg(0).map(Self::Norm),
            false => Arithmetic::of(call, cx).map(Self::Arithmetic),
        }
    }

    fn input(self) -> NodeId {
        match self {
            Self::Norm(input) => input,
            Self::Arithmetic(arithmetic) => arithmetic.input,
        }
    }

    fn affine(self, call: CallView<'_>, producer: CallView<'_>, cx: &RewriteCx<'_>) -> Result<Affine, &'static str> {
        match self {
            Self::Norm(input) => BatchNorm::of(call, cx)?.affine(input),
            Self::Arithmetic(arithmetic) => {
                arithmetic.affine(layout(producer, cx).ok_or("the rank of the value is not known")?, cx)
            }
        }
    }
}

/// How it is folded.
enum Fold {
    Into(for<'a> fn(CallView<'a>, &Affine, &mut RewriteCx<'a>) -> Result<NodeId, &'static str>),
    Combine(Arithmetic, Arithmetic),
    Absorb(Arithmetic),
}

/// The layout of a call's result, from its type or from the constants that the call has.
fn layout(call: CallView<'_>, cx: &RewriteCx<'_>) -> Option<Layout> {
    let typed = cx.type_of(call.id).shape().map(Layout::of);
    if let Some(Layout { n_channels: Some(_), .. }) = typed {
        return typed;
    }
    let dims = |arg: usize| cx.tensor(call.arg(arg)?).map(Tensor::dims);
    let told = match call.op_name() {
        "Conv" => dims(1).map(|dims| Layout { rank: dims.len(), n_channels: dims.first().copied() }),
        "ConvTranspose" => dims(1).map(|dims| {
            let n_groups = cx.attrs(call).int("group").and_then(|n| u64::try_from(n).ok());
            let n_channels = dims.get(1).zip(n_groups).and_then(|(&n, groups)| n.checked_mul(groups));
            Layout { rank: dims.len(), n_channels }
        }),
        "Gemm" => dims(1).map(|dims| {
            let at = cx.attrs(call).int("transB").map(|is_transposed| usize::from(is_transposed == 0));
            Layout { rank: 2, n_channels: at.and_then(|at| dims.get(at).copied()) }
        }),
        "BatchNormalization" => {
            typed.map(|typed| Layout { n_channels: dims(1).and_then(|dims| dims.first().copied()), ..typed })
        }
        _ => None,
    };
    told.or(typed)
}

fn into_conv<'a>(conv: CallView<'a>, outer: &Affine, cx: &mut RewriteCx<'a>) -> Result<NodeId, &'static str> {
    let weights = weights(conv)?;
    let &[n_channels, ..] = weights.dims() else { return Err("the weights are a scalar") };
    let rows = Rows { len: per(weights.len(), n_channels), each: 1 };
    let new = scale_weights(conv, weights, outer, n_channels, rows, Channels::One, cx)?;
    with_bias(conv, new, n_channels, outer, cx)
}

fn into_conv_transpose<'a>(conv: CallView<'a>, outer: &Affine, cx: &mut RewriteCx<'a>) -> Result<NodeId, &'static str> {
    let weights = weights(conv)?;
    let &[n_inputs, per_group, ..] = weights.dims() else { return Err("the weights have too few dimensions") };
    let n_groups =
        cx.attrs(conv).int("group").and_then(|n| u64::try_from(n).ok()).filter(|&n| n > 0 && n_inputs % n == 0);
    let n_groups = n_groups.ok_or("the number of groups does not divide the channels")?;
    let n_channels = per_group.checked_mul(n_groups).ok_or("there are too many channels")?;
    let rows = Rows { len: per(weights.len(), n_inputs), each: per(weights.len(), n_inputs.saturating_mul(per_group)) };
    let inputs_per_group = (n_inputs / n_groups).max(1);
    let channels = |input: usize| Channels::From((input as u64 / inputs_per_group * per_group) as usize);
    let new = scale_weights(conv, weights, outer, n_channels, rows, channels, cx)?;
    with_bias(conv, new, n_channels, outer, cx)
}

fn into_gemm<'a>(gemm: CallView<'a>, outer: &Affine, cx: &mut RewriteCx<'a>) -> Result<NodeId, &'static str> {
    let weights = weights(gemm)?;
    let &[n_rows, columns] = weights.dims() else { return Err("the weights are not a matrix") };
    let attrs = cx.attrs(gemm);
    let is_transposed = attrs.int("transB").ok_or("it is not known whether the weights are transposed")? != 0;
    let n_channels = if is_transposed { n_rows } else { columns };
    let rows = Rows { len: columns, each: 1 };
    let channels = move |row: usize| if is_transposed { Channels::One(row) } else { Channels::From(0) };
    let beta = f64::from(attrs.float("beta").ok_or("`beta` is not known")?);
    let bias = match gemm.arg(2) {
        None => None,
        Some(bias) => {
            let bias = cx.tensor(bias).ok_or("the bias is not constant")?;
            Some(PerChannel::of_constant(bias, Layout { rank: 2, n_channels: Some(n_channels) })?)
        }
    };
    let elem = weights.elem();
    let new = scale_weights(gemm, weights, outer, n_channels, rows, channels, cx)?;
    let old = bias.as_ref().map_or(PerChannel::Uniform(0.0), |bias| bias.map(|b| beta * b));
    let shift = biased(Limits::of(elem)?, &old, outer)?;
    let mut args = vec![gemm.args()[0], new];
    if bias.is_some() || !shift.is(0.0) {
        let shift = shift.to_tensor(elem, &[n_channels]).ok_or("the element type is not supported")?;
        args.push(cx.constant(shift));
    }
    Ok(cx.call_like(gemm, &args, vec![Attr::new("beta", 1f32)].into_iter().filter(|_| beta != 1.0).collect()))
}

/// A product of matrices with a bias is a `Gemm`.
fn into_mat_mul<'a>(product: CallView<'a>, outer: &Affine, cx: &mut RewriteCx<'a>) -> Result<NodeId, &'static str> {
    let weights = weights(product)?;
    let &[_, columns] = weights.dims() else { return Err("the weights are not a matrix") };
    let input = product.arg(0).ok_or("inputs are missing")?;
    let is_matrix = cx.type_of(input).shape().is_some_and(|shape| shape.len() == 2);
    let is_uniform = outer.scale.n().is_none() && outer.shift.is(0.0);
    if !is_matrix && !is_uniform {
        return Err("the input is not a matrix");
    }
    let elem = weights.elem();
    let shift = biased(Limits::of(elem)?, &PerChannel::Uniform(0.0), outer)?;
    if !shift.is(0.0) && (elem == ElemType::BFLOAT16 || cx.opset() < 7) {
        return Err("there is no `Gemm` of this element type, or in this version");
    }
    let rows = Rows { len: columns, each: 1 };
    let new = scale_weights(product, weights, outer, columns, rows, |_| Channels::From(0), cx)?;
    if shift.is(0.0) {
        return Ok(cx.call_like(product, &[input, new], Vec::new()));
    }
    let bias = shift.to_tensor(elem, &[columns]).ok_or("the element type is not supported")?;
    let bias = cx.constant(bias);
    Ok(cx.call("Gemm", &[input, new, bias]))
}

/// `scale2 * (scale * (x - mean) / sqrt(variance + epsilon) + bias) + shift2` is a batch normalisation still.
fn into_batch_norm<'a>(inner: CallView<'a>, outer: &Affine, cx: &mut RewriteCx<'a>) -> Result<NodeId, &'static str> {
    let norm = BatchNorm::of(inner, cx)?;
    let limits = Limits::of(norm.elem)?;
    let [scale, bias, ..] = &norm.params;
    let new = [scaled_each(limits, scale, &outer.scale)?, biased(limits, bias, outer)?];
    let mut args = inner.args().to_vec();
    for (at, value) in new.into_iter().enumerate() {
        args[at + 1] = parameter(&value, norm.n_channels, norm.elem, cx)?;
    }
    Ok(cx.call_like(inner, &args, Vec::new()))
}

/// A batch normalisation of scaled and shifted values takes scale and shift into its own: with a mean of zero,
/// `scale * factor` and `bias + scale * (shift - mean) / sqrt(variance + epsilon)`.
fn absorb(norm_call: CallView<'_>, inner: Arithmetic, cx: &mut RewriteCx<'_>) -> Result<NodeId, &'static str> {
    let norm = BatchNorm::of(norm_call, cx)?;
    let outer = norm.affine(inner.input)?;
    let layout = cx.type_of(inner.input).shape().map(Layout::of).ok_or("the rank of the value is not known")?;
    let affine = inner.affine(layout, cx)?;
    let limits = Limits::of(norm.elem)?;
    let [scale, ..] = &norm.params;
    // The total factor of the values, and the part of it that is kept as a parameter.
    scaled_each(limits, &affine.scale, &outer.scale)?;
    let new_scale = scaled_each(limits, scale, &affine.scale)?;
    let new_bias = biased(limits, &affine.shift, &outer)?;
    let mut args = norm_call.args().to_vec();
    args[0] = inner.input;
    args[1] = parameter(&new_scale, norm.n_channels, norm.elem, cx)?;
    args[2] = parameter(&new_bias, norm.n_channels, norm.elem, cx)?;
    args[3] = parameter(&PerChannel::Uniform(0.0), norm.n_channels, norm.mean_elem, cx)?;
    Ok(cx.call_like(norm_call, &args, Vec::new()))
}

/// N3, with one weight for each channel.
fn scaled_each(limits: Limits, weights: &PerChannel, scale: &PerChannel) -> Result<PerChannel, &'static str> {
    let largest = weights.zip(scale, magnitude).ok_or("the numbers of channels differ")?;
    match &largest {
        PerChannel::Uniform(largest) => limits.weights(*largest)?,
        PerChannel::Each(each) => each.iter().try_for_each(|&largest| limits.weights(largest))?,
    }
    weights.zip(scale, |w, s| w * s).ok_or("the numbers of channels differ")
}

/// A parameter of a batch normalisation.
fn parameter(
    value: &PerChannel,
    n_channels: u64,
    elem: ElemType,
    cx: &mut RewriteCx<'_>,
) -> Result<NodeId, &'static str> {
    if !value.fits(n_channels) {
        return Err("the numbers of channels differ");
    }
    let tensor = value.to_tensor(elem, &[n_channels]).ok_or("the element type is not supported")?;
    Ok(cx.constant(tensor))
}

fn weights(call: CallView<'_>) -> Result<&Tensor, &'static str> {
    call.arg(1).and_then(|weights| call.owner().constant(weights)).ok_or("the weights are not constant")
}

fn per(n_elements: u64, n: u64) -> u64 {
    n_elements.checked_div(n).unwrap_or(0)
}

/// The weights, each multiplied by the factor of the channel of the result that it is for.
fn scale_weights<'a>(
    call: CallView<'a>,
    weights: &Tensor,
    outer: &Affine,
    n_channels: u64,
    rows: Rows,
    channels: impl Fn(usize) -> Channels,
    cx: &mut RewriteCx<'a>,
) -> Result<NodeId, &'static str> {
    if !outer.scale.fits(n_channels) || !outer.shift.fits(n_channels) {
        return Err("the numbers of channels differ");
    }
    if outer.scale.is(1.0) {
        return Ok(call.args()[1]);
    }
    if takes_more_room(weights, &outer.scale, cx.n_uses(call.args()[1]) > 1) {
        return Err("the scaled weights would take more room");
    }
    let new = scaled(weights, rows, &outer.scale, n_channels, |row| (channels(row), channels(row)))?;
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
    let new = biased(Limits::of(elem)?, &old, outer)?;
    let mut args = vec![conv.args()[0], weights];
    if conv.arg(2).is_some() || !new.is(0.0) {
        args.push(cx.constant(new.to_tensor(elem, &[n_channels]).ok_or("the element type is not supported")?));
    }
    Ok(cx.call_like(conv, &args, Vec::new()))
}
