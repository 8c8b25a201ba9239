//! Activations that are written out become the operator that ONNX has for them.
//!
//! ```text
//! %1 = Div(%x, 1.4142135);
//! %2 = Erf(%1);
//! %3 = Add(%2, 1.0);
//! %4 = Mul(%x, %3);
//! %5 = Mul(%4, 0.5);
//! ```
//! becomes
//! ```text
//! %5 = Gelu(%x);
//! ```
//!
//! The operators are `HardSwish` (from version 14 on), `Mish` (18) and `Gelu` in both of its forms (20). The
//! calls are those by which the standard defines the operator, except that constant factors are in other places. Results
//! may be rounded differently, as `docs/numbers.md` says. Constants must be those of the definition as the element type
//! holds them: `1.414` is not the root of two in `float32`. Activations of doubles stay, because runtimes have no operators
//! for them. `FuseSwish` makes `Swish`, which onnxruntime computes more slowly than the calls that it stands for.

use relais_plugin_api::prelude::*;

/// Makes `Gelu`, `HardSwish` and `Mish` of calls that compute them.
#[rule_pass(name = "relais.FuseActivation", opt_level = 2, required = ["relais.InferType"])]
const FUSE_ACTIVATION: &str = "
    gelu: @20 Mul(Mul(x, Add((Erf(Div(x, 1.4142135623730951)) | Erf(Mul(x, 0.7071067811865476))), 1.0)), 0.5) => Gelu(x)
        if elem(x) in {float16, float32};
    gelu_of_half: @20 Mul(Mul(x, 0.5), Add((Erf(Div(x, 1.4142135623730951)) | Erf(Mul(x, 0.7071067811865476))), 1.0))
        => Gelu(x) if elem(x) in {float16, float32};
    gelu_of_half_weight: @20 Mul(x, Mul(Add((Erf(Div(x, 1.4142135623730951)) | Erf(Mul(x, 0.7071067811865476))), 1.0), 0.5))
        => Gelu(x) if elem(x) in {float16, float32};
    tanh_gelu_of_half: @20 Mul(Mul(x, 0.5), Add(Tanh(Mul(Add(x, Mul(Pow(x, 3), 0.044715)), 0.7978845608028654)), 1.0))
        => Gelu{approximate = \"tanh\"}(x) if elem(x) in {float16, float32};
    tanh_gelu: @20 Mul(Mul(x, Add(Tanh(Mul(Add(x, Mul(Pow(x, 3), 0.044715)), 0.7978845608028654)), 1.0)), 0.5)
        => Gelu{approximate = \"tanh\"}(x) if elem(x) in {float16, float32};
    tanh_gelu_of_half_weight: @20 Mul(x, Mul(Add(Tanh(Mul(Add(x, Mul(Pow(x, 3), 0.044715)), 0.7978845608028654)), 1.0),
        0.5)) => Gelu{approximate = \"tanh\"}(x) if elem(x) in {float16, float32};
    hard_swish: @14 Mul(x, HardSigmoid{alpha = 0.16666667, beta = 0.5}(x)) => HardSwish(x)
        if elem(x) in {float16, float32};
    hard_swish_in_steps: @14 (Div(Mul(x, Clip(Add(x, 3.0), 0.0, 6.0)), 6.0) | Mul(Mul(x, Clip(Add(x, 3.0), 0.0, 6.0)),
        0.16666666666666666)) => HardSwish(x) if elem(x) in {float16, float32};
    hard_swish_by_weight: @14 Mul(x, (Div(Clip(Add(x, 3.0), 0.0, 6.0), 6.0) | Mul(Clip(Add(x, 3.0), 0.0, 6.0),
        0.16666666666666666))) => HardSwish(x) if elem(x) in {float16, float32};
    mish: @18 Mul(x, Tanh(Softplus(x))) => Mish(x) if elem(x) in {float16, float32}
";
