//! Operators that compute, and what they have in common.

use super::site::{Outcome, Site};
use relais_plugin_api::{
    ir::{AttrData, Dims},
    prelude::*,
};

/// Nothing but what the records say.
pub(super) fn by_records(_: &mut Site<'_, '_>) -> Result<Outcome, String> {
    Ok(Outcome::Same)
}

pub(super) fn no_training(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    match s.f().n_results(s.id) {
        Some(2..) => Err("it has the results of training".to_owned()),
        _ => Ok(Outcome::Same),
    }
}

/// Without a limit, version 6 takes the greatest and the least `float32`, later ones those of the element type.
pub(super) fn clip_up(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    let elem = s.elem(0);
    if elem == ElemType::FLOAT || s.has("min") && s.has("max") {
        return Ok(Outcome::Same);
    }
    for (name, limit) in [("min", f32::MIN), ("max", f32::MAX)] {
        if !s.has(name) {
            s.state(name, limit);
        }
    }
    let limit = |s: &Site<'_, '_>, name: &str| {
        let value = s.attrs().into_iter().find(|attr| attr.name == name).map(|attr| attr.value);
        match value {
            Some(AttrData::Float(value)) => Tensor::from_f64s(elem, &[], &[value.into()]),
            _ => None,
        }
    };
    let unknown = || "the type of its elements is not known".to_owned();
    let (min, max) = (limit(s, "min").ok_or_else(unknown)?, limit(s, "max").ok_or_else(unknown)?);
    s.drop_attrs(&["min", "max"]);
    s.stated.clear();
    let (min, max) = (s.new_constant(min), s.new_constant(max));
    s.args.truncate(1);
    s.args.extend([min, max]);
    s.in_place_of("Clip".to_owned())
}

pub(super) fn clip_down(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    if let (Some(min), Some(max)) = (s.constant(1)?, s.constant(2)?)
        && !min.to_f64().zip(max.to_f64()).is_some_and(|(min, max)| min <= max)
    {
        // onnxruntime refuses attributes that leave nothing between them.
        let limit = |limit: &Tensor| limit.reshaped(&[]).map_err(|error| format!("of its limits, {error}"));
        let (min, max) = (s.new_constant(limit(&min)?), s.new_constant(limit(&max)?));
        let least = s.new_call("Max", &[s.args[0], min], Vec::new())?;
        return Ok(Outcome::Results(vec![s.new_call("Min", &[least, max], Vec::new())?]));
    }
    for (at, name, half) in [(1, "min", -65504.0), (2, "max", 65504.0)] {
        match s.elem(0) {
            _ if s.arg(at).is_some() => {}
            ElemType::FLOAT => {}
            ElemType::FLOAT16 => s.state(name, half as f32),
            _ => return Err(format!("it has no `{name}`, which version 6 takes from `float32`")),
        }
    }
    Ok(Outcome::Same)
}

pub(super) fn dft_up(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    if !s.has("axis") {
        let axis = s.int("axis").unwrap_or(1);
        let axis = s.new_constant(Tensor::from_i64(&[], &[axis]));
        s.args.resize(3, NodeId::ABSENT);
        s.args[2] = axis;
        return s.in_place_of("DFT".to_owned());
    }
    Ok(Outcome::Same)
}

pub(super) fn dft_down(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    let axis = match s.constant(2)? {
        Some(axis) => axis.to_i64().ok_or("its argument `axis` is not one integer")?,
        None => -2,
    };
    let axis = s.axis_of(0, axis)?;
    s.state("axis", axis);
    Ok(Outcome::Same)
}

/// Before version 11 no index is negative, which full checking demands where it knows them.
pub(super) fn one_hot_down(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    let Some(indices) = s.arg(0).and_then(|indices| s.f().constant(indices)).cloned() else { return Ok(Outcome::Same) };
    let values = indices.to_i64s().unwrap_or_default();
    if values.iter().all(|&index| index >= 0) {
        return Ok(Outcome::Same);
    }
    if indices.elem() != ElemType::INT64 {
        return Err("its indices are negative".to_owned());
    }
    let depth = s.constant(1)?.and_then(|depth| depth.to_i64()).ok_or("its argument `depth` is not one integer")?;
    // An index that is out of range stays so.
    let from_first = |&index: &i64| match index {
        0.. => index,
        _ if index >= -depth => index + depth,
        _ => depth,
    };
    let values: Vec<i64> = values.iter().map(from_first).collect();
    s.args[0] = s.new_constant(Tensor::from_i64(indices.dims(), &values));
    s.in_place_of("OneHot".to_owned())
}

