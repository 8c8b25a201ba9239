//! A product of matrices, with transposes of its factors and a factor of its result, becomes one operator of onnxruntime.
//!
//! ```text
//! %1 = Transpose(%b, perm = [0, 1, 3, 2]);
//! %2 = MatMul(%a, %1);
//! %3 = Mul(%2, 0.125);
//! ```
//! becomes
//! ```text
//! %3 = com.microsoft::FusedMatMul(%a, %b, alpha = 0.125, transB = 1);
//! ```
//!
//! Results are rounded differently at most. A product of values that are dequantised stays.

use crate::is_dequantized;
use relais_plugin_api::{
    pattern::{Matched, Unmet},
    prelude::*,
};

/// Makes `FusedMatMul` of onnxruntime.
#[rule_pass(
    name = "relais.OrtMatMul",
    opt_level = 2,
    runtime = "onnxruntime",
    required = ["relais.InferType"],
    conditions = [are_floats],
    samples(
        left = include_str!("samples/left.relay"),
        right = include_str!("samples/right.relay"),
        product = include_str!("samples/product.relay"),
        quotient = include_str!("samples/quotient.relay"),
    )
)]
const ORT_MAT_MUL: &str = "
    left: @7 MatMul(Transpose{perm = p}(a), b) => com.microsoft::FusedMatMul{transA = 1}(a, b)
        if elem(a) == float32, p in {[1, 0], [0, 2, 1], [0, 1, 3, 2]}, rank(b) in {2, 3, 4}, are_floats(a, b);
    right: @7 MatMul(a, Transpose{perm = p}(b)) => com.microsoft::FusedMatMul{transB = 1}(a, b)
        if elem(a) == float32, p in {[1, 0], [0, 2, 1], [0, 1, 3, 2]}, rank(a) in {2, 3, 4}, are_floats(a, b);
    product: @7 Mul(MatMul(a, b), const c) => com.microsoft::FusedMatMul{alpha = c}(a, b)
        if elem(a) == float32, rank(a) in {2, 3, 4}, rank(b) in {2, 3, 4}, rank(c) == 0, finite(c),
            are_floats(a, b);
    quotient: @7 Div(MatMul(a, b), const c) => com.microsoft::FusedMatMul{alpha = 1.0 / c}(a, b)
        if elem(a) == float32, rank(a) in {2, 3, 4}, rank(b) in {2, 3, 4}, rank(c) == 0, finite(c),
            are_floats(a, b);
    more_left: com.microsoft::FusedMatMul{transA = t, transBatchA = 0, ..}(Transpose{perm = p}(a), b) as by
        => like by{transA = 1 - t}(a, b) if p in {[1, 0], [0, 2, 1], [0, 1, 3, 2]};
    more_right: com.microsoft::FusedMatMul{transB = t, transBatchB = 0, ..}(a, Transpose{perm = p}(b)) as by
        => like by{transB = 1 - t}(a, b) if p in {[1, 0], [0, 2, 1], [0, 1, 3, 2]};
    more_product: @7 Mul(com.microsoft::FusedMatMul{alpha = f, ..}(a, b) as by, const c) => like by{alpha = f * c}(a, b)
        if elem(a) == float32, rank(c) == 0, finite(c);
    more_quotient: @7 Div(com.microsoft::FusedMatMul{alpha = f, ..}(a, b) as by, const c) => like by{alpha = f / c}(a, b)
        if elem(a) == float32, rank(c) == 0, finite(c)
";

/// Whether neither of two values is dequantised.
fn are_floats(found: &Matched<'_>, cx: &RewriteCx<'_>) -> Result<(), Unmet> {
    match is_dequantized(found.value(0)?, cx) || is_dequantized(found.value(1)?, cx) {
        true => Err("one of them is dequantised".into()),
        false => Ok(()),
    }
}
