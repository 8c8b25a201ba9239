//! `Dropout`.

use super::shared::{Made, Text};
use relais_plugin_api::{
    ir::Tensor,
    op::{OpCall, OpError},
};

/// `Dropout`, where nothing is dropped.
pub fn dropout(call: &OpCall<'_>) -> Made {
    let is_off = |constant: &Tensor| constant.to_bytes().iter().all(|&byte| byte == 0);
    if call.version() >= 12 && call.has_arg(2) && !call.constant(2).is_some_and(is_off) {
        return Err(OpError::unsupported("it may be in training mode"));
    }
    Text::new(call)?.gives(["%d0"])
}
