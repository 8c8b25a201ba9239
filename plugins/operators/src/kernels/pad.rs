//! Tensors with borders.

use super::shared::{
    Done, const_ints, declined, fill, given_ints,
    parts::{Part, copy_part},
    tables::{Taps, by_tables},
    viewed, volume,
};
use crate::calls::{float, named};
use relais_operator_math::pad::PadMode;
use relais_plugin_api::op::{Kernel, OpCall, OpError, shapes::axis_of};

/// `Pad`, whose amounts are attributes before version 11.
pub fn pad(call: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Done {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    let (sizes, made, elem) = (kernel.sizes(x), kernel.sizes(y), kernel.elem(x));
    let name = if call.version() < 2 { "paddings" } else { "pads" };
    let given = given_ints(call, 1, name)?.ok_or_else(|| OpError::invalid("its padding is missing"))?;
    let axes = match call.has_arg(3) {
        true => const_ints(call, 3)?,
        false => (0..sizes.len() as i64).collect(),
    };
    if given.len() != 2 * axes.len() || made.len() != sizes.len() {
        return Err(OpError::invalid("its padding is not two numbers for each axis"));
    }
    let mut pads = vec![(0, 0); sizes.len()];
    for (at, &axis) in axes.iter().enumerate() {
        pads[axis_of(axis, sizes.len())?] = (given[at], given[at + axes.len()]);
    }
    let fits =
        |at: usize| i128::from(sizes[at]) + i128::from(pads[at].0) + i128::from(pads[at].1) == i128::from(made[at]);
    if !(0..sizes.len()).all(fits) {
        return declined("its padding does not fit its result");
    }
    if volume(&made) == 0 {
        return Ok(());
    }
    let mode = named(call, "mode", |name| PadMode::of(name, call.version()))?;
    if mode == PadMode::Constant {
        let value = match kernel.input(2) {
            Some(value) if volume(&kernel.sizes(value)) != 1 => return declined("its value is not one number"),
            Some(value) => {
                let value = viewed(kernel, value, &[]);
                kernel.load(value, &[])
            }
            None => kernel.num(elem, float(call, "value")?),
        };
        fill(kernel, y, value);
        let part = |at: usize| {
            let (size, before) = (sizes[at] as i64, pads[at].0);
            let (from, to) = ((-before).max(0), before.max(0));
            let count = (size - from).min(made[at] as i64 - to).max(0) as u64;
            Part { x_size: sizes[at], y_size: made[at], count, from, to, step: 1 }
        };
        let parts: Vec<Part> = (0..sizes.len()).map(part).collect();
        copy_part(kernel, x, y, &parts);
        return Ok(());
    }
    let mut tables = Vec::new();
    for (axis, &(before, after)) in pads.iter().enumerate().filter(|&(_, &pads)| pads != (0, 0)) {
        let size = sizes[axis] as i64;
        if before < 0 || after < 0 || size == 0 {
            return declined("it takes elements away, or there are none to repeat");
        }
        let from = (0..made[axis] as i64).filter_map(|at| mode.source(at - before, size)).collect();
        tables.push(Taps { axis, from: vec![from], weights: Vec::new() });
    }
    by_tables(kernel, x, y, &tables, elem)
}
