//! Conversions between element types.

use super::shared::{Done, copy, declined, spread::map};
use relais_plugin_api::{
    ir::ElemType,
    op::{Kernel, OpCall},
    prim::CoreOp,
};

/// `Cast` and `CastLike`, from version 6 on.
pub fn cast(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    if call.version() < 6 {
        return declined("before version 6, its type is a name");
    }
    let (from, to) = (kernel.elem(x), kernel.elem(y));
    if from == to {
        copy(kernel, x, y);
        return Ok(());
    }
    map(kernel, &[x], y, |b, x| b.cast(x[0], to))
}

/// `BitCast`.
pub fn bit_cast(_: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    let (from, to) = (kernel.elem(x), kernel.elem(y));
    if from == to {
        copy(kernel, x, y);
        return Ok(());
    }
    if from == ElemType::BOOL && to.is_integer() && to.bits() == 8 {
        return map(kernel, &[x], y, |b, x| b.cast(x[0], to));
    }
    if from.bits() != to.bits() || from == ElemType::BOOL || to == ElemType::BOOL {
        return declined(format_args!("bits of {from} are not a {to}"));
    }
    let elem = relais_plugin_api::ir::Attr::new("elem", to.name().unwrap_or_default());
    map(kernel, &[x], y, |b, x| b.op_with(CoreOp::Bitcast, x, &[elem]))
}
