//! Attention and its kin.

use super::{
    attr::{FLOAT, INT, STRING, default, optional, required},
    formals,
};
use crate::bodies::attention;
use crate::relations::{elementwise, misc};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &formals::with::<{ TABLE.len() }>(TABLE);

const TABLE: &[Operator] = &[
    ATTENTION.body_of(attention::attention),
    ATTENTION
        .since(24)
        .attrs(&[
            default(INT, "is_causal", "0"),
            optional(INT, "kv_num_heads"),
            optional(INT, "q_num_heads"),
            default(INT, "qk_matmul_output_mode", "0"),
            optional(FLOAT, "scale"),
            default(FLOAT, "softcap", "0.0"),
            optional(INT, "softmax_precision"),
        ])
        .body_of(attention::attention),
    ATTENTION
        .since(23)
        .inputs(3, 6)
        .attrs(&[
            default(INT, "is_causal", "0"),
            optional(INT, "kv_num_heads"),
            optional(INT, "q_num_heads"),
            default(INT, "qk_matmul_output_mode", "0"),
            optional(FLOAT, "scale"),
            default(FLOAT, "softcap", "0.0"),
            optional(INT, "softmax_precision"),
        ])
        .body_of(attention::attention),
    CAUSAL_CONV_WITH_STATE.body_of(attention::causal_conv_with_state),
    LINEAR_ATTENTION.body_of(attention::linear_attention),
    ROTARY_EMBEDDING.body_of(attention::rotary_embedding),
];

const ATTENTION: Operator = Operator::new("", "Attention", 25)
    .inputs(3, 7)
    .outputs(1, 4)
    .attrs(&[
        default(INT, "is_causal", "0"),
        optional(INT, "kv_num_heads"),
        default(INT, "left_window_size", "-1"),
        optional(INT, "q_num_heads"),
        default(INT, "qk_matmul_output_mode", "0"),
        default(INT, "right_window_size", "-1"),
        optional(FLOAT, "scale"),
        default(FLOAT, "softcap", "0.0"),
        optional(INT, "softmax_precision"),
    ])
    .infer(misc::attention)
    .doc("Scaled dot-product attention, with past keys and values.");

const CAUSAL_CONV_WITH_STATE: Operator = Operator::new("", "CausalConvWithState", 27)
    .inputs(2, 4)
    .outputs(2, 2)
    .attrs(&[default(STRING, "activation", "\"none\"")])
    .infer(misc::causal_conv)
    .doc("A causal convolution that hands its last inputs on.");

const LINEAR_ATTENTION: Operator = Operator::new("", "LinearAttention", 27)
    .inputs(3, 6)
    .outputs(2, 2)
    .attrs(&[
        default(INT, "chunk_size", "64"),
        required(INT, "kv_num_heads"),
        required(INT, "q_num_heads"),
        default(FLOAT, "scale", "0.0"),
        default(STRING, "update_rule", "\"gated_delta\""),
    ])
    .doc("Linear attention with a recurrent state.");

const ROTARY_EMBEDDING: Operator = Operator::new("", "RotaryEmbedding", 23)
    .inputs(3, 4)
    .attrs(&[default(INT, "interleaved", "0"), optional(INT, "num_heads"), default(INT, "rotary_embedding_dim", "0")])
    .effects(Effects::TRAPS)
    .infer(elementwise::same)
    .doc("Rotary position embedding.");

relais_plugin_api::prelude::operators! { OPERATORS }
