//! Integer arithmetic on known integers: shapes are computed with it.

use super::util::*;
use relais_plugin_api::{ir::*, op::*};

/// Passes the known integers of argument `from` on to result 0.
pub fn forward(cx: &mut InferCx<'_>, from: usize) {
    if let Some(ints) = ints_of(cx, from) {
        set_ints(cx, 0, &ints);
    }
}

/// The known integers of a cast to `elem`.
pub fn cast(cx: &mut InferCx<'_>, elem: ElemType) {
    let ints = match cx.elem(0) {
        ElemType::INT64 | ElemType::INT32 => ints_of(cx, 0),
        ElemType::FLOAT => known_floats(cx, 0).map(|values| values.into_iter().map(whole).collect()),
        _ => None,
    };
    let Some(mut ints) = ints else {
        return;
    };
    match elem {
        ElemType::INT64 => {}
        ElemType::INT32 => keep_32_bits(&mut ints),
        _ => return,
    }
    set_ints(cx, 0, &ints);
}

/// A float without a fraction, as every conversion sees it.
fn whole(value: f32) -> Int {
    if value.fract() == 0.0 && value.abs() < 1e9 { Int::Known(value as i64) } else { Int::Unknown }
}

/// A 32-bit result may have wrapped where it is not known.
fn keep_32_bits(ints: &mut [Int]) {
    for int in ints {
        let fits = matches!(*int, Int::Known(value) if i32::try_from(value).is_ok());
        *int = if fits { *int } else { Int::Unknown };
    }
}

/// The known integers of a broadcasting operator of two arguments.
pub fn binary(cx: &mut InferCx<'_>) {
    let elem = cx.elem(0);
    if !matches!(elem, ElemType::INT64 | ElemType::INT32) || (0..cx.n_args()).any(|i| !is_small_vector(cx, i)) {
        return;
    }
    let f: fn(Int, Int) -> Int = match cx.op_name() {
        "Add" => add,
        "Sub" => sub,
        "Mul" => mul,
        "Div" => div,
        "Max" => |a, b| known(a, b, |a, b| Some(a.max(b))),
        "Min" => |a, b| known(a, b, |a, b| Some(a.min(b))),
        _ => return,
    };
    let Some(mut acc) = ints_of(cx, 0) else {
        return;
    };
    for index in 1..cx.n_args() {
        let Some(other) = ints_of(cx, index) else {
            return;
        };
        let len = match (acc.len(), other.len()) {
            (a, b) if a == b => a,
            (1, b) => b,
            (a, 1) => a,
            _ => return,
        };
        acc = (0..len).map(|i| f(acc[i.min(acc.len() - 1)], other[i.min(other.len() - 1)])).collect();
    }
    if elem == ElemType::INT32 {
        keep_32_bits(&mut acc);
    }
    set_ints(cx, 0, &acc);
}

fn is_small_vector(cx: &InferCx<'_>, index: usize) -> bool {
    cx.input(index).shape().is_some_and(|dims| dims.len() <= 1)
}

fn known(a: Int, b: Int, f: impl FnOnce(i64, i64) -> Option<i64>) -> Int {
    match (a, b) {
        (Int::Known(a), Int::Known(b)) => f(a, b).map_or(Int::Unknown, Int::Known),
        _ => Int::Unknown,
    }
}

fn add(a: Int, b: Int) -> Int {
    match (a, b) {
        (Int::Known(0), other) | (other, Int::Known(0)) => other,
        _ => known(a, b, i64::checked_add),
    }
}

fn sub(a: Int, b: Int) -> Int {
    match (a, b) {
        (_, Int::Known(0)) => a,
        (Int::Symbol(x), Int::Symbol(y)) if x == y => Int::Known(0),
        _ => known(a, b, i64::checked_sub),
    }
}

fn mul(a: Int, b: Int) -> Int {
    match (a, b) {
        (Int::Known(0), _) | (_, Int::Known(0)) => Int::Known(0),
        (Int::Known(1), other) | (other, Int::Known(1)) => other,
        _ => known(a, b, i64::checked_mul),
    }
}

fn div(a: Int, b: Int) -> Int {
    match (a, b) {
        (_, Int::Known(1)) => a,
        // Runtimes disagree on how a negative quotient rounds.
        _ => known(a, b, |a, b| (a >= 0 && b > 0).then(|| a / b)),
    }
}
