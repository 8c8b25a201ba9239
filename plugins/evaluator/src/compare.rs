//! Comparisons, tests of single elements, and `Where`.

use crate::{
    shared::{
        cx::{Eval, flag, same_elem, table, tensor_error},
        elementwise::{map, operands, zip},
        elems::{Elems, broadcast_strides_of, strided},
        minifloat,
        scalar::{Number, dispatch},
        shape::{Walk, broadcast, checked_len, sizes, uniform},
    },
    text::broadcast_strings,
};
use relais_plugin_api::{
    ir::{ElemType, Tensor},
    op::{EvalCx, OpError},
};

table! {
    "Equal" @ 1 => equal,
    "Less" @ 1 => |cx| compare!(cx, |a: T, b: T| a < b),
    "LessOrEqual" @ 12 => |cx| compare!(cx, |a: T, b: T| a <= b),
    "Greater" @ 1 => |cx| compare!(cx, |a: T, b: T| a > b),
    "GreaterOrEqual" @ 12 => |cx| compare!(cx, |a: T, b: T| a >= b),
    "Where" @ 9 => select,
    "IsNaN" @ 9 => |cx| classify(cx, f64::is_nan),
    "IsInf" @ 10 => is_inf,
}

macro_rules! compare {
    ($cx:expr, $f:expr) => {{
        let (a, b) = operands($cx)?;
        dispatch!(a.elem(), T in numbers => zip::<T, T, bool>($cx, &a, &b, $f))
    }};
}

use compare;

fn equal(cx: &EvalCx<'_>) -> Eval {
    let (a, b) = operands(cx)?;
    if a.elem() == ElemType::STRING {
        return equal_strings(cx, &a, &b);
    }
    dispatch!(a.elem(), T in scalars => zip::<T, T, bool>(cx, &a, &b, |a, b| a == b))
}

fn equal_strings(cx: &EvalCx<'_>, a: &Tensor, b: &Tensor) -> Eval {
    let dims = broadcast(&[a.dims(), b.dims()])?;
    let (a, b) = (broadcast_strings(cx, a, &dims)?, broadcast_strings(cx, b, &dims)?);
    let out = a.iter().zip(b).map(|(a, b)| u8::from(*a == b)).collect::<Vec<u8>>();
    Tensor::dense(ElemType::BOOL, &dims, out).map_err(tensor_error)
}

fn is_inf(cx: &EvalCx<'_>) -> Eval {
    let (positive, negative) = (flag(cx, "detect_positive")?, flag(cx, "detect_negative")?);
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
        let bytes = bytes.map_err(|_| crate::shared::cx::unsupported_elem(x.elem()))?;
        return map::<u8, bool>(cx, &bytes, |code| f(format.decode(code).into()));
    }
    dispatch!(x.elem(), T in floats => map::<T, bool>(cx, x, |x| f(x.to_f64())))
}

fn select(cx: &EvalCx<'_>) -> Eval {
    let (condition, x, y) = (cx.require(0)?, cx.require(1)?, cx.require(2)?);
    same_elem(x, y)?;
    if condition.elem() != relais_plugin_api::ir::ElemType::BOOL {
        return Err(OpError::invalid(format_args!("the condition has element type `{}`", condition.elem())));
    }
    let dims = broadcast(&[condition.dims(), x.dims(), y.dims()])?;
    if let Some(condition) = crate::shared::elementwise::uniform_value::<bool>(condition) {
        let taken = if condition { x } else { y };
        return strided(cx, taken, &dims, &broadcast_strides_of(taken, &dims)?, 0);
    }
    if let Some(element) = x.as_splat()
        && y.as_splat() == Some(element)
    {
        return uniform(x.elem(), &dims, element);
    }
    let len = checked_len(cx, x.elem(), &dims)?;
    let mut out = Elems::zero(x.elem()).empty(len)?;
    if len > 0 {
        let condition_bytes = condition.to_bytes();
        // Of a splat one element is enough.
        let part = |tensor| match Tensor::as_splat(tensor) {
            Some(_) => Ok(Elems::first(tensor)),
            None => Elems::of(cx, tensor),
        };
        let (x_elems, y_elems) = (part(x)?, part(y)?);
        let strides = [condition, x, y].map(|tensor| broadcast_strides_of(tensor, &dims));
        let [Ok(c), Ok(a), Ok(b)] = strides else {
            return Err(OpError::unsupported("a dimension does not fit memory"));
        };
        for [c, a, b] in Walk::new(&sizes(&dims)?, [&c, &a, &b]) {
            if condition_bytes[c as usize] != 0 {
                out.extend(&x_elems, a as usize, 1);
            } else {
                out.extend(&y_elems, b as usize, 1);
            }
        }
    }
    out.into_tensor(cx, x.elem(), &dims)
}
