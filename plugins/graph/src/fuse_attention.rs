//! Attention that is written out becomes `Attention`.
//!
//! ```text
//! %1 = Transpose(%k, perm = [0, 1, 3, 2]);
//! %2 = MatMul(%q, %1);
//! %3 = Mul(%2, 0.125);
//! %4 = Add(%3, %mask);
//! %5 = Softmax(%4);
//! %6 = MatMul(%5, %v);
//! ```
//! becomes
//! ```text
//! %6 = Attention(%q, %k, %v, %mask, scale = 0.125);
//! ```
//!
//! ONNX has it from version 23 on. The factor and the mask may be absent; a mask has a value for each pair of a query and
//! a key, since shorter ones are filled up with -inf. All have four axes, of which the first two, batch and heads, are known
//! to be the same: `Attention` broadcasts none of them.
//!
//! The default pipeline does not have the pass: the standard multiplies both factors by the root of the scale instead of
//! their product by the scale, and where a mask excludes all keys of a query, onnxruntime gives zeros instead of NaN.

use relais_plugin_api::prelude::*;

/// Makes `Attention` of products with a `Softmax` between them.
#[rule_pass(name = "relais.FuseAttention", opt_level = 2, required = ["relais.InferType"])]
const FUSE_ATTENTION: &str = "
    masked: @23 MatMul(Softmax(Add(Mul(MatMul(q, t) as scores, const c), mask)), v)
        => Attention{scale = c}(q, Transpose{perm = [0, 1, 3, 2]}(t), v, mask)
        if rank(c) == 0, c > 0, finite(c), elem(q) == float32, rank(q) == 4, rank(t) == 4, rank(v) == 4, rank(mask) in {2, 4},
            dim(q, 0) == dim(t, 0), dim(q, 0) == dim(v, 0), dim(q, 1) == dim(t, 1), dim(q, 1) == dim(v, 1),
            broadcasts(mask, scores), dim(mask, -1) == dim(t, -1), dim(mask, -2) == dim(q, -2);
    masked_quotient: @23 MatMul(Softmax(Add(Div(MatMul(q, t) as scores, const c), mask)), v)
        => Attention{scale = 1.0 / c}(q, Transpose{perm = [0, 1, 3, 2]}(t), v, mask)
        if rank(c) == 0, c > 0, finite(c), elem(q) == float32, rank(q) == 4, rank(t) == 4, rank(v) == 4, rank(mask) in {2, 4},
            dim(q, 0) == dim(t, 0), dim(q, 0) == dim(v, 0), dim(q, 1) == dim(t, 1), dim(q, 1) == dim(v, 1),
            broadcasts(mask, scores), dim(mask, -1) == dim(t, -1), dim(mask, -2) == dim(q, -2);
    masked_product: @23 MatMul(Softmax(Add(MatMul(q, t) as scores, mask)), v)
        => Attention{scale = 1.0}(q, Transpose{perm = [0, 1, 3, 2]}(t), v, mask)
        if elem(q) == float32, rank(q) == 4, rank(t) == 4, rank(v) == 4, rank(mask) in {2, 4},
            dim(q, 0) == dim(t, 0), dim(q, 0) == dim(v, 0), dim(q, 1) == dim(t, 1), dim(q, 1) == dim(v, 1),
            broadcasts(mask, scores), dim(mask, -1) == dim(t, -1), dim(mask, -2) == dim(q, -2);
    scaled: @23 MatMul(Softmax(Mul(MatMul(q, t), const c)), v)
        => Attention{scale = c}(q, Transpose{perm = [0, 1, 3, 2]}(t), v)
        if rank(c) == 0, c > 0, finite(c), elem(q) == float32, rank(q) == 4, rank(t) == 4, rank(v) == 4,
            dim(q, 0) == dim(t, 0), dim(q, 0) == dim(v, 0), dim(q, 1) == dim(t, 1), dim(q, 1) == dim(v, 1);
    quotient: @23 MatMul(Softmax(Div(MatMul(q, t), const c)), v)
        => Attention{scale = 1.0 / c}(q, Transpose{perm = [0, 1, 3, 2]}(t), v)
        if rank(c) == 0, c > 0, finite(c), elem(q) == float32, rank(q) == 4, rank(t) == 4, rank(v) == 4,
            dim(q, 0) == dim(t, 0), dim(q, 0) == dim(v, 0), dim(q, 1) == dim(t, 1), dim(q, 1) == dim(v, 1);
    product: @23 MatMul(Softmax(MatMul(q, t)), v)
        => Attention{scale = 1.0}(q, Transpose{perm = [0, 1, 3, 2]}(t), v)
        if elem(q) == float32, rank(q) == 4, rank(t) == 4, rank(v) == 4,
            dim(q, 0) == dim(t, 0), dim(q, 0) == dim(v, 0), dim(q, 1) == dim(t, 1), dim(q, 1) == dim(v, 1)
";
