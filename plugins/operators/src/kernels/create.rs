//! Tensors made from shapes and numbers.

use super::{Done, Terms, declined, fill, flag, int, viewed, volume, wide};
use relais_plugin_api::{
    ir::{ElemType, Imm},
    op::{Kernel, OpCall},
    prim::CoreOp,
};

/// `Trilu`.
pub fn trilu(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    let (sizes, elem) = (kernel.sizes(x), kernel.elem(x));
    let [batch @ .., m, n] = sizes.as_slice() else { return declined("its argument is not a matrix") };
    let shape = [volume(batch), *m, *n];
    let is_upper = flag(call, "upper", true);
    let k = match (kernel.input(1), call.constant(1).and_then(|k| k.to_i64())) {
        (None, _) => kernel.index(0),
        // Beyond the matrix, all is on one side.
        (_, Some(k)) => kernel.index(k.clamp(-(1 << 40), 1 << 40)),
        (Some(_), None) => return declined("its diagonal is not a constant"),
    };
    let (x, y) = (viewed(kernel, x, &shape), viewed(kernel, y, &shape));
    kernel.each_of_all(&shape, |b, at| {
        let zero = b.num(elem, 0.0);
        let diagonal = b.plus(at[1], k);
        let stays = b.op(if is_upper { CoreOp::Ge } else { CoreOp::Le }, &[at[2], diagonal]);
        let value = b.load(x, at);
        let value = b.select(stays, value, zero);
        b.store(y, value, at);
    });
    Ok(())
}

/// `EyeLike`.
pub fn eye_like(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let y = kernel.output(0);
    let (sizes, elem) = (kernel.sizes(y), kernel.elem(y));
    if sizes.len() != 2 {
        return declined("its result is not a matrix");
    }
    let k = int(call, "k", 0).clamp(-(1 << 40), 1 << 40);
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

/// `Shape`.
pub fn shape(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    let sizes = kernel.sizes(x);
    let rank = sizes.len() as i64;
    let bound = |name: &str, default: i64| {
        let given = int(call, name, default);
        (if given < 0 { given.saturating_add(rank) } else { given }).clamp(0, rank) as usize
    };
    let (start, end) = (bound("start", 0), bound("end", rank));
    let part = sizes.get(start..end).unwrap_or(&[]);
    if kernel.sizes(y) != [part.len() as u64] {
        return declined("its result has another length");
    }
    for (at, &size) in part.iter().enumerate() {
        let (at, size) = (kernel.index(at as i64), kernel.index(size as i64));
        kernel.store(y, size, &[at]);
    }
    Ok(())
}

/// `Size`.
pub fn size(_: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    let size = volume(&kernel.sizes(x));
    let size = kernel.index(size as i64);
    let y = viewed(kernel, y, &[]);
    kernel.store(y, size, &[]);
    Ok(())
}
