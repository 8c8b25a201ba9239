//! `Softmax` and its logarithm.

use crate::{
    cx::{Eval, int, table},
    doubles::{doubles, for_each_line, rounded, volume},
    shape::{axis, checked_len, uniform},
};
use relais_plugin_api::op::EvalCx;

table! {
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
    let at = axis(int(cx, "axis")?.unwrap_or(if is_flat { 1 } else { -1 }), dims.len())?;
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
