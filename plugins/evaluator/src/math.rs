//! Functions whose last digit ONNX leaves to the implementation: computed in double precision and rounded once.
//!
//! The result is that of any careful runtime to within a unit in the last place, and the same wherever this library
//! runs with the same `libm`.

use crate::shared::{
    cx::table,
    elementwise::{function, no_doubles, unary},
    scalar::{Float, Number, dispatch},
};
use relais_plugin_api::prim::erf;

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
