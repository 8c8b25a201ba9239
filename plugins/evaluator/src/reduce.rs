//! Reductions along axes.
//!
//! Sums of floats are added up in double precision and rounded once: ONNX leaves their order, and so their last digit,
//! to the implementation. Where accumulators of the element's own type might overflow or underflow, or integers wrap
//! around, nothing is evaluated.

use crate::shared::{
    cx::{Eval, flag, int, ints_attr_or_input, readable, table, tensor_error},
    doubt::{Doubt, Product, Sum, refuse},
    elementwise::{any, map},
    lines::{Lines, Order, comparable},
    scalar::{Float, Integer, Number, Scalar, dispatch},
    shape::{Rows, Walk, axes, checked_len, sizes, strides, uniform, with_room},
};
use relais_plugin_api::{
    ir::{ElemType, Tensor},
    op::{EvalCx, OpError, shapes::axis_of},
};

table! {
    "ArgMax" @ 1 => |cx| arg_extreme(cx, Order::Descending),
    "ArgMin" @ 1 => |cx| arg_extreme(cx, Order::Ascending),
    "ReduceMax" @ 1 => |cx| extreme(cx, Extreme::Max),
    "ReduceMin" @ 1 => |cx| extreme(cx, Extreme::Min),
    "ReduceSum" @ 1 => |cx| sum(cx, 13, Term::Value),
    "ReduceProd" @ 1 => product,
    "ReduceL1" @ 1 => |cx| sum(cx, 18, Term::Magnitude),
    "ReduceSumSquare" @ 1 => |cx| sum(cx, 18, Term::Square),
    "ReduceL2" @ 1 => |cx| of_floats(cx, Term::Square, |sum, _| sum.sqrt()),
    "ReduceLogSum" @ 1 => |cx| of_floats(cx, Term::Value, |sum, _| sum.ln()),
    "ReduceLogSumExp" @ 1 => log_sum_exp,
    "ReduceMean" @ 1 => mean,
}

/// The function of each element that is summed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Term {
    Value,
    Magnitude,
    Square,
}

const FLOATS_DIFFER: &str = "accumulators of the element type may overflow, underflow, or keep the sign of zero";
const INTEGERS_DIFFER: &str = "the integers may be too large for an accumulator";

/// The axes that are reduced and those that stay.
struct Plan {
    /// Dimensions of the result.
    dims: Vec<u64>,
    kept_dims: Vec<usize>,
    kept_strides: Vec<isize>,
    reduced_dims: Vec<usize>,
    reduced_strides: Vec<isize>,
}

impl Plan {
    /// Reads the axes, an input from version `input_since` on.
    fn new(cx: &EvalCx<'_>, input_since: i64) -> Eval<Self> {
        let data = cx.require(0)?;
        let rank = data.dims().len();
        let list = ints_attr_or_input(cx, "axes", 1, input_since)?.unwrap_or_default();
        let all = list.is_empty() && !(cx.version() >= input_since && flag(cx, "noop_with_empty_axes")?);
        let mut reduced = vec![all; rank];
        for at in axes(&list, rank)? {
            reduced[at] = true;
        }
        let keep = flag(cx, "keepdims")?;
        let data_dims = sizes(data.dims())?;
        let data_strides = if data.as_splat().is_some() { vec![0; rank] } else { strides(&data_dims) };
        let pick = |of: bool| (0..rank).filter(|&at| reduced[at] == of).collect::<Vec<_>>();
        let dims = (0..rank).filter(|&at| keep || !reduced[at]).map(|at| if reduced[at] { 1 } else { data.dims()[at] });
        Ok(Self {
            dims: dims.collect(),
            kept_dims: pick(false).iter().map(|&at| data_dims[at]).collect(),
            kept_strides: pick(false).iter().map(|&at| data_strides[at]).collect(),
            reduced_dims: pick(true).iter().map(|&at| data_dims[at]).collect(),
            reduced_strides: pick(true).iter().map(|&at| data_strides[at]).collect(),
        })
    }

