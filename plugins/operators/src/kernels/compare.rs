//! Tests of single elements, and `Where`.

use super::shared::{Done, floats, same_elem, spread::map};
use crate::calls::flag;
use relais_plugin_api::{
    ir::ElemType,
    op::{Kernel, OpCall},
    prim::{CoreOp, PrimBuilder},
};

/// `IsNaN` and `IsInf`.
pub fn classify(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    let elem = kernel.elem(x);
    floats(elem)?;
    if call.op_name() == "IsNaN" {
        return map(kernel, &[x], y, |b, x| b.op(CoreOp::IsNan, x));
    }
    let (positive, negative) = (flag(call, "detect_positive")?, flag(call, "detect_negative")?);
    map(kernel, &[x], y, |b, x| {
        let zero = b.num(elem, 0.0);
        let is_infinite = b.op(CoreOp::IsInf, x);
        let sign = match (positive, negative) {
            (true, true) => return is_infinite,
            (true, false) => b.gt(x[0], zero),
            (false, true) => b.lt(x[0], zero),
            (false, false) => return b.num(ElemType::BOOL, 0.0),
        };
        b.and(is_infinite, sign)
    })
}

/// `Where`.
pub fn choice(_: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let inputs = [kernel.needed_input(0)?, kernel.needed_input(1)?, kernel.needed_input(2)?];
    same_elem(kernel, &inputs[1..])?;
    let y = kernel.output(0);
    map(kernel, &inputs, y, |b: &mut PrimBuilder<'_>, values| b.select(values[0], values[1], values[2]))
}
