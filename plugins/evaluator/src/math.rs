//! Functions whose last digit ONNX leaves to the implementation: computed in double precision and rounded once.
//!
//! The result is that of any careful runtime to within a unit in the last place, and the same wherever this library
//! runs with the same `libm`.

use crate::{
    cx::{Eval, float, same_elem, string, table},
    doubt::refuse,
    elementwise::{map, zip},
    scalar::{Float, Number, dispatch},
};
use relais_plugin_api::{
    ir::ElemType,
    op::{EvalCx, OpError},
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
    "Sigmoid" @ 1 => |cx| function(cx, sigmoid),
    "Softplus" @ 1 => |cx| function(cx, softplus),
    "Softsign" @ 1 => |cx| function(cx, |x| x / (1.0 + x.abs())),
    "HardSwish" @ 14 => |cx| function(no_doubles(cx)?, |x| x * clamp(x / 6.0 + 0.5)),
    "Mish" @ 18 => |cx| function(cx, |x| x * softplus(x).tanh()),
    "HardSigmoid" @ 1 => |cx| {
        let (alpha, beta) = (number(cx, "alpha", 0.2)?, number(cx, "beta", 0.5)?);
        function(cx, |x| clamp(alpha * x + beta))
    },
    "Elu" @ 1 => |cx| {
        let alpha = number(cx, "alpha", 1.0)?;
        function(cx, |x| if x < 0.0 { alpha * x.exp_m1() } else { x })
    },
    "Celu" @ 12 => |cx| {
        let alpha = number(cx, "alpha", 1.0)?;
        function(cx, |x| if x < 0.0 { alpha * (x / alpha).exp_m1() } else { x })
    },
    "Selu" @ 1 => selu,
    "Swish" @ 24 => |cx| {
        let alpha = number(cx, "alpha", 1.0)?;
        function(cx, |x| x * sigmoid(alpha * x))
    },
    "Gelu" @ 20 => gelu,
    "SwiGLU" @ 28 => swiglu,
}

fn function(cx: &EvalCx<'_>, f: impl Fn(f64) -> f64) -> Eval {
    let x = cx.require(0)?;
    dispatch!(x.elem(), T in floats => map::<T, T>(cx, x, |x| x.via_f64(&f)))
}

/// Refuses doubles, for which some runtimes compute fewer digits.
fn no_doubles<'a, 'b>(cx: &'a EvalCx<'b>) -> Eval<&'a EvalCx<'b>> {
    let is_double = cx.require(0)?.elem() == ElemType::DOUBLE;
    refuse(cx, is_double, "runtimes compute this of doubles with fewer digits")?;
    Ok(cx)
}

fn number(cx: &EvalCx<'_>, name: &str, default: f32) -> Eval<f64> {
    Ok(float(cx, name)?.unwrap_or(default).into())
}

fn selu(cx: &EvalCx<'_>) -> Eval {
    let (alpha, gamma) = if cx.version() < 6 { (1.6732, 1.0507) } else { (1.673_263_2, 1.050_701) };
    let (alpha, gamma) = (number(cx, "alpha", alpha)?, number(cx, "gamma", gamma)?);
    if !(alpha.is_finite() && gamma.is_finite()) {
        return Err(OpError::unsupported("of zeros, its two definitions differ if an attribute is not finite"));
    }
    function(cx, |x| gamma * if x <= 0.0 { alpha * x.exp_m1() } else { x })
}

fn gelu(cx: &EvalCx<'_>) -> Eval {
    match string(cx, "approximate")?.unwrap_or(b"none") {
        b"none" => function(no_doubles(cx)?, |x| 0.5 * x * erfc(-x * std::f64::consts::FRAC_1_SQRT_2)),
        b"tanh" => function(cx, |x| {
            let inner = std::f64::consts::FRAC_2_PI.sqrt() * (x + 0.044715 * x * x * x);
            0.5 * x * (1.0 + inner.tanh())
        }),
        other => Err(OpError::invalid(format_args!(
            "attribute `approximate` is `{}`, not `none` or `tanh`",
            String::from_utf8_lossy(other)
        ))),
    }
}

/// The arguments are not broadcast.
fn swiglu(cx: &EvalCx<'_>) -> Eval {
    let alpha = number(cx, "alpha", 1.0)?;
    let (a, b) = (cx.require(0)?, cx.require(1)?);
    same_elem(a, b)?;
    if a.dims() != b.dims() {
        return Err(OpError::invalid(format_args!("shapes {:?} and {:?} differ", a.dims(), b.dims())));
    }
    let swiglu = |a: f64, b: f64| a * sigmoid(alpha * a) * b;
    dispatch!(a.elem(), T in floats => {
        zip::<T, T, T>(cx, a, b, |a, b| T::rounded(swiglu(Number::to_f64(a), Number::to_f64(b))))
    })
}

/// `f64::clamp` to the unit interval.
fn clamp(x: f64) -> f64 {
    x.clamp(0.0, 1.0)
}

/// The logistic function.
pub fn sigmoid(x: f64) -> f64 {
    if x >= 0.0 {
        1.0 / (1.0 + (-x).exp())
    } else {
        let e = x.exp();
        e / (1.0 + e)
    }
}

/// The logarithm of one more than the exponential.
pub fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
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
fn erfc(x: f64) -> f64 {
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