    /// The number of elements that make one.
    fn count(&self) -> Option<usize> {
        if self.reduced_dims.contains(&0) {
            return Some(0);
        }
        self.reduced_dims.iter().try_fold(1usize, |count, &dim| count.checked_mul(dim))
    }

    /// Folds the elements that belong to one element, for every element of the result.
    fn fold<T: Scalar, A: Copy, R: Scalar>(
        &self,
        cx: &EvalCx<'_>,
        data: &Tensor,
        start: A,
        step: impl Fn(A, T) -> A,
        finish: impl Fn(A) -> R,
    ) -> Eval {
        let count = self.count().ok_or_else(|| OpError::unsupported("too many elements are reduced"))?;
        if count == 0 {
            return uniform(R::ELEM, &self.dims, finish(start).store().as_ref());
        }
        if let Some(element) = data.as_splat() {
            // As many steps as a tensor of the greatest size would take.
            if count as u64 > cx.max_bytes() {
                return Err(OpError::unsupported("too many elements are reduced"));
            }
            let value = T::chunks(element)[0];
            let result = (0..count).fold(start, |all, _| step(all, T::load(value)));
            return uniform(R::ELEM, &self.dims, finish(result).store().as_ref());
        }
        readable(cx, data)?;
        let len = checked_len(cx, R::ELEM, &self.dims)?;
        let mut out = with_room(len)?;
        if len > 0 {
            let bytes = data.to_bytes();
            let elements = T::chunks(&bytes);
            let rows = Rows::new(&self.reduced_dims, [&self.reduced_strides]);
            let ([stride], row) = (rows.strides, rows.len as isize);
            let starts: Vec<isize> = rows.walk.map(|[start]| start).collect();
            for [offset] in Walk::new(&self.kept_dims, [&self.kept_strides]) {
                let result = starts.iter().fold(start, |all, start| {
                    (0..row).fold(all, |all, i| step(all, T::load(elements[(offset + start + i * stride) as usize])))
                });
                out.push(finish(result).store());
            }
        }
        Tensor::dense(R::ELEM, &self.dims, R::flatten(out)).map_err(tensor_error)
    }
}

/// A sum of integers or floats.
fn sum(cx: &EvalCx<'_>, input_since: i64, term: Term) -> Eval {
    let data = cx.require(0)?;
    if data.elem().is_float() {
        let plan = Plan::new(cx, input_since)?;
        return dispatch!(data.elem(), T in floats => fold_floats::<T>(&plan, cx, data, term, |sum| sum));
    }
    let plan = Plan::new(cx, input_since)?;
    dispatch!(data.elem(), T in integers => fold_integers::<T>(&plan, cx, data, term, |sum| sum))
}

/// A sum of floats, followed by `finish`, which receives the number of elements in one sum.
fn of_floats(cx: &EvalCx<'_>, term: Term, finish: impl Fn(f64, f64) -> f64) -> Eval {
    let plan = Plan::new(cx, 18)?;
    let data = cx.require(0)?;
    let count = plan.count().unwrap_or(0) as f64;
    dispatch!(data.elem(), T in floats => fold_floats::<T>(&plan, cx, data, term, |sum| finish(sum, count)))
}

fn fold_floats<T: Float>(plan: &Plan, cx: &EvalCx<'_>, data: &Tensor, term: Term, finish: impl Fn(f64) -> f64) -> Eval {
    let of = |x: f64| match term {
        Term::Value => x,
        Term::Magnitude => x.abs(),
        Term::Square => x * x,
    };
    let doubt = Doubt::default();
    let result = plan.fold::<T, Sum, T>(
        cx,
        data,
        Sum::EMPTY,
        |sum, x| sum.add::<T>(of(x.to_f64())),
        |sum| {
            doubt.note(sum.is_doubtful::<T>());
            T::rounded(finish(sum.value))
        },
    );
    doubt.settle(cx, result, FLOATS_DIFFER)
}

/// Doubles, through which some runtimes go, hold every integer up to this size.
const EXACT: u128 = 1 << 53;

