//! `Concat` and `Split`.

use super::shared::{Made, Text, sizes};
use crate::calls::{dims, int, opt_int};
use relais_operator_math::join::concat_axis;
use relais_plugin_api::op::{OpCall, OpError, shapes::axis_of};

/// `Concat`: the parts are split again.
pub fn concat(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let n = call.n_args();
    let axis = concat_axis(opt_int(call, "axis")?, call.version());
    let axis = axis.ok_or_else(|| OpError::invalid("attribute `axis` is missing"))?;
    let axis = axis_of(axis, dims(call, 0)?.len())?;
    if n == 1 {
        return t.gives(["%d0"]);
    }
    let known = (0..n).map(|at| sizes(&[*dims(call, at).ok()?.get(axis)?])).collect::<Option<Vec<_>>>();
    let split = match known.map(|sizes| sizes.concat()) {
        Some(sizes) if t.opset >= 13 => format!("{sizes:?}"),
        Some(sizes) => format!("split = {sizes:?}"),
        None if t.opset < 13 => return Err(OpError::unsupported("the sizes of its parts are not known")),
        None => {
            let mut parts = Vec::new();
            for at in 0..n {
                let shape = t.shape(&format!("%a{at}"));
                parts.push(t.line(format_args!("Gather({shape}, [{axis}])")));
            }
            t.line(format_args!("Concat({}, axis = 0)", parts.join(", ")))
        }
    };
    let split = t.line(format_args!("Split(%d0, {split}, axis = {axis}) -> {n}"));
    let parts: Vec<String> = (0..n).map(|at| t.line(format_args!("{split}[{at}]"))).collect();
    t.gives(parts)
}

/// `Split`: the parts are joined again.
pub fn split(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let parts: Vec<String> = (0..call.n_outputs()).map(|at| format!("%d{at}")).collect();
    let axis = int(call, "axis")?;
    let x = t.line(format_args!("Concat({}, axis = {axis})", parts.join(", ")));
    t.gives([x])
}
