//! Operators that move elements.

use super::site::{Outcome, Site};
use relais_plugin_api::prelude::*;

pub(super) fn pad_axes_down(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    let Some(axes) = s.constant_ints(3)? else { return Ok(Outcome::Same) };
    let pads = s.constant_ints(1)?.unwrap_or_default();
    let rank = s.known_dims(0)?.len();
    let mut all = vec![0; 2 * rank];
    for (at, &axis) in axes.iter().enumerate() {
        let axis = usize::try_from(s.axis_of(0, axis)?).ok().filter(|&axis| axis < rank);
        let (Some(axis), Some(&begin), Some(&end)) = (axis, pads.get(at), pads.get(axes.len() + at)) else {
            return Err("its `axes` and `pads` do not fit".to_owned());
        };
        (all[axis], all[rank + axis]) = (begin, end);
    }
    s.args[1] = s.new_ints(&all);
    s.args.truncate(3);
    s.in_place_of("Pad".to_owned())
}

pub(super) fn pad_wrap_down(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    match s.text("mode") == "wrap" {
        true => Err("before version 19 there is no mode `wrap`".to_owned()),
        false => Ok(Outcome::Same),
    }
}

pub(super) fn reshape_down(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    if s.int("allowzero").unwrap_or(0) != 0 {
        let may_be = |why| format!("it has `allowzero`, which came with version 14, and may give a size of 0: {why}");
        if s.constant_ints(1).map_err(may_be)?.is_none_or(|shape| shape.contains(&0)) {
            return Err("it gives a size of 0, which `allowzero` allows since version 14".to_owned());
        }
        s.drop_attrs(&["allowzero"]);
    }
    Ok(Outcome::Same)
}

pub(super) fn scan(_: &mut Site<'_, '_>) -> Result<Outcome, String> {
    Err("version 9 made another operator of it, without batches".to_owned())
}

pub(super) fn scatter_up(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    s.in_place_of("ScatterElements".to_owned())
}

pub(super) fn scatter_down(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    let axis = s.int("axis").unwrap_or(0);
    let axis = s.axis_of(0, axis)?;
    s.state("axis", axis);
    s.in_place_of("Scatter".to_owned())
}

pub(super) fn scatter_reduction_down(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    match s.text("reduction").as_str() {
        reduction @ ("max" | "min") => Err(format!("before version 18 there is no reduction `{reduction}`")),
        _ => Ok(Outcome::Same),
    }
}

/// A part of a shape is a slice of the whole.
pub(super) fn shape_down(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    let (start, end) = (s.int("start").unwrap_or(0), s.int("end"));
    if start == 0 && end.is_none() {
        return Ok(Outcome::Same);
    }
    let shape = s.new_call("Shape", &[s.args[0]], Vec::new())?;
    let args = [shape, s.new_ints(&[start]), s.new_ints(&[end.unwrap_or(i64::MAX)]), s.new_ints(&[0])];
    Ok(Outcome::Results(vec![s.new_call("Slice", &args, Vec::new())?]))
}

pub(super) fn slice_down(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    if s.constant_ints(4)?.is_some_and(|steps| steps.iter().any(|&step| step != 1)) {
        return Err("before version 10 it has no steps".to_owned());
    }
    s.args.truncate(4);
    if let Some(axes) = s.constant_ints(3)? {
        let axes = axes.iter().map(|&axis| s.axis_of(0, axis)).collect::<Result<Vec<_>, _>>()?;
        s.state("axes", axes);
    }
    Ok(Outcome::Same)
}

pub(super) fn split_up(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    if s.arg(1).is_none() {
        let n = s.f().n_results(s.id).unwrap_or(1) as i64;
        s.state("num_outputs", n);
    }
    Ok(Outcome::Same)
}

/// Before version 18 equal parts are all of one size.
pub(super) fn split_down(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    let Some(n) = s.int("num_outputs").filter(|&n| n > 0) else { return Ok(Outcome::Same) };
    if i64::try_from(s.f().n_results(s.id).unwrap_or(1)) != Ok(n) {
        return Err("`num_outputs` is not the number of its results".to_owned());
    }
    s.drop_attrs(&["num_outputs"]);
    let axis = s.axis_of(0, s.int("axis").unwrap_or(0))?;
    let size = usize::try_from(axis).ok().and_then(|axis| s.dims(0)?.get(axis)?.known());
    let size = size.and_then(|size| i64::try_from(size).ok()).ok_or("the size of the axis is not known")?;
    if size % n == 0 {
        return Ok(Outcome::Same);
    }
    let part = size / n + 1;
    let last = size - part * (n - 1);
    if last < 0 {
        return Err("its last part would have a negative size".to_owned());
    }
    let sizes: Vec<i64> = (1..=n).map(|at| if at == n { last } else { part }).collect();
    let sizes = s.new_ints(&sizes);
    s.args.resize(2, NodeId::ABSENT);
    s.args[1] = sizes;
    s.in_place_of("Split".to_owned())
}
