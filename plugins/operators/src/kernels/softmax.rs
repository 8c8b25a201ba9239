//! `Softmax`, its logarithm, and `Hardmax`.

use super::{
    reduce::least,
    shared::{Done, floats, index::around, is_half, terms::Terms, viewed, volume, wide},
};
use crate::calls::int;
use relais_plugin_api::{
    ir::NodeId,
    op::{Kernel, OpCall, OpError, shapes::axis_of},
    prim::PrimBuilder,
};

/// The sizes before the axis of a call, of it, and behind it. Before version 13, all axes from the given one on are
/// one.
fn lines(call: &OpCall<'_>, sizes: &[u64]) -> Result<[u64; 3], OpError> {
    let is_flat = call.version() < 13;
    let axis = int(call, "axis")?;
    if !is_flat {
        return Ok(around(sizes, axis_of(axis, sizes.len())?));
    }
    let axis = if axis == sizes.len() as i64 { sizes.len() } else { axis_of(axis, sizes.len())? };
    Ok([volume(&sizes[..axis]), volume(&sizes[axis..]), 1])
}

/// `Hardmax`: one at the first greatest element of each line.
pub fn hardmax(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    let (sizes, elem) = (kernel.sizes(x), kernel.elem(x));
    floats(elem)?;
    let shape = lines(call, &sizes)?;
    if volume(&sizes) == 0 {
        return Ok(());
    }
    let (x, y) = (viewed(kernel, x, &shape), viewed(kernel, y, &shape));
    kernel.each_of_all(&[shape[0], shape[2]], |b, line| {
        let (none, first, rest) = (b.index(0), b.index(1), b.index(shape[1] as i64 - 1));
        let start = b.load(x, &[line[0], none, line[1]]);
        let [_, best] = b.fold(first, rest, [start, none], |b, at, [most, best]| {
            let value = b.load(x, &[line[0], at, line[1]]);
            let is_above = b.gt(value, most);
            [b.select(is_above, value, most), b.select(is_above, at, best)]
        });
        let (zero, one) = (b.num(elem, 0.0), b.num(elem, 1.0));
        b.over(shape[1], |b, at| {
            let is_best = b.eq(at, best);
            let value = b.select(is_best, one, zero);
            b.store(y, value, &[line[0], at, line[1]]);
        });
    });
    Ok(())
}

/// `Softmax` and `LogSoftmax`.
pub fn softmax(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    let (sizes, elem) = (kernel.sizes(x), kernel.elem(x));
    floats(elem)?;
    let shape = lines(call, &sizes)?;
    if volume(&sizes) == 0 {
        return Ok(());
    }
    let (shape, len) = if shape[2] == 1 { (vec![shape[0], shape[1]], shape[1]) } else { (shape.to_vec(), shape[1]) };
    let (x, y) = (viewed(kernel, x, &shape), viewed(kernel, y, &shape));
    let (is_log, to) = (call.op_name() == "LogSoftmax", wide(elem));
    let lines: Vec<u64> = shape.iter().enumerate().filter(|&(at, _)| at != 1).map(|(_, &size)| size).collect();
    kernel.each_of_all(&lines, |b, line| {
        let place = |at: NodeId| [&line[..1], &[at], &line[1..]].concat();
        let load = |b: &mut PrimBuilder<'_>, at: NodeId| {
            let value = b.load(x, &place(at));
            b.cast(value, to)
        };
        let (zero, start) = (b.num(to, 0.0), least(b, to));
        let [most] = b.fold_all(&[len], [start], |b, at, [most]| {
            let value = load(b, at[0]);
            let is_above = b.gt(value, most);
            [b.select(is_above, value, most)]
        });
        // The exponentials are kept where the result holds them as they are.
        let keeps = !is_log && !is_half(elem);
        let exponential = |b: &mut PrimBuilder<'_>, at: NodeId| {
            let value = load(b, at);
            let part = b.sub(value, most);
            b.exp(part)
        };
        let [sum] = b.fold_all(&[len], [zero], |b, at, [sum]| {
            let part = exponential(b, at[0]);
            if keeps {
                b.store(y, part, &place(at[0]));
            }
            [b.add(sum, part)]
        });
        let log = if is_log { Some(b.log(sum)) } else { None };
        b.over(len, |b, at| {
            let value = match log {
                Some(log) => {
                    let value = load(b, at);
                    let part = b.sub(value, most);
                    b.sub(part, log)
                }
                None => {
                    let part = if keeps { b.load(y, &place(at)) } else { exponential(b, at) };
                    b.div(part, sum)
                }
            };
            let value = b.cast(value, elem);
            b.store(y, value, &place(at));
        });
    });
    Ok(())
}
