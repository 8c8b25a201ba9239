//! Arithmetic on several tensors, which are broadcast to each other.

use super::shared::{
    Done, declined,
    elementwise::operands,
    floats, numbers, same_elem,
    spread::{map, map_as},
    wide,
};
use crate::calls::flag;
use relais_plugin_api::{
    ir::{ElemType, Tensor},
    op::{Kernel, OpCall, OpError},
    prim::CoreOp,
};

/// `Max`, `Min`, `Sum` and `Mean`.
pub fn variadic(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let inputs = (0..call.n_args()).map(|at| kernel.needed_input(at)).collect::<Result<Vec<_>, _>>()?;
    let elem = same_elem(kernel, &inputs)?;
    numbers(elem)?;
    let (op, is_mean) = match call.op_name() {
        "Max" => (CoreOp::Max, false),
        "Min" => (CoreOp::Min, false),
        "Sum" => (CoreOp::Add, false),
        "Mean" => (CoreOp::Add, true),
        _ => return declined("no kernel has that name"),
    };
    if op == CoreOp::Add {
        floats(elem)?;
    }
    let y = kernel.output(0);
    map(kernel, &inputs, y, |b, values| {
        let mut all = values.iter().map(|&value| b.cast(value, wide(elem))).collect::<Vec<_>>().into_iter();
        let Some(first) = all.next() else { return b.num(elem, 0.0) };
        let mut result = all.fold(first, |sum, value| b.op(op, &[sum, value]));
        if is_mean {
            let n = b.num(wide(elem), values.len() as f64);
            result = b.div(result, n);
        }
        b.cast(result, elem)
    })
}

/// `Mod`.
pub fn modulo(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let [a, b, y] = operands(call, kernel)?;
    let elem = same_elem(kernel, &[a, b])?;
    numbers(elem)?;
    let is_fmod = flag(call, "fmod")?;
    if elem.is_float() && !is_fmod && call.version() < 28 {
        return Err(OpError::invalid("floats need attribute `fmod` before operator-set version 28"));
    }
    map(kernel, &[a, b], y, |b, values| {
        if is_fmod {
            return b.op(CoreOp::Mod, values);
        }
        if !elem.is_float() {
            return b.op(CoreOp::FloorMod, values);
        }
        // The sign of the divisor, of zeros, too.
        let (zero, minus_zero) = (b.num(elem, 0.0), b.num(elem, -0.0));
        let rest = b.op(CoreOp::Mod, values);
        let is_rest = b.op(CoreOp::Ne, &[rest, zero]);
        let (of_rest, of_divisor) = (b.lt(rest, zero), b.lt(values[1], zero));
        let differ = b.op(CoreOp::Ne, &[of_rest, of_divisor]);
        let moved = b.add(rest, values[1]);
        let of_others = b.select(differ, moved, rest);
        let of_zeros = b.select(of_divisor, minus_zero, zero);
        b.select(is_rest, of_others, of_zeros)
    })
}

/// The number in a constant of one number.
fn one_number(tensor: &Tensor) -> Option<f64> {
    if tensor.len() != 1 {
        return None;
    }
    tensor.to_f64().or_else(|| tensor.to_i64().map(|value| value as f64))
}

/// `Pow`; of small constant exponents a product, and of integers a rounded `float64`, as runtimes compute it.
pub fn pow(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let [a, b, y] = operands(call, kernel)?;
    let (elem, exponent) = (kernel.elem(a), kernel.elem(b));
    numbers(elem)?;
    numbers(exponent)?;
    let known = call.constant(1).and_then(one_number);
    if let Some(n @ (1.0 | 2.0 | 3.0)) = known {
        let inputs = [(a, kernel.sizes(a))];
        let sizes = kernel.sizes(y);
        let to = wide(elem);
        return map_as(kernel, &inputs, y, &sizes, |b, values| {
            let x = b.cast(values[0], to);
            let power = (1..n as usize).fold(x, |power, _| b.mul(power, x));
            b.cast(power, elem)
        });
    }
    // Whether a large exponent is even decides the sign.
    let is_long = exponent.is_integer() && exponent.bits() > 16 && known.is_none_or(|n| f64::from(n as f32) != n);
    let is_double = elem == ElemType::DOUBLE || exponent == ElemType::DOUBLE || !elem.is_float() || is_long;
    let within = if is_double { ElemType::DOUBLE } else { ElemType::FLOAT };
    map(kernel, &[a, b], y, |b, values| {
        let (x, y) = (b.cast(values[0], within), b.cast(values[1], within));
        let power = b.op(CoreOp::Pow, &[x, y]);
        b.cast(power, elem)
    })
}
