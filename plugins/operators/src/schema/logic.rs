//! Logic and bits.

use super::{
    attr::{INT, default, optional},
    formals,
};
use crate::kernels;
use crate::relations::elementwise;
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &formals::with::<{ TABLE.len() }>(TABLE);

const TABLE: &[Operator] = &[
    AND,
    AND.since(1).attrs(&[optional(INT, "axis"), default(INT, "broadcast", "0")]),
    BITWISE_AND,
    BITWISE_NOT,
    BITWISE_OR,
    BITWISE_XOR,
    NOT,
    OR,
    OR.since(1).attrs(&[optional(INT, "axis"), default(INT, "broadcast", "0")]),
    XOR,
    XOR.since(1).attrs(&[optional(INT, "axis"), default(INT, "broadcast", "0")]),
];

const AND: Operator = Operator::new("", "And", 7)
    .compute(kernels::arithmetic::core)
    .inputs(2, 2)
    .fusion(FusionKind::BROADCAST)
    .infer(elementwise::compare)
    .doc("Both hold.");

const BITWISE_AND: Operator = Operator::new("", "BitwiseAnd", 18)
    .compute(kernels::arithmetic::core)
    .inputs(2, 2)
    .fusion(FusionKind::BROADCAST)
    .infer(elementwise::binary)
    .doc("Bitwise and.");

const BITWISE_NOT: Operator = Operator::new("", "BitwiseNot", 18)
    .compute(kernels::math::core)
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("Bitwise complement.");

const BITWISE_OR: Operator = Operator::new("", "BitwiseOr", 18)
    .compute(kernels::arithmetic::core)
    .inputs(2, 2)
    .fusion(FusionKind::BROADCAST)
    .infer(elementwise::binary)
    .doc("Bitwise or.");

const BITWISE_XOR: Operator = Operator::new("", "BitwiseXor", 18)
    .compute(kernels::arithmetic::core)
    .inputs(2, 2)
    .fusion(FusionKind::BROADCAST)
    .infer(elementwise::binary)
    .doc("Bitwise exclusive or.");

const NOT: Operator = Operator::new("", "Not", 1)
    .compute(kernels::math::core)
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("The negation.");

const OR: Operator = Operator::new("", "Or", 7)
    .compute(kernels::arithmetic::core)
    .inputs(2, 2)
    .fusion(FusionKind::BROADCAST)
    .infer(elementwise::compare)
    .doc("Either holds.");

const XOR: Operator = Operator::new("", "Xor", 7)
    .compute(kernels::arithmetic::core)
    .inputs(2, 2)
    .fusion(FusionKind::BROADCAST)
    .infer(elementwise::compare)
    .doc("Exactly one holds.");

relais_plugin_api::prelude::operators! { OPERATORS }