/// As long as the magnitudes fit into the type and into a double, no order of the terms overflows or is rounded.
fn fold_integers<T: Integer>(
    plan: &Plan,
    cx: &EvalCx<'_>,
    data: &Tensor,
    term: Term,
    finish: impl Fn(i128) -> i128,
) -> Eval {
    let of = |x: i128| match term {
        Term::Value => Some(x),
        Term::Magnitude => Some(x.abs()),
        Term::Square => x.checked_mul(x),
    };
    let most = T::GREATEST.to_i128().unsigned_abs().min(EXACT);
    let add = |sum: Option<(i128, u128)>, x: T| {
        let (sum, term) = (sum?, of(x.to_i128())?);
        Some((sum.0.checked_add(term)?, sum.1.checked_add(term.unsigned_abs())?))
    };
    fold_exactly::<T>(plan, cx, data, Some((0, 0)), most, add, finish)
}

/// Folds integers to a value, together with the magnitude of all its terms.
fn fold_exactly<T: Integer>(
    plan: &Plan,
    cx: &EvalCx<'_>,
    data: &Tensor,
    start: Option<(i128, u128)>,
    most: u128,
    step: impl Fn(Option<(i128, u128)>, T) -> Option<(i128, u128)>,
    finish: impl Fn(i128) -> i128,
) -> Eval {
    let doubt = Doubt::default();
    let result = plan.fold::<T, Option<(i128, u128)>, T>(cx, data, start, step, |all| {
        let value = all.filter(|&(_, size)| size <= most).and_then(|(value, _)| T::from_i128(finish(value)));
        doubt.note(value.is_none());
        value.unwrap_or(T::ZERO)
    });
    // A sum that wraps around was not computed at all.
    if doubt.is_noted() { Err(OpError::unsupported(INTEGERS_DIFFER)) } else { result }
}

fn product(cx: &EvalCx<'_>) -> Eval {
    let plan = Plan::new(cx, 18)?;
    let data = cx.require(0)?;
    if data.elem().is_float() {
        let doubt = Doubt::default();
        let result = dispatch!(data.elem(), T in floats => {
            plan.fold::<T, Product, T>(cx, data, Product::EMPTY, |product, x| product.times(x.to_f64()), |product| {
                doubt.note(product.is_doubtful::<T>());
                T::rounded(product.value)
            })
        });
        return doubt.settle(cx, result, FLOATS_DIFFER);
    }
    dispatch!(data.elem(), T in integers => {
        // Zero, which makes the product zero, does not make it small on the way.
        let times = |product: Option<(i128, u128)>, x: T| {
            let (product, x) = (product?, x.to_i128());
            Some((product.0.checked_mul(x)?, product.1.checked_mul(x.unsigned_abs().max(1))?))
        };
        let most = T::GREATEST.to_i128().unsigned_abs().min(EXACT);
        fold_exactly::<T>(&plan, cx, data, Some((1, 1)), most, times, |product| product)
    })
}

/// Runtimes that do not subtract the greatest exponent first overflow, and turn results that are not finite into NaN.
fn log_sum_exp(cx: &EvalCx<'_>) -> Eval {
    let plan = Plan::new(cx, 18)?;
    let data = cx.require(0)?;
    let doubt = Doubt::default();
    let result = dispatch!(data.elem(), T in floats => {
        doubt.note(any::<T>(data, |x| !Number::to_f64(x).is_finite()));
        let start = (f64::NEG_INFINITY, 0.0);
        plan.fold::<T, (f64, f64), T>(cx, data, start, |all, x| add_exp(all, x.to_f64()), |(max, sum)| {
            let log = max + sum.ln();
            let is_within = (T::LEAST_NORMAL.ln()..=T::GREATEST_FINITE.ln() - 6.0).contains(&log);
            doubt.note(plan.count() != Some(0) && !is_within);
            T::rounded(log)
        })
    });
    doubt.settle(cx, result, FLOATS_DIFFER)
}

