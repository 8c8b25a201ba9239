//! Operators of the domain `com.microsoft`, which onnxruntime alone has, and passes that make them. The pipeline
//! `onnxruntime` runs these. One pass, one file, one name.
//!
//! The passes are about processors: their conditions are those of the kernels for them, in `float32`.

use relais_plugin_api::prelude::*;

pub mod operators;
pub mod ort_activation;
pub mod ort_attention;
pub mod ort_fused_activation;
pub mod ort_mat_mul;
pub mod ort_normalization;

plugin! { description = "Operators of onnxruntime, and passes that make them." }

/// N7: whether a value is dequantised. Runtimes find integer kernels by it and the operator that uses it.
fn is_dequantized(value: NodeId, cx: &RewriteCx<'_>) -> bool {
    ["DequantizeLinear", "com.microsoft::DequantizeLinear"].iter().any(|name| cx.call_of_op(value, name).is_some())
}
