//! Elements taken by index.

use super::shared::{
    Made, int_text,
    picked::{Repeats, picked},
};
use crate::calls::{dims, int};
use relais_plugin_api::op::{OpCall, shapes::axis_of};

/// `Gather`.
pub fn gather(call: &OpCall<'_>) -> Made {
    picked(call, &format!("Gather($, %a1{})", int_text(call, "axis")?), Repeats::Perhaps)
}

/// `GatherElements`: with one index along its axis, each element is picked once at most.
pub fn gather_elements(call: &OpCall<'_>) -> Made {
    let of_indices = dims(call, 1)?;
    let axis = axis_of(int(call, "axis")?, of_indices.len())?;
    let is_one = of_indices.get(axis).and_then(|dim| dim.known()) == Some(1);
    let repeats = if is_one { Repeats::Never } else { Repeats::Perhaps };
    picked(call, &format!("GatherElements($, %a1{})", int_text(call, "axis")?), repeats)
}

/// `GatherND`.
pub fn gather_nd(call: &OpCall<'_>) -> Made {
    picked(call, &format!("GatherND($, %a1{})", int_text(call, "batch_dims")?), Repeats::Perhaps)
}
