//! A sum that is normalised becomes one operator of onnxruntime, and so do the tables from which it is looked up.
//!
//! ```text
//! %1 = Add(%x, %y);
//! %2 = LayerNormalization(%1, %scale, %bias);
//! ```
//! becomes
//! ```text
//! %2 = com.microsoft::SkipLayerNormalization(%x, %y, %scale, %bias, epsilon = 1e-5);
//! ```
//!
//! Before version 17 of ONNX, the calls that `LayerNormalization` stands for are matched. `EmbedLayerNormalization` takes
//! the place of three lookups that are added up and normalised; its indices count from the beginning, and are of 32 bits.
//! A sum that something else uses stays.
//!
//! onnxruntime computes the variance as the mean of the squares minus the square of the mean: where the mean is large
//! beside the deviations, digits are lost.

use relais_plugin_api::prelude::*;

/// Makes `SkipLayerNormalization`, `SkipSimplifiedLayerNormalization` and `EmbedLayerNormalization` of onnxruntime.
#[rule_pass(name = "relais.OrtNormalization", opt_level = 2, runtime = "onnxruntime", required = ["relais.InferType"])]
const ORT_NORMALIZATION: &str = "
    skip: @17 LayerNormalization{axis = a, epsilon = e, stash_type = 1}(Add(x, y), s, ?b)
        => com.microsoft::SkipLayerNormalization{epsilon = e}(x, y, s, b)
        if elem(x) == float32, rank(x) == 3, a in {-1, 2}, rank(y) == 3, dim(y, 0) in {1, dim(x, 0)},
            dim(y, 1) == dim(x, 1), dim(y, 2) == dim(x, 2), rank(s) == 1, e >= 0;
    skip_in_steps: @7 Add(Mul(Div(Sub(Add(x, y) as sum, ReduceMean@1..17{axes = a}(sum)) as d,
        Sqrt(Add(ReduceMean@1..17{axes = a}((Pow(d, 2) | Mul(d, d))), const e))), s), b)
        => com.microsoft::SkipLayerNormalization{epsilon = e}(x, y, s, b)
        if elem(x) == float32, rank(x) == 3, a in {[-1], [2]}, rank(y) == 3, dim(y, 0) in {1, dim(x, 0)},
            dim(y, 1) == dim(x, 1), dim(y, 2) == dim(x, 2), rank(e) == 0, e >= 0, finite(e),
            rank(s) == 1, dim(s, 0) == dim(x, 2), rank(b) == 1, dim(b, 0) == dim(x, 2);
    skip_of_root: @23 RMSNormalization{axis = a, epsilon = e, stash_type = 1}(Add(x, y), s)
        => com.microsoft::SkipSimplifiedLayerNormalization{epsilon = e}(x, y, s)
        if elem(x) == float32, rank(x) == 3, a in {-1, 2}, shape(x) == shape(y), rank(s) == 1, e >= 0;
    bias_of_input: com.microsoft::SkipLayerNormalization{..}(Add(x, const c), y, s, b) as by => like by(x, y, s, b, c)
        if rank(x) == 3, rank(c) == 1, dim(x, 2) == dim(c, 0);
    bias_of_skip: com.microsoft::SkipLayerNormalization{..}(x, Add(y, const c), s, b) as by => like by(x, y, s, b, c)
        if rank(y) == 3, rank(c) == 1, dim(y, 2) == dim(c, 0);
    embedding: @13 com.microsoft::SkipLayerNormalization{epsilon = e}(Add(Gather(w, i), Gather(t, j)), Gather(p, k), s, b)
        => com.microsoft::EmbedLayerNormalization{epsilon = e, mask_index_type = 0}(Cast{to = 6}(i), Cast{to = 6}(j), w, p, t, s, b, none,
            Cast{to = 6}(k))
        if rank(i) == 2, rank(k) == 2, shape(i) == shape(j), dim(k, 0) in {1, dim(i, 0)}, dim(k, 1) == dim(i, 1),
            rank(w) == 2, rank(t) == 2, rank(p) == 2, elem(w) == float32
";
