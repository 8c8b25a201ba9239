//! `CausalConvWithState`.

use super::shared::{Made, body, cast, scalar, size};
use crate::calls::{elem, string, unknown};
use relais_plugin_api::{
    ir::ElemType,
    op::{OpCall, OpError},
};

/// `CausalConvWithState`: a convolution of each channel, over what came before and the input.
pub fn causal_conv_with_state(call: &OpCall<'_>) -> Made {
    let elem = elem(call, 0)?;
    let channels = size(call, 1, 0).or_else(|| size(call, 0, 1)).ok_or_else(|| unknown("the number of channels"))?;
    let mut lines = match call.has_arg(3) {
        true => "  %before = Identity(%past);\n".to_owned(),
        false => format!(
            "  %front = Shape(%x, start = 0, end = 2);\n  %k = Shape(%weight, start = 2);\n  %n = Sub(%k, [1]);\n  \
             %shape = Concat(%front, %n, axis = 0);\n  %before = Expand({}, %shape);\n",
            scalar(elem, 0.0)
        ),
    };
    let bias = if call.has_arg(2) { ", %bias" } else { "" };
    lines += &format!(
        "  %all = Concat(%before, %x, axis = 2);\n  %length = Shape(%x, start = 2);\n  \
         %present = Slice(%all, %length, [{}], [2]);\n  %o = Conv(%all, %weight{bias}, group = {channels});\n",
        i64::MAX
    );
    lines += &match string(call, "activation")? {
        "none" => "  %y = Identity(%o);\n".to_owned(),
        "silu" | "swish" => {
            cast("w", "o", elem, ElemType::FLOAT)
                + "  %s = Sigmoid(%w);\n  %a = Mul(%w, %s);\n"
                + &cast("y", "a", ElemType::FLOAT, elem)
        }
        other => return Err(OpError::unsupported(format_args!("`activation` is `{other}`"))),
    };
    body(call, &["x", "weight", "bias", "past"], &lines, &["y", "present"])
}
