//! `CastLike`.

use super::shared::{Made, body};
use crate::calls::{elem, opt_int, opt_string};
use relais_plugin_api::op::OpCall;

/// `CastLike`: a cast to the element type of the second argument.
pub fn cast_like(call: &OpCall<'_>) -> Made {
    let to = elem(call, 1)?.0;
    let saturate = opt_int(call, "saturate")?.map_or_else(String::new, |saturate| format!(", saturate = {saturate}"));
    let mode = opt_string(call, "round_mode")?.map_or_else(String::new, |mode| format!(", round_mode = \"{mode}\""));
    body(call, &["x", "like"], &format!("  %y = Cast(%x, to = {to}{saturate}{mode});\n"), &["y"])
}
