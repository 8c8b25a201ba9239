//! `DynamicQuantizeLinear`.

use super::shared::{Made, body};
use relais_plugin_api::op::OpCall;

/// `DynamicQuantizeLinear`: the range that is quantised includes 0.
pub fn dynamic_quantize_linear(call: &OpCall<'_>) -> Made {
    let lines = "  %l = ReduceMin(%x, keepdims = 0);\n  %low = Min(%l, 0.0);\n  %h = ReduceMax(%x, keepdims = 0);\n  \
                 %high = Max(%h, 0.0);\n  %range = Sub(%high, %low);\n  %scale = Div(%range, 255.0);\n  \
                 %m = Div(%low, %scale);\n  %s = Sub(0.0, %m);\n  %c = Clip(%s, 0.0, 255.0);\n  %r = Round(%c);\n  \
                 %zero = Cast(%r, to = 2);\n  %y = QuantizeLinear(%x, %scale, %zero);\n";
    body(call, &["x"], lines, &["y", "scale", "zero"])
}
