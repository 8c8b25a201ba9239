//! Operations on bits.

use super::shared::{Done, declined, elementwise::operands, same_elem, spread::map};
use crate::calls::string;
use relais_plugin_api::{
    op::{Kernel, OpCall},
    prim::CoreOp,
};

/// `BitShift`: places beyond the number of bits leave nothing.
pub fn bit_shift(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let [a, b, y] = operands(call, kernel)?;
    let elem = same_elem(kernel, &[a, b])?;
    let op = match string(call, "direction")? {
        "LEFT" => CoreOp::Shl,
        "RIGHT" => CoreOp::Shr,
        _ => return declined("`direction` is neither `LEFT` nor `RIGHT`"),
    };
    if !elem.is_integer() {
        return declined("its elements are not integers");
    }
    map(kernel, &[a, b], y, |b, values| {
        let (x, places) = (values[0], values[1]);
        let (zero, bits) = (b.num(elem, 0.0), b.num(elem, elem.bits() as f64));
        let moved = b.op(op, values);
        let mut is_within = b.lt(places, bits);
        let mut nothing = zero;
        if elem.is_signed() {
            let is_forward = b.ge(places, zero);
            is_within = b.and(is_within, is_forward);
            if op == CoreOp::Shr {
                let (is_below, minus) = (b.lt(x, zero), b.num(elem, -1.0));
                nothing = b.select(is_below, minus, zero);
            }
        }
        b.select(is_within, moved, nothing)
    })
}
