//! `Where`.

use super::shared::{Made, NONE, Text};
use crate::calls::elem;
use relais_plugin_api::op::OpCall;

/// `Where`: the condition has no gradient.
pub fn choice(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let zero = t.scalar(elem(call, 1)?, 0.0);
    let then = t.line(format_args!("Where(%a0, %d0, {zero})"));
    let other = t.line(format_args!("Where(%a0, {zero}, %d0)"));
    let (then, other) = (t.summed(1, &then)?, t.summed(2, &other)?);
    t.gives([NONE, &then, &other])
}
