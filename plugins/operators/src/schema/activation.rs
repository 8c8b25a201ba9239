//! Activation functions.

use super::{
    precision,
    versions::{all, count},
};
use crate::{bodies, gradients, kernels, relations};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &all::<{ count(TABLE) }>(TABLE);

const TABLE: &[Operator] = &[
    CELU,
    CLIP.body_of(bodies::activation::clip),
    CLIP.since(6),
    ELU.body_of(bodies::activation::elu),
    ELU.since(1),
    GELU,
    HARD_SIGMOID.body_of(bodies::activation::hard_sigmoid),
    HARD_SIGMOID.since(1),
    HARD_SWISH,
    LEAKY_RELU.body_of(bodies::activation::leaky_relu),
    LEAKY_RELU.since(1),
    MISH,
    PRELU.body_of(bodies::activation::prelu),
    // A slope for each channel.
    Operator { axes: None, ..PRELU.since(6) },
    RELU.body_of(bodies::activation::relu),
    RELU.since(1),
    SELU.body_of(bodies::activation::selu),
    SELU.since(1),
    SHRINK,
    SIGMOID,
    SOFTPLUS,
    SOFTSIGN,
    SWIGLU,
    SWISH,
    THRESHOLDED_RELU,
];

const CELU: Operator = Operator::new("", "Celu", 28)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::activation::unary)
    .body_of(bodies::activation::celu)
    .gradient_of(gradients::activation::celu)
    .doc("A continuously differentiable exponential linear unit.");

const CLIP: Operator = Operator::new("", "Clip", 13)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::activation::clip)
    .gradient_of(gradients::activation::clip)
    .axes(Axes::Elementwise)
    .exact(Exactness::Rounded)
    .doc("Elements limited to a range.");

const ELU: Operator = Operator::new("", "Elu", 22)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::activation::unary)
    .gradient_of(gradients::activation::elu)
    .doc("An exponential linear unit.");

const GELU: Operator = Operator::new("", "Gelu", 20)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::activation::unary)
    .body_of(bodies::activation::gelu)
    .doc("The Gaussian error linear unit.");

const HARD_SIGMOID: Operator = Operator::new("", "HardSigmoid", 22)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::activation::unary)
    .gradient_of(gradients::activation::hard_sigmoid)
    .doc("A piecewise linear sigmoid.");

const HARD_SWISH: Operator = Operator::new("", "HardSwish", 22)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::activation::unary)
    .body(bodies::activation::HARD_SWISH)
    .doc("The input times its hard sigmoid.");

const LEAKY_RELU: Operator = Operator::new("", "LeakyRelu", 16)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::activation::unary)
    .gradient_of(gradients::activation::leaky_relu)
    .doc("A rectifier with a slope below zero.");

const MISH: Operator = Operator::new("", "Mish", 22)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::activation::unary)
    .body(bodies::activation::MISH)
    .doc("The input times the hyperbolic tangent of its softplus.");

const PRELU: Operator = Operator::new("", "PRelu", 16)
    .fusion(FusionKind::BROADCAST)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::activation::prelu)
    .gradient_of(gradients::activation::prelu)
    .axes(Axes::Broadcast)
    .doc("A rectifier with given slopes below zero.");

const RELU: Operator = Operator::new("", "Relu", 14)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::activation::relu)
    .gradient_of(gradients::activation::relu)
    .exact(Exactness::Rounded)
    .doc("The rectifier.");

const SELU: Operator = Operator::new("", "Selu", 22)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::activation::unary)
    .gradient_of(gradients::activation::selu)
    .doc("A scaled exponential linear unit.");

const SHRINK: Operator = Operator::new("", "Shrink", 9)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::activation::shrink)
    .body_of(bodies::activation::shrink)
    .doc("Values near zero set to zero, others moved towards it.");

const SIGMOID: Operator = Operator::new("", "Sigmoid", 13)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::activation::unary)
    .gradient_of(gradients::activation::sigmoid)
    // Runtimes compute the half of a sum of 1 and a hyperbolic tangent.
    .properties(&[("rounded.around", "1")])
    .doc("The logistic function.");

const SOFTPLUS: Operator = Operator::new("", "Softplus", 22)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::activation::unary)
    .body_of(bodies::activation::softplus)
    .gradient_of(gradients::activation::softplus)
    .precision(precision::GROWS)
    .doc("A smooth rectifier.");

const SOFTSIGN: Operator = Operator::new("", "Softsign", 22)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::activation::unary)
    .body_of(bodies::activation::softsign)
    .doc("The input divided by one plus its absolute value.");

const SWIGLU: Operator = Operator::new("", "SwiGLU", 28)
    .fusion(FusionKind::BROADCAST)
    .infer(relations::shared::elementwise::binary)
    .compute(kernels::activation::swiglu)
    .body_of(bodies::activation::swiglu)
    .doc("One tensor gated by the swish of another.");

const SWISH: Operator = Operator::new("", "Swish", 24)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::activation::unary)
    .body_of(bodies::activation::swish)
    .doc("The input times a sigmoid of it.");

const THRESHOLDED_RELU: Operator = Operator::new("", "ThresholdedRelu", 22)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::activation::unary)
    .body_of(bodies::activation::thresholded_relu)
    .doc("The input above a threshold, else zero.");

relais_plugin_api::prelude::operators! { OPERATORS }
