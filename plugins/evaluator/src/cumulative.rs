//! Running sums and products.

use crate::shared::{
    cx::{Eval, flag, int_scalar, table, tensor_error},
    lines::Lines,
    scalar::{Number, dispatch},
    shape::{checked_len, with_room},
};
use relais_plugin_api::{
    ir::Tensor,
    op::{EvalCx, shapes::axis_of},
};

table! {
    "CumSum" @ 11 => |cx| cumulate!(cx, T::ZERO, T::add),
    "CumProd" @ 26 => |cx| cumulate!(cx, T::ONE, T::mul),
}

macro_rules! cumulate {
    ($cx:expr, $start:expr, $f:expr) => {{
        let data = $cx.require(0)?;
        dispatch!(data.elem(), T in numbers => cumulate_along::<T>($cx, data, $start, $f))
    }};
}

use cumulate;

fn cumulate_along<T: Number>(cx: &EvalCx<'_>, data: &Tensor, start: T, f: impl Fn(T, T) -> T) -> Eval {
    let at = axis_of(int_scalar(cx, cx.require(1)?, "the axis")?, data.dims().len())?;
    let (exclusive, reverse) = (flag(cx, "exclusive")?, flag(cx, "reverse")?);
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
