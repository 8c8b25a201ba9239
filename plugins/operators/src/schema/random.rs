//! Random tensors, and what drops elements at random.

use super::versions::{all, count};
use crate::{bodies, gradients, kernels, relations};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &all::<{ count(TABLE) }>(TABLE);

const TABLE: &[Operator] = &[
    BERNOULLI,
    DROPOUT.effects(Effects::RANDOM),
    DROPOUT.since(10),
    DROPOUT.since(6).effects(Effects::RANDOM),
    MULTINOMIAL,
    RANDOM_NORMAL,
    RANDOM_NORMAL_LIKE,
    RANDOM_UNIFORM,
    RANDOM_UNIFORM_LIKE,
];

const BERNOULLI: Operator = Operator::new("", "Bernoulli", 22)
    .effects(Effects::RANDOM)
    .infer(relations::shared::elementwise::like)
    .body_of(bodies::random::bernoulli)
    .doc("Draws 0 or 1 with the given probabilities.");

const DROPOUT: Operator = Operator::new("", "Dropout", 22)
    .infer(relations::random::dropout)
    .compute(kernels::random::dropout)
    .gradient_of(gradients::random::dropout)
    .doc("Random elements set to zero in training; nothing else.");

const MULTINOMIAL: Operator = Operator::new("", "Multinomial", 22)
    .effects(Effects::RANDOM)
    .infer(relations::random::multinomial)
    .doc("Draws of classes with the given log-probabilities.");

const RANDOM_NORMAL: Operator = Operator::new("", "RandomNormal", 22)
    .effects(Effects::RANDOM)
    .infer(relations::random::random)
    .doc("Normally distributed random numbers.");

const RANDOM_NORMAL_LIKE: Operator = Operator::new("", "RandomNormalLike", 22)
    .effects(Effects::RANDOM)
    .infer(relations::shared::elementwise::like)
    .doc("Normally distributed random numbers in the shape of a tensor.");

const RANDOM_UNIFORM: Operator = Operator::new("", "RandomUniform", 22)
    .effects(Effects::RANDOM)
    .infer(relations::random::random)
    .doc("Uniformly distributed random numbers.");

const RANDOM_UNIFORM_LIKE: Operator = Operator::new("", "RandomUniformLike", 22)
    .effects(Effects::RANDOM)
    .infer(relations::shared::elementwise::like)
    .doc("Uniformly distributed random numbers in the shape of a tensor.");

relais_plugin_api::prelude::operators! { OPERATORS }
