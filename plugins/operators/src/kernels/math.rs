//! Functions of one element.

use super::{Done, copy, declined, flag, floats, int, map, numbers, wide};
use relais_plugin_api::{
    ir::{ElemType, NodeId},
    op::{Kernel, OpCall},
    prim::{CoreOp, PrimBuilder},
};

/// Operators that are a core operator of floating-point numbers.
const FLOATS: &[(&str, CoreOp)] = &[
    ("Acos", CoreOp::Acos),
    ("Acosh", CoreOp::Acosh),
    ("Asin", CoreOp::Asin),
    ("Asinh", CoreOp::Asinh),
    ("Atan", CoreOp::Atan),
    ("Atanh", CoreOp::Atanh),
    ("Ceil", CoreOp::Ceil),
    ("Cos", CoreOp::Cos),
    ("Cosh", CoreOp::Cosh),
    ("Erf", CoreOp::Erf),
    ("Exp", CoreOp::Exp),
    ("Floor", CoreOp::Floor),
    ("Log", CoreOp::Log),
    ("Round", CoreOp::Round),
    ("Sin", CoreOp::Sin),
    ("Sinh", CoreOp::Sinh),
    ("Sqrt", CoreOp::Sqrt),
    ("Tan", CoreOp::Tan),
    ("Tanh", CoreOp::Tanh),
];

/// Computes each element of the result from that of the argument, half precision as single precision.
pub fn each<'b>(kernel: &mut Kernel<'b>, f: impl FnOnce(&mut PrimBuilder<'b>, ElemType, NodeId) -> NodeId) -> Done {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    let elem = kernel.elem(x);
    map(kernel, &[x], y, |b, values| {
        let x = b.cast(values[0], wide(elem));
        let value = f(b, wide(elem), x);
        b.cast(value, elem)
    })
}

/// The operators that are core operators.
pub fn core(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let name = call.op_name();
    let x = kernel.needed_input(0)?;
    let elem = kernel.elem(x);
    if let Some(&(_, op)) = FLOATS.iter().find(|(of, _)| *of == name) {
        // Round, Floor and Ceil of integers are the integers.
        floats(elem)?;
        return each(kernel, |b, _, x| b.op(op, &[x]));
    }
    let op = match name {
        "Abs" => CoreOp::Abs,
        "Neg" => CoreOp::Neg,
        "Not" | "BitwiseNot" => CoreOp::Not,
        _ => return declined("no kernel has that name"),
    };
    match op {
        CoreOp::Not if elem.is_float() => return declined("its elements are floating-point numbers"),
        CoreOp::Not => {}
        _ => numbers(elem)?,
    }
    each(kernel, |b, _, x| b.op(op, &[x]))
}

/// `Reciprocal`.
pub fn reciprocal(_: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    floats(kernel.elem(kernel.needed_input(0)?))?;
    each(kernel, |b, elem, x| {
        let one = b.num(elem, 1.0);
        b.div(one, x)
    })
}

/// `Sign`: of zeros and NaN, themselves.
pub fn sign(_: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let elem = kernel.elem(kernel.needed_input(0)?);
    numbers(elem)?;
    each(kernel, |b, elem, x| {
        let (zero, one) = (b.num(elem, 0.0), b.num(elem, 1.0));
        let mut other = x;
        if elem.is_float() || elem.is_signed() {
            let (is_below, minus) = (b.lt(x, zero), b.num(elem, -1.0));
            other = b.select(is_below, minus, x);
        }
        let is_above = b.gt(x, zero);
        b.select(is_above, one, other)
    })
}

/// `Identity`.
pub fn identity(_: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    copy(kernel, x, y);
    Ok(())
}

/// `IsNaN` and `IsInf`.
pub fn classify(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    let elem = kernel.elem(x);
    floats(elem)?;
    if call.op_name() == "IsNaN" {
        return map(kernel, &[x], y, |b, x| b.op(CoreOp::IsNan, x));
    }
    let (positive, negative) = (flag(call, "detect_positive", true), flag(call, "detect_negative", true));
    map(kernel, &[x], y, |b, x| {
        let zero = b.num(elem, 0.0);
        let is_infinite = b.op(CoreOp::IsInf, x);
        let sign = match (positive, negative) {
            (true, true) => return is_infinite,
            (true, false) => b.gt(x[0], zero),
            (false, true) => b.lt(x[0], zero),
            (false, false) => return b.num(ElemType::BOOL, 0.0),
        };
        b.and(is_infinite, sign)
    })
}

/// `Cast` and `CastLike`, from version 6 on.
pub fn cast(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    if call.version() < 6 {
        return declined("before version 6, its type is a name");
    }
    let (from, to) = (kernel.elem(x), kernel.elem(y));
    if from == to {
        copy(kernel, x, y);
        return Ok(());
    }
    map(kernel, &[x], y, |b, x| b.cast(x[0], to))
}

/// `BitCast`.
pub fn bit_cast(_: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    let (from, to) = (kernel.elem(x), kernel.elem(y));
    if from == to {
        copy(kernel, x, y);
        return Ok(());
    }
    if from == ElemType::BOOL && to.is_integer() && to.bits() == 8 {
        return map(kernel, &[x], y, |b, x| b.cast(x[0], to));
    }
    if from.bits() != to.bits() || from == ElemType::BOOL || to == ElemType::BOOL {
        return declined(format_args!("bits of {from} are not a {to}"));
    }
    let elem = relais_plugin_api::ir::Attr::new("elem", to.name().unwrap_or_default());
    map(kernel, &[x], y, |b, x| b.op_with(CoreOp::Bitcast, x, &[elem]))
}

/// `Dropout` that drops nothing.
pub fn dropout(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let is_training = match call.version() {
        ..7 => int(call, "is_test", 0) == 0,
        7..12 => false,
        _ => match (call.has_arg(2), call.constant(2)) {
            (false, _) => false,
            (true, Some(flag)) => flag.to_bytes().first() != Some(&0),
            (true, None) => return declined("whether it is in training is not a constant"),
        },
    };
    if is_training {
        return declined("it is in training");
    }
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    copy(kernel, x, y);
    if let Some(mask) = kernel.optional_output(1) {
        let elem = kernel.elem(mask);
        let one = kernel.num(elem, 1.0);
        super::fill(kernel, mask, one);
    }
    Ok(())
}
