//! A value divided by the root of its mean square, and scaled, becomes `RMSNormalization`.
//!
//! ```text
//! %1 = Mul(%x, %x);
//! %2 = ReduceMean(%1, [-1]);
//! %3 = Add(%2, 1e-5);
//! %4 = Sqrt(%3);
//! %5 = Div(%x, %4);
//! %6 = Mul(%5, %scale);
//! ```
//! becomes
//! ```text
//! %6 = RMSNormalization(%x, %scale, epsilon = 1e-5);
//! ```
//!
//! ONNX has it from version 23 on, with these calls as its definition: results are rounded differently at most. The last
//! axis alone is normalised, with a scale for each of its elements. Other element types than `float32` stay: they would be
//! computed in `float32` instead.

use relais_plugin_api::prelude::*;

/// Makes `RMSNormalization` of calls that compute it.
#[rule_pass(name = "relais.FuseRmsNormalization", opt_level = 2, required = ["relais.InferType"])]
const FUSE_RMS_NORMALIZATION: &str = "
    divided: @23 Mul(Div(x, Sqrt(Add(ReduceMean((Pow(x, 2) | Mul(x, x)), const axes), const e))), s)
        => RMSNormalization{epsilon = e}(x, s)
        if shape(axes) == [1], axes in {-1, rank(x) - 1}, rank(e) == 0, finite(e), elem(x) == float32, rank(s) == 1,
            dim(s, 0) == dim(x, -1);
    multiplied: @23 Mul(Mul(x, (Reciprocal(Sqrt(Add(ReduceMean((Pow(x, 2) | Mul(x, x)), const axes), const e)))
        | Div(1.0, Sqrt(Add(ReduceMean((Pow(x, 2) | Mul(x, x)), const axes), const e))))), s)
        => RMSNormalization{epsilon = e}(x, s)
        if shape(axes) == [1], axes in {-1, rank(x) - 1}, rank(e) == 0, finite(e), elem(x) == float32, rank(s) == 1,
            dim(s, 0) == dim(x, -1)
";
