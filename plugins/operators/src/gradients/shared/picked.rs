//! Operators that pick elements.

use super::{Made, Text};
use crate::calls::elem;
use relais_plugin_api::op::{OpCall, OpError};

/// Whether several elements of a result may come from one of the argument.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Repeats {
    Never,
    Perhaps,
}

/// The gradient of an operator that picks elements: `op` is a call of it on the positions `$` of the elements.
pub fn picked(call: &OpCall<'_>, op: &str, repeats: Repeats) -> Made {
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
pub fn scattered(t: &mut Text<'_, '_>, n: &str, positions: &str, gradient: &str, adding: &str) -> Made {
    let zero = t.scalar(elem(t.call, 0)?, 0.0);
    let length = t.line(format_args!("Reshape({n}, [1])"));
    let zeros = t.line(format_args!("Expand({zero}, {length})"));
    let positions = t.line(format_args!("Reshape({positions}, [-1])"));
    let values = t.line(format_args!("Reshape({gradient}, [-1])"));
    let flat = t.line(format_args!("ScatterElements({zeros}, {positions}, {values}, axis = 0{adding})"));
    Ok(t.reshaped_like(&flat, "%a0"))
}

/// The arguments after the first one.
pub fn others(call: &OpCall<'_>) -> String {
    (1..call.n_args()).map(|at| if call.has_arg(at) { format!(", %a{at}") } else { ", _".to_owned() }).collect()
}
