//! A value minus its mean, divided by its standard deviation, scaled and shifted, becomes `LayerNormalization`.
//!
//! ```text
//! %1 = ReduceMean(%x, [-1]);
//! %2 = Sub(%x, %1);
//! %3 = Mul(%2, %2);
//! %4 = ReduceMean(%3, [-1]);
//! %5 = Add(%4, 1e-5);
//! %6 = Sqrt(%5);
//! %7 = Div(%2, %6);
//! %8 = Mul(%7, %scale);
//! %9 = Add(%8, %bias);
//! ```
//! becomes
//! ```text
//! %9 = LayerNormalization(%x, %scale, %bias, epsilon = 1e-5);
//! ```
//!
//! ONNX has it from version 17 on. The last axis alone is normalised, with a scale and a shift for each of its elements,
//! in `float32`. The default pipeline does not have the pass: the standard defines the variance of `LayerNormalization` as
//! the mean of the squares minus the square of the mean, which loses all digits where the mean is large beside the
//! deviations, and some runtimes compute it so. onnxruntime does not; the pipeline `onnxruntime` has the pass.

use relais_plugin_api::prelude::*;

/// Makes `LayerNormalization` of calls that compute it.
#[rule_pass(name = "relais.FuseLayerNormalization", opt_level = 2, required = ["relais.InferType"])]
const FUSE_LAYER_NORMALIZATION: &str = "
    divided: @18 Mul(Div(Sub(x, ReduceMean(x, const axes)) as d, Sqrt(Add(ReduceMean((Pow(d, 2) | Mul(d, d)), const axes),
        const e))), s) => LayerNormalization{epsilon = e}(x, s)
        if shape(axes) == [1], axes in {-1, rank(x) - 1}, rank(e) == 0, finite(e), elem(x) == float32, rank(s) == 1,
            dim(s, 0) == dim(x, -1);
    divided_before_18: @17 Mul(Div(Sub(x, ReduceMean@13..17{axes = axes}(x)) as d, Sqrt(Add(ReduceMean@13..17{axes = axes}(
        (Pow(d, 2) | Mul(d, d))), const e))), s) => LayerNormalization{epsilon = e}(x, s)
        if axes in {[-1], [rank(x) - 1]}, rank(e) == 0, finite(e), elem(x) == float32, rank(s) == 1,
            dim(s, 0) == dim(x, -1);
    multiplied: @18 Mul(Mul(Sub(x, ReduceMean(x, const axes)) as d, (Reciprocal(Sqrt(Add(ReduceMean((Pow(d, 2)
        | Mul(d, d)), const axes), const e))) | Div(1.0, Sqrt(Add(ReduceMean((Pow(d, 2) | Mul(d, d)), const axes),
        const e))))), s) => LayerNormalization{epsilon = e}(x, s)
        if shape(axes) == [1], axes in {-1, rank(x) - 1}, rank(e) == 0, finite(e), elem(x) == float32, rank(s) == 1,
            dim(s, 0) == dim(x, -1);
    shifted: @17 Add(LayerNormalization{axis = -1, ..}(x, s) as by, b) => like by(x, s, b)
        if elem(x) == float32, rank(b) == 1, rank(s) == 1, dim(b, 0) == dim(s, 0), dim(s, 0) == dim(x, -1)
";
