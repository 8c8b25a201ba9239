//! Tensors in other shapes, and their shapes.

use super::shared::{Done, copy, declined, int, viewed, volume};
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
