//! Convolutions, windows, and images.

use super::site::{Outcome, Site};
use relais_plugin_api::prelude::*;

/// Since version 22, windows that would begin in the padding at the end are left out: there are none if the kernel is
/// as long as a step and that padding.
pub(super) fn windows(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    if s.int("ceil_mode").unwrap_or(0) == 0 || s.text("auto_pad").starts_with("SAME") {
        return Ok(Outcome::Same);
    }
    let kernel = s.ints("kernel_shape").unwrap_or_default();
    let n = kernel.len();
    let each = |name: &str, default: i64| s.ints(name).unwrap_or_else(|| vec![default; n]);
    let (strides, dilations) = (each("strides", 1), each("dilations", 1));
    let pads = s.ints("pads").unwrap_or_else(|| vec![0; 2 * n]);
    let is_whole = |axis: usize| {
        let length = dilations.get(axis)?.checked_mul(kernel[axis].checked_sub(1)?)?.checked_add(1)?;
        Some(length >= strides.get(axis)?.checked_add(*pads.get(n + axis)?)?)
    };
    match (0..n).all(|axis| is_whole(axis) == Some(true)) {
        true => Ok(Outcome::Same),
        false => Err("`ceil_mode` may add a window that begins in the padding, which version 22 leaves out".to_owned()),
    }
}

/// Versions before 11 say the reverse of later ones of where odd padding goes.
pub(super) fn no_same_padding(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    match s.text("auto_pad").starts_with("SAME") {
        true => Err("`auto_pad` pads the other side before version 11".to_owned()),
        false => Ok(Outcome::Same),
    }
}

pub(super) fn grid_sample_up(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    let mode = match s.text("mode").as_str() {
        "bilinear" => "linear".to_owned(),
        "bicubic" => "cubic".to_owned(),
        other => other.to_owned(),
    };
    s.state("mode", mode);
    Ok(Outcome::Same)
}

pub(super) fn grid_sample_down(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    if s.known_dims(0)?.len() != 4 {
        return Err("before version 20 it has four axes".to_owned());
    }
    let mode = match s.text("mode").as_str() {
        "linear" => "bilinear".to_owned(),
        "cubic" => "bicubic".to_owned(),
        other => other.to_owned(),
    };
    s.state("mode", mode);
    Ok(Outcome::Same)
}

/// The constant factors of the sizes, in this argument.
fn scales(s: &mut Site<'_, '_>, at: usize) -> Result<Vec<f32>, String> {
    Ok(s.constant(at)?.and_then(|scales| scales.to_f32s()).unwrap_or_default())
}

/// Before version 11, runtimes disagree about where `nearest` reads when it makes something smaller.
const SMALLER: &str = "before version 11, `nearest` has no one meaning where a scale is below 1";

/// Version 10 is what `asymmetric` and `floor` say later.
pub(super) fn resize_up(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    if s.text("mode") == "nearest" {
        if scales(s, 1)?.iter().any(|&scale| scale < 1.0) {
            return Err(SMALLER.to_owned());
        }
        s.state("nearest_mode", "floor");
    }
    s.state("coordinate_transformation_mode", "asymmetric");
    let roi = s.new_constant(Tensor::from_f32(&[0], &[]));
    s.args.insert(1, roi);
    s.in_place_of("Resize".to_owned())
}

pub(super) fn resize_down(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    if s.text("coordinate_transformation_mode") != "asymmetric" {
        return Err("before version 11 coordinates are `asymmetric`".to_owned());
    }
    let scales = scales(s, 2)?;
    if scales.is_empty() {
        return Err("before version 11 sizes are given by `scales`".to_owned());
    }
    match s.text("mode").as_str() {
        "linear" => {}
        "nearest" if s.text("nearest_mode") != "floor" => {
            return Err("before version 11 `nearest` takes the element below".to_owned());
        }
        "nearest" if scales.iter().any(|&scale| scale < 1.0) => return Err(SMALLER.to_owned()),
        "nearest" => {}
        mode => return Err(format!("before version 11 there is no mode `{mode}`")),
    }
    if s.int("exclude_outside").unwrap_or(0) != 0 {
        return Err("before version 11 there is no `exclude_outside`".to_owned());
    }
    s.drop_attrs(&[
        "coordinate_transformation_mode",
        "cubic_coeff_a",
        "exclude_outside",
        "extrapolation_value",
        "nearest_mode",
    ]);
    s.args = vec![s.args[0], s.args[2]];
    s.in_place_of("Resize".to_owned())
}

