//! `CenterCropPad`.

use super::shared::{Made, body, scalar};
use crate::calls::{elem, opt_ints};
use relais_plugin_api::op::OpCall;

/// `CenterCropPad`: along each axis, one of both amounts is 0.
pub fn center_crop_pad(call: &OpCall<'_>) -> Made {
    let zero = scalar(elem(call, 0)?, 0.0);
    let axes = match opt_ints(call, "axes")? {
        Some(axes) if axes.is_empty() => return body(call, &["x", "shape"], "  %y = Identity(%x);\n", &["y"]),
        Some(axes) => format!("  %axes = Identity({axes:?});\n"),
        None => "  %rank = Size(%wanted);\n  %axes = Range(0, %rank, 1);\n".to_owned(),
    };
    let lines = format!(
        "  %wanted = Cast(%shape, to = 7);\n{axes}  %all = Shape(%x);\n  %sizes = Gather(%all, %axes);\n  \
         %more = Sub(%wanted, %sizes);\n  %pad = Max(%more, 0);\n  %less = Sub(%sizes, %wanted);\n  \
         %crop = Max(%less, 0);\n  %from = Div(%crop, 2);\n  %kept = Sub(%sizes, %crop);\n  %to = Add(%from, %kept);\n  \
         %cropped = Slice(%x, %from, %to, %axes);\n  %before = Div(%pad, 2);\n  %after = Sub(%pad, %before);\n  \
         %pads = Concat(%before, %after, axis = 0);\n  %y = Pad(%cropped, %pads, {zero}, %axes);\n"
    );
    body(call, &["x", "shape"], &lines, &["y"])
}
