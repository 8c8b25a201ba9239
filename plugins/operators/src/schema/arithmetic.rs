//! Arithmetic on several tensors.

use super::{
    precision,
    versions::{all, count},
};
use crate::{gradients, kernels, relations};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &all::<{ count(TABLE) }>(TABLE);

const TABLE: &[Operator] = &[
    ADD,
    ADD.since(6).commutative(false),
    DIV,
    MAX,
    MEAN,
    MIN,
    MOD,
    MUL,
    MUL.since(6).commutative(false),
    POW,
    SUB,
    SUM,
];

const ADD: Operator = Operator::new("", "Add", 14)
    .fusion(FusionKind::BROADCAST)
    .commutative(true)
    .infer(relations::shared::elementwise::binary)
    .compute(kernels::shared::elementwise::binary)
    .gradient_of(gradients::arithmetic::add)
    .axes(Axes::Broadcast)
    .exact(Exactness::Rounded)
    .doc("The sum of two tensors, broadcast.");

const DIV: Operator = Operator::new("", "Div", 14)
    .effects(Effects::TRAPS)
    .fusion(FusionKind::BROADCAST)
    .infer(relations::shared::elementwise::binary)
    .compute(kernels::shared::elementwise::binary)
    .gradient_of(gradients::arithmetic::div)
    .axes(Axes::Broadcast)
    .exact(Exactness::Rounded)
    .doc("The quotient of two tensors, broadcast.");

const MAX: Operator = Operator::new("", "Max", 13)
    .fusion(FusionKind::BROADCAST)
    .commutative(true)
    .infer(relations::arithmetic::variadic)
    .compute(kernels::arithmetic::variadic)
    .gradient_of(gradients::arithmetic::extreme)
    .axes(Axes::Broadcast)
    .exact(Exactness::Rounded)
    .doc("The largest of any number of tensors, broadcast.");

const MEAN: Operator = Operator::new("", "Mean", 13)
    .fusion(FusionKind::BROADCAST)
    .commutative(true)
    .infer(relations::arithmetic::variadic)
    .compute(kernels::arithmetic::variadic)
    .gradient_of(gradients::arithmetic::mean)
    .axes(Axes::Broadcast)
    .exact(Exactness::Never)
    .doc("The mean of any number of tensors, broadcast.");

const MIN: Operator = Operator::new("", "Min", 13)
    .fusion(FusionKind::BROADCAST)
    .commutative(true)
    .infer(relations::arithmetic::variadic)
    .compute(kernels::arithmetic::variadic)
    .gradient_of(gradients::arithmetic::extreme)
    .axes(Axes::Broadcast)
    .exact(Exactness::Rounded)
    .doc("The smallest of any number of tensors, broadcast.");

const MOD: Operator = Operator::new("", "Mod", 28)
    .effects(Effects::TRAPS)
    .fusion(FusionKind::BROADCAST)
    .infer(relations::shared::elementwise::binary)
    .compute(kernels::arithmetic::modulo)
    .axes(Axes::Broadcast)
    .doc("The remainder of a division.");

const MUL: Operator = Operator::new("", "Mul", 14)
    .fusion(FusionKind::BROADCAST)
    .commutative(true)
    .infer(relations::shared::elementwise::binary)
    .compute(kernels::shared::elementwise::binary)
    .gradient_of(gradients::arithmetic::mul)
    .axes(Axes::Broadcast)
    .exact(Exactness::Rounded)
    .doc("The product of two tensors, broadcast.");

const POW: Operator = Operator::new("", "Pow", 15)
    .fusion(FusionKind::BROADCAST)
    .infer(relations::shared::elementwise::binary_of_first)
    .compute(kernels::arithmetic::pow)
    .gradient_of(gradients::arithmetic::pow)
    .axes(Axes::Broadcast)
    .exact(Exactness::Never)
    .precision(precision::GROWS)
    .doc("A power.");

const SUB: Operator = Operator::new("", "Sub", 14)
    .fusion(FusionKind::BROADCAST)
    .infer(relations::shared::elementwise::binary)
    .compute(kernels::shared::elementwise::binary)
    .gradient_of(gradients::arithmetic::sub)
    .axes(Axes::Broadcast)
    .exact(Exactness::Rounded)
    .doc("The difference of two tensors, broadcast.");

const SUM: Operator = Operator::new("", "Sum", 13)
    .fusion(FusionKind::BROADCAST)
    .commutative(true)
    .infer(relations::arithmetic::variadic)
    .compute(kernels::arithmetic::variadic)
    .gradient_of(gradients::arithmetic::sum)
    .axes(Axes::Broadcast)
    .doc("The sum of any number of tensors, broadcast.");

relais_plugin_api::prelude::operators! { OPERATORS }
