//! Operators that move elements.

use super::shared::{
    Made, Text,
    picked::{Repeats, others, picked},
};
use crate::calls::opt_ints;
use relais_plugin_api::op::{OpCall, OpError};

/// `Transpose`.
pub fn transpose(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let perm = match opt_ints(call, "perm")? {
        None => String::new(),
        Some(perm) => {
            let mut back = vec![0; perm.len()];
            for (at, &axis) in perm.iter().enumerate() {
                let place = usize::try_from(axis).ok().and_then(|axis| back.get_mut(axis));
                *place.ok_or_else(|| OpError::unsupported("`perm` is out of range"))? = at;
            }
            format!(", perm = {back:?}")
        }
    };
    let x = t.line(format_args!("Transpose(%d0{perm})"));
    t.gives([x])
}

/// `Expand`.
pub fn expand(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let x = t.summed(0, "%d0")?;
    t.gives([x])
}

/// `Slice`.
pub fn slice(call: &OpCall<'_>) -> Made {
    picked(call, &format!("Slice(${})", others(call)), Repeats::Never)
}

/// `Tile`.
pub fn tile(call: &OpCall<'_>) -> Made {
    picked(call, "Tile($, %a1)", Repeats::Perhaps)
}
