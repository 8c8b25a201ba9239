//! Blocks of space and depth.

use super::shared::{Made, body};
use crate::calls::{opt_int, string, unknown};
use relais_plugin_api::op::{OpCall, OpError};

/// Attributes of both: the size of blocks, and whether depth comes before blocks.
fn blocks(call: &OpCall<'_>) -> Result<(i64, bool), OpError> {
    let size = opt_int(call, "blocksize")?.filter(|size| *size > 0).ok_or_else(|| unknown("`blocksize`"))?;
    match string(call, "mode")? {
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
