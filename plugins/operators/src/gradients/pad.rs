//! `Pad`.

use super::shared::{Made, NONE, Text};
use crate::calls::{opt_ints, string};
use relais_plugin_api::op::{OpCall, OpError};

/// `Pad` with a constant: what was added is taken away, and the other way round.
pub fn pad(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    if string(call, "mode")? != "constant" {
        return Err(OpError::unsupported("its values are not padded with a constant"));
    }
    let x = match opt_ints(call, "pads")? {
        Some(pads) if !call.has_arg(1) => {
            let back: Vec<i64> = pads.iter().map(|&pad| pad.saturating_neg()).collect();
            t.line(format_args!("Pad(%d0, pads = {back:?})"))
        }
        _ => {
            let back = t.line("Neg(%a1)");
            let axes = if call.has_arg(3) { ", _, %a3" } else { "" };
            t.line(format_args!("Pad(%d0, {back}{axes})"))
        }
    };
    if !call.has_arg(2) {
        return t.gives([x]);
    }
    let all = t.line("ReduceSum(%d0, keepdims = 0)");
    let own = t.line(format_args!("ReduceSum({x}, keepdims = 0)"));
    let added = t.line(format_args!("Sub({all}, {own})"));
    let value = t.reshaped_like(&added, "%a2");
    t.gives([x.as_str(), NONE, &value])
}
