//! A convolution or a product of matrices and the activation after it become one operator of onnxruntime.
//!
//! ```text
//! %1 = Conv(%x, %w, pads = [1, 1, 1, 1]);
//! %2 = Relu(%1);
//! ```
//! becomes
//! ```text
//! %2 = com.microsoft::FusedConv(%x, %w, pads = [1, 1, 1, 1], activation = "Relu");
//! ```
//!
//! `Conv` takes up `Relu`, `Sigmoid`, `Tanh`, `LeakyRelu`, `HardSigmoid` and `Clip` between constants, `Gemm` the first four.
//! The results are the same. Of arguments that are dequantised it stays: runtimes find integer kernels by the operator.

use crate::is_dequantized;
use relais_plugin_api::prelude::*;

/// Makes `FusedConv` and `FusedGemm` of onnxruntime.
#[rewrite_pass(
    name = "relais.OrtFusedActivation",
    opt_level = 2,
    runtime = "onnxruntime",
    required = ["relais.InferType"],
    ops = ["Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid", "Clip"],
)]
pub fn ort_fused_activation(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
    let Some(input) = call.arg(0) else { return Rewrite::Keep };
    let (inner, name) = match (cx.call_of_op(input, "Conv"), cx.call_of_op(input, "Gemm")) {
        (Some(conv), _) => (conv, "FusedConv"),
        (None, Some(gemm)) if matches!(call.op_name(), "Relu" | "Sigmoid" | "Tanh" | "LeakyRelu") => {
            (gemm, "FusedGemm")
        }
        _ => return Rewrite::Keep,
    };
    if cx.n_uses(input) != 1 || !cx.is_in_same_block(input) {
        return Rewrite::decline("something else uses what is computed first");
    }
    if cx.type_of(input).elem() != Some(ElemType::FLOAT) {
        return Rewrite::decline("the element type is not known to be `float32`");
    }
    if inner.args().iter().any(|&arg| is_dequantized(arg, cx)) {
        return Rewrite::decline("an argument is dequantised");
    }
    let Some(params) = params(call, cx) else { return Rewrite::decline("the bounds are not two numbers") };
    let attrs: Option<Vec<Attr>> = inner.attrs().iter().map(|(name, value)| Attr::of(name.to_owned(), value)).collect();
    let Some(mut attrs) = attrs.filter(|_| !inner.attrs().has_refs()) else {
        return Rewrite::decline("an attribute is that of a function");
    };
    attrs.push(Attr::new("activation", call.op_name()));
    match (name, params.as_slice()) {
        (_, []) => {}
        ("FusedGemm", &[alpha, ..]) => attrs.push(Attr::new("activation_alpha", alpha)),
        _ => attrs.push(Attr::new("activation_params", params)),
    }
    Rewrite::Replace(cx.call_in("com.microsoft", name, inner.args(), attrs))
}

/// The numbers on which an activation depends.
fn params(call: CallView<'_>, cx: &RewriteCx<'_>) -> Option<Vec<f32>> {
    let attrs = cx.attrs(call);
    match call.op_name() {
        "LeakyRelu" => Some(vec![attrs.float("alpha")?]),
        "HardSigmoid" => Some(vec![attrs.float("alpha")?, attrs.float("beta")?]),
        // Before version 11, the bounds are attributes.
        "Clip" if cx.opset() < 11 => Some(vec![attrs.float("min")?, attrs.float("max")?]),
        "Clip" => [1, 2].map(|at| cx.tensor(call.arg(at)?)?.to_f64().map(|bound| bound as f32)).into_iter().collect(),
        _ => Some(Vec::new()),
    }
}
