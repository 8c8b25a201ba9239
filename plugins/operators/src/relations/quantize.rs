//! Quantisation.

use super::shared::{elementwise::with_elem, util::*};
use relais_plugin_api::{ir::*, op::*};

/// `QuantizeLinear`: the zero point has the type of the result; without one, attribute `output_dtype` sets it.
pub fn quantize_linear(cx: &mut InferCx<'_>) -> Outcome {
    let stated = if cx.version() < 21 || int(cx, "output_dtype")? == 0 { None } else { opt_elem(cx, "output_dtype")? };
    let elem = match (cx.arg(2), stated) {
        (Some(_), None) => cx.elem(2),
        (_, Some(elem)) => elem,
        (None, None) => ElemType::UINT8,
    };
    with_elem(cx, elem)
}

/// `DequantizeLinear`: the result has the type of the scale, unless attribute `output_dtype` sets another.
pub fn dequantize_linear(cx: &mut InferCx<'_>) -> Outcome {
    let stated = if int(cx, "output_dtype")? == 0 { None } else { opt_elem(cx, "output_dtype")? };
    let elem = stated.unwrap_or(cx.elem(1));
    with_elem(cx, elem)
}

/// `DynamicQuantizeLinear`.
pub fn dynamic_quantize_linear(cx: &mut InferCx<'_>) -> Outcome {
    with_elem(cx, ElemType::UINT8)?;
    cx.set_tensor(1, ElemType::FLOAT, &[]);
    cx.set_tensor(2, ElemType::UINT8, &[]);
    Ok(())
}
