//! `TopK`.

use super::shared::{Done, declined, index::around, numbers, terms::Terms, viewed, volume};
use crate::calls::{flag, int};
use relais_plugin_api::{
    ir::NodeId,
    op::{Kernel, OpCall, shapes::axis_of},
    prim::CoreOp,
};

/// `TopK`, whose results are known: each element is inserted into those that are the best so far, behind equal ones.
pub fn top_k(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, values) = (kernel.needed_input(0)?, kernel.output(0));
    let Some(places) = kernel.optional_output(1) else { return declined("it has one result") };
    let (sizes, made) = (kernel.sizes(x), kernel.sizes(values));
    numbers(kernel.elem(x))?;
    let axis = axis_of(int(call, "axis")?, sizes.len())?;
    let ([outer, size, inner], k) = (around(&sizes, axis), made[axis]);
    if k > size {
        return declined("there are fewer elements than are to be found");
    }
    if volume(&made) == 0 {
        return Ok(());
    }
    let is_before = if flag(call, "largest")? { CoreOp::Ge } else { CoreOp::Le };
    let (x, shape) = (viewed(kernel, x, &[outer, size, inner]), [outer, k, inner]);
    let (values, places) = (viewed(kernel, values, &shape), viewed(kernel, places, &shape));
    kernel.each_of_all(&[outer, inner], |b, line| {
        let at = |index: NodeId| [line[0], index, line[1]];
        b.over(size, |b, from| {
            let value = b.load(x, &at(from));
            let (zero, all) = (b.index(0), b.index(k as i64));
            let n_found = b.min(from, all);
            let [place] = b.fold(zero, n_found, [zero], |b, index, [place]| {
                let other = b.load(values, &at(index));
                let is_before = b.op(is_before, &[other, value]);
                let next = b.shifted(place, 1);
                [b.select(is_before, next, place)]
            });
            let is_found = b.lt(place, all);
            b.when(is_found, |b| {
                let most = b.index(k as i64 - 1);
                let last = b.min(from, most);
                let n_moved = b.sub(last, place);
                b.each(n_moved, |b, step| {
                    let to = b.sub(last, step);
                    let from = b.shifted(to, -1);
                    for memory in [values, places] {
                        let moved = b.load(memory, &at(from));
                        b.store(memory, moved, &at(to));
                    }
                });
                b.store(values, value, &at(place));
                b.store(places, from, &at(place));
            });
        });
    });
    Ok(())
}
