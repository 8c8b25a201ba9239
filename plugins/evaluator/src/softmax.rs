//! `Softmax`, its logarithm, and `Hardmax`.

use crate::shared::{
    cx::{Eval, int, table, tensor_error},
    doubles::{doubles, for_each_line, rounded, volume},
    lines::{Lines, comparable},
    scalar::{Number, Scalar, dispatch},
    shape::{checked_len, uniform, with_room},
};
use relais_plugin_api::{
    ir::Tensor,
    op::{EvalCx, shapes::axis_of},
};

table! {
    "Hardmax" @ 1 => hardmax,
    "Softmax" @ 1 => |cx| softmax(cx, &|line, sum| line.iter_mut().for_each(|x| *x = x.exp() / sum)),
    "LogSoftmax" @ 1 => |cx| softmax(cx, &|line, sum| {
        let log = sum.ln();
        line.iter_mut().for_each(|x| *x -= log);
    }),
}

/// Subtracts the maximum of each line and has `finish` make the result of it, given the sum of the exponentials. Before
/// version 13 all axes from the given one on are one.
fn softmax(cx: &EvalCx<'_>, finish: &dyn Fn(&mut [f64], f64)) -> Eval {
    let data = cx.require(0)?;
    let dims = data.dims();
    let is_flat = cx.version() < 13;
    let at = axis_of(int(cx, "axis")?, dims.len())?;
    if data.is_empty() {
        return uniform(data.elem(), dims, &[]);
    }
    checked_len(cx, data.elem(), dims)?;
    let mut values = doubles(cx, data)?;
    let (len, stride) =
        if is_flat { (volume(&dims[at..])?, 1) } else { (volume(&dims[at..=at])?, volume(&dims[at + 1..])?) };
    for_each_line(&mut values, len, stride, &mut |line| {
        let max = line.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        line.iter_mut().for_each(|x| *x -= max);
        let sum = line.iter().map(|x| x.exp()).sum();
        finish(line, sum);
    });
    rounded(data.elem(), dims, &values)
}

/// One at the first maximum along the axis. Before version 13 all axes from the given one on are one.
fn hardmax(cx: &EvalCx<'_>) -> Eval {
    let data = cx.require(0)?;
    let rank = data.dims().len();
    let at = axis_of(int(cx, "axis")?, rank)?;
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
