//! Running sums and products.

use super::shared::{Done, const_ints, declined, index::around, numbers, viewed, wide};
use crate::calls::flag;
use relais_plugin_api::{
    op::{Kernel, OpCall, shapes::axis_of},
    prim::CoreOp,
};

/// `CumSum` and `CumProd`.
pub fn cumulative(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    let (sizes, elem) = (kernel.sizes(x), kernel.elem(x));
    numbers(elem)?;
    let &[axis] = &const_ints(call, 1)?[..] else { return declined("its axis is not one number") };
    let [outer, size, inner] = around(&sizes, axis_of(axis, sizes.len())?);
    let (is_exclusive, is_reverse) = (flag(call, "exclusive")?, flag(call, "reverse")?);
    let (op, start) = if call.op_name() == "CumSum" { (CoreOp::Add, 0.0) } else { (CoreOp::Mul, 1.0) };
    let (x, y) = (viewed(kernel, x, &[outer, size, inner]), viewed(kernel, y, &[outer, size, inner]));
    kernel.each_of_all(&[outer, inner], |b, around| {
        let start = b.num(wide(elem), start);
        b.fold_all(&[size], [start], |b, at, [all]| {
            let mut at = at[0];
            if is_reverse {
                let last = b.index(size as i64 - 1);
                at = b.sub(last, at);
            }
            let at = [around[0], at, around[1]];
            let value = b.load(x, &at);
            let value = b.cast(value, wide(elem));
            let with = b.op(op, &[all, value]);
            let stored = b.cast(if is_exclusive { all } else { with }, elem);
            b.store(y, stored, &at);
            [with]
        });
    });
    Ok(())
}