pub(super) fn top_k_down(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    match s.constant_ints(1)?.as_deref() {
        Some(&[k]) if k >= 1 => Ok(Outcome::Same),
        _ => Err("before version 10 its `k` is at least 1".to_owned()),
    }
}

/// ONNX's number of an element type, as attributes have it.
fn number(elem: ElemType) -> i64 {
    elem.0.into()
}

pub(super) fn dequantize_down(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    if s.elem(1) != ElemType::UNKNOWN && s.int("output_dtype") == Some(number(s.elem(1))) {
        s.drop_attrs(&["output_dtype"]);
    }
    Ok(Outcome::Same)
}

pub(super) fn quantize_down(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    if s.elem(2) != ElemType::UNKNOWN && s.int("output_dtype") == Some(number(s.elem(2))) {
        s.drop_attrs(&["output_dtype"]);
    }
    Ok(Outcome::Same)
}

/// The mask has other types and, in inference, other values by version and by runtime.
pub(super) fn no_mask(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    match s.uses_result(1) {
        true => Err("its mask is used, which is another one there".to_owned()),
        false => Ok(Outcome::Same),
    }
}

pub(super) fn dropout_down(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    let is_inference = |mode: Tensor| mode.to_bytes().iter().all(|&byte| byte == 0);
    if !s.constant(2)?.is_none_or(is_inference) {
        return Err("it is in training mode".to_owned());
    }
    s.args.truncate(2);
    if s.arg(1).is_some_and(|ratio| s.f().constant(ratio).is_none()) {
        // In inference it means nothing.
        s.args.truncate(1);
    }
    no_mask(s)
}

pub(super) fn gemm_down(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    if s.arg(2).is_some() {
        return Ok(Outcome::Same);
    }
    let elem = s.elem(0);
    // Of all numbers, only -0.0 leaves every sum what it is.
    let zero =
        Tensor::from_f64s(elem, &[], &[-0.0]).ok_or_else(|| format!("it has no `C`, and elements of type {elem}"))?;
    let zero = s.new_constant(zero);
    s.drop_attrs(&["beta"]);
    s.args.truncate(2);
    s.args.push(zero);
    s.in_place_of("Gemm".to_owned())
}

/// Before version 21, scale and bias are of groups of channels, then of channels.
pub(super) fn group_norm_up(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    if !matches!(s.elem(0), ElemType::FLOAT | ElemType::DOUBLE) {
        return Err("what it computes in other precisions changed in version 21".to_owned());
    }
    let groups = s.int("num_groups").filter(|&groups| groups > 0).ok_or("`num_groups` is not positive")?;
    let channels = s.known_dims(0)?.get(1).and_then(|dim| dim.known()).and_then(|size| i64::try_from(size).ok());
    let channels = channels.filter(|channels| channels % groups == 0).ok_or("its number of channels is not known")?;
    for at in [1, 2] {
        let Some(arg) = s.arg(at) else { return Err("an argument is absent".to_owned()) };
        let (column, grid, flat) =
            (s.new_ints(&[groups, 1]), s.new_ints(&[groups, channels / groups]), s.new_ints(&[channels]));
        let column = s.new_call("Reshape", &[arg, column], Vec::new())?;
        let grid = s.new_call("Expand", &[column, grid], Vec::new())?;
        s.args[at] = s.new_call("Reshape", &[grid, flat], Vec::new())?;
    }
    s.in_place_of("GroupNormalization".to_owned())
}

/// Whether all axes behind one have a size of 1.
fn is_last(dims: &Dims, axis: usize) -> bool {
    dims.iter().skip(axis + 1).all(|dim| dim.known() == Some(1))
}

