//! Tensors in other shapes, and their shapes.

use super::shared::{Done, copy, declined, viewed, volume};
use crate::calls::{int, opt_int};
use relais_operator_math::reshape::shape_range;
use relais_plugin_api::op::{Kernel, OpCall};

/// `Identity`.
pub fn identity(_: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    copy(kernel, x, y);
    Ok(())
}

/// `Reshape`, `Flatten`, `Squeeze` and `Unsqueeze`, whose result is known.
pub fn reshaped(_: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    if volume(&kernel.sizes(x)) != volume(&kernel.sizes(y)) {
        return declined("its result has not as many elements");
    }
    copy(kernel, x, y);
    Ok(())
}

/// `Shape`.
pub fn shape(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    let sizes = kernel.sizes(x);
    let part = &sizes[shape_range(sizes.len(), int(call, "start")?, opt_int(call, "end")?)];
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
