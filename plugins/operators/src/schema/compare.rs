//! Comparisons, tests of single elements, and the choice by one.

use super::versions::{all, count};
use crate::{bodies, gradients, kernels, relations};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &all::<{ count(TABLE) }>(TABLE);

const TABLE: &[Operator] =
    &[EQUAL, EQUAL.since(1).commutative(false), GREATER, GREATER_OR_EQUAL, IS_INF, IS_NAN, LESS, LESS_OR_EQUAL, WHERE];

const EQUAL: Operator = Operator::new("", "Equal", 19)
    .fusion(FusionKind::BROADCAST)
    .commutative(true)
    .infer(relations::shared::elementwise::compare)
    .compute(kernels::shared::elementwise::binary)
    .axes(Axes::Broadcast)
    .exact(Exactness::Rounded)
    .doc("Whether elements are equal.");

const GREATER: Operator = Operator::new("", "Greater", 13)
    .fusion(FusionKind::BROADCAST)
    .infer(relations::shared::elementwise::compare)
    .compute(kernels::shared::elementwise::binary)
    .axes(Axes::Broadcast)
    .exact(Exactness::Rounded)
    .doc("Whether elements are greater.");

const GREATER_OR_EQUAL: Operator = Operator::new("", "GreaterOrEqual", 16)
    .fusion(FusionKind::BROADCAST)
    .infer(relations::shared::elementwise::compare)
    .compute(kernels::shared::elementwise::binary)
    .body(bodies::compare::GREATER_OR_EQUAL)
    .axes(Axes::Broadcast)
    .exact(Exactness::Rounded)
    .doc("Whether elements are greater or equal.");

const IS_INF: Operator = Operator::new("", "IsInf", 20)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::predicate)
    .compute(kernels::compare::classify)
    .exact(Exactness::Rounded)
    .doc("Whether elements are infinite.");

const IS_NAN: Operator = Operator::new("", "IsNaN", 20)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::predicate)
    .compute(kernels::compare::classify)
    .exact(Exactness::Rounded)
    .doc("Whether elements are not numbers.");

const LESS: Operator = Operator::new("", "Less", 13)
    .fusion(FusionKind::BROADCAST)
    .infer(relations::shared::elementwise::compare)
    .compute(kernels::shared::elementwise::binary)
    .axes(Axes::Broadcast)
    .exact(Exactness::Rounded)
    .doc("Whether elements are less.");

const LESS_OR_EQUAL: Operator = Operator::new("", "LessOrEqual", 16)
    .fusion(FusionKind::BROADCAST)
    .infer(relations::shared::elementwise::compare)
    .compute(kernels::shared::elementwise::binary)
    .body(bodies::compare::LESS_OR_EQUAL)
    .axes(Axes::Broadcast)
    .exact(Exactness::Rounded)
    .doc("Whether elements are less or equal.");

const WHERE: Operator = Operator::new("", "Where", 16)
    .fusion(FusionKind::BROADCAST)
    .infer(relations::compare::select)
    .compute(kernels::compare::choice)
    .gradient_of(gradients::compare::choice)
    .axes(Axes::Broadcast)
    .exact(Exactness::Moved)
    .doc("Elements of one tensor or another, by a condition.");

relais_plugin_api::prelude::operators! { OPERATORS }
