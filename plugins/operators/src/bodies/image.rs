//! `AffineGrid`.

use super::shared::{Made, body, size};
use crate::calls::{elem, flag, unknown};
use relais_plugin_api::{ir::Dim, op::OpCall};

/// `AffineGrid`: the points of a grid over [-1, 1], each with a 1 behind it, times the matrices.
pub fn affine_grid(call: &OpCall<'_>) -> Made {
    let elem = elem(call, 0)?;
    let n_axes = match (size(call, 0, 1), call.dims(1).as_deref()) {
        (Some(n @ (2 | 3)), _) => n as i64,
        (_, Some(&[Dim::Static(n @ (4 | 5))])) => n as i64 - 2,
        _ => return Err(unknown("whether the grid has 2 or 3 axes")),
    };
    let is_aligned = flag(call, "align_corners")?;
    // Sizes are those of the batch, the channels, then of depth, height and width; the coordinates of a point are in the
    // other order.
    let mut lines = format!("  %space = Slice(%size, [2], [{}]);\n", n_axes + 2);
    for axis in 0..n_axes {
        let mut shape = vec![1; n_axes as usize];
        shape[axis as usize] = -1;
        let place = match is_aligned {
            true => format!(
                "  %last{axis} = Sub(%n{axis}, 1.0);\n  %safe{axis} = Max(%last{axis}, 1.0);\n  \
                 %double{axis} = Mul(%i{axis}, 2.0);\n  %part{axis} = Div(%double{axis}, %safe{axis});\n"
            ),
            false => format!(
                "  %half{axis} = Add(%i{axis}, 0.5);\n  %double{axis} = Mul(%half{axis}, 2.0);\n  \
                 %part{axis} = Div(%double{axis}, %n{axis});\n"
            ),
        };
        lines += &format!(
            "  %s{axis} = Gather(%size, {});\n  %n{axis} = Cast(%s{axis}, to = 1);\n  \
             %i{axis} = Range(0.0, %n{axis}, 1.0);\n{place}  %at{axis} = Sub(%part{axis}, 1.0);\n  \
             %line{axis} = Reshape(%at{axis}, {shape:?});\n  %full{axis} = Expand(%line{axis}, %space);\n  \
             %flat{axis} = Reshape(%full{axis}, [-1, 1]);\n",
            axis + 2
        );
    }
    let coordinates: Vec<String> = (0..n_axes).rev().map(|axis| format!("%flat{axis}")).collect();
    lines += &format!(
        "  %zeros = Mul(%flat0, 0.0);\n  %ones = Add(%zeros, 1.0);\n  %points = Concat({}, %ones, axis = 1);\n  \
         %p = Cast(%points, to = {});\n  %t = Transpose(%theta, perm = [0, 2, 1]);\n  %moved = MatMul(%p, %t);\n  \
         %batch = Slice(%size, [0], [1]);\n  %shape = Concat(%batch, %space, [{n_axes}], axis = 0);\n  \
         %y = Reshape(%moved, %shape);\n",
        coordinates.join(", "),
        elem.0,
    );
    body(call, &["theta", "size"], &lines, &["y"])
}
