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
//! Parameters must be constant and the rank of the input known.

use crate::affine::{BatchNorm, PerChannel};
use relais_plugin_api::prelude::*;

/// Expands batch normalisation, and drops dropout, in inference.
#[rewrite_pass(
    name = "relay._transform.SimplifyInference",
    opt_level = 0,
    required = ["InferType"],
    ops = ["BatchNormalization", "Dropout"],
)]
pub fn simplify_inference(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
    let Some(input) = call.arg(0) else { return Rewrite::Keep };
    if call.is_op("Dropout") {
        return crate::eliminate_no_op::dropout(call, input, cx);
    }
    let (norm, affine) = match BatchNorm::of(call, cx).and_then(|norm| Ok((norm.affine(input)?, norm))) {
        Ok((affine, norm)) => (norm, affine),
        Err(reason) => return Rewrite::decline(reason),
    };
    let Some(rank) = cx.type_of(input).shape().map(<[DimRec]>::len).filter(|&rank| rank >= 2) else {
        return Rewrite::decline("the rank of the input is not known");
    };
    let mut dims = vec![1; rank - 1];
    dims[0] = norm.n_channels;
    let constant = |value: &PerChannel| value.to_tensor(norm.elem, &dims);
    let (Some(factor), Some(shift)) = (constant(&affine.scale), constant(&affine.shift)) else {
        return Rewrite::decline("the element type is not supported");
    };
    let (factor, shift) = (cx.constant(factor), cx.constant(shift));
    let product = cx.call("Mul", &[input, factor]);
    Rewrite::Replace(cx.call("Add", &[product, shift]))
}
