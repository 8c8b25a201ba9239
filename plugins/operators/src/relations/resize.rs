//! `Resize` and `Upsample`.

use super::shared::util::*;
use relais_operator_math::resize::{Policy, scaled_size};
use relais_plugin_api::{ir::*, op::*};

/// `Upsample`: the scales are two attributes, then one, then an argument.
pub fn upsample(cx: &mut InferCx<'_>) -> Outcome {
    let scales = match cx.version() {
        ..7 => match (opt_float(cx, "height_scale")?, opt_float(cx, "width_scale")?) {
            (Some(height), Some(width)) => Some(vec![1.0, 1.0, height, width]),
            _ => None,
        },
        7..9 => opt_floats(cx, "scales")?,
        _ => known_floats(cx, 1),
    };
    scale(cx, scales, None)
}

/// `Resize`: from version 11 on with a region of interest, and sizes instead of scales.
pub fn resize(cx: &mut InferCx<'_>) -> Outcome {
    if cx.version() < 11 {
        let scales = known_floats(cx, 1);
        return scale(cx, scales, None);
    }
    let axes = opt_ints(cx, "axes")?;
    let is_cropped = string(cx, "coordinate_transformation_mode")? == "tf_crop_and_resize";
    let policy = named(cx, "keep_aspect_ratio_policy", Policy::of)?;
    let sizes_given = cx.arg(3).is_some() && cx.dims(3).as_deref() != Some(&[Dim::Static(0)]);
    if !sizes_given {
        let scales = if is_cropped { None } else { known_floats(cx, 2) };
        return scale(cx, scales, axes);
    }
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let Some(mut dims) = cx.dims(0) else {
        cx.set_any_rank(0, elem);
        return Ok(());
    };
    let axes = resized_axes(axes, dims.len())?;
    match ints_of(cx, 3).filter(|_| policy == Policy::Stretch) {
        Some(sizes) if sizes.len() != axes.len() => {
            return invalid(format_args!("{} sizes do not fit {} axes", sizes.len(), axes.len()));
        }
        Some(sizes) => {
            for (&axis, size) in axes.iter().zip(sizes) {
                dims[axis] = size.into();
            }
        }
        None => axes.iter().for_each(|&axis| dims[axis] = Dim::Unknown),
    }
    cx.set_tensor(0, elem, &dims);
    Ok(())
}

fn resized_axes(axes: Option<IntList>, rank: usize) -> Result<Vec<usize>, OpError> {
    match axes {
        Some(axes) => axes.iter().map(|&axis| axis_of(axis, rank)).collect(),
        None => Ok((0..rank).collect()),
    }
}

fn scale(cx: &mut InferCx<'_>, scales: Option<Vec<f32>>, axes: Option<IntList>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let Some(mut dims) = cx.dims(0) else {
        cx.set_any_rank(0, elem);
        return Ok(());
    };
    let axes = resized_axes(axes, dims.len())?;
    match scales {
        Some(scales) if scales.len() != axes.len() => {
            return invalid(format_args!("{} scales do not fit {} axes", scales.len(), axes.len()));
        }
        Some(scales) => {
            for (&axis, scale) in axes.iter().zip(scales) {
                dims[axis] = if scale == 1.0 { dims[axis] } else { map_dim(dims[axis], |size| scaled(size, scale)) };
            }
        }
        None => axes.iter().for_each(|&axis| dims[axis] = Dim::Unknown),
    }
    cx.set_tensor(0, elem, &dims);
    Ok(())
}

/// The size after scaling; `None` where it depends on the precision that a runtime computes with.
fn scaled(size: u64, scale: f32) -> Option<u64> {
    let size = scaled_size(size, scale.into()).ok()?;
    (0.0..1e9).contains(&size).then_some(size as u64)
}
