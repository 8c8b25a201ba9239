//! Random numbers.

use super::{
    attr::{FLOAT, INT, INTS, default, optional, required},
    formals,
};
use crate::bodies::activation;
use crate::relations::{create, elementwise};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &formals::with::<{ TABLE.len() }>(TABLE);

const TABLE: &[Operator] = &[
    BERNOULLI.body_of(activation::bernoulli),
    BERNOULLI.since(15).body_of(activation::bernoulli),
    MULTINOMIAL,
    MULTINOMIAL.since(7),
    RANDOM_NORMAL,
    RANDOM_NORMAL.since(1),
    RANDOM_NORMAL_LIKE,
    RANDOM_NORMAL_LIKE.since(1),
    RANDOM_UNIFORM,
    RANDOM_UNIFORM.since(1),
    RANDOM_UNIFORM_LIKE,
    RANDOM_UNIFORM_LIKE.since(1),
];

const BERNOULLI: Operator = Operator::new("", "Bernoulli", 22)
    .attrs(&[optional(INT, "dtype"), optional(FLOAT, "seed")])
    .effects(Effects::RANDOM)
    .infer(elementwise::like)
    .doc("Draws 0 or 1 with the given probabilities.");

const MULTINOMIAL: Operator = Operator::new("", "Multinomial", 22)
    .attrs(&[default(INT, "dtype", "6"), default(INT, "sample_size", "1"), optional(FLOAT, "seed")])
    .effects(Effects::RANDOM)
    .infer(create::multinomial)
    .doc("Draws of classes with the given log-probabilities.");

const RANDOM_NORMAL: Operator = Operator::new("", "RandomNormal", 22)
    .inputs(0, 0)
    .attrs(&[
        default(INT, "dtype", "1"),
        default(FLOAT, "mean", "0.0"),
        default(FLOAT, "scale", "1.0"),
        optional(FLOAT, "seed"),
        required(INTS, "shape"),
    ])
    .effects(Effects::RANDOM)
    .infer(create::random)
    .doc("Normally distributed random numbers.");

const RANDOM_NORMAL_LIKE: Operator = Operator::new("", "RandomNormalLike", 22)
    .attrs(&[
        optional(INT, "dtype"),
        default(FLOAT, "mean", "0.0"),
        default(FLOAT, "scale", "1.0"),
        optional(FLOAT, "seed"),
    ])
    .effects(Effects::RANDOM)
    .infer(elementwise::like)
    .doc("Normally distributed random numbers in the shape of a tensor.");

const RANDOM_UNIFORM: Operator = Operator::new("", "RandomUniform", 22)
    .inputs(0, 0)
    .attrs(&[
        default(INT, "dtype", "1"),
        default(FLOAT, "high", "1.0"),
        default(FLOAT, "low", "0.0"),
        optional(FLOAT, "seed"),
        required(INTS, "shape"),
    ])
    .effects(Effects::RANDOM)
    .infer(create::random)
    .doc("Uniformly distributed random numbers.");

const RANDOM_UNIFORM_LIKE: Operator = Operator::new("", "RandomUniformLike", 22)
    .attrs(&[
        optional(INT, "dtype"),
        default(FLOAT, "high", "1.0"),
        default(FLOAT, "low", "0.0"),
        optional(FLOAT, "seed"),
    ])
    .effects(Effects::RANDOM)
    .infer(elementwise::like)
    .doc("Uniformly distributed random numbers in the shape of a tensor.");

relais_plugin_api::prelude::operators! { OPERATORS }
