//! Quantised numbers to real ones and back.

use super::shared::{Done, declined, is_half, spread::map_as, volume};
use crate::calls::int;
use relais_plugin_api::{
    ir::{ElemType, NodeId},
    op::{Kernel, OpCall, OpError, shapes::axis_of},
    prim::CoreOp,
};

/// The shape in which the data are seen, and that in which scales and zero points are seen: one for all, one for each
/// index along an axis, or one for each block along it.
fn shapes(call: &OpCall<'_>, sizes: &[u64], scale: &[u64]) -> Result<[Vec<u64>; 2], OpError> {
    let block = int(call, "block_size")?;
    if volume(scale) == 1 && block == 0 {
        return Ok([sizes.to_vec(), Vec::new()]);
    }
    let axis = axis_of(int(call, "axis")?, sizes.len())?;
    if block == 0 {
        let &[n] = scale else { return declined("its scale is neither one value nor a list of them") };
        if sizes[axis] != n {
            return Err(OpError::invalid("its scales are not as many as its axis is long"));
        }
        let mut shape = vec![1; sizes.len()];
        shape[axis] = n;
        return Ok([sizes.to_vec(), shape]);
    }
    let block = u64::try_from(block).unwrap_or(0);
    if block == 0 || scale.len() != sizes.len() || scale[axis].checked_mul(block) != Some(sizes[axis]) {
        return declined("its blocks do not fill its axis");
    }
    let mut data = sizes.to_vec();
    data.splice(axis..=axis, [scale[axis], block]);
    let mut shape = scale.to_vec();
    shape.insert(axis + 1, 1);
    Ok([data, shape])
}

/// Whether a type is one of the integers that numbers are quantised to.
fn is_quantized(elem: ElemType) -> bool {
    matches!(elem, ElemType::INT8 | ElemType::UINT8 | ElemType::INT16 | ElemType::UINT16)
}

/// The data, the scale and the zero point, with the shapes in which they are seen, and the shape of the result.
type Seen = (Vec<(NodeId, Vec<u64>)>, Vec<u64>);

fn seen(call: &OpCall<'_>, kernel: &Kernel<'_>) -> Result<Seen, OpError> {
    let (x, scale, zero) = (kernel.needed_input(0)?, kernel.needed_input(1)?, kernel.input(2));
    let [data, shape] = shapes(call, &kernel.sizes(x), &kernel.sizes(scale))?;
    if zero.is_some_and(|zero| kernel.sizes(zero) != kernel.sizes(scale)) {
        return declined("its scale and its zero point have different shapes");
    }
    if !matches!(kernel.elem(scale), ElemType::FLOAT | ElemType::FLOAT16 | ElemType::BFLOAT16) {
        return declined(format_args!("its scale is of {}", kernel.elem(scale)));
    }
    let factors = [Some(scale), zero].into_iter().flatten().map(|factor| (factor, shape.clone()));
    Ok((std::iter::once((x, data.clone())).chain(factors).collect(), data))
}

/// `DequantizeLinear`: `(x - zero point) * scale`.
pub fn dequantize(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (inputs, sizes) = seen(call, kernel)?;
    let y = kernel.output(0);
    let (from, to) = (kernel.elem(inputs[0].0), kernel.elem(y));
    if !is_quantized(from) && from != ElemType::INT32 || !to.is_float() || to == ElemType::DOUBLE {
        return declined(format_args!("it makes {to} of {from}"));
    }
    map_as(kernel, &inputs, y, &sizes, |b, values| {
        let mut x = b.cast(values[0], ElemType::INT32);
        if let Some(&zero) = values.get(2) {
            let zero = b.cast(zero, ElemType::INT32);
            x = b.sub(x, zero);
        }
        let (x, scale) = (b.cast(x, ElemType::FLOAT), b.cast(values[1], ElemType::FLOAT));
        let value = b.mul(x, scale);
        b.cast(value, to)
    })
}

/// `QuantizeLinear`: `x / scale`, rounded to the nearest, of two to the even one, plus the zero point, within the type.
pub fn quantize(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (inputs, sizes) = seen(call, kernel)?;
    let y = kernel.output(0);
    let (from, to) = (kernel.elem(inputs[0].0), kernel.elem(y));
    if !is_quantized(to) || from != ElemType::FLOAT && !is_half(from) {
        return declined(format_args!("it makes {to} of {from}"));
    }
    if int(call, "precision")? != 0 && int(call, "precision")? != i64::from(ElemType::FLOAT.0) {
        return declined("`precision` is not single precision");
    }
    let bits = to.bits();
    let (least, most) = match to.is_signed() {
        true => (-f64::from(1 << (bits - 1)), f64::from((1 << (bits - 1)) - 1)),
        false => (0.0, f64::from((1 << bits) - 1)),
    };
    map_as(kernel, &inputs, y, &sizes, |b, values| {
        let within = ElemType::FLOAT;
        let (x, scale) = (b.cast(values[0], within), b.cast(values[1], within));
        let quotient = b.div(x, scale);
        let mut value = b.op(CoreOp::Round, &[quotient]);
        if let Some(&zero) = values.get(2) {
            let zero = b.cast(zero, within);
            value = b.add(value, zero);
        }
        // In this form, NaN becomes the least number.
        let (least, most) = (b.num(within, least), b.num(within, most));
        let is_above = b.gt(value, least);
        let value = b.select(is_above, value, least);
        let is_below = b.lt(value, most);
        let value = b.select(is_below, value, most);
        b.cast(value, to)
    })
}
