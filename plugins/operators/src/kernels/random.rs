//! `Dropout`.

use super::shared::{Done, copy, declined, fill};
use crate::calls::int;
use relais_plugin_api::op::{Kernel, OpCall};

/// `Dropout` that drops nothing.
pub fn dropout(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let is_training = match call.version() {
        ..7 => int(call, "is_test")? == 0,
        7..12 => false,
        _ => match (call.has_arg(2), call.constant(2)) {
            (false, _) => false,
            (true, Some(flag)) => flag.to_bytes().first() != Some(&0),
            (true, None) => return declined("whether it is in training is not a constant"),
        },
    };
    if is_training {
        return declined("it is in training");
    }
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    copy(kernel, x, y);
    if let Some(mask) = kernel.optional_output(1) {
        let elem = kernel.elem(mask);
        let one = kernel.num(elem, 1.0);
        fill(kernel, mask, one);
    }
    Ok(())
}
