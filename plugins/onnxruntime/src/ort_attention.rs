//! Attention that is written out becomes an operator of onnxruntime.
//!
//! ```text
//! %1 = Reshape(%q, [0, 0, 12, 64]);
//! %2 = Transpose(%1, perm = [0, 2, 1, 3]);
//! %3 = Reshape(%k, [0, 0, 12, 64]);
//! %4 = Transpose(%3, perm = [0, 2, 3, 1]);
//! %5 = MatMul(%2, %4);
//! %6 = Mul(%5, 0.125);
//! %7 = Softmax(%6);
//! %8 = Reshape(%v, [0, 0, 12, 64]);
//! %9 = Transpose(%8, perm = [0, 2, 1, 3]);
//! %10 = MatMul(%7, %9);
//! %11 = Transpose(%10, perm = [0, 2, 1, 3]);
//! %12 = Reshape(%11, [0, 0, 768]);
//! ```
//! becomes
//! ```text
//! %12 = com.microsoft::MultiHeadAttention(%q, %k, %v, num_heads = 12, scale = 0.125);
//! ```
//!
//! There may be a mask, which is added, with a value for each pair of a query and a key. Types say whether the reshapes
//! cut heads from the last axis. Where queries, keys and values are products of one value and weights of one size, all of
//! it is one `Attention`.
//!
//! Where a mask excludes all keys of a query, onnxruntime gives zeros, and the written-out form NaN.

use relais_plugin_api::prelude::*;