/// Before version 13 it is over all axes from `axis` on.
pub(super) fn softmax_up(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    let axis = s.int("axis").unwrap_or(1);
    let dims = s.known_dims(0)?;
    let axis = usize::try_from(s.axis_of(0, axis)?).ok().filter(|&axis| axis <= dims.len());
    let axis = axis.ok_or("its `axis` is not one of its argument")?;
    if axis < dims.len() && is_last(&dims, axis) {
        s.state("axis", axis as i64);
        return Ok(Outcome::Same);
    }
    if dims.iter().any(|dim| dim.known() == Some(0)) {
        // Over whichever axis, nothing is computed.
        s.state("axis", -1_i64);
        return Ok(Outcome::Same);
    }
    // A size of 0 means to `Reshape` the size that is there, which is another one behind the second axis.
    if dims.iter().skip(2).any(|dim| dim.known().is_none()) {
        return Err("it is over several axes, whose sizes are not known".to_owned());
    }
    let input = s.args[0];
    let flat = s.new_call("Flatten", &[input], vec![Attr::new("axis", axis as i64)])?;
    let op = s.f().call(s.id).map(|call| call.op_name().to_owned()).unwrap_or_default();
    let soft = s.build().call(op, &[flat], vec![Attr::new("axis", -1_i64)]).map_err(|error| error.to_string())?;
    let shape = s.new_call("Shape", &[input], Vec::new())?;
    Ok(Outcome::Results(vec![s.new_call("Reshape", &[soft, shape], Vec::new())?]))
}

pub(super) fn softmax_down(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    let axis = s.int("axis").unwrap_or(-1);
    if axis == -1 && s.dims(0).is_none() {
        s.state("axis", axis);
        return Ok(Outcome::Same);
    }
    let dims = s.known_dims(0)?;
    let axis = usize::try_from(s.axis_of(0, axis)?).ok().filter(|&axis| axis < dims.len());
    let axis = axis.ok_or("its `axis` is not one of its argument")?;
    let last = dims.len() - 1;
    if is_last(&dims, axis) {
        s.state("axis", axis as i64);
        return Ok(Outcome::Same);
    }
    let mut order: Vec<i64> = (0..dims.len() as i64).collect();
    order.swap(axis, last);
    let swap = || vec![Attr::new("perm", order.clone())];
    let input = s.new_call("Transpose", &[s.args[0]], swap())?;
    let op = s.f().call(s.id).map(|call| call.op_name().to_owned()).unwrap_or_default();
    let soft = s.build().call(op, &[input], vec![Attr::new("axis", last as i64)]).map_err(|error| error.to_string())?;
    Ok(Outcome::Results(vec![s.new_call("Transpose", &[soft], swap())?]))
}

/// Before version 8 nothing is broadcast.
pub(super) fn equal_shapes(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    let first = s.known_dims(0)?;
    for at in 1..s.args.len() {
        let dims = s.known_dims(at)?;
        if dims.len() != first.len() || !dims.iter().zip(&first).all(|(&a, &b)| a.is_same(b)) {
            return Err("before version 8 its arguments are of one shape, which these are not known to be".to_owned());
        }
    }
    Ok(Outcome::Same)
}

/// The function of the standard for it needs them.
pub(super) fn state_axes(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    if let Some(axes) = s.ints("axes").filter(|_| !s.has("axes")) {
        s.state("axes", axes);
    }
    Ok(Outcome::Same)
}

pub(super) fn mod_down(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    match s.int("fmod").unwrap_or(0) == 0 && !s.elem(0).is_integer() {
        true => Err("before version 28 only integers have a remainder with the sign of the divisor".to_owned()),
        false => Ok(Outcome::Same),
    }
}

/// Without axes all are reduced, unless `noop_with_empty_axes` is set, which older versions do not have.
pub(super) fn reduce_down(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    let axes = s.constant_ints(1)?.unwrap_or_default();
    match (axes.is_empty(), s.int("noop_with_empty_axes").unwrap_or(0) != 0) {
        (true, true) => return Err("it reduces no axis, which older versions cannot say".to_owned()),
        (true, false) => s.args.truncate(1),
        (false, _) => s.drop_attrs(&["noop_with_empty_axes"]),
    }
    Ok(Outcome::Same)
}
