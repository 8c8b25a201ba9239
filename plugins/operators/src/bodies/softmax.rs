//! `Softmax` and its logarithm.

use super::shared::{Made, body, reduced};
use crate::calls::int;
use relais_plugin_api::op::OpCall;

/// `Softmax` along one axis.
pub fn softmax(call: &OpCall<'_>) -> Made {
    let axis = int(call, "axis")?;
    let (max, sum) = (reduced(call, "ReduceMax", "x", &[axis], true), reduced(call, "ReduceSum", "e", &[axis], true));
    let lines = format!("  %m = {max};\n  %d = Sub(%x, %m);\n  %e = Exp(%d);\n  %s = {sum};\n  %y = Div(%e, %s);\n");
    body(call, &["x"], &lines, &["y"])
}

/// The lines that compute the logarithm `%p` of the softmax of `%x` along an axis.
pub fn log_softmax_lines(call: &OpCall<'_>, axis: i64) -> String {
    let (max, sum) = (reduced(call, "ReduceMax", "x", &[axis], true), reduced(call, "ReduceSum", "e", &[axis], true));
    format!(
        "  %m = {max};\n  %d = Sub(%x, %m);\n  %e = Exp(%d);\n  %s = {sum};\n  %l = Log(%s);\n  %p = Sub(%d, %l);\n"
    )
}

/// `LogSoftmax` along one axis.
pub fn log_softmax(call: &OpCall<'_>) -> Made {
    body(call, &["x"], &log_softmax_lines(call, int(call, "axis")?), &["p"])
}
