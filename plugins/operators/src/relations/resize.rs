//! `Resize` and `Upsample`.

use super::shared::util::*;
use relais_operator_math::resize::{RatioPolicy, scaled_size};
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
    scale(cx, scales)
}

/// `Resize`: from version 11 on with a region of interest, and sizes instead of scales.
pub fn resize(cx: &mut InferCx<'_>) -> Outcome {
    if cx.version() < 11 {
        let scales = known_floats(cx, 1);
        return scale(cx, scales);
    }
    let is_cropped = string(cx, "coordinate_transformation_mode")? == "tf_crop_and_resize";
    let policy = named(cx, "keep_aspect_ratio_policy", RatioPolicy::of)?;
    let sizes_given = cx.arg(3).is_some() && cx.dims(3).as_deref() != Some(&[Dim::Static(0)]);
    if !sizes_given {
        let scales = if is_cropped { None } else { known_floats(cx, 2) };
        return scale(cx, scales);
    }
    let sizes = ints_of(cx, 3).filter(|_| policy == RatioPolicy::Stretch);
    set_axes(cx, "sizes", sizes.as_deref(), |_, size| size.into())
}

fn scale(cx: &mut InferCx<'_>, scales: Option<Vec<f32>>) -> Outcome {
    set_axes(cx, "scales", scales.as_deref(), |dim, scale| match scale {
        1.0 => dim,
        _ => map_dim(dim, |size| scaled(size, scale)),
    })
}

/// The size after scaling; `None` where it depends on the precision that a runtime computes with.
fn scaled(size: u64, scale: f32) -> Option<u64> {
    let size = scaled_size(size, scale.into()).ok()?;
    (0.0..1e9).contains(&size).then_some(size as u64)
}
