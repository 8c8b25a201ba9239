//! Recurrent networks.

use super::{
    attr::{FLOAT, FLOATS, INT, STRING, STRINGS, default, optional},
    formals,
};
use crate::{kernels, relations::recurrent};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &formals::with::<{ TABLE.len() }>(TABLE);

const TABLE: &[Operator] = &[
    GRU,
    GRU.since(14),
    GRU.since(7).attrs(&[
        optional(FLOATS, "activation_alpha"),
        optional(FLOATS, "activation_beta"),
        optional(STRINGS, "activations"),
        optional(FLOAT, "clip"),
        default(STRING, "direction", "\"forward\""),
        optional(INT, "hidden_size"),
        default(INT, "linear_before_reset", "0"),
    ]),
    GRU.since(3).attrs(&[
        optional(FLOATS, "activation_alpha"),
        optional(FLOATS, "activation_beta"),
        optional(STRINGS, "activations"),
        optional(FLOAT, "clip"),
        default(STRING, "direction", "\"forward\""),
        optional(INT, "hidden_size"),
        default(INT, "linear_before_reset", "0"),
        default(INT, "output_sequence", "0"),
    ]),
    GRU.since(1).outputs(2, 2).attrs(&[
        optional(FLOATS, "activation_alpha"),
        optional(FLOATS, "activation_beta"),
        optional(STRINGS, "activations"),
        optional(FLOAT, "clip"),
        default(STRING, "direction", "\"foward\""),
        optional(INT, "hidden_size"),
        default(INT, "output_sequence", "0"),
    ]),
    LSTM,
    LSTM.since(14),
    LSTM.since(7).attrs(&[
        optional(FLOATS, "activation_alpha"),
        optional(FLOATS, "activation_beta"),
        optional(STRINGS, "activations"),
        optional(FLOAT, "clip"),
        default(STRING, "direction", "\"forward\""),
        optional(INT, "hidden_size"),
        default(INT, "input_forget", "0"),
    ]),
    LSTM.since(1).attrs(&[
        optional(FLOATS, "activation_alpha"),
        optional(FLOATS, "activation_beta"),
        optional(STRINGS, "activations"),
        optional(FLOAT, "clip"),
        default(STRING, "direction", "\"forward\""),
        optional(INT, "hidden_size"),
        default(INT, "input_forget", "0"),
        default(INT, "output_sequence", "0"),
    ]),
    RNN,
    RNN.since(14),
    RNN.since(7).attrs(&[
        optional(FLOATS, "activation_alpha"),
        optional(FLOATS, "activation_beta"),
        default(STRINGS, "activations", "[\"Tanh\", \"Tanh\"]"),
        optional(FLOAT, "clip"),
        default(STRING, "direction", "\"forward\""),
        optional(INT, "hidden_size"),
    ]),
    RNN.since(1).attrs(&[
        optional(FLOATS, "activation_alpha"),
        optional(FLOATS, "activation_beta"),
        default(STRINGS, "activations", "[\"Tanh\", \"Tanh\"]"),
        optional(FLOAT, "clip"),
        default(STRING, "direction", "\"forward\""),
        optional(INT, "hidden_size"),
        default(INT, "output_sequence", "0"),
    ]),
];

const GRU: Operator = Operator::new("", "GRU", 22)
    .compute(kernels::recurrent::recurrent)
    .macs("x0[0] * x0[1] * x1 + x0[0] * x0[1] * x2")
    .inputs(3, 6)
    .outputs(0, 2)
    .attrs(&[
        optional(FLOATS, "activation_alpha"),
        optional(FLOATS, "activation_beta"),
        optional(STRINGS, "activations"),
        optional(FLOAT, "clip"),
        default(STRING, "direction", "\"forward\""),
        optional(INT, "hidden_size"),
        default(INT, "layout", "0"),
        default(INT, "linear_before_reset", "0"),
    ])
    .effects(Effects::TRAPS)
    .infer(recurrent::recurrent)
    .doc("A gated recurrent unit.");

const LSTM: Operator = Operator::new("", "LSTM", 22)
    .compute(kernels::recurrent::recurrent)
    .macs("x0[0] * x0[1] * x1 + x0[0] * x0[1] * x2")
    .inputs(3, 8)
    .outputs(0, 3)
    .attrs(&[
        optional(FLOATS, "activation_alpha"),
        optional(FLOATS, "activation_beta"),
        optional(STRINGS, "activations"),
        optional(FLOAT, "clip"),
        default(STRING, "direction", "\"forward\""),
        optional(INT, "hidden_size"),
        default(INT, "input_forget", "0"),
        default(INT, "layout", "0"),
    ])
    .effects(Effects::TRAPS)
    .infer(recurrent::recurrent)
    .doc("A long short-term memory.");

const RNN: Operator = Operator::new("", "RNN", 22)
    .compute(kernels::recurrent::recurrent)
    .macs("x0[0] * x0[1] * x1 + x0[0] * x0[1] * x2")
    .inputs(3, 6)
    .outputs(0, 2)
    .attrs(&[
        optional(FLOATS, "activation_alpha"),
        optional(FLOATS, "activation_beta"),
        default(STRINGS, "activations", "[\"Tanh\", \"Tanh\"]"),
        optional(FLOAT, "clip"),
        default(STRING, "direction", "\"forward\""),
        optional(INT, "hidden_size"),
        default(INT, "layout", "0"),
    ])
    .effects(Effects::TRAPS)
    .infer(recurrent::recurrent)
    .doc("A simple recurrent network.");

relais_plugin_api::prelude::operators! { OPERATORS }
