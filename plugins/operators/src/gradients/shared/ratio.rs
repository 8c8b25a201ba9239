//! Shares of reduced elements.

use super::{Made, Text, output_dims, sizes};
use crate::calls::{dims, elem};
use relais_plugin_api::ir::{Dim, ElemType};

/// How many elements of the argument each of the result is made of.
pub fn ratio(t: &mut Text<'_, '_>) -> Made {
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

/// The gradient of the elements that are the greatest or the least along axes; they share it.
pub fn shared(
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
