//! Tensors in other shapes, and their shapes.

use super::versions::{all, count};
use crate::{gradients, kernels, relations};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &all::<{ count(TABLE) }>(TABLE);

const TABLE: &[Operator] =
    &[FLATTEN, IDENTITY, RESHAPE, SHAPE, SIZE, SQUEEZE, UNSQUEEZE.effects(Effects::TRAPS), UNSQUEEZE.since(11)];

const FLATTEN: Operator = Operator::new("", "Flatten", 25)
    .fusion(FusionKind::INJECTIVE)
    .infer(relations::reshape::flatten)
    .compute(kernels::reshape::reshaped)
    .gradient_of(gradients::reshape::reshaped)
    .exact(Exactness::Moved)
    .doc("The axes before and from an axis merged into two.");

const IDENTITY: Operator = Operator::new("", "Identity", 25)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::reshape::identity)
    .compute(kernels::reshape::identity)
    .gradient_of(gradients::reshape::identity)
    .exact(Exactness::Moved)
    .doc("The value itself.");

const RESHAPE: Operator = Operator::new("", "Reshape", 25)
    .effects(Effects::TRAPS)
    .fusion(FusionKind::INJECTIVE)
    .infer(relations::reshape::reshape)
    .compute(kernels::reshape::reshaped)
    .gradient_of(gradients::reshape::reshaped)
    .exact(Exactness::Moved)
    .doc("The same elements in another shape.");

const SHAPE: Operator = Operator::new("", "Shape", 25)
    .infer(relations::reshape::shape)
    .compute(kernels::reshape::shape)
    .exact(Exactness::Moved)
    .doc("The shape of a tensor, or part of it.");

const SIZE: Operator = Operator::new("", "Size", 25)
    .infer(relations::reshape::size)
    .compute(kernels::reshape::size)
    .exact(Exactness::Moved)
    .doc("The number of elements.");

const SQUEEZE: Operator = Operator::new("", "Squeeze", 25)
    .effects(Effects::TRAPS)
    .fusion(FusionKind::INJECTIVE)
    .infer(relations::reshape::squeeze)
    .compute(kernels::reshape::reshaped)
    .gradient_of(gradients::reshape::reshaped)
    .exact(Exactness::Moved)
    .doc("A tensor without axes of size 1.");

const UNSQUEEZE: Operator = Operator::new("", "Unsqueeze", 25)
    .fusion(FusionKind::INJECTIVE)
    .infer(relations::reshape::unsqueeze)
    .compute(kernels::reshape::reshaped)
    .gradient_of(gradients::reshape::reshaped)
    .exact(Exactness::Moved)
    .doc("A tensor with new axes of size 1.");

relais_plugin_api::prelude::operators! { OPERATORS }
