//! Tensors that are made of few numbers: ranges, windows, grids, quantised tensors.

use super::{Made, body, elem, size, unknown};
use relais_plugin_api::{
    ir::{Dim, ElemType},
    op::OpCall,
};

/// `Range`: the numbers below the count, scaled and moved.
pub fn range(call: &OpCall<'_>) -> Made {
    let elem = elem(call, 0)?;
    let wide = match elem {
        ElemType::FLOAT | ElemType::DOUBLE => elem,
        ElemType::FLOAT16 | ElemType::BFLOAT16 => {
            let stash = call.attrs().int("stash_type").and_then(|stash| u8::try_from(stash).ok());
            ElemType(stash.unwrap_or(ElemType::FLOAT.0))
        }
        _ => ElemType::INT64,
    };
    let lines = format!(
        "  %a = Cast(%start, to = {wide});\n  %b = Cast(%limit, to = {wide});\n  %c = Cast(%delta, to = {wide});\n  \
         %d = Sub(%b, %a);\n  %length = Cast(%d, to = {double});\n  %step = Cast(%c, to = {double});\n  \
         %steps = Div(%length, %step);\n  %whole = Ceil(%steps);\n  %positive = Max(%whole, const(float64, 0.0));\n  \
         %n = Cast(%positive, to = 7);\n  %shape = Reshape(%n, [1]);\n  \
         %ones = ConstantOfShape(%shape, value = const(int64, [1]));\n  %index = CumSum(%ones, 0, exclusive = 1);\n  \
         %i = Cast(%index, to = {wide});\n  %scaled = Mul(%i, %c);\n  %moved = Add(%scaled, %a);\n  \
         %y = Cast(%moved, to = {elem});\n",
        wide = wide.0,
        double = ElemType::DOUBLE.0,
        elem = elem.0,
    );
    body(call, &["start", "limit", "delta"], &lines, &["y"])
}

/// A window: the constant, and the factors of the cosines of one and two turns.
fn window(call: &OpCall<'_>, constant: f32, factors: &[f32]) -> Made {
    let is_periodic = call.attrs().int("periodic").unwrap_or(1) != 0;
    let to = call.attrs().int("output_datatype").unwrap_or(ElemType::FLOAT.0.into());
    let last = if is_periodic { "Identity(%n)" } else { "Sub(%n, 1.0)" };
    let mut lines = format!(
        "  %n = Cast(%size, to = 1);\n  %i = Range(0.0, %n, 1.0);\n  %turn = {last};\n  %sum0 = Identity({constant:?});\n"
    );
    for (at, factor) in factors.iter().enumerate() {
        let angle = 2.0 * std::f32::consts::PI * (at + 1) as f32;
        lines += &format!(
            "  %m{at} = Mul(%i, {angle:?});\n  %a{at} = Div(%m{at}, %turn);\n  %c{at} = Cos(%a{at});\n  \
             %f{at} = Mul(%c{at}, {factor:?});\n  %sum{} = Add(%f{at}, %sum{at});\n",
            at + 1
        );
    }
    lines += &format!("  %y = Cast(%sum{}, to = {to});\n", factors.len());
    body(call, &["size"], &lines, &["y"])
}

/// `HannWindow`.
pub fn hann(call: &OpCall<'_>) -> Made {
    window(call, 0.5, &[-0.5])
}

/// `HammingWindow`.
pub fn hamming(call: &OpCall<'_>) -> Made {
    window(call, 25.0 / 46.0, &[25.0 / 46.0 - 1.0])
}

/// `BlackmanWindow`.
pub fn blackman(call: &OpCall<'_>) -> Made {
    window(call, 0.42, &[-0.5, 0.08])
}

/// `DynamicQuantizeLinear`: the range that is quantised includes 0.
pub fn dynamic_quantize_linear(call: &OpCall<'_>) -> Made {
    let lines = "  %l = ReduceMin(%x, keepdims = 0);\n  %low = Min(%l, 0.0);\n  %h = ReduceMax(%x, keepdims = 0);\n  \
                 %high = Max(%h, 0.0);\n  %range = Sub(%high, %low);\n  %scale = Div(%range, 255.0);\n  \
                 %m = Div(%low, %scale);\n  %s = Sub(0.0, %m);\n  %c = Clip(%s, 0.0, 255.0);\n  %r = Round(%c);\n  \
                 %zero = Cast(%r, to = 2);\n  %y = QuantizeLinear(%x, %scale, %zero);\n";
    body(call, &["x"], lines, &["y", "scale", "zero"])
}

/// `AffineGrid`: the points of a grid over [-1, 1], each with a 1 behind it, times the matrices.
pub fn affine_grid(call: &OpCall<'_>) -> Made {
    let elem = elem(call, 0)?;
    let n_axes = match (size(call, 0, 1), call.dims(1).as_deref()) {
        (Some(n @ (2 | 3)), _) => n as i64,
        (_, Some(&[Dim::Static(n @ (4 | 5))])) => n as i64 - 2,
        _ => return Err(unknown("whether the grid has 2 or 3 axes")),
    };
    let is_aligned = call.attrs().int("align_corners").unwrap_or(0) != 0;
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
