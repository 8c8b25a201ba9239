//! Operators that keep the elements in their order.

use super::shared::{Made, Text};
use relais_plugin_api::op::OpCall;

/// `Identity`.
pub fn identity(call: &OpCall<'_>) -> Made {
    Text::new(call)?.gives(["%d0"])
}

/// Operators that keep the elements in their order, such as `Reshape` and `Squeeze`.
pub fn reshaped(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let x = t.reshaped_like("%d0", "%a0");
    t.gives([x])
}
