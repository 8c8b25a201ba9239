//! Quantised numbers to real ones and back, with one scale or one for each index along an axis.

use crate::{
    cast,
    shared::{
        cx::{Eval, int, same_elem, table, tensor_error, unsupported_elem, with_elem},
        doubles::doubles,
        doubt::{Doubt, Limits, refuse},
        elementwise::{any, zip},
        scalar::{Number, dispatch},
    },
};
use relais_plugin_api::{
    ir::{ElemType, Tensor},
    op::{EvalCx, OpError, shapes::axis_of},
};

table! {
    "DequantizeLinear" @ 10 => dequantize,
}

/// A scale or zero point with the dimensions by which it broadcasts to the data.
fn along_axis(cx: &EvalCx<'_>, data: &Tensor, factor: &Tensor) -> Eval {
    if int(cx, "block_size")? != 0 {
        return Err(OpError::unsupported("blocked quantisation"));
    }
    match *factor.dims() {
        [] | [1] => factor.reshaped(&[]),
        [n] => {
            let rank = data.dims().len();
            let at = axis_of(int(cx, "axis")?, rank)?;
            if data.dims()[at] != n {
                return Err(OpError::invalid(format_args!("{n} scales for an axis of size {}", data.dims()[at])));
            }
            let mut dims = vec![n];
            dims.resize(rank - at, 1);
            factor.reshaped(&dims)
        }
        _ => return Err(OpError::unsupported("a scale that is neither one value nor a list of them")),
    }
    .map_err(tensor_error)
}

/// Rounds sums of products of quantised numbers to quantised numbers of another scale.
pub struct Requantize {
    elem: ElemType,
    zero: f64,
    /// The relative error of a runtime's scale.
    error: f64,
    doubt: Doubt,
}

impl Requantize {
    /// To numbers with the zero point in input `zero`; the scales are of element type `scale`.
    pub fn new(cx: &EvalCx<'_>, zero: usize, scale: ElemType) -> Eval<Self> {
        let zero = cx.require(zero)?;
        let elem = zero.elem();
        if !matches!(elem, ElemType::INT8 | ElemType::UINT8) {
            return Err(unsupported_elem(elem));
        }
        let &[value] = &doubles(cx, &cast::cast(cx, zero, ElemType::DOUBLE)?)?[..] else {
            return Err(OpError::invalid("the zero point of the result must be a scalar"));
        };
        Ok(Self { elem, zero: value, error: Limits::of_elem(scale)?.unit * 8.0, doubt: Doubt::default() })
    }

    /// The quantised number of a sum. Where a scale's last digit decides between two integers, this is noted.
    pub fn round(&self, sum: f64, scale: f64) -> u8 {
        let value = sum * scale;
        let to_half = (value.abs().fract() - 0.5).abs();
        self.doubt.note(sum.abs() > f64::from(i32::MAX) || !value.is_finite() || to_half <= value.abs() * self.error);
        let (least, greatest) = if self.elem == ElemType::INT8 { (-128.0, 127.0) } else { (0.0, 255.0) };
        (value.round_ties_even() + self.zero).clamp(least, greatest) as i64 as u8
    }

    /// The numbers as a tensor.
    pub fn into_tensor(self, cx: &EvalCx<'_>, dims: &[u64], bytes: Vec<u8>) -> Eval {
        let result = with_elem(self.elem, dims, bytes);
        self.doubt.settle(cx, result, "a result is rounded where a scale's last digit decides")
    }
}

/// The scale in an input that must be a scalar.
pub fn scalar_scale(cx: &EvalCx<'_>, index: usize) -> Eval<f64> {
    match doubles(cx, cx.require(index)?)?[..] {
        [scale] => Ok(scale),
        _ => Err(OpError::unsupported(format_args!("input {index} has more than one scale"))),
    }
}

/// `(x - zero point) * scale`: the difference is exact, the product rounded once.
fn dequantize(cx: &EvalCx<'_>) -> Eval {
    let (x, scale) = (cx.require(0)?, cx.require(1)?);
    if !matches!(scale.elem(), ElemType::FLOAT | ElemType::FLOAT16 | ElemType::BFLOAT16) {
        return Err(crate::shared::cx::unsupported_elem(scale.elem()));
    }
    let out = match int(cx, "output_dtype")? {
        0 => scale.elem(),
        number => cast::elem_type(number)?,
    };
    if out != scale.elem() {
        return Err(OpError::unsupported("a result of another type than the scale"));
    }
    let mut wide = cast::cast(cx, x, ElemType::DOUBLE)?;
    if let Some(zero) = cx.input(2) {
        same_elem(x, zero)?;
        let zero = along_axis(cx, x, &cast::cast(cx, zero, ElemType::DOUBLE)?)?;
        wide = zip::<f64, f64, f64>(cx, &wide, &zero, |x, zero| x - zero)?;
    }
    let scale = along_axis(cx, x, scale)?;
    let inexact =
        dispatch!(out, T in floats => Ok(any(&wide, |x: f64| !x.is_nan() && Number::to_f64(T::rounded(x)) != x)))?;
    refuse(cx, inexact, "a number that the result's type does not hold exactly before scaling")?;
    dispatch!(out, T in floats => {
        zip::<f64, T, T>(cx, &wide, &scale, |x, scale| T::rounded(x * Number::to_f64(scale)))
    })
}
