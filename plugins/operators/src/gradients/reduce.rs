//! Reductions.

use super::{Made, Text, dims, elem, output_dims, sizes};
use relais_plugin_api::{
    ir::{Dim, ElemType},
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

fn axes(call: &OpCall<'_>) -> Axes {
    let attrs = call.attrs();
    let none = || if attrs.int("noop_with_empty_axes").unwrap_or(0) != 0 { Axes::None } else { Axes::All };
    let these = |axes: Vec<i64>| if axes.is_empty() { none() } else { Axes::These(axes) };
    match (call.has_arg(1), call.constant(1)) {
        (true, Some(constant)) => constant.to_i64s().map_or(Axes::Computed, these),
        (true, None) => Axes::Computed,
        (false, _) => attrs.ints("axes").map_or_else(none, these),
    }
}

/// A value with the shape of the result, with the reduced axes in it.
fn with_axes(t: &mut Text<'_, '_>, value: &str) -> Made {
    let call = t.call;
    if call.attrs().int("keepdims").unwrap_or(1) != 0 {
        return Ok(value.to_owned());
    }
    match axes(call) {
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

/// How many elements of the argument each of the result is made of.
fn ratio(t: &mut Text<'_, '_>) -> Made {
    let elem = elem(t.call, 0)?;
    let count = |dims: &[Dim]| sizes(dims).map(|sizes| sizes.iter().map(|&size| size as f64).product::<f64>());
    let known = dims(t.call, 0).ok().and_then(|dims| count(&dims));
    let result = output_dims(t.call, 0).ok().and_then(|dims| count(&dims));
    if let (Some(all), Some(result)) = (known, result)
        && result > 0.0
    {
        return Ok(t.scalar(elem, all / result));
    }
    // In double precision, in which every count is exact.
    let size = |t: &mut Text<'_, '_>, value: &str| {
        let size = t.line(format_args!("Size({value})"));
        t.line(format_args!("Cast({size}, to = 11)"))
    };
    let (all, result) = (size(t, "%a0"), size(t, "%y0"));
    let ratio = t.line(format_args!("Div({all}, {result})"));
    match elem {
        ElemType::DOUBLE => Ok(ratio),
        _ => Ok(t.line(format_args!("Cast({ratio}, to = {})", elem.0))),
    }
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

/// `GlobalAveragePool`.
pub fn global_average(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let n = ratio(&mut t)?;
    let each = t.line(format_args!("Div(%d0, {n})"));
    let x = t.spread_like(&each, "%a0");
    t.gives([x])
}

/// The gradient of the elements that are the greatest or the least along axes; they share it.
fn shared(
    mut t: Text<'_, '_>,
    result: &str,
    gradient: &str,
    count: impl FnOnce(&mut Text<'_, '_>, &str) -> String,
) -> Made {
    let elem = elem(t.call, 0)?;
    let is_it = t.line(format_args!("Equal(%a0, {result})"));
    let share = t.line(format_args!("Cast({is_it}, to = {})", elem.0));
    let n = count(&mut t, &share);
    let each = t.line(format_args!("Div({gradient}, {n})"));
    let x = t.line(format_args!("Mul({share}, {each})"));
    t.gives([x])
}

/// `ReduceMax` and `ReduceMin`.
pub fn extreme(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let (result, gradient) = (with_axes(&mut t, "%y0")?, with_axes(&mut t, "%d0")?);
    shared(t, &result, &gradient, |t, share| match axes(call) {
        Axes::None => share.to_owned(),
        Axes::All => t.line(format_args!("ReduceSum({share}, keepdims = 1)")),
        Axes::These(axes) => t.sum_to_one(share, &axes),
        Axes::Computed => t.line(format_args!("ReduceSum({share}, %a1, keepdims = 1)")),
    })
}

/// `GlobalMaxPool`.
pub fn global_max(call: &OpCall<'_>) -> Made {
    let t = Text::new(call)?;
    let axes: Vec<i64> = (2..dims(call, 0)?.len() as i64).collect();
    shared(t, "%y0", "%d0", |t, share| t.sum_to_one(share, &axes))
}
