//! Rules of which half are unsound, each a pass of its own, and one that is not judged.
#![forbid(unsafe_code)]

use relais_plugin_api::{
    pattern::{Matched, Unmet},
    prelude::*,
};

plugin! { description = "rules to be judged" }

/// Forgets that there is no logarithm of negative numbers.
#[rule_pass(name = "unsound.LoopExpOfLog")]
const LOOP_EXP_OF_LOG: &str = "tir::exp(tir::log(x)) => x";

/// Holds for numbers that are ordered, and not for NaN.
#[rule_pass(name = "unsound.LoopNotLess")]
const LOOP_NOT_LESS: &str = "tir::not(tir::lt(a, b)) => tir::ge(a, b)";

/// Loses the sign of a zero.
#[rule_pass(name = "unsound.LoopPlusZero")]
const LOOP_PLUS_ZERO: &str = "tir::add(x, 0.0) => x";

/// Holds for integers.
#[rule_pass(name = "sound.LoopNotLess")]
const LOOP_NOT_LESS_OF_INTEGERS: &str = "tir::not(tir::lt(a, b)) => tir::ge(a, b) if elem(a) in {int8, int32, int64}";

/// Two negations, of whatever type.
#[rule_pass(name = "sound.LoopNegNeg")]
const LOOP_NEG_NEG: &str = "tir::neg(tir::neg(x)) => x";

/// Multiplies two factors first: their product may overflow.
#[rule_pass(name = "unsound.TwoFactors")]
const TWO_FACTORS: &str = "Mul(Mul(x, const a), const b) => Mul(x, Mul(a, b)) if broadcasts(b, x), broadcasts(a, x), elem(x) in {float32, float16}";

/// Adds two summands first: they may cancel.
#[rule_pass(name = "unsound.TwoSummands")]
const TWO_SUMMANDS: &str = "Add(Add(x, const a), const b) => Add(x, Add(a, b)) if broadcasts(b, x), broadcasts(a, x), elem(x) in {float32, float16}";

/// Moves a factor into weights, which may overflow.
#[rule_pass(name = "unsound.ScaleIntoConv")]
const SCALE_INTO_CONV: &str =
    "Mul(Conv{..}(x, const w) as conv, const s splat) => like conv(x, Mul(w, s)) if rank(s) == 0";

/// Moves a factor into a matrix, which may overflow.
#[rule_pass(name = "unsound.ScaleIntoGemm")]
const SCALE_INTO_GEMM: &str = "Mul(Gemm(a, const b), const s splat) => Gemm(a, Mul(b, s)) if rank(s) == 0";

/// Moves a factor into a normalisation, which may overflow.
#[rule_pass(name = "unsound.ScaleIntoNorm")]
const SCALE_INTO_NORM: &str = "Mul(BatchNormalization(x, const scale, const bias, const mean, const variance), const s splat) => BatchNormalization(x, Mul(scale, s), Mul(bias, s), mean, variance) if rank(s) == 0";

/// Forgets that a window of `MaxPool` does not contain its padding.
#[rule_pass(name = "unsound.PadIntoMaxPool")]
const PAD_INTO_MAX_POOL: &str = "MaxPool{kernel_shape = [3, 3]}(Pad(x, [0, 0, 1, 1, 0, 0, 1, 1])) => \
    MaxPool{kernel_shape = [3, 3], pads = [1, 1, 1, 1]}(x) if rank(x) == 4";

/// Forgets that the upper bound may be negative.
#[rule_pass(name = "unsound.ClipOfRelu")]
const CLIP_OF_RELU: &str = "Relu(Clip(x, const low, const high)) => Clip(x, 0.0, high) if elem(x) == float32";

/// Forgets what the inner cast loses.
#[rule_pass(name = "unsound.CastOfCast")]
const CAST_OF_CAST: &str = "Cast{to = 1, ..}(Cast{to = 6, ..}(x)) => x if elem(x) == float32";

/// Forgets that 0 means a size of the argument.
#[rule_pass(name = "unsound.ReshapeOfReshape")]
const RESHAPE_OF_RESHAPE: &str = "Reshape(Reshape(x, const s), const t) => Reshape(x, t)";

/// Forgets signs of zeros, infinities and NaN.
#[rule_pass(name = "unsound.DifferenceToZero")]
const DIFFERENCE_TO_ZERO: &str = "Sub(Add(x, y), y) => x if elem(x) == float32";

