//! Operators that look at all elements along one axis: arguments of extremes, the greatest ones, running sums.

use crate::{
    cx::{Eval, flag, int, int_scalar, readable, table, tensor_error},
    elementwise::any,
    scalar::{Number, Scalar, dispatch},
    shape::{axis, checked_len, sizes, uniform, with_room},
};
use relais_plugin_api::{
    ir::{ElemType, Tensor},
    op::{EvalCx, OpError},
};

table! {
    "ArgMax" @ 1 => |cx| arg_extreme(cx, Order::Descending),
    "ArgMin" @ 1 => |cx| arg_extreme(cx, Order::Ascending),
    "TopK" @ 1 => top_k,
    "CumSum" @ 11 => |cx| cumulate!(cx, T::ZERO, T::add),
    "CumProd" @ 26 => |cx| cumulate!(cx, T::ONE, T::mul),
    "Hardmax" @ 1 => hardmax,
}

macro_rules! cumulate {
    ($cx:expr, $start:expr, $f:expr) => {{
        let data = $cx.require(0)?;
        dispatch!(data.elem(), T in numbers => cumulate_along::<T>($cx, data, $start, $f))
    }};
}

use cumulate;

/// Which elements come first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Ascending,
    Descending,
}

/// A tensor as lines along one axis.
struct Lines {
    /// Elements of a line.
    len: usize,
    /// Elements from one to the next.
    stride: usize,
    n_outer: usize,
}

impl Lines {
    fn new(data: &Tensor, at: usize) -> Eval<Self> {
        if data.is_empty() {
            return Ok(Self { len: 0, stride: 1, n_outer: 0 });
        }
        let dims = sizes(data.dims())?;
        let product = |dims: &[usize]| {
            let product = dims.iter().try_fold(1usize, |product, &dim| product.checked_mul(dim));
            product.ok_or_else(|| OpError::unsupported("a shape does not fit memory"))
        };
        Ok(Self { len: dims[at], stride: product(&dims[at + 1..])?, n_outer: product(&dims[..at])? })
    }

    /// Returns where each line starts, those of the outer axes first; nothing if there are no elements.
    fn starts(&self) -> impl Iterator<Item = usize> {
        let (outer, stride) = (self.len * self.stride, self.stride);
        (0..self.n_outer).flat_map(move |at| at * outer..at * outer + stride)
    }
}

/// The data's elements, when comparing them makes sense.
fn comparable<'a, T: Number>(cx: &EvalCx<'_>, data: &'a Tensor) -> Eval<std::borrow::Cow<'a, [u8]>> {
    readable(cx, data)?;
    if any(data, |x: T| x.is_nan()) {
        return Err(OpError::unsupported("a NaN is compared, which runtimes do differently"));
    }
    Ok(data.to_bytes())
}

