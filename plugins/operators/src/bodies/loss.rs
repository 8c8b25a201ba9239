//! Losses.

use super::{
    shared::{Made, body, scalar, squeezed},
    softmax::log_softmax_lines,
};
use crate::calls::{elem, opt_int, string};
use relais_plugin_api::op::{OpCall, OpError};

/// The lines that compute `%loss` from the logarithms `%p` of probabilities, `%target`, and `%weight` if it is there.
fn loss_lines(call: &OpCall<'_>) -> Made {
    let (float, index) = (elem(call, 0)?, elem(call, 1)?);
    let (has_weight, ignored) = (call.has_arg(2), opt_int(call, "ignore_index")?);
    let mut lines = format!("  %wide = {};\n", squeezed(call, "Unsqueeze", "target", 1));
    lines += &match ignored {
        // An ignored target need not be a class.
        Some(ignored) => format!(
            "  %skip = Equal(%wide, const({index}, {ignored}));\n  %safe = Where(%skip, const({index}, 0), %wide);\n"
        ),
        None => "  %safe = Identity(%wide);\n".to_owned(),
    };
    lines += "  %picked = GatherElements(%p, %safe, axis = 1);\n  %negative = Neg(%picked);\n";
    let (zero, one) = (scalar(float, 0.0), scalar(float, 1.0));
    lines += &match (has_weight, ignored.is_some()) {
        (true, true) => format!("  %all = Gather(%weight, %safe);\n  %each = Where(%skip, {zero}, %all);\n"),
        (true, false) => "  %each = Gather(%weight, %safe);\n".to_owned(),
        (false, true) => format!("  %each = Where(%skip, {zero}, {one});\n"),
        (false, false) => String::new(),
    };
    let is_weighted = has_weight || ignored.is_some();
    lines +=
        if is_weighted { "  %weighted = Mul(%negative, %each);\n" } else { "  %weighted = Identity(%negative);\n" };
    lines += &match string(call, "reduction")? {
        "none" => format!("  %loss = {};\n", squeezed(call, "Squeeze", "weighted", 1)),
        "sum" => "  %loss = ReduceSum(%weighted, keepdims = 0);\n".to_owned(),
        "mean" if is_weighted => {
            "  %total = ReduceSum(%weighted, keepdims = 0);\n  %count = ReduceSum(%each, keepdims = \
                                  0);\n  %loss = Div(%total, %count);\n"
                .to_owned()
        }
        "mean" => "  %loss = ReduceMean(%weighted, keepdims = 0);\n".to_owned(),
        other => return Err(OpError::unsupported(format_args!("`reduction` is `{other}`"))),
    };
    Ok(lines)
}

/// `NegativeLogLikelihoodLoss`.
pub fn negative_log_likelihood(call: &OpCall<'_>) -> Made {
    body(call, &["p", "target", "weight"], &loss_lines(call)?, &["loss"])
}

/// `SoftmaxCrossEntropyLoss`: the classes are along axis 1.
pub fn softmax_cross_entropy(call: &OpCall<'_>) -> Made {
    let lines = log_softmax_lines(call, 1) + &loss_lines(call)?;
    body(call, &["x", "target", "weight"], &lines, &["loss", "p"])
}
