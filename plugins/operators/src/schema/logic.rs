//! Logic, and operations on bits.

use super::versions::{all, count};
use crate::{kernels, relations};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &all::<{ count(TABLE) }>(TABLE);

const TABLE: &[Operator] = &[
    AND,
    AND.since(1).commutative(false),
    BIT_SHIFT,
    BITWISE_AND,
    BITWISE_NOT,
    BITWISE_OR,
    BITWISE_XOR,
    NOT,
    OR,
    OR.since(1).commutative(false),
    XOR,
    XOR.since(1).commutative(false),
];

const AND: Operator = Operator::new("", "And", 7)
    .fusion(FusionKind::BROADCAST)
    .commutative(true)
    .infer(relations::shared::elementwise::compare)
    .compute(kernels::shared::elementwise::binary)
    .axes(Axes::Broadcast)
    .doc("Both hold.");

const BIT_SHIFT: Operator = Operator::new("", "BitShift", 28)
    .fusion(FusionKind::BROADCAST)
    .infer(relations::shared::elementwise::binary_of_first)
    .compute(kernels::logic::bit_shift)
    .doc("Bits shifted left or right.");

const BITWISE_AND: Operator = Operator::new("", "BitwiseAnd", 18)
    .fusion(FusionKind::BROADCAST)
    .commutative(true)
    .infer(relations::shared::elementwise::binary)
    .compute(kernels::shared::elementwise::binary)
    .axes(Axes::Broadcast)
    .doc("Bitwise and.");

const BITWISE_NOT: Operator = Operator::new("", "BitwiseNot", 18)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::shared::elementwise::unary)
    .doc("Bitwise complement.");

const BITWISE_OR: Operator = Operator::new("", "BitwiseOr", 18)
    .fusion(FusionKind::BROADCAST)
    .commutative(true)
    .infer(relations::shared::elementwise::binary)
    .compute(kernels::shared::elementwise::binary)
    .axes(Axes::Broadcast)
    .doc("Bitwise or.");

const BITWISE_XOR: Operator = Operator::new("", "BitwiseXor", 18)
    .fusion(FusionKind::BROADCAST)
    .commutative(true)
    .infer(relations::shared::elementwise::binary)
    .compute(kernels::shared::elementwise::binary)
    .axes(Axes::Broadcast)
    .doc("Bitwise exclusive or.");

const NOT: Operator = Operator::new("", "Not", 1)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::shared::elementwise::unary)
    .doc("The negation.");

const OR: Operator = Operator::new("", "Or", 7)
    .fusion(FusionKind::BROADCAST)
    .commutative(true)
    .infer(relations::shared::elementwise::compare)
    .compute(kernels::shared::elementwise::binary)
    .axes(Axes::Broadcast)
    .doc("Either holds.");

const XOR: Operator = Operator::new("", "Xor", 7)
    .fusion(FusionKind::BROADCAST)
    .commutative(true)
    .infer(relations::shared::elementwise::compare)
    .compute(kernels::shared::elementwise::binary)
    .axes(Axes::Broadcast)
    .doc("Exactly one holds.");

relais_plugin_api::prelude::operators! { OPERATORS }