/// Since version 13 what is not used is absent, and may not be given.
pub(super) fn resize_optional_up(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    if s.text("coordinate_transformation_mode") == "tf_half_pixel_for_nn" {
        return Err("since version 13 there is no `tf_half_pixel_for_nn`".to_owned());
    }
    let is_empty = |s: &Site<'_, '_>, at| s.arg(at).and_then(|arg| s.f().constant(arg)).is_some_and(Tensor::is_empty);
    let mut is_changed = false;
    for at in [1, 2] {
        if is_empty(s, at) {
            s.args[at] = NodeId::ABSENT;
            is_changed = true;
        }
    }
    if is_changed { s.in_place_of("Resize".to_owned()) } else { Ok(Outcome::Same) }
}

pub(super) fn resize_optional_down(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    s.args.resize(s.args.len().max(3), NodeId::ABSENT);
    for at in [1, 2] {
        if s.args[at].is_absent() {
            s.args[at] = s.new_constant(Tensor::from_f32(&[0], &[]));
        }
    }
    s.in_place_of("Resize".to_owned())
}

pub(super) fn resize_axes_down(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    let Some(axes) = s.ints("axes") else { return Ok(Outcome::Same) };
    if s.arg(1).is_some() {
        return Err("its `roi` is of some axes, and of all before version 18".to_owned());
    }
    let dims = s.known_dims(0)?;
    let mut places = Vec::new();
    for axis in axes {
        let axis = usize::try_from(s.axis_of(0, axis)?).ok().filter(|&axis| axis < dims.len());
        places.push(axis.ok_or("its `axes` are not of its argument")?);
    }
    let unfit = || "its `axes` do not fit its sizes".to_owned();
    if s.arg(2).is_some() {
        let given = scales(s, 2)?;
        let mut all = vec![1.0; dims.len()];
        for (at, &place) in places.iter().enumerate() {
            all[place] = *given.get(at).ok_or_else(unfit)?;
        }
        s.args[2] = s.new_constant(Tensor::from_f32(&[all.len() as u64], &all));
    } else {
        let given = s.constant_ints(3)?.ok_or_else(unfit)?;
        let mut all: Vec<Option<i64>> = dims.iter().map(|dim| i64::try_from(dim.known()?).ok()).collect();
        for (at, &place) in places.iter().enumerate() {
            all[place] = Some(*given.get(at).ok_or_else(unfit)?);
        }
        let all: Option<Vec<i64>> = all.into_iter().collect();
        s.args[3] = s.new_ints(&all.ok_or("the sizes of its other axes are not known")?);
    }
    if s.text("keep_aspect_ratio_policy") != "stretch" {
        return Err("before version 18 there is no `keep_aspect_ratio_policy`".to_owned());
    }
    if s.int("antialias").unwrap_or(0) != 0 {
        return Err("before version 18 there is no `antialias`".to_owned());
    }
    s.drop_attrs(&["antialias", "axes", "keep_aspect_ratio_policy"]);
    s.in_place_of("Resize".to_owned())
}

pub(super) fn resize_symmetric_down(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    match s.text("coordinate_transformation_mode") == "half_pixel_symmetric" {
        true => Err("before version 19 there is no `half_pixel_symmetric`".to_owned()),
        false => Ok(Outcome::Same),
    }
}

pub(super) fn resize_to_upsample(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    if scales(s, 1)?.iter().any(|&scale| scale < 1.0) {
        return Err("before version 10 nothing is made smaller".to_owned());
    }
    s.in_place_of("Upsample".to_owned())
}

pub(super) fn upsample_up(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    s.in_place_of("Resize".to_owned())
}

pub(super) fn roi_align_up(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    s.state("coordinate_transformation_mode", "output_half_pixel");
    Ok(Outcome::Same)
}

pub(super) fn roi_align_down(s: &mut Site<'_, '_>) -> Result<Outcome, String> {
    if s.text("coordinate_transformation_mode") != "output_half_pixel" {
        return Err("before version 16 coordinates are those of `output_half_pixel`".to_owned());
    }
    s.drop_attrs(&["coordinate_transformation_mode"]);
    Ok(Outcome::Same)
}
