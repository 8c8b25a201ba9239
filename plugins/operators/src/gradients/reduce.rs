//! Reductions.

use super::shared::{
    Made, Text,
    ratio::{ratio, shared},
};
use crate::calls::{flag, opt_ints};
use relais_plugin_api::{
    ir::Tensor,
    op::{OpCall, OpError},
};

/// The axes of a reduction.
enum Axes {
    All,
    None,
    These(Vec<i64>),
    /// Those that the second argument holds.
    Computed,
}

fn axes(call: &OpCall<'_>) -> Result<Axes, OpError> {
    let axes = match (call.has_arg(1), call.constant(1)) {
        (true, constant) => match constant.and_then(Tensor::to_i64s) {
            Some(axes) => axes,
            None => return Ok(Axes::Computed),
        },
        (false, _) => opt_ints(call, "axes")?.unwrap_or_default().to_vec(),
    };
    Ok(match axes.is_empty() {
        false => Axes::These(axes),
        true if flag(call, "noop_with_empty_axes")? => Axes::None,
        true => Axes::All,
    })
}

/// A value with the shape of the result, with the reduced axes in it.
fn with_axes(t: &mut Text<'_, '_>, value: &str) -> Made {
    let call = t.call;
    if flag(call, "keepdims")? {
        return Ok(value.to_owned());
    }
    match axes(call)? {
        // Of a scalar, every shape can be made.
        Axes::All | Axes::None => Ok(value.to_owned()),
        Axes::These(axes) => Ok(t.unsqueezed(value, &axes)),
        Axes::Computed => {
            let n = call.dims(1).and_then(|dims| dims.first()?.known());
            if n.is_none_or(|n| n == 0) {
                return Err(OpError::unsupported("the number of its axes is not known"));
            }
            Ok(t.line(format_args!("Unsqueeze({value}, %a1)")))
        }
    }
}

/// `ReduceSum`.
pub fn sum(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let value = with_axes(&mut t, "%d0")?;
    let x = t.spread_like(&value, "%a0");
    t.gives([x])
}

/// `ReduceMean`.
pub fn mean(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let n = ratio(&mut t)?;
    let each = t.line(format_args!("Div(%d0, {n})"));
    let value = with_axes(&mut t, &each)?;
    let x = t.spread_like(&value, "%a0");
    t.gives([x])
}

/// `ReduceMax` and `ReduceMin`.
pub fn extreme(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let (result, gradient) = (with_axes(&mut t, "%y0")?, with_axes(&mut t, "%d0")?);
    let axes = axes(call)?;
    shared(t, &result, &gradient, |t, share| match axes {
        Axes::None => share.to_owned(),
        Axes::All => t.line(format_args!("ReduceSum({share}, keepdims = 1)")),
        Axes::These(axes) => t.sum_to_one(share, &axes),
        Axes::Computed => t.line(format_args!("ReduceSum({share}, %a1, keepdims = 1)")),
    })
}
