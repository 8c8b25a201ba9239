//! `Range`.

use super::shared::{Made, body};
use crate::calls::{elem, elem_type};
use relais_plugin_api::{ir::ElemType, op::OpCall};

/// `Range`: the numbers below the count, scaled and moved.
pub fn range(call: &OpCall<'_>) -> Made {
    let elem = elem(call, 0)?;
    let wide = match elem {
        ElemType::FLOAT | ElemType::DOUBLE => elem,
        ElemType::FLOAT16 | ElemType::BFLOAT16 => elem_type(call, "stash_type")?,
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
