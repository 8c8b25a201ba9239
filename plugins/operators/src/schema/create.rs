//! Tensors made of shapes, indices and numbers.

use super::{
    precision,
    versions::{all, count},
};
use crate::{bodies, kernels, relations};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &all::<{ count(TABLE) }>(TABLE);

const TABLE: &[Operator] = &[CONSTANT, CONSTANT_OF_SHAPE, EYE_LIKE, NON_ZERO, ONE_HOT, RANGE];

const CONSTANT: Operator =
    Operator::new("", "Constant", 25).infer(relations::create::constant).doc("A constant tensor.");

const CONSTANT_OF_SHAPE: Operator = Operator::new("", "ConstantOfShape", 25)
    .effects(Effects::TRAPS)
    .infer(relations::create::constant_of_shape)
    .compute(kernels::create::constant_of_shape)
    .exact(Exactness::Moved)
    .doc("One value in a given shape.");

const EYE_LIKE: Operator = Operator::new("", "EyeLike", 22)
    .infer(relations::shared::elementwise::like)
    .compute(kernels::create::eye_like)
    .exact(Exactness::Moved)
    .doc("Ones on a diagonal, zeros elsewhere.");

const NON_ZERO: Operator = Operator::new("", "NonZero", 13)
    .infer(relations::create::non_zero)
    .exact(Exactness::Moved)
    .doc("The indices of elements that are not zero.");

const ONE_HOT: Operator = Operator::new("", "OneHot", 28)
    .effects(Effects::TRAPS)
    .infer(relations::create::one_hot)
    .compute(kernels::create::one_hot)
    .exact(Exactness::Moved)
    .doc("A value at an index, another elsewhere.");

const RANGE: Operator = Operator::new("", "Range", 27)
    .effects(Effects::TRAPS)
    .infer(relations::create::range)
    .compute(kernels::create::range)
    .body_of(bodies::create::range)
    .precision(precision::PLACES)
    .doc("Numbers from a start to a limit, in steps.");

relais_plugin_api::prelude::operators! { OPERATORS }