/// Makes `MultiHeadAttention` and `Attention` of onnxruntime.
#[rule_pass(name = "relais.OrtAttention", opt_level = 2, runtime = "onnxruntime", required = ["relais.InferType"])]
const ORT_ATTENTION: &str = "
    masked_product: @7 Reshape{..}(Transpose{perm = [0, 2, 1, 3]}(MatMul(Softmax{axis = axis}(Add(Mul(MatMul(
        Transpose{perm = [0, 2, 1, 3]}(Reshape{..}(q, _) as heads), Transpose{perm = [0, 2, 3, 1]}(Reshape{..}(k, _) as keys)), const c), mask)),
        Transpose{perm = [0, 2, 1, 3]}(Reshape{..}(v, _) as values))), _) as all
        => com.microsoft::MultiHeadAttention{num_heads = dim(heads, 2), scale = c}(q, k, v, none, none, mask)
        if axis in {-1, 3}, rank(c) == 0, finite(c), c > 0, rank(mask) == 4, dim(mask, 0) in {1, dim(q, 0)},
            dim(mask, 1) in {1, dim(heads, 2)}, dim(mask, 2) == dim(q, 1), dim(mask, 3) == dim(k, 1), elem(q) == float32, rank(q) == 3, rank(k) == 3, rank(v) == 3, rank(heads) == 4, rank(keys) == 4,
            rank(values) == 4, rank(all) == 3, dim(heads, 0) == dim(q, 0), dim(heads, 1) == dim(q, 1),
            dim(keys, 0) == dim(k, 0), dim(keys, 1) == dim(k, 1), dim(values, 0) == dim(v, 0),
            dim(values, 1) == dim(v, 1), dim(k, 0) == dim(q, 0), dim(v, 0) == dim(q, 0),
            dim(keys, 2) == dim(heads, 2), dim(values, 2) == dim(heads, 2),
            dim(q, 2) == dim(heads, 2) * dim(heads, 3), dim(k, 2) == dim(q, 2),
            dim(v, 2) == dim(values, 2) * dim(values, 3), dim(all, 0) == dim(q, 0), dim(all, 1) == dim(q, 1);
    masked_quotient: @7 Reshape{..}(Transpose{perm = [0, 2, 1, 3]}(MatMul(Softmax{axis = axis}(Add(Div(MatMul(
        Transpose{perm = [0, 2, 1, 3]}(Reshape{..}(q, _) as heads), Transpose{perm = [0, 2, 3, 1]}(Reshape{..}(k, _) as keys)), const c), mask)),
        Transpose{perm = [0, 2, 1, 3]}(Reshape{..}(v, _) as values))), _) as all
        => com.microsoft::MultiHeadAttention{num_heads = dim(heads, 2), scale = 1.0 / c}(q, k, v, none, none, mask)
        if axis in {-1, 3}, rank(c) == 0, finite(c), c > 0, rank(mask) == 4, dim(mask, 0) in {1, dim(q, 0)},
            dim(mask, 1) in {1, dim(heads, 2)}, dim(mask, 2) == dim(q, 1), dim(mask, 3) == dim(k, 1), elem(q) == float32, rank(q) == 3, rank(k) == 3, rank(v) == 3, rank(heads) == 4, rank(keys) == 4,
            rank(values) == 4, rank(all) == 3, dim(heads, 0) == dim(q, 0), dim(heads, 1) == dim(q, 1),
            dim(keys, 0) == dim(k, 0), dim(keys, 1) == dim(k, 1), dim(values, 0) == dim(v, 0),
            dim(values, 1) == dim(v, 1), dim(k, 0) == dim(q, 0), dim(v, 0) == dim(q, 0),
            dim(keys, 2) == dim(heads, 2), dim(values, 2) == dim(heads, 2),
            dim(q, 2) == dim(heads, 2) * dim(heads, 3), dim(k, 2) == dim(q, 2),
            dim(v, 2) == dim(values, 2) * dim(values, 3), dim(all, 0) == dim(q, 0), dim(all, 1) == dim(q, 1);
    masked_plain: @7 Reshape{..}(Transpose{perm = [0, 2, 1, 3]}(MatMul(Softmax{axis = axis}(Add(MatMul(
        Transpose{perm = [0, 2, 1, 3]}(Reshape{..}(q, _) as heads), Transpose{perm = [0, 2, 3, 1]}(Reshape{..}(k, _) as keys)), mask)),
        Transpose{perm = [0, 2, 1, 3]}(Reshape{..}(v, _) as values))), _) as all
        => com.microsoft::MultiHeadAttention{num_heads = dim(heads, 2), scale = 1.0}(q, k, v, none, none, mask)
        if axis in {-1, 3}, rank(mask) == 4, dim(mask, 0) in {1, dim(q, 0)},
            dim(mask, 1) in {1, dim(heads, 2)}, dim(mask, 2) == dim(q, 1), dim(mask, 3) == dim(k, 1), elem(q) == float32, rank(q) == 3, rank(k) == 3, rank(v) == 3, rank(heads) == 4, rank(keys) == 4,
            rank(values) == 4, rank(all) == 3, dim(heads, 0) == dim(q, 0), dim(heads, 1) == dim(q, 1),
            dim(keys, 0) == dim(k, 0), dim(keys, 1) == dim(k, 1), dim(values, 0) == dim(v, 0),
            dim(values, 1) == dim(v, 1), dim(k, 0) == dim(q, 0), dim(v, 0) == dim(q, 0),
            dim(keys, 2) == dim(heads, 2), dim(values, 2) == dim(heads, 2),
            dim(q, 2) == dim(heads, 2) * dim(heads, 3), dim(k, 2) == dim(q, 2),
            dim(v, 2) == dim(values, 2) * dim(values, 3), dim(all, 0) == dim(q, 0), dim(all, 1) == dim(q, 1);
    product: @7 Reshape{..}(Transpose{perm = [0, 2, 1, 3]}(MatMul(Softmax{axis = axis}(Mul(MatMul(
        Transpose{perm = [0, 2, 1, 3]}(Reshape{..}(q, _) as heads), Transpose{perm = [0, 2, 3, 1]}(Reshape{..}(k, _) as keys)), const c)),
        Transpose{perm = [0, 2, 1, 3]}(Reshape{..}(v, _) as values))), _) as all
        => com.microsoft::MultiHeadAttention{num_heads = dim(heads, 2), scale = c}(q, k, v)
        if axis in {-1, 3}, rank(c) == 0, finite(c), c > 0, elem(q) == float32, rank(q) == 3, rank(k) == 3, rank(v) == 3, rank(heads) == 4, rank(keys) == 4,
            rank(values) == 4, rank(all) == 3, dim(heads, 0) == dim(q, 0), dim(heads, 1) == dim(q, 1),
            dim(keys, 0) == dim(k, 0), dim(keys, 1) == dim(k, 1), dim(values, 0) == dim(v, 0),
            dim(values, 1) == dim(v, 1), dim(k, 0) == dim(q, 0), dim(v, 0) == dim(q, 0),
            dim(keys, 2) == dim(heads, 2), dim(values, 2) == dim(heads, 2),
            dim(q, 2) == dim(heads, 2) * dim(heads, 3), dim(k, 2) == dim(q, 2),
            dim(v, 2) == dim(values, 2) * dim(values, 3), dim(all, 0) == dim(q, 0), dim(all, 1) == dim(q, 1);
    quotient: @7 Reshape{..}(Transpose{perm = [0, 2, 1, 3]}(MatMul(Softmax{axis = axis}(Div(MatMul(
        Transpose{perm = [0, 2, 1, 3]}(Reshape{..}(q, _) as heads), Transpose{perm = [0, 2, 3, 1]}(Reshape{..}(k, _) as keys)), const c)),
        Transpose{perm = [0, 2, 1, 3]}(Reshape{..}(v, _) as values))), _) as all
        => com.microsoft::MultiHeadAttention{num_heads = dim(heads, 2), scale = 1.0 / c}(q, k, v)
        if axis in {-1, 3}, rank(c) == 0, finite(c), c > 0, elem(q) == float32, rank(q) == 3, rank(k) == 3, rank(v) == 3, rank(heads) == 4, rank(keys) == 4,
            rank(values) == 4, rank(all) == 3, dim(heads, 0) == dim(q, 0), dim(heads, 1) == dim(q, 1),
            dim(keys, 0) == dim(k, 0), dim(keys, 1) == dim(k, 1), dim(values, 0) == dim(v, 0),
            dim(values, 1) == dim(v, 1), dim(k, 0) == dim(q, 0), dim(v, 0) == dim(q, 0),
            dim(keys, 2) == dim(heads, 2), dim(values, 2) == dim(heads, 2),
            dim(q, 2) == dim(heads, 2) * dim(heads, 3), dim(k, 2) == dim(q, 2),
            dim(v, 2) == dim(values, 2) * dim(values, 3), dim(all, 0) == dim(q, 0), dim(all, 1) == dim(q, 1);
    plain: @7 Reshape{..}(Transpose{perm = [0, 2, 1, 3]}(MatMul(Softmax{axis = axis}(MatMul(
        Transpose{perm = [0, 2, 1, 3]}(Reshape{..}(q, _) as heads), Transpose{perm = [0, 2, 3, 1]}(Reshape{..}(k, _) as keys))),
        Transpose{perm = [0, 2, 1, 3]}(Reshape{..}(v, _) as values))), _) as all
        => com.microsoft::MultiHeadAttention{num_heads = dim(heads, 2), scale = 1.0}(q, k, v)
        if axis in {-1, 3}, elem(q) == float32, rank(q) == 3, rank(k) == 3, rank(v) == 3, rank(heads) == 4, rank(keys) == 4,
            rank(values) == 4, rank(all) == 3, dim(heads, 0) == dim(q, 0), dim(heads, 1) == dim(q, 1),
            dim(keys, 0) == dim(k, 0), dim(keys, 1) == dim(k, 1), dim(values, 0) == dim(v, 0),
            dim(values, 1) == dim(v, 1), dim(k, 0) == dim(q, 0), dim(v, 0) == dim(q, 0),
            dim(keys, 2) == dim(heads, 2), dim(values, 2) == dim(heads, 2),
            dim(q, 2) == dim(heads, 2) * dim(heads, 3), dim(k, 2) == dim(q, 2),
            dim(v, 2) == dim(values, 2) * dim(values, 3), dim(all, 0) == dim(q, 0), dim(all, 1) == dim(q, 1);
    of_itself: com.microsoft::MultiHeadAttention{num_heads = n, scale = scale}(Add(MatMul(x, const wq), const bq),
        Add(MatMul(x, const wk), const bk), Add(MatMul(x, const wv), const bv))
        => com.microsoft::Attention{num_heads = n, scale = scale}(x, Concat{axis = 1}(wq, wk, wv),
            Concat{axis = 0}(bq, bk, bv))
        if rank(x) == 3, rank(wq) == 2, shape(wk) == shape(wq), shape(wv) == shape(wq), rank(bq) == 1,
            dim(bq, 0) == dim(wq, 1), shape(bk) == shape(bq), shape(bv) == shape(bq);
    masked_of_itself: com.microsoft::MultiHeadAttention{num_heads = n, scale = scale}(Add(MatMul(x, const wq), const bq),
        Add(MatMul(x, const wk), const bk), Add(MatMul(x, const wv), const bv), none, none, mask)
        => com.microsoft::Attention{num_heads = n, scale = scale}(x, Concat{axis = 1}(wq, wk, wv),
            Concat{axis = 0}(bq, bk, bv), none, none, mask)
        if rank(x) == 3, rank(wq) == 2, shape(wk) == shape(wq), shape(wv) == shape(wq), rank(bq) == 1,
            dim(bq, 0) == dim(wq, 1), shape(bk) == shape(bq), shape(bv) == shape(bq)
";
