//! Operators of the domain `com.microsoft`, which onnxruntime alone has, and passes that make them. The pipeline
//! `onnxruntime` runs these. One pass, one file, one name.
//!
//! The passes are about processors: their conditions are those of the kernels for them, in `float32`.
//!
//! # Modules
//!
//! Each uses only those listed before it; one that is not listed is used by no other.
//!
//! 1. `operators`: the operators, as `onnxruntime` 1.31 describes them
//! 2. `ort_activation`: activations that are written out become operators of onnxruntime
//! 3. `ort_attention`: attention that is written out becomes an operator of onnxruntime
//! 4. `ort_fused_activation`: a convolution or a product of matrices and the activation after it become one operator
//!    of onnxruntime
//! 5. `ort_mat_mul`: a product of matrices, with transposes of its factors and a factor of its result, becomes one
//!    operator of onnxruntime
//! 6. `ort_normalization`: a sum that is normalised becomes one operator of onnxruntime, and so do the tables from
//!    which it is looked up

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