/// Adds `exp(x)` to `sum * exp(max)`, where `max` is the greatest exponent so far.
fn add_exp((max, sum): (f64, f64), x: f64) -> (f64, f64) {
    if x == f64::NEG_INFINITY {
        (max, sum)
    } else if x == max {
        (max, sum + 1.0)
    } else if x > max {
        (x, sum * (max - x).exp() + 1.0)
    } else {
        (max, sum + (x - max).exp())
    }
}

/// The mean of integers is truncated; that of nothing is undefined.
fn mean(cx: &EvalCx<'_>) -> Eval {
    let plan = Plan::new(cx, 18)?;
    let data = cx.require(0)?;
    let count = match plan.count() {
        Some(count) if count > 0 => count,
        _ => return Err(OpError::unsupported("the mean of nothing")),
    };
    if data.elem().is_float() {
        return of_floats(cx, Term::Value, |sum, count| sum / count);
    }
    dispatch!(data.elem(), T in integers => {
        fold_integers::<T>(&plan, cx, data, Term::Magnitude, |sum| sum)?;
        fold_integers::<T>(&plan, cx, data, Term::Value, |sum| sum / count as i128)
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Extreme {
    Max,
    Min,
}

/// The extreme of nothing is defined from version 20 on.
fn extreme(cx: &EvalCx<'_>, which: Extreme) -> Eval {
    let plan = Plan::new(cx, 18)?;
    let data = cx.require(0)?;
    if plan.count() == Some(0) && cx.version() < 20 {
        return Err(OpError::unsupported("the extreme of nothing before operator-set version 20"));
    }
    if data.elem() == ElemType::BOOL {
        let bytes = map::<bool, u8>(cx, data, u8::from)?;
        let start = u8::from(which == Extreme::Min);
        let pick = |a: u8, b: u8| if which == Extreme::Max { a | b } else { a & b };
        return plan.fold::<u8, u8, bool>(cx, &bytes, start, pick, |x| x != 0);
    }
    let is_doubtful = dispatch!(data.elem(), T in numbers => {
        let has = |sign: bool| any::<T>(data, |x| x == T::ZERO && x.to_f64().is_sign_negative() == sign);
        Ok(T::ELEM.is_float() && (any::<T>(data, |x| x.is_nan()) || (has(true) && has(false))))
    })?;
    refuse(cx, is_doubtful, "NaN or zeros of both signs are compared")?;
    dispatch!(data.elem(), T in numbers => match which {
        Extreme::Max => plan.fold::<T, T, T>(cx, data, T::LEAST, |a, b| a.greater_of(b), |x| x),
        Extreme::Min => plan.fold::<T, T, T>(cx, data, T::GREATEST, |a, b| a.lesser_of(b), |x| x),
    })
}

fn arg_extreme(cx: &EvalCx<'_>, order: Order) -> Eval {
    let data = cx.require(0)?;
    let at = axis_of(int(cx, "axis")?, data.dims().len())?;
    let last = flag(cx, "select_last_index")?;
    let mut dims = data.dims().to_vec();
    if flag(cx, "keepdims")? {
        dims[at] = 1;
    } else {
        dims.remove(at);
    }
    if data.dims()[at] == 0 {
        return Err(OpError::invalid("the axis is empty"));
    }
    dispatch!(data.elem(), T in numbers => {
        let len = checked_len(cx, ElemType::INT64, &dims)?;
        let bytes = comparable::<T>(cx, data)?;
        let elements = T::chunks(&bytes);
        let lines = Lines::new(data, at)?;
        let mut out = with_room(len)?;
        for start in lines.starts() {
            let mut best = (0, T::load(elements[start]));
            for i in 1..lines.len {
                let x = T::load(elements[start + i * lines.stride]);
                let better = if order == Order::Descending { x > best.1 } else { x < best.1 };
                if better || (last && x == best.1) {
                    best = (i, x);
                }
            }
            out.push((best.0 as i64).store());
        }
        Tensor::dense(ElemType::INT64, &dims, i64::flatten(out)).map_err(tensor_error)
    })
}
