//! Conversions between element types.

use super::shared::{elementwise::with_elem, util::*, values};
use relais_plugin_api::{ir::*, op::*};

/// `Cast`.
pub fn cast(cx: &mut InferCx<'_>) -> Outcome {
    // Version 1 names the type by a string.
    let Some(AttrValue::Int(_)) = cx.attrs().get("to") else {
        return with_elem(cx, ElemType::UNKNOWN);
    };
    let elem = opt_elem(cx, "to")?.unwrap_or_default();
    with_elem(cx, elem)?;
    values::cast(cx, elem);
    Ok(())
}

/// `CastLike`.
pub fn cast_like(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 1)?;
    let elem = cx.elem(1);
    with_elem(cx, elem)?;
    values::cast(cx, elem);
    Ok(())
}

/// `BitCast`: the elements keep their width.
pub fn bit_cast(cx: &mut InferCx<'_>) -> Outcome {
    let elem = opt_elem(cx, "to")?.unwrap_or_default();
    let from = cx.elem(0);
    if elem.bits() != 0 && from.bits() != 0 && elem.bits() != from.bits() {
        return invalid(format_args!("elements of type `{from}` and `{elem}` differ in width"));
    }
    with_elem(cx, elem)
}
