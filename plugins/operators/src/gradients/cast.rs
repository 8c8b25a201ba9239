//! Conversions between element types.

use super::shared::{Made, Text};
use crate::calls::elem;
use relais_plugin_api::{ir::ElemType, op::OpCall};

/// `Cast` and `CastLike`.
pub fn cast(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let from: ElemType = elem(call, 0)?;
    let x = t.line(format_args!("Cast(%d0, to = {})", from.0));
    t.gives([x])
}
