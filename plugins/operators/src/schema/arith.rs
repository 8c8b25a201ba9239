//! Arithmetic on several tensors.

use super::{
    attr::{ANY, INT, INTS, STRING, default, optional, required},
    formals,
};
use crate::gradients;
use crate::kernels;
use crate::relations::elementwise;
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &formals::with::<{ TABLE.len() }>(TABLE);

const TABLE: &[Operator] = &[
    ADD,
    ADD.since(13),
    ADD.since(7),
    ADD.since(6).attrs(&[optional(INT, "axis"), default(INT, "broadcast", "0")]),
    ADD.since(1).attrs(&[optional(INT, "axis"), default(INT, "broadcast", "0"), optional(INTS, "consumed_inputs")]),
    BIT_SHIFT,
    BIT_SHIFT.since(11),
    DIV,
    DIV.since(13),
    DIV.since(7),
    DIV.since(6).attrs(&[optional(INT, "axis"), default(INT, "broadcast", "0")]),
    DIV.since(1).attrs(&[optional(INT, "axis"), default(INT, "broadcast", "0"), optional(INTS, "consumed_inputs")]),
    MAX,
    MAX.since(12),
    MAX.since(8),
    MAX.since(6),
    MAX.since(1).attrs(&[optional(INTS, "consumed_inputs")]),
    MEAN,
    MEAN.since(8),
    MEAN.since(6),
    MEAN.since(1).attrs(&[optional(INTS, "consumed_inputs")]),
    MIN,
    MIN.since(12),
    MIN.since(8),
    MIN.since(6),
    MIN.since(1).attrs(&[optional(INTS, "consumed_inputs")]),
    MOD,
    MOD.since(13),
    MOD.since(10),
    MUL,
    MUL.since(13),
    MUL.since(7),
    MUL.since(6).attrs(&[optional(INT, "axis"), default(INT, "broadcast", "0")]),
    MUL.since(1).attrs(&[optional(INT, "axis"), default(INT, "broadcast", "0"), optional(INTS, "consumed_inputs")]),
    POW,
    POW.since(13),
    POW.since(12),
    POW.since(7),
    POW.since(1).attrs(&[optional(INT, "axis"), default(INT, "broadcast", "0")]),
    SUB,
    SUB.since(13),
    SUB.since(7),
    SUB.since(6).attrs(&[optional(INT, "axis"), default(INT, "broadcast", "0")]),
    SUB.since(1).attrs(&[optional(INT, "axis"), default(INT, "broadcast", "0"), optional(INTS, "consumed_inputs")]),
    SUM,
    SUM.since(8),
    SUM.since(6),
    SUM.since(1).attrs(&[optional(INTS, "consumed_inputs")]),
];

const ADD: Operator = Operator::new("", "Add", 14)
    .gradient_of(gradients::arithmetic::add)
    .compute(kernels::arithmetic::core)
    .inputs(2, 2)
    .fusion(FusionKind::BROADCAST)
    .infer(elementwise::binary)
    .doc("The sum of two tensors, broadcast.");

const BIT_SHIFT: Operator = Operator::new("", "BitShift", 28)
    .compute(kernels::arithmetic::bit_shift)
    .inputs(2, 2)
    .attrs(&[required(STRING, "direction")])
    .fusion(FusionKind::BROADCAST)
    .infer(elementwise::binary_of_first)
    .doc("Bits shifted left or right.");

const DIV: Operator = Operator::new("", "Div", 14)
    .gradient_of(gradients::arithmetic::div)
    .compute(kernels::arithmetic::core)
    .inputs(2, 2)
    .effects(Effects::TRAPS)
    .fusion(FusionKind::BROADCAST)
    .infer(elementwise::binary)
    .doc("The quotient of two tensors, broadcast.");

const MAX: Operator = Operator::new("", "Max", 13)
    .gradient_of(gradients::arithmetic::extreme)
    .compute(kernels::arithmetic::variadic)
    .inputs(1, ANY)
    .fusion(FusionKind::BROADCAST)
    .infer(elementwise::variadic)
    .doc("The largest of any number of tensors, broadcast.");

const MEAN: Operator = Operator::new("", "Mean", 13)
    .gradient_of(gradients::arithmetic::mean)
    .compute(kernels::arithmetic::variadic)
    .inputs(1, ANY)
    .fusion(FusionKind::BROADCAST)
    .infer(elementwise::variadic)
    .doc("The mean of any number of tensors, broadcast.");

const MIN: Operator = Operator::new("", "Min", 13)
    .gradient_of(gradients::arithmetic::extreme)
    .compute(kernels::arithmetic::variadic)
    .inputs(1, ANY)
    .fusion(FusionKind::BROADCAST)
    .infer(elementwise::variadic)
    .doc("The smallest of any number of tensors, broadcast.");

const MOD: Operator = Operator::new("", "Mod", 28)
    .compute(kernels::arithmetic::modulo)
    .inputs(2, 2)
    .attrs(&[default(INT, "fmod", "0")])
    .effects(Effects::TRAPS)
    .fusion(FusionKind::BROADCAST)
    .infer(elementwise::binary)
    .doc("The remainder of a division.");

const MUL: Operator = Operator::new("", "Mul", 14)
    .gradient_of(gradients::arithmetic::mul)
    .compute(kernels::arithmetic::core)
    .inputs(2, 2)
    .fusion(FusionKind::BROADCAST)
    .infer(elementwise::binary)
    .doc("The product of two tensors, broadcast.");

const POW: Operator = Operator::new("", "Pow", 15)
    .gradient_of(gradients::arithmetic::pow)
    .compute(kernels::arithmetic::pow)
    .inputs(2, 2)
    .fusion(FusionKind::BROADCAST)
    .infer(elementwise::binary_of_first)
    .doc("A power.");

const SUB: Operator = Operator::new("", "Sub", 14)
    .gradient_of(gradients::arithmetic::sub)
    .compute(kernels::arithmetic::core)
    .inputs(2, 2)
    .fusion(FusionKind::BROADCAST)
    .infer(elementwise::binary)
    .doc("The difference of two tensors, broadcast.");

const SUM: Operator = Operator::new("", "Sum", 13)
    .gradient_of(gradients::arithmetic::sum)
    .compute(kernels::arithmetic::variadic)
    .inputs(1, ANY)
    .fusion(FusionKind::BROADCAST)
    .infer(elementwise::variadic)
    .doc("The sum of any number of tensors, broadcast.");

relais_plugin_api::prelude::operators! { OPERATORS }
