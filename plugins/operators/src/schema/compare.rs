//! Comparisons, and choice by them.

use super::{
    attr::{INT, default, optional},
    formals,
};
use crate::bodies::fixed;
use crate::gradients;
use crate::kernels;
use crate::relations::elementwise;
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &formals::with::<{ TABLE.len() }>(TABLE);

const TABLE: &[Operator] = &[
    EQUAL,
    EQUAL.since(13),
    EQUAL.since(11),
    EQUAL.since(7),
    EQUAL.since(1).attrs(&[optional(INT, "axis"), default(INT, "broadcast", "0")]),
    GREATER,
    GREATER.since(9),
    GREATER.since(7),
    GREATER.since(1).attrs(&[optional(INT, "axis"), default(INT, "broadcast", "0")]),
    GREATER_OR_EQUAL.body(fixed::GREATER_OR_EQUAL),
    GREATER_OR_EQUAL.since(12).body(fixed::GREATER_OR_EQUAL),
    IS_INF,
    IS_INF.since(10),
    IS_NAN,
    IS_NAN.since(13),
    IS_NAN.since(9),
    LESS,
    LESS.since(9),
    LESS.since(7),
    LESS.since(1).attrs(&[optional(INT, "axis"), default(INT, "broadcast", "0")]),
    LESS_OR_EQUAL.body(fixed::LESS_OR_EQUAL),
    LESS_OR_EQUAL.since(12).body(fixed::LESS_OR_EQUAL),
    WHERE,
    WHERE.since(9),
];

const EQUAL: Operator = Operator::new("", "Equal", 19)
    .compute(kernels::arithmetic::core)
    .inputs(2, 2)
    .fusion(FusionKind::BROADCAST)
    .infer(elementwise::compare)
    .doc("Whether elements are equal.");

const GREATER: Operator = Operator::new("", "Greater", 13)
    .compute(kernels::arithmetic::core)
    .inputs(2, 2)
    .fusion(FusionKind::BROADCAST)
    .infer(elementwise::compare)
    .doc("Whether elements are greater.");

const GREATER_OR_EQUAL: Operator = Operator::new("", "GreaterOrEqual", 16)
    .compute(kernels::arithmetic::core)
    .inputs(2, 2)
    .fusion(FusionKind::BROADCAST)
    .infer(elementwise::compare)
    .doc("Whether elements are greater or equal.");

const IS_INF: Operator = Operator::new("", "IsInf", 20)
    .compute(kernels::math::classify)
    .attrs(&[default(INT, "detect_negative", "1"), default(INT, "detect_positive", "1")])
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::predicate)
    .doc("Whether elements are infinite.");

const IS_NAN: Operator = Operator::new("", "IsNaN", 20)
    .compute(kernels::math::classify)
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::predicate)
    .doc("Whether elements are not numbers.");

const LESS: Operator = Operator::new("", "Less", 13)
    .compute(kernels::arithmetic::core)
    .inputs(2, 2)
    .fusion(FusionKind::BROADCAST)
    .infer(elementwise::compare)
    .doc("Whether elements are less.");

const LESS_OR_EQUAL: Operator = Operator::new("", "LessOrEqual", 16)
    .compute(kernels::arithmetic::core)
    .inputs(2, 2)
    .fusion(FusionKind::BROADCAST)
    .infer(elementwise::compare)
    .doc("Whether elements are less or equal.");

const WHERE: Operator = Operator::new("", "Where", 16)
    .gradient_of(gradients::arithmetic::choice)
    .compute(kernels::arithmetic::choice)
    .inputs(3, 3)
    .fusion(FusionKind::BROADCAST)
    .infer(elementwise::select)
    .doc("Elements of one tensor or another, by a condition.");

relais_plugin_api::prelude::operators! { OPERATORS }
