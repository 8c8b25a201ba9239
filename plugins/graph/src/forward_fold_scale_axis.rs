//! Folds a scale for each channel into the convolution or matrix product after it.
//!
//! ```text
//! %0 = Mul(%x, const(float32, 0.5));
//! %1 = Conv(%0, %w, %b);
//! ```
//! becomes
//! ```text
//! %1 = Conv(%x, %w1, %b);
//! ```
//!
//! A `Mul` or `Div` by one constant, or by one for each channel, goes into the constant weights of a `Conv`, `MatMul` or
//! `Gemm` that is its only user. Attention, written out, has such factors, behind calls into which
//! `BackwardFoldScaleAxis` cannot fold.
//!
//! The half of a `Gelu` that is written out, and the scale of a value that is divided by the root of its mean square, stay:
//! onnxruntime and others compute these calls as one, and take longer for what is left of them.
//!
//! Rounding, the limits of element types and large weights are treated as `BackwardFoldScaleAxis` does.

use crate::{
    affine::{Arithmetic, Channels, Layout, PerChannel, Rows, scaled, takes_more_room},
    numbers::is_of_onnx,
};
use relais_plugin_api::{ir::DimRec, prelude::*};

/// Folds a scale for each channel into the call that uses the value.
#[rewrite_pass(
    name = "relais.ForwardFoldScaleAxis",
    aliases = ["relay._transform.ForwardFoldScaleAxis"],
    opt_level = 3,
    required = ["relais.InferType"],
    ops = ["Conv", "MatMul", "Gemm"],
)]
pub fn forward_fold_scale_axis(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
    let product = call.arg(0).and_then(|arg| cx.call_of(arg)).filter(|it| is_of_onnx(it.owner(), *it));
    let product = product.and_then(|product| Arithmetic::of(product, cx)).filter(|it| it.action.is_product());
    match product {
        Some(_) if cx.n_uses(call.args()[0]) != 1 => Rewrite::decline("the scaled value has a second user"),
        Some(product) => fold(call, product, cx).map_or_else(Rewrite::decline, Rewrite::Replace),
        None => Rewrite::Keep,
    }
}

/// The call with scaled weights, and without the product before it.
fn fold(call: CallView<'_>, product: Arithmetic, cx: &mut RewriteCx<'_>) -> Result<NodeId, &'static str> {
    let weights = call.arg(1).and_then(|weights| cx.tensor(weights)).ok_or("the weights are not constant")?;
    let places = Places::of(call, weights, cx)?;
    let rank = cx.type_of(product.input).shape().map(<[DimRec]>::len);
    if rank.is_none_or(|rank| rank < places.layout.rank) {
        return Err("the rank of the value is not known, or too low");
    }
    let constant = cx.tensor(product.constant).ok_or("the operand is not constant")?;
    let factor = PerChannel::of_constant(constant, places.layout)?.map(|c| product.action.number(c));
    if !factor.is_finite() {
        return Err("the constant is not finite");
    }
    if let Some(whole) = last_step_of(&product, &factor, cx) {
        return Err(whole);
    }
    if places.is_uniform && factor.n().is_some() {
        return Err("the factors are along another axis");
    }
    if takes_more_room(weights, &factor, cx.n_uses(call.args()[1]) > 1) {
        return Err("the scaled weights would take more room");
    }
    let new = scaled(weights, places.rows, &factor, places.n_results, |row| places.of_row(row))?;
    let mut args = call.args().to_vec();
    args[0] = product.input;
    args[1] = cx.constant(new);
    Ok(cx.call_like(call, &args, Vec::new()))
}

/// Why a product stays that is the last one of calls which runtimes compute at once.
fn last_step_of(product: &Arithmetic, factor: &PerChannel, cx: &RewriteCx<'_>) -> Option<&'static str> {
    let before = cx.call_of(product.input)?;
    let has_arg = |call: CallView<'_>, is_it: &dyn Fn(CallView<'_>) -> bool| {
        call.args().iter().filter_map(|&arg| cx.call_of(arg)).any(is_it)
    };
    let is_root = |call: CallView<'_>| call.is_op("Sqrt");
    let is_divided = |call: CallView<'_>| call.is_op("Div") && has_arg(call, &is_root);
    let is_inverse = |call: CallView<'_>| call.is_op("Reciprocal") && has_arg(call, &is_root) || is_divided(call);
    let is_step = |call: CallView<'_>| call.is_op("Erf") || call.is_op("Tanh");
    let is_weight = |call: CallView<'_>| call.is_op("Add") && has_arg(call, &is_step);
    if *factor == PerChannel::Uniform(0.5) && before.is_op("Mul") && has_arg(before, &is_weight) {
        return Some("it is the half of a `Gelu`, which runtimes compute at once");
    }
    let is_normal = is_divided(before) || before.is_op("Mul") && has_arg(before, &is_inverse);
    is_normal.then_some("it is the scale of a normalization, which runtimes compute at once")
}

/// The positions of the channels of argument and result among the weights.
struct Places {
    /// Of the argument, as far as its channels are concerned.
    layout: Layout,
    rows: Rows,
    /// The number of channels of the result.
    n_results: u64,
    /// Whether a row of weights belongs to one channel of the result, and not of the argument.
    is_row_of_result: bool,
    /// In a convolution, the channels of argument and result that each group has.
    per_group: (u64, u64),
    /// Whether the factor must be the same for all channels.
    is_uniform: bool,
}

impl Places {
    fn of(call: CallView<'_>, weights: &Tensor, cx: &RewriteCx<'_>) -> Result<Self, &'static str> {
        let attrs = cx.attrs(call);
        let is_set = |name| attrs.int(name).map(|value| value != 0).ok_or("an attribute is not known");
        let dims = weights.dims();
        let (&[first, second, ..], Some((&last, before))) = (dims, dims.split_last()) else {
            return Err("the weights have too few dimensions");
        };
        let matrix = |is_row_of_result: bool, n_arguments: u64, n_results: u64, is_uniform: bool| Self {
            layout: Layout { rank: 2, n_channels: Some(n_arguments) },
            rows: Rows { len: last, each: 1 },
            n_results,
            is_row_of_result,
            per_group: (n_arguments, n_results),
            is_uniform,
        };
        match call.op_name() {
            "Conv" => {
                let groups =
                    attrs.int("group").and_then(|n| u64::try_from(n).ok()).filter(|&n| n > 0 && first % n == 0);
                let groups = groups.ok_or("the number of groups does not divide the channels")?;
                let each = dims[2..].iter().product();
                Ok(Self {
                    layout: Layout { rank: dims.len(), n_channels: second.checked_mul(groups) },
                    rows: Rows { len: second.saturating_mul(each), each },
                    n_results: first,
                    is_row_of_result: true,
                    per_group: (second, first / groups),
                    is_uniform: false,
                })
            }
            "MatMul" => Ok(matrix(false, before[before.len() - 1], last, false)),
            _ if is_set("transB")? => Ok(matrix(true, second, first, is_set("transA")?)),
            _ => Ok(matrix(false, first, second, is_set("transA")?)),
        }
    }

    /// The channels of the argument and of the result to which a row of weights belongs.
    fn of_row(&self, row: usize) -> (Channels, Channels) {
        let (arguments, results) = (self.per_group.0 as usize, self.per_group.1.max(1) as usize);
        match self.is_row_of_result {
            true => (Channels::From(row / results * arguments), Channels::One(row)),
            // Matrices may be stacked.
            false => (Channels::One(row % arguments.max(1)), Channels::From(0)),
        }
    }
}
