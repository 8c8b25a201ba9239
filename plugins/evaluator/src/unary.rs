//! Functions of one element whose result ONNX determines to the last bit.

use crate::{
    cx::{Eval, flag, float, table},
    doubt::{Doubt, are_both_zeros, refuse},
    elementwise::{any, map, uniform_value},
    minifloat,
    scalar::{Float, Number, Scalar, dispatch},
};
use relais_plugin_api::{
    ir::{ElemType, Tensor},
    op::{EvalCx, OpError},
};

table! {
    "Neg" @ 1 => |cx| unary!(cx, numbers, T::negated),
    "Abs" @ 1 => |cx| unary!(cx, numbers, T::magnitude),
    "Sign" @ 9 => |cx| unary!(cx, numbers, T::sign),
    "Floor" @ 1 => |cx| unary!(cx, floats, |x: T| x.via_f64(f64::floor)),
    "Ceil" @ 1 => |cx| unary!(cx, floats, |x: T| x.via_f64(f64::ceil)),
    "Round" @ 11 => |cx| unary!(cx, floats, |x: T| x.via_f64(f64::round_ties_even)),
    // A double has more than twice the digits of a float: its root, rounded, is the float's root.
    "Sqrt" @ 1 => |cx| unary!(cx, floats, |x: T| x.via_f64(f64::sqrt)),
    "Reciprocal" @ 1 => |cx| unary!(cx, floats, |x: T| T::ONE.div(x)),
    "Relu" @ 1 => relu,
    "LeakyRelu" @ 1 => leaky_relu,
    "ThresholdedRelu" @ 10 => thresholded_relu,
    "Shrink" @ 9 => shrink,
    "Clip" @ 1 => clip,
    "IsNaN" @ 9 => |cx| classify(cx, f64::is_nan),
    "IsInf" @ 10 => is_inf,
}

macro_rules! unary {
    ($cx:expr, $set:ident, $f:expr) => {{
        let x = $cx.require(0)?;
        dispatch!(x.elem(), T in $set => map::<T, T>($cx, x, $f))
    }};
}

use unary;

/// The maximum with zero: of negative zero, runtimes make either.
fn relu(cx: &EvalCx<'_>) -> Eval {
    let doubt = Doubt::default();
    let result = unary!(cx, numbers, |x: T| {
        doubt.note(are_both_zeros(x.to_f64(), 0.0));
        x.greater_of(T::ZERO)
    });
    doubt.settle(cx, result, "the greater one of -0.0 and 0.0")
}

/// The slope is rounded to the element type by some runtimes, and the product alone by others.
fn leaky_relu(cx: &EvalCx<'_>) -> Eval {
    let alpha = f64::from(float(cx, "alpha")?.unwrap_or(0.01));
    let doubt = Doubt::default();
    let result = unary!(cx, floats, |x: T| {
        if x >= T::ZERO || x.is_nan() {
            return x;
        }
        let product = T::rounded(alpha).mul(x);
        doubt.note(product != T::rounded(alpha * x.to_f64()) || product == T::ZERO);
        product
    });
    doubt.settle(cx, result, "the product depends on how the slope is rounded, or is zero")
}

fn thresholded_relu(cx: &EvalCx<'_>) -> Eval {
    let alpha = f64::from(float(cx, "alpha")?.unwrap_or(1.0));
    unary!(cx, floats, |x: T| if x.to_f64() > alpha { x } else { T::ZERO })
}

fn shrink(cx: &EvalCx<'_>) -> Eval {
    let bias = f64::from(float(cx, "bias")?.unwrap_or(0.0));
    let lambda = f64::from(float(cx, "lambd")?.unwrap_or(0.5));
    if cx.require(0)?.elem().is_integer() && (bias.fract() != 0.0 || lambda.fract() != 0.0) {
        return Err(OpError::unsupported("integers with a bias or threshold that is none"));
    }
    let doubt = Doubt::default();
    let result = unary!(cx, numbers, |x: T| {
        // Of doubles, some runtimes make floats first.
        doubt.note(T::ELEM == ElemType::DOUBLE && f64::from(x.to_f64() as f32) != x.to_f64());
        if x.to_f64() < -lambda {
            x.add(T::rounded(bias))
        } else if x.to_f64() > lambda {
            x.sub(T::rounded(bias))
        } else {
            T::ZERO
        }
    });
    doubt.settle(cx, result, "a number is not a `float32`, which some runtimes make of it")
}

/// A bound that is not given is the type's greatest finite value to some runtimes and none to others, so that a call
/// which would show the difference is not evaluated.
fn clip(cx: &EvalCx<'_>) -> Eval {
    let x = cx.require(0)?;
    dispatch!(x.elem(), T in numbers => {
        let (least, greatest) = if cx.version() < 11 {
            (float(cx, "min")?.map(|v| T::rounded(v.into())), float(cx, "max")?.map(|v| T::rounded(v.into())))
        } else {
            (bound::<T>(cx, x, 1)?, bound::<T>(cx, x, 2)?)
        };
        let open = |x: T| x.to_f64().is_infinite()
            && if x.below_zero() { least.is_none() } else { greatest.is_none() };
        refuse(cx, x.elem().is_float() && any(x, open), "an infinite element and no bound")?;
        let (least, greatest) = (least.unwrap_or(T::LEAST), greatest.unwrap_or(T::GREATEST));
        let doubt = Doubt::default();
        let result = map::<T, T>(cx, x, |x| {
            let is_zero = |bound: T| are_both_zeros(x.to_f64(), bound.to_f64());
            doubt.note(x.is_nan() || is_zero(least) || is_zero(greatest));
            x.greater_of(least).lesser_of(greatest)
        });
        doubt.note(least.is_nan() || greatest.is_nan() || are_both_zeros(least.to_f64(), greatest.to_f64()));
        doubt.settle(cx, result, "NaN or zeros of both signs are compared")
    })
}

fn bound<T: Number>(cx: &EvalCx<'_>, x: &Tensor, index: usize) -> Eval<Option<T>> {
    let Some(bound) = cx.input(index) else { return Ok(None) };
    crate::cx::same_elem(x, bound)?;
    match bound.len() {
        1 => Ok(uniform_value(bound)),
        n => Err(OpError::invalid(format_args!("input {index} must be a scalar, not {n} elements"))),
    }
}

fn is_inf(cx: &EvalCx<'_>) -> Eval {
    let (positive, negative) = (flag(cx, "detect_positive", true)?, flag(cx, "detect_negative", true)?);
    classify(cx, |x| x.is_infinite() && if x > 0.0 { positive } else { negative })
}

fn classify(cx: &EvalCx<'_>, f: impl Fn(f64) -> bool) -> Eval {
    let x = cx.require(0)?;
    if let Some(format) = minifloat::format(x.elem()) {
        // One byte each, with the type's own reading of it.
        let bytes = match x.as_splat() {
            Some(element) => Tensor::splat(ElemType::UINT8, x.dims(), element),
            None => Tensor::dense(ElemType::UINT8, x.dims(), x.as_dense().cloned().unwrap_or_default()),
        };
        let bytes = bytes.map_err(|_| crate::cx::unsupported_elem(x.elem()))?;
        return map::<u8, bool>(cx, &bytes, |code| f(format.decode(code).into()));
    }
    dispatch!(x.elem(), T in floats => map::<T, bool>(cx, x, |x| f(x.to_f64())))
}
