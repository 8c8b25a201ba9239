//! Functions of one element.

use super::shared::{Done, elementwise::each, floats, numbers};
use relais_plugin_api::{
    op::{Kernel, OpCall},
    prim::CoreOp,
};

/// `Reciprocal`.
pub fn reciprocal(_: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    floats(kernel.elem(kernel.needed_input(0)?))?;
    each(kernel, |b, elem, x| {
        let one = b.num(elem, 1.0);
        b.div(one, x)
    })
}

/// `Sign`: of a zero of either sign 0, and of NaN NaN.
pub fn sign(_: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let elem = kernel.elem(kernel.needed_input(0)?);
    numbers(elem)?;
    each(kernel, |b, elem, x| {
        let (zero, one) = (b.num(elem, 0.0), b.num(elem, 1.0));
        let is_zero = b.op(CoreOp::Eq, &[x, zero]);
        let mut other = b.select(is_zero, zero, x);
        if elem.is_float() || elem.is_signed() {
            let (is_below, minus) = (b.lt(x, zero), b.num(elem, -1.0));
            other = b.select(is_below, minus, other);
        }
        let is_above = b.gt(x, zero);
        b.select(is_above, one, other)
    })
}