/// Takes the weights in another order.
#[rule_pass(name = "unsound.TwoProducts")]
const TWO_PRODUCTS: &str = "@13 (p = MatMul(x, const a), q = MatMul(x, const b)) => \
    Split{axis = -1}(MatMul(x, Concat{axis = 1}(b, a)), [dim(a, 1), dim(b, 1)]) if rank(a) == 2, rank(b) == 2";

/// Combines products of one matrix.
#[rule_pass(name = "sound.TwoProducts")]
const TWO_MATRIX_PRODUCTS: &str = "@13 (p = MatMul(x, const a), q = MatMul(x, const b)) => \
    Split{axis = -1}(MatMul(x, Concat{axis = 1}(a, b)), [dim(a, 1), dim(b, 1)]) if rank(a) == 2, rank(b) == 2";

/// Swaps the results of two calls.
#[rule_pass(name = "unsound.SwappedResults")]
const SWAPPED_RESULTS: &str = "(p = Floor(x), q = Ceil(p)) => (Ceil(x), Floor(x)) if elem(x) == float32";

/// Forgets that a whole number may be odd.
#[rule_pass(
    name = "unsound.PowOfNeg",
    conditions = [is_whole],
    samples(powers = [include_str!("square.relay"), include_str!("cube.relay")])
)]
const POW_OF_WHOLE: &str = "powers: Pow(Neg(x), const n) => Pow(x, n) if is_whole(n)";

fn is_whole(found: &Matched<'_>, _: &RewriteCx<'_>) -> Result<(), Unmet> {
    let exponents = found.constant(0)?.to_f64s().ok_or("the exponents are not floats")?;
    match exponents.into_iter().find(|exponent| exponent.fract() != 0.0) {
        None => Ok(()),
        Some(exponent) => Err(format!("{exponent} is not whole").into()),
    }
}

/// Is right, and has no samples.
#[rule_pass(name = "open.PowOfNeg", conditions = [is_even])]
const OPEN_POW_OF_NEG: &str = "Pow(Neg(x), const n) => Pow(x, n) if is_even(n)";

/// Even powers do not depend on the sign.
#[rule_pass(
    name = "sound.PowOfNeg",
    conditions = [is_even],
    samples(powers = include_str!("square.relay"))
)]
const POW_OF_NEG: &str = "powers: Pow(Neg(x), const n) => Pow(x, n) if is_even(n)";

/// Whether all exponents are even.
fn is_even(found: &Matched<'_>, _: &RewriteCx<'_>) -> Result<(), Unmet> {
    let exponents = found.constant(0)?.to_f64s().ok_or("the exponents are not floats")?;
    match exponents.into_iter().find(|exponent| exponent % 2.0 != 0.0) {
        None => Ok(()),
        Some(exponent) => Err(format!("{exponent} is not even").into()),
    }
}

/// Is right.
#[rule_pass(name = "sound.NegOfNeg")]
const NEG_OF_NEG: &str = "Neg(Neg(x)) => x";

/// Is right.
#[rule_pass(name = "sound.AbsOfAbs")]
const ABS_OF_ABS: &str = "Abs(Abs(x)) => Abs(x)";

/// Is right.
#[rule_pass(name = "sound.NotOfNot")]
const NOT_OF_NOT: &str = "Not(Not(x)) => x";

/// Is right.
#[rule_pass(name = "sound.ReluOfRelu")]
const RELU_OF_RELU: &str = "Relu(Relu(x)) => Relu(x)";

/// Is right.
#[rule_pass(name = "sound.CeilOfFloor")]
const CEIL_OF_FLOOR: &str = "Ceil(Floor(x)) => Floor(x)";

/// Is right.
#[rule_pass(name = "sound.TransposeOfTranspose")]
const TRANSPOSE_OF_TRANSPOSE: &str = "Transpose{perm = p}(Transpose{perm = q}(x)) => x if p == [1, 0], q == [1, 0]";

/// Is right.
#[rule_pass(name = "sound.WhereOfNot")]
const WHERE_OF_NOT: &str = "Where(Not(c), x, y) => Where(c, y, x)";

/// Is right.
#[rule_pass(name = "sound.SubOfNeg")]
const SUB_OF_NEG: &str = "Sub(x, Neg(y)) => Add(x, y)";

/// Is right.
#[rule_pass(name = "sound.MulByOne")]
const MUL_BY_ONE: &str = "Mul(x, 1) => x";

/// Is right.
#[rule_pass(name = "sound.MatMulToGemm")]
const MAT_MUL_TO_GEMM: &str = "Add(MatMul(a, b) as ab, const c) => Gemm(a, b, c) if rank(a) == 2, rank(b) == 2, broadcasts(c, ab), elem(a) in {float32, float64}";
