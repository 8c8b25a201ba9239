//! Functions of one element.

use super::{
    precision,
    versions::{all, count},
};
use crate::{gradients, kernels, relations};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &all::<{ count(TABLE) }>(TABLE);

const TABLE: &[Operator] = &[
    ABS, ACOS, ACOSH, ASIN, ASINH, ATAN, ATANH, CEIL, COS, COSH, ERF, EXP, FLOOR, LOG, NEG, RECIPROCAL, ROUND, SIGN,
    SIN, SINH, SQRT, TAN, TANH,
];

const ABS: Operator = Operator::new("", "Abs", 13)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::shared::elementwise::unary)
    .gradient_of(gradients::math::abs)
    .exact(Exactness::Rounded)
    .doc("The absolute value.");

const ACOS: Operator = Operator::new("", "Acos", 22)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::shared::elementwise::unary)
    .doc("The arc cosine.");

const ACOSH: Operator = Operator::new("", "Acosh", 22)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::shared::elementwise::unary)
    .precision(precision::GROWS)
    .doc("The inverse hyperbolic cosine.");

const ASIN: Operator = Operator::new("", "Asin", 22)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::shared::elementwise::unary)
    .doc("The arc sine.");

const ASINH: Operator = Operator::new("", "Asinh", 22)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::shared::elementwise::unary)
    .doc("The inverse hyperbolic sine.");

const ATAN: Operator = Operator::new("", "Atan", 22)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::shared::elementwise::unary)
    .gradient_of(gradients::math::atan)
    .doc("The arc tangent.");

const ATANH: Operator = Operator::new("", "Atanh", 22)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::shared::elementwise::unary)
    .precision(precision::GROWS)
    .doc("The inverse hyperbolic tangent.");

const CEIL: Operator = Operator::new("", "Ceil", 13)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::shared::elementwise::unary)
    .gradient_of(gradients::math::steps)
    .exact(Exactness::Rounded)
    .doc("The smallest integer not below.");

const COS: Operator = Operator::new("", "Cos", 22)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::shared::elementwise::unary)
    .gradient_of(gradients::math::cos)
    .doc("The cosine.");

const COSH: Operator = Operator::new("", "Cosh", 22)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::shared::elementwise::unary)
    .gradient_of(gradients::math::cosh)
    .precision(precision::GROWS)
    .doc("The hyperbolic cosine.");

const ERF: Operator = Operator::new("", "Erf", 13)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::shared::elementwise::unary)
    .gradient_of(gradients::math::erf)
    .doc("The error function.");

const EXP: Operator = Operator::new("", "Exp", 13)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::shared::elementwise::unary)
    .gradient_of(gradients::math::exp)
    .precision(precision::GROWS)
    .doc("The exponential.");

const FLOOR: Operator = Operator::new("", "Floor", 13)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::shared::elementwise::unary)
    .gradient_of(gradients::math::steps)
    .exact(Exactness::Rounded)
    .doc("The largest integer not above.");

const LOG: Operator = Operator::new("", "Log", 13)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::shared::elementwise::unary)
    .gradient_of(gradients::math::log)
    .precision(precision::GROWS)
    .doc("The natural logarithm.");

const NEG: Operator = Operator::new("", "Neg", 13)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::shared::elementwise::unary)
    .gradient_of(gradients::math::neg)
    .exact(Exactness::Rounded)
    .doc("The negative.");

const RECIPROCAL: Operator = Operator::new("", "Reciprocal", 13)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::math::reciprocal)
    .gradient_of(gradients::math::reciprocal)
    .precision(precision::GROWS)
    .doc("One divided by the element.");

const ROUND: Operator = Operator::new("", "Round", 22)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::shared::elementwise::unary)
    .gradient_of(gradients::math::steps)
    .exact(Exactness::Rounded)
    .doc("The nearest integer, halves to even.");

const SIGN: Operator = Operator::new("", "Sign", 13)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::math::sign)
    .gradient_of(gradients::math::steps)
    .exact(Exactness::Rounded)
    .doc("The sign.");

const SIN: Operator = Operator::new("", "Sin", 22)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::shared::elementwise::unary)
    .gradient_of(gradients::math::sin)
    .doc("The sine.");

const SINH: Operator = Operator::new("", "Sinh", 22)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::shared::elementwise::unary)
    .gradient_of(gradients::math::sinh)
    .precision(precision::GROWS)
    .doc("The hyperbolic sine.");

const SQRT: Operator = Operator::new("", "Sqrt", 13)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::shared::elementwise::unary)
    .gradient_of(gradients::math::sqrt)
    .exact(Exactness::Rounded)
    .doc("The square root.");

const TAN: Operator = Operator::new("", "Tan", 22)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::shared::elementwise::unary)
    .gradient_of(gradients::math::tan)
    .precision(precision::GROWS)
    .doc("The tangent.");

const TANH: Operator = Operator::new("", "Tanh", 13)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::shared::elementwise::unary)
    .gradient_of(gradients::math::tanh)
    .doc("The hyperbolic tangent.");

relais_plugin_api::prelude::operators! { OPERATORS }
