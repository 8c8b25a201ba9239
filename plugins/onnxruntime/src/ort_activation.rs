//! Activations that are written out become operators of onnxruntime.
//!
//! ```text
//! %1 = Mul(%x, 1.702);
//! %2 = Sigmoid(%1);
//! %3 = Mul(%x, %2);
//! ```
//! becomes
//! ```text
//! %3 = com.microsoft::QuickGelu(%x, alpha = 1.702);
//! ```
//!
//! `QuickGelu` is also made of `x * Sigmoid(x)`, `Gelu` of its definition by `Erf`, `FastGelu` of that by `Tanh`. One that is
//! added before becomes part of `BiasGelu` and `FastGelu`. Where ONNX has an operator itself, `FuseActivation` makes that.
//! Results are rounded differently at most.

use relais_plugin_api::{
    pattern::{Matched, Unmet},
    prelude::*,
};

/// Makes `Gelu`, `BiasGelu`, `FastGelu` and `QuickGelu` of onnxruntime.
#[rule_pass(
    name = "relais.OrtActivation",
    opt_level = 2,
    runtime = "onnxruntime",
    required = ["relais.InferType"],
    conditions = [is_cube],
    samples(
        tanh_of_half = include_str!("samples/tanh_of_half.relay"),
        tanh = include_str!("samples/tanh.relay"),
        tanh_of_half_weight = include_str!("samples/tanh_of_half_weight.relay"),
    )
)]
const ORT_ACTIVATION: &str = "
    erf: @9 Mul(Mul(x, Add((Erf(Div(x, 1.4142135623730951)) | Erf(Mul(x, 0.7071067811865476))), 1.0)), 0.5)
        => com.microsoft::Gelu(x) if elem(x) == float32;
    erf_of_half: @9 Mul(Mul(x, 0.5), Add((Erf(Div(x, 1.4142135623730951)) | Erf(Mul(x, 0.7071067811865476))), 1.0))
        => com.microsoft::Gelu(x) if elem(x) == float32;
    erf_of_half_weight: @9 Mul(x, Mul(Add((Erf(Div(x, 1.4142135623730951)) | Erf(Mul(x, 0.7071067811865476))), 1.0), 0.5))
        => com.microsoft::Gelu(x) if elem(x) == float32;
    tanh_of_half: @7 Mul(Mul(x, 0.5), Add(Tanh(Mul(Add(x, Mul(cube, 0.044715)), 0.7978845608028654)), 1.0))
        => com.microsoft::FastGelu(x) if elem(x) == float32, is_cube(cube, x);
    tanh: @7 Mul(Mul(x, Add(Tanh(Mul(Add(x, Mul(cube, 0.044715)), 0.7978845608028654)), 1.0)), 0.5)
        => com.microsoft::FastGelu(x) if elem(x) == float32, is_cube(cube, x);
    tanh_of_half_weight: @7 Mul(x, Mul(Add(Tanh(Mul(Add(x, Mul(cube, 0.044715)), 0.7978845608028654)), 1.0), 0.5))
        => com.microsoft::FastGelu(x) if elem(x) == float32, is_cube(cube, x);
    sigmoid: @7 Mul(x, Sigmoid(x)) => com.microsoft::QuickGelu{alpha = 1.0}(x) if elem(x) == float32;
    scaled_sigmoid: @7 Mul(x, Sigmoid(Mul(x, const a))) => com.microsoft::QuickGelu{alpha = a}(x)
        if elem(x) == float32, rank(a) == 0, finite(a);
    bias: (com.microsoft::Gelu(Add(x, const b))) => com.microsoft::BiasGelu(x, b)
        if elem(x) == float32, rank(b) == 1, rank(x) > 0, dim(x, -1) == dim(b, 0);
    bias_of_onnx: @20 Gelu(Add(x, const b)) => com.microsoft::BiasGelu(x, b)
        if elem(x) == float32, rank(b) == 1, rank(x) > 0, dim(x, -1) == dim(b, 0);
    fast_bias: (com.microsoft::FastGelu(Add(x, const b))) => com.microsoft::FastGelu(x, b)
        if elem(x) == float32, rank(b) == 1, rank(x) > 0, dim(x, -1) == dim(b, 0);
    fast_bias_of_onnx: @20 Gelu{approximate = \"tanh\"}(Add(x, const b)) => com.microsoft::FastGelu(x, b)
        if elem(x) == float32, rank(b) == 1, rank(x) > 0, dim(x, -1) == dim(b, 0)
";

/// Whether a value is the third power of another one: by `Pow`, or by two products.
fn is_cube(found: &Matched<'_>, cx: &RewriteCx<'_>) -> Result<(), Unmet> {
    let (cube, x) = (found.value(0)?, found.value(1)?);
    let args = |value: NodeId, op: &str| {
        let call = cx.call_of_op(value, op)?;
        Some([call.arg(0)?, call.arg(1)?])
    };
    let is_power = args(cube, "Pow").is_some_and(|[base, exponent]| {
        base == x && cx.tensor(exponent).is_some_and(|power| power.dims().is_empty() && power.to_f64() == Some(3.0))
    });
    let is_square = |value: NodeId| args(value, "Mul") == Some([x, x]);
    let is_product = args(cube, "Mul").is_some_and(|[a, b]| (a == x && is_square(b)) || (b == x && is_square(a)));
    match is_power || is_product {
        true => Ok(()),
        false => Err("it is another value".into()),
    }
}
