//! Arithmetic on two or more tensors.
//!
//! Integers wrap around. A call that divides an integer by zero, or whose result ONNX leaves open, is not evaluated.

use crate::shared::{
    cx::{Eval, flag, table},
    doubt::{Doubt, are_both_zeros},
    elementwise::{any, map, operands, operands_of_any_elem, zip},
    scalar::{Integer, Number, dispatch},
};
use relais_plugin_api::{
    ir::Tensor,
    op::{EvalCx, OpError},
};

table! {
    "Add" @ 1 => |cx| binary!(cx, T::add),
    "Sub" @ 1 => |cx| binary!(cx, T::sub),
    "Mul" @ 1 => |cx| binary!(cx, T::mul),
    "Div" @ 1 => div,
    "Mod" @ 10 => modulo,
    "Pow" @ 1 => pow,
    "Max" @ 1 => |cx| extreme!(cx, T::greater_of),
    "Min" @ 1 => |cx| extreme!(cx, T::lesser_of),
    "Sum" @ 1 => |cx| variadic!(cx, floats, T::add),
    "Mean" @ 1 => mean,
}

macro_rules! binary {
    ($cx:expr, $f:expr) => {{
        let (a, b) = operands($cx)?;
        dispatch!(a.elem(), T in numbers => zip::<T, T, T>($cx, &a, &b, $f))
    }};
}

macro_rules! variadic {
    ($cx:expr, $set:ident, $f:expr) => {{
        let cx = $cx;
        let first = cx.require(0)?.clone();
        (1..cx.n_inputs()).try_fold(first, |a, index| {
            let b = term(cx, &a, index)?;
            dispatch!(a.elem(), T in $set => zip::<T, T, T>(cx, &a, b, $f))
        })
    }};
}

/// Runtimes differ where one of the numbers is NaN, and in which of two zeros is the greater one.
macro_rules! extreme {
    ($cx:expr, $f:expr) => {{
        let doubt = Doubt::default();
        let extreme = variadic!($cx, numbers, |a: T, b: T| {
            doubt.note(a.is_nan() || b.is_nan() || are_both_zeros(a.to_f64(), b.to_f64()));
            $f(a, b)
        });
        doubt.settle($cx, extreme, "NaN or zeros of both signs are compared")
    }};
}

use {binary, extreme, variadic};

/// Argument `index` of a variadic operator; before version 8 they do not broadcast.
fn term<'a>(cx: &'a EvalCx<'_>, a: &Tensor, index: usize) -> Eval<&'a Tensor> {
    let b = cx.require(index)?;
    crate::shared::cx::same_elem(a, b)?;
    if cx.version() < 8 && a.dims() != b.dims() {
        return Err(OpError::invalid(format_args!("shapes {:?} and {:?} differ", a.dims(), b.dims())));
    }
    Ok(b)
}

/// Refuses operations that would stop a program: division of an integer by zero, or of the least one by -1.
fn no_trap(a: &Tensor, b: &Tensor) -> Eval<()> {
    if !b.elem().is_integer() {
        return Ok(());
    }
    dispatch!(b.elem(), T in integers => {
        if any::<T>(b, |divisor| divisor == T::ZERO) {
            return Err(OpError::unsupported("an integer is divided by zero"));
        }
        let is_least = |dividend: T| dividend.to_i128() < 0 && dividend == T::LEAST;
        if any::<T>(b, |divisor| divisor.to_i128() == -1) && any::<T>(a, is_least) {
            return Err(OpError::unsupported("the quotient of two integers is out of range"));
        }
        Ok(())
    })
}

fn div(cx: &EvalCx<'_>) -> Eval {
    let (a, b) = operands(cx)?;
    no_trap(&a, &b)?;
    dispatch!(a.elem(), T in numbers => zip::<T, T, T>(cx, &a, &b, T::div))
}

fn modulo(cx: &EvalCx<'_>) -> Eval {
    let (a, b) = operands(cx)?;
    no_trap(&a, &b)?;
    if flag(cx, "fmod")? {
        return dispatch!(a.elem(), T in numbers => zip::<T, T, T>(cx, &a, &b, T::rem));
    }
    if cx.version() < 28 && a.elem().is_float() {
        return Err(OpError::invalid("floats need attribute `fmod` before operator-set version 28"));
    }
    dispatch!(a.elem(), T in numbers => zip::<T, T, T>(cx, &a, &b, T::modulo))
}

fn mean(cx: &EvalCx<'_>) -> Eval {
    let sum: Tensor = variadic!(cx, floats, T::add)?;
    let n = cx.n_inputs() as f64;
    dispatch!(sum.elem(), T in floats => map::<T, T>(cx, &sum, |sum| sum.div(T::rounded(n))))
}

/// Of floats computed in double precision and rounded; of integers exact, and not evaluated where the result is out
/// of range or the exponent negative.
fn pow(cx: &EvalCx<'_>) -> Eval {
    let (a, b) = operands_of_any_elem(cx)?;
    if cx.version() < 12 {
        crate::shared::cx::same_elem(&a, &b)?;
    }
    if b.elem().is_integer() && a.elem().is_integer() {
        // An exponent that does not fit is one that no power is computed for.
        let b = dispatch!(b.elem(), B in integers => map::<B, i64>(cx, &b, |y| y.to_i128().try_into().unwrap_or(-1)))?;
        return dispatch!(a.elem(), A in integers => int_pow::<A>(cx, &a, &b));
    }
    let b = dispatch!(b.elem(), B in numbers => map::<B, f64>(cx, &b, Number::to_f64))?;
    if !a.elem().is_integer() {
        return dispatch!(a.elem(), A in floats => {
            zip::<A, f64, A>(cx, &a, &b, |x, y| A::rounded(x.to_f64().powf(y)))
        });
    }
    dispatch!(a.elem(), A in integers => {
        let exact = std::cell::Cell::new(true);
        let result = zip::<A, f64, A>(cx, &a, &b, |x, y| {
            let power = x.to_f64().powf(y).trunc();
            // Doubles hold every integer up to this size.
            exact.set(exact.get() && power.abs() <= 9_007_199_254_740_992.0 && A::rounded(power).to_f64() == power);
            A::rounded(power)
        })?;
        if exact.get() { Ok(result) } else { Err(power_out_of_range()) }
    })
}

fn int_pow<A: Integer>(cx: &EvalCx<'_>, a: &Tensor, b: &Tensor) -> Eval {
    let exact = std::cell::Cell::new(true);
    let result = zip::<A, i64, A>(cx, a, b, |x, y| {
        let power = match (x.to_i128(), u32::try_from(y)) {
            (1, Ok(_)) => Some(1),
            (0, Ok(exponent)) => Some(i128::from(exponent == 0)),
            (-1, Ok(exponent)) => Some(if exponent % 2 == 0 { 1 } else { -1 }),
            (base, Ok(exponent)) => base.checked_pow(exponent),
            _ => None,
        };
        // Doubles, through which some runtimes go, hold every integer up to this size.
        let power = power.filter(|power| power.unsigned_abs() <= 1 << 53).and_then(A::from_i128);
        exact.set(exact.get() && power.is_some());
        power.unwrap_or(A::ZERO)
    })?;
    if exact.get() { Ok(result) } else { Err(power_out_of_range()) }
}

fn power_out_of_range() -> OpError {
    OpError::unsupported("an integer power is out of range")
}
