//! Logic and bits.

use crate::shared::{
    cx::{Eval, string, table},
    elementwise::{any, map, operands, zip},
    scalar::{Integer, Number, dispatch},
};
use relais_plugin_api::{
    ir::{ElemType, Tensor},
    op::{EvalCx, OpError},
};

table! {
    "And" @ 1 => |cx| logical(cx, |a, b| a & b),
    "Or" @ 1 => |cx| logical(cx, |a, b| a | b),
    "Xor" @ 1 => |cx| logical(cx, |a, b| a ^ b),
    "Not" @ 1 => |cx| map::<bool, bool>(cx, boolean(cx.require(0)?)?, |x| !x),
    "BitwiseAnd" @ 18 => |cx| bitwise!(cx, T::and),
    "BitwiseOr" @ 18 => |cx| bitwise!(cx, T::or),
    "BitwiseXor" @ 18 => |cx| bitwise!(cx, T::xor),
    "BitwiseNot" @ 18 => |cx| {
        let x = cx.require(0)?;
        dispatch!(x.elem(), T in integers => map::<T, T>(cx, x, T::not))
    },
    "BitShift" @ 11 => bit_shift,
}

macro_rules! bitwise {
    ($cx:expr, $f:expr) => {{
        let (a, b) = operands($cx)?;
        dispatch!(a.elem(), T in integers => zip::<T, T, T>($cx, &a, &b, $f))
    }};
}

use bitwise;

fn boolean(x: &Tensor) -> Eval<&Tensor> {
    match x.elem() {
        ElemType::BOOL => Ok(x),
        other => Err(OpError::invalid(format_args!("an argument has element type `{other}`, not `bool`"))),
    }
}

fn logical(cx: &EvalCx<'_>, f: impl Fn(bool, bool) -> bool) -> Eval {
    let (a, b) = operands(cx)?;
    zip::<bool, bool, bool>(cx, boolean(&a)?, boolean(&b)?, f)
}

/// Shifting by as many bits as there are, or more, is defined from version 28 on; before, it is not evaluated.
fn bit_shift(cx: &EvalCx<'_>) -> Eval {
    let left = match string(cx, "direction")? {
        "LEFT" => true,
        "RIGHT" => false,
        _ => return Err(OpError::invalid("attribute `direction` must be `LEFT` or `RIGHT`")),
    };
    let (a, b) = operands(cx)?;
    dispatch!(a.elem(), T in integers => {
        let excess = |by: T| !(0..i128::from(T::BITS)).contains(&by.to_i128());
        if cx.version() < 28 && any(&b, excess) {
            return Err(OpError::unsupported("a shift by more bits than there are"));
        }
        zip::<T, T, T>(cx, &a, &b, |a, by| match (excess(by), left) {
            (false, true) => a.shift_left(by.to_i128() as u32),
            (false, false) => a.shift_right(by.to_i128() as u32),
            (true, false) if a.below_zero() => T::ONE.negated(),
            (true, _) => T::ZERO,
        })
    })
}
