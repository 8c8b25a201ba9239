//! A value times its sigmoid becomes `Swish`.
//!
//! ```text
//! %1 = Sigmoid(%x);
//! %2 = Mul(%x, %1);
//! ```
//! becomes
//! ```text
//! %2 = Swish(%x);
//! ```
//!
//! So does a value times the sigmoid of a multiple of it. ONNX has `Swish` from version 24 on, with these calls as its
//! definition. No built-in pipeline has the pass: onnxruntime writes `Swish` out again, with a product more, and its own
//! fusion of `Sigmoid` and `Mul` then finds nothing.

use relais_plugin_api::prelude::*;

/// Makes `Swish` of a value times its sigmoid.
#[rule_pass(name = "relais.FuseSwish", opt_level = 2, required = ["relais.InferType"])]
const FUSE_SWISH: &str = "
    swish: @24 Mul(x, Sigmoid(x)) => Swish(x) if elem(x) in {float16, float32};
    scaled_swish: @24 Mul(x, Sigmoid(Mul(x, const a splat))) => Swish{alpha = a}(x)
        if broadcasts(a, x), finite(a), elem(x) in {float16, float32}
";
