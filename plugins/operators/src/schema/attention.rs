//! Attention, and operators of the models that have it.

use super::versions::{all, count};
use crate::{bodies, relations};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &all::<{ count(TABLE) }>(TABLE);

const TABLE: &[Operator] = &[ATTENTION, FLEX_ATTENTION, LINEAR_ATTENTION, ROTARY_EMBEDDING];

const ATTENTION: Operator = Operator::new("", "Attention", 25)
    .infer(relations::attention::attention)
    .body_of(bodies::attention::attention)
    .doc("Scaled dot-product attention, with past keys and values.");

const FLEX_ATTENTION: Operator = Operator::new("ai.onnx.preview", "FlexAttention", 1)
    .macs("?")
    .doc("Attention with a given modification of scores.");

const LINEAR_ATTENTION: Operator = Operator::new("", "LinearAttention", 27)
    .body_of(bodies::attention::linear_attention)
    .doc("Linear attention with a recurrent state.");

const ROTARY_EMBEDDING: Operator = Operator::new("", "RotaryEmbedding", 23)
    .effects(Effects::TRAPS)
    .infer(relations::shared::elementwise::same)
    .body_of(bodies::attention::rotary_embedding)
    .doc("Rotary position embedding.");

relais_plugin_api::prelude::operators! { OPERATORS }
