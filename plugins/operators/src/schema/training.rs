//! Training, `ai.onnx.preview.training`.

use super::{
    attr::{ANY, FLOAT, STRING, STRINGS, default, optional, required},
    formals,
};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &formals::with::<{ TABLE.len() }>(TABLE);

const TABLE: &[Operator] = &[ADAGRAD, ADAM, GRADIENT, MOMENTUM];

const DOMAIN: &str = "ai.onnx.preview.training";

const ADAGRAD: Operator = Operator::new(DOMAIN, "Adagrad", 1)
    .inputs(3, ANY)
    .outputs(1, ANY)
    .attrs(&[
        default(FLOAT, "decay_factor", "0.0"),
        default(FLOAT, "epsilon", "1e-6"),
        default(FLOAT, "norm_coefficient", "0.0"),
    ])
    .doc("A step of Adagrad.");

const ADAM: Operator = Operator::new(DOMAIN, "Adam", 1)
    .inputs(3, ANY)
    .outputs(1, ANY)
    .attrs(&[
        default(FLOAT, "alpha", "0.9"),
        default(FLOAT, "beta", "0.999"),
        default(FLOAT, "epsilon", "1e-6"),
        default(FLOAT, "norm_coefficient", "0.0"),
        default(FLOAT, "norm_coefficient_post", "0.0"),
    ])
    .doc("A step of Adam.");

const GRADIENT: Operator = Operator::new(DOMAIN, "Gradient", 1)
    .inputs(1, ANY)
    .outputs(1, ANY)
    .attrs(&[required(STRINGS, "xs"), required(STRING, "y"), optional(STRINGS, "zs")])
    .effects(Effects::TRAPS)
    .doc("The gradient of a part of the graph.");

const MOMENTUM: Operator = Operator::new(DOMAIN, "Momentum", 1)
    .inputs(3, ANY)
    .outputs(1, ANY)
    .attrs(&[
        required(FLOAT, "alpha"),
        required(FLOAT, "beta"),
        required(STRING, "mode"),
        required(FLOAT, "norm_coefficient"),
    ])
    .doc("A step of momentum.");

relais_plugin_api::prelude::operators! { OPERATORS }
