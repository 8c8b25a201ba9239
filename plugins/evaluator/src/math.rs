//! Functions whose last digit ONNX leaves to the implementation: computed in double precision and rounded once.
//!
//! The result is that of any careful runtime to within a unit in the last place, and the same wherever this library
//! runs with the same `libm`.

use crate::shared::{
    cx::table,
    elementwise::{function, no_doubles, unary},
    scalar::{Float, Number, dispatch},
};

table! {
    "Exp" @ 1 => |cx| function(cx, f64::exp),
    "Log" @ 1 => |cx| function(cx, f64::ln),
    "Sin" @ 7 => |cx| function(cx, f64::sin),
    "Cos" @ 7 => |cx| function(cx, f64::cos),
    "Tan" @ 7 => |cx| function(cx, f64::tan),
    "Asin" @ 7 => |cx| function(cx, f64::asin),
    "Acos" @ 7 => |cx| function(cx, f64::acos),
    "Atan" @ 7 => |cx| function(cx, f64::atan),
    "Sinh" @ 9 => |cx| function(cx, f64::sinh),
    "Cosh" @ 9 => |cx| function(cx, f64::cosh),
    "Tanh" @ 1 => |cx| function(cx, f64::tanh),
    "Asinh" @ 9 => |cx| function(cx, f64::asinh),
    "Acosh" @ 9 => |cx| function(cx, f64::acosh),
    "Atanh" @ 9 => |cx| function(cx, f64::atanh),
    "Erf" @ 9 => |cx| function(no_doubles(cx)?, erf),
    "Neg" @ 1 => |cx| unary!(cx, numbers, T::negated),
    "Abs" @ 1 => |cx| unary!(cx, numbers, T::magnitude),
    "Sign" @ 9 => |cx| unary!(cx, numbers, T::sign),
    "Floor" @ 1 => |cx| unary!(cx, floats, |x: T| x.via_f64(f64::floor)),
    "Ceil" @ 1 => |cx| unary!(cx, floats, |x: T| x.via_f64(f64::ceil)),
    "Round" @ 11 => |cx| unary!(cx, floats, |x: T| x.via_f64(f64::round_ties_even)),
    // A double has more than twice the digits of a float: its root, rounded, is the float's root.
    "Sqrt" @ 1 => |cx| unary!(cx, floats, |x: T| x.via_f64(f64::sqrt)),
    "Reciprocal" @ 1 => |cx| unary!(cx, floats, |x: T| T::ONE.div(x)),
}

/// The error function: its series near zero, otherwise by its complement.
fn erf(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x.abs() > 2.0 {
        return x.signum() * (1.0 - erfc_far(x.abs()));
    }
    // 2/sqrt(pi) * exp(-x^2) * sum of 2^n x^(2n+1) / (2n+1)!!: all terms have one sign.
    let (mut term, mut sum, mut n) = (x, x, 1.0);
    while term.abs() > sum.abs() * 1e-17 {
        term *= 2.0 * x * x / (2.0 * n + 1.0);
        sum += term;
        n += 1.0;
    }
    std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp() * sum
}

/// The complementary error function.
pub fn erfc(x: f64) -> f64 {
    if x > 2.0 { erfc_far(x) } else { 1.0 - erf(x) }
}

/// `erfc` beyond 2: Lentz's continued fraction.
fn erfc_far(x: f64) -> f64 {
    if x > 28.0 {
        return 0.0;
    }
    let mut fraction = x;
    for n in (1..=120).rev() {
        fraction = x + f64::from(n) / 2.0 / fraction;
    }
    (-x * x).exp() / (fraction * std::f64::consts::PI.sqrt())
}