fn arg_extreme(cx: &EvalCx<'_>, order: Order) -> Eval {
    let data = cx.require(0)?;
    let at = axis(int(cx, "axis")?.unwrap_or(0), data.dims().len())?;
    let last = flag(cx, "select_last_index", false)?;
    let mut dims = data.dims().to_vec();
    if flag(cx, "keepdims", true)? {
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

/// Of equal elements the one with the lower index comes first. Results that need not be sorted are.
fn top_k(cx: &EvalCx<'_>) -> Eval<Vec<Tensor>> {
    let data = cx.require(0)?;
    let at = axis(int(cx, "axis")?.unwrap_or(-1), data.dims().len())?;
    let k = if cx.version() < 10 {
        int(cx, "k")?.ok_or_else(|| OpError::invalid("attribute `k` is missing"))?
    } else {
        int_scalar(cx, cx.require(1)?, "`K`")?
    };
    let order = if flag(cx, "largest", true)? { Order::Descending } else { Order::Ascending };
    let k = u64::try_from(k).ok().filter(|&k| k <= data.dims()[at]);
    let k = k.ok_or_else(|| OpError::invalid(format_args!("`K` is not a size up to {}", data.dims()[at])))?;
    if !flag(cx, "sorted", true)? {
        return Err(OpError::unsupported("results in an order of the implementation's choice"));
    }
    let mut dims = data.dims().to_vec();
    dims[at] = k;
    dispatch!(data.elem(), T in numbers => {
        // Indices are the wider ones.
        let len = checked_len(cx, ElemType::INT64, &dims)?;
        let bytes = comparable::<T>(cx, data)?;
        let elements = T::chunks(&bytes);
        let lines = Lines::new(data, at)?;
        let k = k as usize;
        let mut values: Vec<<T as Scalar>::Bytes> = with_room(len)?;
        let mut indices = with_room(len)?;
        values.resize(len, T::ZERO.store());
        indices.resize(len, 0i64.store());
        let mut line: Vec<(usize, T)> = Vec::new();
        for (n, start) in lines.starts().enumerate() {
            line.clear();
            line.extend((0..lines.len).map(|i| (i, T::load(elements[start + i * lines.stride]))));
            line.sort_by(|a, b| {
                let by_value = a.1.partial_cmp(&b.1).expect("there are no NaNs");
                if order == Order::Ascending { by_value } else { by_value.reverse() }
            });
            let out = n / lines.stride * k * lines.stride + n % lines.stride;
            for (i, &(index, value)) in line[..k].iter().enumerate() {
                values[out + i * lines.stride] = value.store();
                indices[out + i * lines.stride] = (index as i64).store();
            }
        }
        Ok(vec![
            Tensor::dense(T::ELEM, &dims, T::flatten(values)).map_err(tensor_error)?,
            Tensor::dense(ElemType::INT64, &dims, i64::flatten(indices)).map_err(tensor_error)?,
        ])
    })
}

fn cumulate_along<T: Number>(cx: &EvalCx<'_>, data: &Tensor, start: T, f: impl Fn(T, T) -> T) -> Eval {
    let at = axis(int_scalar(cx, cx.require(1)?, "the axis")?, data.dims().len())?;
    let (exclusive, reverse) = (flag(cx, "exclusive", false)?, flag(cx, "reverse", false)?);
    let len = checked_len(cx, T::ELEM, data.dims())?;
    let bytes = data.to_bytes();
    let elements = T::chunks(&bytes);
    let lines = Lines::new(data, at)?;
    let mut out: Vec<T::Bytes> = with_room(len)?;
    out.extend_from_slice(elements);
    for line in lines.starts() {
        // The first element is taken as it is: adding it to zero would lose the sign of a zero.
        let mut sum = None;
        for i in 0..lines.len {
            let i = line + lines.stride * if reverse { lines.len - 1 - i } else { i };
            let x = T::load(elements[i]);
            let next = sum.map_or(x, |sum| f(sum, x));
            out[i] = if exclusive { sum.unwrap_or(start) } else { next }.store();
            sum = Some(next);
        }
    }
    Tensor::dense(T::ELEM, data.dims(), T::flatten(out)).map_err(tensor_error)
}

/// One at the first maximum along the axis. Before version 13 all axes from the given one on are one.
fn hardmax(cx: &EvalCx<'_>) -> Eval {
    let data = cx.require(0)?;
    let rank = data.dims().len();
    let at = axis(int(cx, "axis")?.unwrap_or(if cx.version() < 13 { 1 } else { -1 }), rank)?;
    let joined;
    let (lines_of, at) = if cx.version() < 13 {
        let inner = relais_plugin_api::ir::element_count(&data.dims()[at..]).unwrap_or(u64::MAX);
        let mut dims = data.dims()[..at].to_vec();
        dims.push(inner);
        joined = data.reshaped(&dims).map_err(tensor_error)?;
        (&joined, at)
    } else {
        (data, at)
    };
    dispatch!(data.elem(), T in floats => {
        if data.is_empty() {
            return uniform(T::ELEM, data.dims(), T::ZERO.store().as_ref());
        }
        let len = checked_len(cx, T::ELEM, data.dims())?;
        let bytes = comparable::<T>(cx, data)?;
        let elements = T::chunks(&bytes);
        let lines = Lines::new(lines_of, at)?;
        let mut out: Vec<<T as Scalar>::Bytes> = with_room(len)?;
        out.resize(len, T::ZERO.store());
        for line in lines.starts() {
            let places = (0..lines.len).map(|i| line + i * lines.stride);
            let first = places.reduce(|best, i| if T::load(elements[i]) > T::load(elements[best]) { i } else { best });
            out[first.unwrap_or(line)] = T::ONE.store();
        }
        Tensor::dense(T::ELEM, data.dims(), T::flatten(out)).map_err(tensor_error)
    })
}
