//! Removes a quantisation that undoes a dequantisation, and moves constants before they are dequantised.
//!
//! ```text
//! %1 = DequantizeLinear(%q, %scale, %zero);
//! %2 = QuantizeLinear(%1, %scale, %zero);
//! ```
//! becomes
//! ```text
//! %2 = %q;
//! ```
//!
//! The two undo each other if both have the same constant scale, of type `float32`, and the same zero point: an integer of
//! at most 16 bits times the scale, divided by the scale, is less than half a step away from that integer, wherever the
//! product is a normal number. A dequantised constant that is transposed or reshaped is moved before it is dequantised, so
//! that `FoldConstant` moves its integers. Scales for each channel stay. Where something is moved between a
//! `DequantizeLinear` and a `QuantizeLinear`, both stay: runtimes find integer kernels by pairs of the two.
//!
//! Quantisation rounds to a step, so that a last digit that differs before it may become a whole step. The pipeline
//! `quantized` therefore has this pass beside those that are exact, and no others.

use relais_plugin_api::{
    pattern::{Matched, Unmet},
    prelude::*,
};

/// Removes quantisation that undoes a dequantisation, and moves constants before they are dequantised.
#[rule_pass(
    name = "relais.SimplifyQuantization",
    opt_level = 1,
    required = ["relais.InferType"],
    conditions = [on_one_grid, has_one_scale],
)]
const SIMPLIFY_QUANTIZATION: &str = "
    undone: @13 QuantizeLinear{axis = _}(DequantizeLinear{axis = _}(q, const s, ?z)!, const s, ?z) as all => q
        if on_one_grid(q, s, all);
    transposed_constant: @13 Transpose{..}(DequantizeLinear{axis = _}(const q, const s, ?z) as float) as by =>
        like float(like by(q), s, z) if has_one_scale(s, z);
    reshaped_constant: @13 Reshape{..}(DequantizeLinear{axis = _}(const q, const s, ?z) as float, const shape) as by =>
        like float(like by(q, shape), s, z) if has_one_scale(s, z)
";

/// The steps from the least to the greatest integer of 16 bits.
const MOST_STEPS: f32 = 65536.0;

/// Whether integers are the same again after they were dequantised and quantised by one scale.
fn on_one_grid(found: &Matched<'_>, cx: &RewriteCx<'_>) -> Result<(), Unmet> {
    let (from, to) = (found.type_of(0)?.elem(), found.type_of(2)?.elem());
    let is_short =
        |elem: ElemType| matches!(elem, ElemType::INT8 | ElemType::UINT8 | ElemType::INT16 | ElemType::UINT16);
    if from.is_none() || from != to || !from.is_some_and(is_short) {
        return Err("the element type is another one afterwards, or not known, or has more than 16 bits".into());
    }
    let scale = cx.tensor(found.value(1)?).filter(|scale| scale.elem() == ElemType::FLOAT && scale.dims().is_empty());
    let scale = scale.and_then(Tensor::to_f64).ok_or("the scale is not one number of type `float32`")?;
    match (f64::from(f32::MIN_POSITIVE)..=f64::from(f32::MAX / MOST_STEPS)).contains(&scale) {
        true => Ok(()),
        false => Err("the scale comes too near the limits of the element type".into()),
    }
}

/// Whether a scale and a zero point are those of all elements.
fn has_one_scale(found: &Matched<'_>, cx: &RewriteCx<'_>) -> Result<(), Unmet> {
    let is_one = |at: usize| match found.value(at) {
        Ok(value) => cx.tensor(value).is_some_and(|tensor| tensor.dims().is_empty()),
        Err(_) => at == 1,
    };
    match is_one(0) && is_one(1) {
        true => Ok(()),
        false => Err("there is a scale for each channel".into()),
    }
}
