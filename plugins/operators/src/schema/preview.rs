//! Previews, `ai.onnx.preview`.

use super::{
    attr::{FLOAT, GRAPH, INT, optional},
    formals,
};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &formals::with::<{ TABLE.len() }>(TABLE);

const TABLE: &[Operator] = &[FLEX_ATTENTION];

const DOMAIN: &str = "ai.onnx.preview";

const FLEX_ATTENTION: Operator = Operator::new(DOMAIN, "FlexAttention", 1)
    .macs("?")
    .inputs(3, 3)
    .attrs(&[
        optional(GRAPH, "prob_mod"),
        optional(FLOAT, "scale"),
        optional(GRAPH, "score_mod"),
        optional(INT, "softmax_precision"),
    ])
    .doc("Attention with a given modification of scores.");

relais_plugin_api::prelude::operators! { OPERATORS }
