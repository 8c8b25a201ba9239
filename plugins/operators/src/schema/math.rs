//! Elementary functions of one tensor.

use super::{
    attr::{INTS, optional},
    formals,
};
use crate::gradients;
use crate::kernels;
use crate::relations::elementwise;
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &formals::with::<{ TABLE.len() }>(TABLE);

const TABLE: &[Operator] = &[
    ABS,
    ABS.since(6),
    ABS.since(1).attrs(&[optional(INTS, "consumed_inputs")]),
    ACOS,
    ACOS.since(7),
    ACOSH,
    ACOSH.since(9),
    ASIN,
    ASIN.since(7),
    ASINH,
    ASINH.since(9),
    ATAN,
    ATAN.since(7),
    ATANH,
    ATANH.since(9),
    CEIL,
    CEIL.since(6),
    CEIL.since(1).attrs(&[optional(INTS, "consumed_inputs")]),
    COS,
    COS.since(7),
    COSH,
    COSH.since(9),
    ERF,
    ERF.since(9),
    EXP,
    EXP.since(6),
    EXP.since(1).attrs(&[optional(INTS, "consumed_inputs")]),
    FLOOR,
    FLOOR.since(6),
    FLOOR.since(1).attrs(&[optional(INTS, "consumed_inputs")]),
    LOG,
    LOG.since(6),
    LOG.since(1).attrs(&[optional(INTS, "consumed_inputs")]),
    NEG,
    NEG.since(6),
    NEG.since(1).attrs(&[optional(INTS, "consumed_inputs")]),
    RECIPROCAL,
    RECIPROCAL.since(6),
    RECIPROCAL.since(1).attrs(&[optional(INTS, "consumed_inputs")]),
    ROUND,
    ROUND.since(11),
    SIGN,
    SIGN.since(9),
    SIN,
    SIN.since(7),
    SINH,
    SINH.since(9),
    SQRT,
    SQRT.since(6),
    SQRT.since(1).attrs(&[optional(INTS, "consumed_inputs")]),
    TAN,
    TAN.since(7),
    TANH,
    TANH.since(6),
    TANH.since(1).attrs(&[optional(INTS, "consumed_inputs")]),
];

const ABS: Operator = Operator::new("", "Abs", 13)
    .gradient_of(gradients::math::abs)
    .compute(kernels::math::core)
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("The absolute value.");

const ACOS: Operator = Operator::new("", "Acos", 22)
    .compute(kernels::math::core)
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("The arc cosine.");

const ACOSH: Operator = Operator::new("", "Acosh", 22)
    .compute(kernels::math::core)
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("The inverse hyperbolic cosine.");

const ASIN: Operator = Operator::new("", "Asin", 22)
    .compute(kernels::math::core)
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("The arc sine.");

const ASINH: Operator = Operator::new("", "Asinh", 22)
    .compute(kernels::math::core)
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("The inverse hyperbolic sine.");

const ATAN: Operator = Operator::new("", "Atan", 22)
    .gradient_of(gradients::math::atan)
    .compute(kernels::math::core)
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("The arc tangent.");

const ATANH: Operator = Operator::new("", "Atanh", 22)
    .compute(kernels::math::core)
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("The inverse hyperbolic tangent.");

const CEIL: Operator = Operator::new("", "Ceil", 13)
    .gradient_of(gradients::math::steps)
    .compute(kernels::math::core)
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("The smallest integer not below.");

const COS: Operator = Operator::new("", "Cos", 22)
    .gradient_of(gradients::math::cos)
    .compute(kernels::math::core)
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("The cosine.");

const COSH: Operator = Operator::new("", "Cosh", 22)
    .gradient_of(gradients::math::cosh)
    .compute(kernels::math::core)
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("The hyperbolic cosine.");

const ERF: Operator = Operator::new("", "Erf", 13)
    .gradient_of(gradients::math::erf)
    .compute(kernels::math::core)
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("The error function.");

const EXP: Operator = Operator::new("", "Exp", 13)
    .gradient_of(gradients::math::exp)
    .compute(kernels::math::core)
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("The exponential.");

const FLOOR: Operator = Operator::new("", "Floor", 13)
    .gradient_of(gradients::math::steps)
    .compute(kernels::math::core)
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("The largest integer not above.");

const LOG: Operator = Operator::new("", "Log", 13)
    .gradient_of(gradients::math::log)
    .compute(kernels::math::core)
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("The natural logarithm.");

const NEG: Operator = Operator::new("", "Neg", 13)
    .gradient_of(gradients::math::neg)
    .compute(kernels::math::core)
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("The negative.");

const RECIPROCAL: Operator = Operator::new("", "Reciprocal", 13)
    .gradient_of(gradients::math::reciprocal)
    .compute(kernels::math::reciprocal)
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("One divided by the element.");

const ROUND: Operator = Operator::new("", "Round", 22)
    .gradient_of(gradients::math::steps)
    .compute(kernels::math::core)
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("The nearest integer, halves to even.");

const SIGN: Operator = Operator::new("", "Sign", 13)
    .gradient_of(gradients::math::steps)
    .compute(kernels::math::sign)
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("The sign.");

const SIN: Operator = Operator::new("", "Sin", 22)
    .gradient_of(gradients::math::sin)
    .compute(kernels::math::core)
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("The sine.");

const SINH: Operator = Operator::new("", "Sinh", 22)
    .gradient_of(gradients::math::sinh)
    .compute(kernels::math::core)
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("The hyperbolic sine.");

const SQRT: Operator = Operator::new("", "Sqrt", 13)
    .gradient_of(gradients::math::sqrt)
    .compute(kernels::math::core)
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("The square root.");

const TAN: Operator = Operator::new("", "Tan", 22)
    .gradient_of(gradients::math::tan)
    .compute(kernels::math::core)
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("The tangent.");

const TANH: Operator = Operator::new("", "Tanh", 13)
    .gradient_of(gradients::math::tanh)
    .compute(kernels::math::core)
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("The hyperbolic tangent.");

relais_plugin_api::prelude::operators! { OPERATORS }
