//! Operators that add to the ends of axes.

use super::shared::util::*;
use relais_plugin_api::{ir::*, op::*};

/// `Pad`.
pub fn pad(cx: &mut InferCx<'_>) -> Outcome {
    expect_tensor(cx, 0)?;
    let elem = cx.elem(0);
    let pads = match cx.version() {
        ..2 => opt_ints(cx, "paddings")?,
        2..11 => opt_ints(cx, "pads")?,
        _ => known_ints(cx, 1),
    };
    let Some(mut dims) = cx.dims(0) else {
        // The length of the pads determines the rank if all axes are padded.
        let rank = pads.filter(|_| cx.arg(3).is_none()).map(|pads| vec![Dim::Unknown; pads.len() / 2]);
        set(cx, 0, elem, rank.as_deref());
        return Ok(());
    };
    let axes: Option<Vec<usize>> = match cx.arg(3) {
        None => Some((0..dims.len()).collect()),
        Some(_) => match known_ints(cx, 3) {
            Some(axes) => Some(axes.iter().map(|&axis| axis_of(axis, dims.len())).collect::<Result<_, _>>()?),
            None => None,
        },
    };
    let (Some(pads), Some(axes)) = (pads, axes) else {
        cx.set_tensor(0, elem, &vec![Dim::Unknown; dims.len()]);
        return Ok(());
    };
    if pads.len() != 2 * axes.len() {
        return invalid(format_args!("{} pads do not fit {} axes", pads.len(), axes.len()));
    }
    for (at, &axis) in axes.iter().enumerate() {
        let (begin, end) = (pads[at], pads[axes.len() + at]);
        if (begin, end) != (0, 0) {
            let padded = |size: u64| size.checked_add_signed(begin)?.checked_add_signed(end);
            dims[axis] = map_dim(dims[axis], padded);
        }
    }
    cx.set_tensor(0, elem, &dims);
    Ok(())
}

/// `CenterCropPad`.
pub fn center_crop_pad(cx: &mut InferCx<'_>) -> Outcome {
    let sizes = ints_of(cx, 1);
    set_axes(cx, "sizes", sizes.as_deref(), |_, size| size.into())
}
