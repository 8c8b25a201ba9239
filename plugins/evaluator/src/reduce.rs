//! Reductions along axes.
//!
//! Sums of floats are added up in double precision and rounded once: ONNX leaves their order, and so their last digit,
//! to the implementation. Sums of integers wrap around.

use crate::{
    cx::{Eval, flag, ints_attr_or_input, readable, table, tensor_error},
    elementwise::map,
    scalar::{Float, Number, Scalar, dispatch},
    shape::{Rows, Walk, axes, checked_len, sizes, strides, uniform, with_room},
};
use relais_plugin_api::{
    ir::{ElemType, Tensor},
    op::{EvalCx, OpError},
};

table! {
    "ReduceMax" @ 1 => |cx| extreme(cx, Extreme::Max),
    "ReduceMin" @ 1 => |cx| extreme(cx, Extreme::Min),
    "ReduceSum" @ 1 => |cx| sum_like!(cx, 13, 0, |sum, x| sum + x, |sum, x: T| sum.add(x), |sum| sum),
    "ReduceProd" @ 1 => |cx| sum_like!(cx, 18, 1, |sum, x| sum * x, |sum, x: T| sum.mul(x), |sum| sum),
    "ReduceL1" @ 1 => |cx| sum_like!(cx, 18, 0, |sum, x: f64| sum + x.abs(), |sum, x: T| sum.add(x.magnitude()), |sum| sum),
    "ReduceSumSquare" @ 1 => |cx| sum_like!(cx, 18, 0, |sum, x| sum + x * x, |sum, x: T| sum.add(x.mul(x)), |sum| sum),
    "ReduceL2" @ 1 => |cx| of_floats(cx, 0.0, |sum, x| sum + x * x, f64::sqrt),
    "ReduceLogSum" @ 1 => |cx| of_floats(cx, 0.0, |sum, x| sum + x, f64::ln),
    "ReduceLogSumExp" @ 1 => |cx| of_floats(cx, (f64::NEG_INFINITY, 0.0), add_exp, |(max, sum)| max + sum.ln()),
    "ReduceMean" @ 1 => mean,
}

/// A reduction that is the same for integers and floats but for the type that sums have.
macro_rules! sum_like {
    ($cx:expr, $input_since:literal, $start:literal, $float:expr, $integer:expr, $finish:expr) => {{
        let plan = Plan::new($cx, $input_since)?;
        let data = $cx.require(0)?;
        if data.elem().is_float() {
            dispatch!(data.elem(), T in floats => {
                plan.fold::<T, f64, T>($cx, data, f64::from($start), |sum, x| $float(sum, x.to_f64()), |sum| T::rounded($finish(sum)))
            })
        } else {
            dispatch!(data.elem(), T in integers => {
                plan.fold::<T, T, T>($cx, data, if $start == 0 { T::ZERO } else { T::ONE }, $integer, $finish)
            })
        }
    }};
}

use sum_like;

/// What is reduced and what stays.
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
        let all = list.is_empty() && !(cx.version() >= input_since && flag(cx, "noop_with_empty_axes", 0)?);
        let mut reduced = vec![all; rank];
        for at in axes(&list, rank)? {
            reduced[at] = true;
        }
        let keep = flag(cx, "keepdims", 1)?;
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

    /// Folds the elements that make one, for every element of the result.
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

fn of_floats<A: Copy>(cx: &EvalCx<'_>, start: A, step: impl Fn(A, f64) -> A, finish: impl Fn(A) -> f64) -> Eval {
    let plan = Plan::new(cx, 18)?;
    let data = cx.require(0)?;
    dispatch!(data.elem(), T in floats => {
        fold_floats::<T, A>(&plan, cx, data, start, &step, &finish)
    })
}

fn fold_floats<T: Float, A: Copy>(
    plan: &Plan,
    cx: &EvalCx<'_>,
    data: &Tensor,
    start: A,
    step: impl Fn(A, f64) -> A,
    finish: impl Fn(A) -> f64,
) -> Eval {
    plan.fold::<T, A, T>(cx, data, start, |all, x| step(all, x.to_f64()), |all| T::rounded(finish(all)))
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
        return dispatch!(data.elem(), T in floats => {
            fold_floats::<T, f64>(&plan, cx, data, 0.0, |sum, x| sum + x, |sum| sum / count as f64)
        });
    }
    dispatch!(data.elem(), T in integers => match T::try_from(count) {
        Ok(n) => plan.fold::<T, T, T>(cx, data, T::ZERO, |sum, x| sum.add(x), |sum| sum.div(n)),
        Err(_) => Err(OpError::unsupported("the mean of more elements than the type counts")),
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
    dispatch!(data.elem(), T in numbers => match which {
        Extreme::Max => plan.fold::<T, T, T>(cx, data, T::LEAST, |a, b| a.greater_of(b), |x| x),
        Extreme::Min => plan.fold::<T, T, T>(cx, data, T::GREATEST, |a, b| a.lesser_of(b), |x| x),
    })
}
