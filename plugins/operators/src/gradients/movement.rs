//! Operators that move elements.

use super::{Made, NONE, Text, dims, elem, from_front, int, sizes};
use relais_plugin_api::op::{OpCall, OpError};

/// Operators that keep the elements in their order, such as `Reshape` and `Squeeze`.
pub fn reshaped(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let x = t.reshaped_like("%d0", "%a0");
    t.gives([x])
}

/// `Transpose`.
pub fn transpose(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let perm = match call.attrs().ints("perm") {
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

/// `Concat`: the parts are split again.
pub fn concat(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    let n = call.n_args();
    let axis = from_front(call.attrs().int("axis").unwrap_or(1), dims(call, 0)?.len())?;
    if n == 1 {
        return t.gives(["%d0"]);
    }
    let known = (0..n).map(|at| sizes(&[*dims(call, at).ok()?.get(axis as usize)?])).collect::<Option<Vec<_>>>();
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
    let axis = call.attrs().int("axis").unwrap_or(0);
    let x = t.line(format_args!("Concat({}, axis = {axis})", parts.join(", ")));
    t.gives([x])
}

/// Whether several elements of a result may come from one of the argument.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repeats {
    Never,
    Perhaps,
}

/// The gradient of an operator that picks elements: `op` is a call of it on the positions `$` of the elements.
fn picked(call: &OpCall<'_>, op: &str, repeats: Repeats) -> Made {
    let mut t = Text::new(call)?;
    if t.opset < 11 {
        return Err(OpError::unsupported("before version 11, there is no `ScatterElements`"));
    }
    let adding = match repeats {
        Repeats::Never => "",
        Repeats::Perhaps if t.opset >= 16 => ", reduction = \"add\"",
        Repeats::Perhaps => return Err(OpError::unsupported("before version 16, `ScatterElements` does not add")),
    };
    let n = t.line("Size(%a0)");
    let numbers = t.line(format_args!("Range(0, {n}, 1)"));
    let positions = t.reshaped_like(&numbers, "%a0");
    let picked = t.line(op.replace('$', &positions));
    let x = scattered(&mut t, &n, &picked, "%d0", adding)?;
    t.gives([x])
}

/// The gradient of the argument whose elements at some positions, counted through, are those of a value with this gradient.
pub(super) fn scattered(t: &mut Text<'_, '_>, n: &str, positions: &str, gradient: &str, adding: &str) -> Made {
    let zero = t.scalar(elem(t.call, 0)?, 0.0);
    let length = t.line(format_args!("Reshape({n}, [1])"));
    let zeros = t.line(format_args!("Expand({zero}, {length})"));
    let positions = t.line(format_args!("Reshape({positions}, [-1])"));
    let values = t.line(format_args!("Reshape({gradient}, [-1])"));
    let flat = t.line(format_args!("ScatterElements({zeros}, {positions}, {values}, axis = 0{adding})"));
    Ok(t.reshaped_like(&flat, "%a0"))
}

/// The arguments after the first one.
fn others(call: &OpCall<'_>) -> String {
    (1..call.n_args()).map(|at| if call.has_arg(at) { format!(", %a{at}") } else { ", _".to_owned() }).collect()
}

/// `Slice`.
pub fn slice(call: &OpCall<'_>) -> Made {
    picked(call, &format!("Slice(${})", others(call)), Repeats::Never)
}

/// `Gather`.
pub fn gather(call: &OpCall<'_>) -> Made {
    picked(call, &format!("Gather($, %a1{})", int(call, "axis")), Repeats::Perhaps)
}

/// `GatherElements`: with one index along its axis, each element is picked once at most.
pub fn gather_elements(call: &OpCall<'_>) -> Made {
    let of_indices = dims(call, 1)?;
    let axis = from_front(call.attrs().int("axis").unwrap_or(0), of_indices.len())?;
    let is_one = of_indices.get(axis as usize).and_then(|dim| dim.known()) == Some(1);
    let repeats = if is_one { Repeats::Never } else { Repeats::Perhaps };
    picked(call, &format!("GatherElements($, %a1{})", int(call, "axis")), repeats)
}

/// `GatherND`.
pub fn gather_nd(call: &OpCall<'_>) -> Made {
    picked(call, &format!("GatherND($, %a1{})", int(call, "batch_dims")), Repeats::Perhaps)
}

/// `Tile`.
pub fn tile(call: &OpCall<'_>) -> Made {
    picked(call, "Tile($, %a1)", Repeats::Perhaps)
}

/// `Pad` with a constant: what was added is taken away, and the other way round.
pub fn pad(call: &OpCall<'_>) -> Made {
    let mut t = Text::new(call)?;
    if call.attrs().str("mode").is_some_and(|mode| mode != "constant") {
        return Err(OpError::unsupported("its values are not padded with a constant"));
    }
    let x = match call.attrs().ints("pads") {
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
