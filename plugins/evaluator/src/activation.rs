//! Activation functions. Those whose last digit ONNX leaves to the implementation are computed in double precision and
//! rounded once.

use crate::shared::{
    cx::{Eval, float, opt_float, same_elem, string, table},
    doubt::{Doubt, are_both_zeros, refuse},
    elementwise::{any, function, map, no_doubles, unary, uniform_value, zip},
    scalar::{Number, Scalar, dispatch},
};
use relais_operator_math::activation::{self, elu, hard_sigmoid, sigmoid, softplus, softsign, swish};
use relais_plugin_api::{
    ir::{ElemType, Tensor},
    op::{EvalCx, OpError},
    prim::erfc,
};
use std::f64::consts::FRAC_1_SQRT_2;

table! {
    "PRelu" @ 1 => prelu,
    "Sigmoid" @ 1 => |cx| function(cx, sigmoid),
    "Softplus" @ 1 => |cx| function(cx, softplus),
    "Softsign" @ 1 => |cx| function(cx, softsign),
    "HardSwish" @ 14 => |cx| function(no_doubles(cx)?, |x| x * (x / 6.0 + 0.5).clamp(0.0, 1.0)),
    "Mish" @ 18 => |cx| function(cx, |x| x * softplus(x).tanh()),
    "HardSigmoid" @ 1 => |cx| {
        let (alpha, beta) = (float(cx, "alpha")?, float(cx, "beta")?);
        function(cx, |x| hard_sigmoid(x, alpha, beta))
    },
    "Elu" @ 1 => |cx| {
        let alpha = float(cx, "alpha")?;
        function(cx, |x| elu(x, alpha))
    },
    "Celu" @ 12 => |cx| {
        let alpha = float(cx, "alpha")?;
        function(cx, |x| if x < 0.0 { alpha * (x / alpha).exp_m1() } else { x })
    },
    "Selu" @ 1 => selu,
    "Swish" @ 24 => |cx| {
        let alpha = float(cx, "alpha")?;
        function(cx, |x| swish(x, alpha))
    },
    "Gelu" @ 20 => gelu,
    "SwiGLU" @ 28 => swiglu,
    "Relu" @ 1 => relu,
    "LeakyRelu" @ 1 => leaky_relu,
    "ThresholdedRelu" @ 10 => thresholded_relu,
    "Shrink" @ 9 => shrink,
    "Clip" @ 1 => clip,
}

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
    let alpha = float(cx, "alpha")?;
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
    let alpha = float(cx, "alpha")?;
    unary!(cx, floats, |x: T| if x.to_f64() > alpha { x } else { T::ZERO })
}

fn shrink(cx: &EvalCx<'_>) -> Eval {
    let bias = float(cx, "bias")?;
    let lambda = float(cx, "lambd")?;
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

/// A bound that is not given is the greatest finite value to some runtimes and none to others, so that a call which would
/// show the difference is not evaluated. The value is that of the type, and before version 11 that of floats.
fn clip(cx: &EvalCx<'_>) -> Eval {
    let x = cx.require(0)?;
    dispatch!(x.elem(), T in numbers => {
        let (least, greatest) = if cx.version() < 11 {
            (opt_float(cx, "min")?.map(|v| T::rounded(v.into())), opt_float(cx, "max")?.map(|v| T::rounded(v.into())))
        } else {
            (bound::<T>(cx, x, 1)?, bound::<T>(cx, x, 2)?)
        };
        let limit = if cx.version() < 11 { f64::from(f32::MAX) } else { f64::MAX };
        let is_open = [least.is_none(), greatest.is_none()];
        let (least, greatest) = (least.unwrap_or(T::LEAST), greatest.unwrap_or(T::GREATEST));
        let is_beyond = |x: T| {
            let (raised, lowered) = (x.greater_of(least).to_f64(), x.lesser_of(greatest).to_f64());
            is_open[0] && lowered < -limit || is_open[1] && raised > limit
        };
        refuse(cx, x.elem().is_float() && any(x, is_beyond), "an element beyond the finite numbers and no bound")?;
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
    crate::shared::cx::same_elem(x, bound)?;
    match bound.len() {
        1 => Ok(uniform_value(bound)),
        n => Err(OpError::invalid(format_args!("input {index} must be a scalar, not {n} elements"))),
    }
}

/// The slope broadcasts to the data, not the other way; up to version 6 it is one value, or one for each channel.
fn prelu(cx: &EvalCx<'_>) -> Eval {
    let (x, mut slope) = (cx.require(0)?, cx.require(1)?.clone());
    crate::shared::cx::same_elem(x, &slope)?;
    if cx.version() < 7 && slope.len() > 1 && slope.dims() != x.dims() {
        let rank = x.dims().len();
        if rank < 2 || slope.dims() != &x.dims()[1..2] {
            return Err(OpError::unsupported("the slope is neither one value nor one for each channel"));
        }
        let mut dims = slope.dims().to_vec();
        dims.resize(rank - 1, 1);
        slope = slope.reshaped(&dims).map_err(crate::shared::cx::tensor_error)?;
    }
    if crate::shared::shape::broadcast(&[x.dims(), slope.dims()])? != x.dims() {
        return Err(OpError::invalid(format_args!(
            "the slope's shape {:?} does not broadcast to {:?}",
            slope.dims(),
            x.dims()
        )));
    }
    let doubt = Doubt::default();
    let result = dispatch!(x.elem(), T in numbers => {
        zip::<T, T, T>(cx, x, &slope, |x, slope| {
            let product = slope.mul(x);
            if x.below_zero() {
                doubt.note(T::ELEM.is_float() && product == T::ZERO);
                return product;
            }
            // Some runtimes take the slope of zeros, too.
            let (zero, sloped) = (x.to_f64(), product.to_f64());
            doubt.note(x == T::ZERO && (sloped.is_nan() || are_both_zeros(zero, sloped)));
            x
        })
    });
    doubt.settle(cx, result, "a number is, or comes to, zero, whose sign runtimes choose")
}

fn selu(cx: &EvalCx<'_>) -> Eval {
    let (alpha, gamma) = (float(cx, "alpha")?, float(cx, "gamma")?);
    if !(alpha.is_finite() && gamma.is_finite()) {
        return Err(OpError::unsupported("of zeros, its two definitions differ if an attribute is not finite"));
    }
    function(cx, |x| gamma * if x <= 0.0 { alpha * x.exp_m1() } else { x })
}

fn gelu(cx: &EvalCx<'_>) -> Eval {
    match string(cx, "approximate")? {
        "none" => function(no_doubles(cx)?, |x| 0.5 * x * erfc(-x * FRAC_1_SQRT_2)),
        "tanh" => function(cx, activation::gelu_by_tanh),
        other => Err(OpError::invalid(format_args!("attribute `approximate` is `{other}`, not `none` or `tanh`"))),
    }
}

/// The arguments are not broadcast.
fn swiglu(cx: &EvalCx<'_>) -> Eval {
    let alpha = float(cx, "alpha")?;
    let (a, b) = (cx.require(0)?, cx.require(1)?);
    same_elem(a, b)?;
    if a.dims() != b.dims() {
        return Err(OpError::invalid(format_args!("shapes {:?} and {:?} differ", a.dims(), b.dims())));
    }
    let swiglu = |a: f64, b: f64| swish(a, alpha) * b;
    dispatch!(a.elem(), T in floats => {
        zip::<T, T, T>(cx, a, b, |a, b| T::rounded(swiglu(Number::to_f64(a), Number::to_f64(b))))
    })
}
