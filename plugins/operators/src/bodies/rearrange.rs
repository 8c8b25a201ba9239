//! Moving elements: blocks of space and depth, cropping and padding.

use super::{Made, body, elem, scalar, unknown};
use relais_plugin_api::op::{OpCall, OpError};

/// Attributes of both: the size of blocks, and whether depth comes before blocks.
fn blocks(call: &OpCall<'_>) -> Result<(i64, bool), OpError> {
    let size = call.attrs().int("blocksize").filter(|size| *size > 0).ok_or_else(|| unknown("`blocksize`"))?;
    match call.attrs().str("mode").unwrap_or("DCR") {
        "DCR" => Ok((size, false)),
        "CRD" => Ok((size, true)),
        other => Err(OpError::unsupported(format_args!("`mode` is `{other}`"))),
    }
}

/// `DepthToSpace`.
pub fn depth_to_space(call: &OpCall<'_>) -> Made {
    let (size, is_depth_first) = blocks(call)?;
    let (front, order) = match is_depth_first {
        true => (format!("[0, -1, {size}, {size}]"), "[0, 1, 4, 2, 5, 3]"),
        false => (format!("[0, {size}, {size}, -1]"), "[0, 3, 4, 1, 5, 2]"),
    };
    let lines = format!(
        "  %shape = Shape(%x);\n  %space = Slice(%shape, [2], [4]);\n  %split = Concat({front}, %space, axis = 0);\n  \
         %six = Reshape(%x, %split);\n  %turned = Transpose(%six, perm = {order});\n  %large = Mul(%space, {size});\n  \
         %joined = Concat([0, -1], %large, axis = 0);\n  %y = Reshape(%turned, %joined);\n"
    );
    body(call, &["x"], &lines, &["y"])
}

/// `SpaceToDepth`.
pub fn space_to_depth(call: &OpCall<'_>) -> Made {
    let (size, is_depth_first) = blocks(call)?;
    let order = if is_depth_first { "[0, 1, 3, 5, 2, 4]" } else { "[0, 3, 5, 1, 2, 4]" };
    let lines = format!(
        "  %shape = Shape(%x);\n  %height = Slice(%shape, [2], [3]);\n  %width = Slice(%shape, [3], [4]);\n  \
         %h = Div(%height, {size});\n  %w = Div(%width, {size});\n  \
         %split = Concat([0, -1], %h, [{size}], %w, [{size}], axis = 0);\n  %six = Reshape(%x, %split);\n  \
         %turned = Transpose(%six, perm = {order});\n  %joined = Concat([0, -1], %h, %w, axis = 0);\n  \
         %y = Reshape(%turned, %joined);\n"
    );
    body(call, &["x"], &lines, &["y"])
}

/// `CenterCropPad`: along each axis, one of both amounts is 0.
pub fn center_crop_pad(call: &OpCall<'_>) -> Made {
    let zero = scalar(elem(call, 0)?, 0.0);
    let axes = match call.attrs().ints("axes") {
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
