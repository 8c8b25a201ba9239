//! Tensors made of shapes, indices and numbers.

use super::shared::{
    Done, declined, fill,
    index::{around, index_at},
    terms::Terms,
    viewed, volume, wide,
};
use crate::calls::int;
use relais_plugin_api::{
    ir::{ElemType, Imm},
    op::{Kernel, OpCall, shapes::axis_of},
};

/// `EyeLike`.
pub fn eye_like(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let y = kernel.output(0);
    let (sizes, elem) = (kernel.sizes(y), kernel.elem(y));
    if sizes.len() != 2 {
        return declined("its result is not a matrix");
    }
    let k = int(call, "k")?.clamp(-(1 << 40), 1 << 40);
    kernel.each_of_all(&sizes, |b, at| {
        let (zero, one) = (b.num(elem, 0.0), b.num(elem, 1.0));
        let diagonal = b.shifted(at[0], k);
        let is_on = b.eq(at[1], diagonal);
        let value = b.select(is_on, one, zero);
        b.store(y, value, at);
    });
    Ok(())
}

/// `ConstantOfShape`, whose result is known.
pub fn constant_of_shape(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let y = kernel.output(0);
    let elem = kernel.elem(y);
    let value = match call.attrs().tensor("value") {
        Some(tensor) => {
            let bytes = tensor.to_bytes();
            let width = elem.bits() as usize / 8;
            let bits = bytes.iter().take(width).rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
            match Imm::new(elem, bits) {
                Some(value) if tensor.elem() == elem && tensor.len() == 1 => kernel.imm(value),
                _ => return declined("its value is not one number"),
            }
        }
        None => kernel.num(elem, 0.0),
    };
    fill(kernel, y, value);
    Ok(())
}

/// `Range`, whose result is known.
pub fn range(_: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (start, step, y) = (kernel.needed_input(0)?, kernel.needed_input(2)?, kernel.output(0));
    let (sizes, elem) = (kernel.sizes(y), kernel.elem(y));
    if elem == ElemType::BOOL || sizes.len() != 1 {
        return declined("its elements are not numbers");
    }
    let (start, step) = (viewed(kernel, start, &[]), viewed(kernel, step, &[]));
    let (start, step) = (kernel.load(start, &[]), kernel.load(step, &[]));
    let (start, step) = (kernel.cast(start, wide(elem)), kernel.cast(step, wide(elem)));
    kernel.over(sizes[0], |b, at| {
        let place = b.cast(at, wide(elem));
        let distance = b.mul(place, step);
        let value = b.add(start, distance);
        let value = b.cast(value, elem);
        b.store(y, value, &[at]);
    });
    Ok(())
}

/// `OneHot`, whose result is known.
pub fn one_hot(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (indices, values, y) = (kernel.needed_input(0)?, kernel.needed_input(2)?, kernel.output(0));
    let sizes = kernel.sizes(y);
    let [outer, depth, inner] = around(&sizes, axis_of(int(call, "axis")?, sizes.len())?);
    if volume(&kernel.sizes(indices)) != outer * inner || kernel.sizes(values) != [2] {
        return declined("its indices do not fit its result");
    }
    if kernel.elem(indices) == ElemType::BOOL {
        return declined("its indices are truth values");
    }
    let (indices, y) = (viewed(kernel, indices, &[outer, inner]), viewed(kernel, y, &[outer, depth, inner]));
    let (zero, one) = (kernel.index(0), kernel.index(1));
    let (off, on) = (kernel.load(values, &[zero]), kernel.load(values, &[one]));
    kernel.each_of_all(&[outer, depth, inner], |b, at| {
        let index = index_at(b, indices, &[at[0], at[2]], depth);
        let is_it = b.eq(index, at[1]);
        let value = b.select(is_it, on, off);
        b.store(y, value, at);
    });
    Ok(())
}
