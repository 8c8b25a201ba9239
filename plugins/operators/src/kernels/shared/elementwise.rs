//! Operators that are one core operator of each element.

use super::{Done, declined, floats, numbers, same_elem, spread::map, wide};
use relais_plugin_api::{
    ir::{ElemType, NodeId},
    op::{Kernel, OpCall},
    prim::{CoreOp, PrimBuilder},
};

/// The two arguments and the result of a call. Before version 7, attributes say how arguments are broadcast.
pub fn operands(call: &OpCall<'_>, kernel: &Kernel<'_>) -> Result<[NodeId; 3], relais_plugin_api::op::OpError> {
    let (a, b) = (kernel.needed_input(0)?, kernel.needed_input(1)?);
    if call.version() < 7 && kernel.sizes(a) != kernel.sizes(b) {
        return declined("before version 7, arguments are broadcast by attributes");
    }
    Ok([a, b, kernel.output(0)])
}

/// Operators of two arguments that are core operators.
pub fn binary(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let [a, b, y] = operands(call, kernel)?;
    let elem = same_elem(kernel, &[a, b])?;
    let (op, fits) = match call.op_name() {
        "Add" => (CoreOp::Add, elem != ElemType::BOOL),
        "Sub" => (CoreOp::Sub, elem != ElemType::BOOL),
        "Mul" => (CoreOp::Mul, elem != ElemType::BOOL),
        "Div" => (CoreOp::Div, elem != ElemType::BOOL),
        "And" => (CoreOp::And, elem == ElemType::BOOL),
        "Or" => (CoreOp::Or, elem == ElemType::BOOL),
        "Xor" => (CoreOp::Xor, elem == ElemType::BOOL),
        "BitwiseAnd" => (CoreOp::And, elem.is_integer()),
        "BitwiseOr" => (CoreOp::Or, elem.is_integer()),
        "BitwiseXor" => (CoreOp::Xor, elem.is_integer()),
        "Equal" => (CoreOp::Eq, true),
        "Greater" => (CoreOp::Gt, elem != ElemType::BOOL),
        "GreaterOrEqual" => (CoreOp::Ge, elem != ElemType::BOOL),
        "Less" => (CoreOp::Lt, elem != ElemType::BOOL),
        "LessOrEqual" => (CoreOp::Le, elem != ElemType::BOOL),
        _ => return declined("no kernel has that name"),
    };
    if !fits {
        return declined(format_args!("its elements are {elem}"));
    }
    map(kernel, &[a, b], y, |b, values| b.op(op, values))
}

/// Operators that are a core operator of floating-point numbers.
pub const FLOATS: &[(&str, CoreOp)] = &[
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

/// Operators of one argument that are core operators.
pub fn unary(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
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
