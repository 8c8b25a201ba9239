//! Activation functions.

use super::{
    attr::{FLOAT, INT, INTS, STRING, default, optional},
    formals,
};
use crate::bodies::{activation, fixed};
use crate::gradients;
use crate::kernels;
use crate::relations::elementwise;
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &formals::with::<{ TABLE.len() }>(TABLE);

const TABLE: &[Operator] = &[
    CELU.body_of(activation::celu),
    CELU.since(12).body_of(activation::celu),
    CLIP.body_of(activation::clip),
    CLIP.since(12).body_of(activation::clip),
    CLIP.since(11).body_of(activation::clip),
    CLIP.since(6).inputs(1, 1).attrs(&[default(FLOAT, "max", "3.4028235e38"), default(FLOAT, "min", "-3.4028235e38")]),
    CLIP.since(1).inputs(1, 1).attrs(&[
        optional(INTS, "consumed_inputs"),
        optional(FLOAT, "max"),
        optional(FLOAT, "min"),
    ]),
    ELU.body_of(activation::elu),
    ELU.since(6).body_of(activation::elu),
    ELU.since(1).attrs(&[default(FLOAT, "alpha", "1.0"), optional(INTS, "consumed_inputs")]),
    GELU.body_of(activation::gelu),
    HARD_SIGMOID.body_of(activation::hard_sigmoid),
    HARD_SIGMOID.since(6).body_of(activation::hard_sigmoid),
    HARD_SIGMOID.since(1).attrs(&[
        default(FLOAT, "alpha", "0.2"),
        default(FLOAT, "beta", "0.5"),
        optional(INTS, "consumed_inputs"),
    ]),
    HARD_SWISH.body(fixed::HARD_SWISH),
    HARD_SWISH.since(14).body(fixed::HARD_SWISH),
    HARDMAX,
    HARDMAX.since(11).attrs(&[default(INT, "axis", "1")]),
    HARDMAX.since(1).attrs(&[default(INT, "axis", "1")]),
    LEAKY_RELU.body_of(activation::leaky_relu),
    LEAKY_RELU.since(6).body_of(activation::leaky_relu),
    LEAKY_RELU.since(1).attrs(&[default(FLOAT, "alpha", "0.01"), optional(INTS, "consumed_inputs")]),
    LOG_SOFTMAX.body_of(activation::log_softmax),
    LOG_SOFTMAX.since(11).attrs(&[default(INT, "axis", "1")]),
    LOG_SOFTMAX.since(1).attrs(&[default(INT, "axis", "1")]),
    MISH.body(fixed::MISH),
    MISH.since(18).body(fixed::MISH),
    PRELU.body_of(activation::prelu),
    PRELU.since(9).body_of(activation::prelu),
    PRELU.since(7).body_of(activation::prelu),
    PRELU.since(6),
    PRELU.since(1).attrs(&[optional(INTS, "consumed_inputs")]),
    RELU.body_of(activation::relu),
    RELU.since(13).body_of(activation::relu),
    RELU.since(6).body_of(activation::relu),
    RELU.since(1).attrs(&[optional(INTS, "consumed_inputs")]),
    SELU.body_of(activation::selu),
    SELU.since(6).body_of(activation::selu),
    SELU.since(1).attrs(&[
        default(FLOAT, "alpha", "1.6732"),
        optional(INTS, "consumed_inputs"),
        default(FLOAT, "gamma", "1.0507"),
    ]),
    SHRINK.body_of(activation::shrink),
    SIGMOID,
    SIGMOID.since(6),
    SIGMOID.since(1).attrs(&[optional(INTS, "consumed_inputs")]),
    SOFTMAX.body_of(activation::softmax),
    SOFTMAX.since(11).attrs(&[default(INT, "axis", "1")]),
    SOFTMAX.since(1).attrs(&[default(INT, "axis", "1")]),
    SOFTPLUS.body_of(activation::softplus),
    SOFTPLUS.since(1).body_of(activation::softplus),
    SOFTSIGN.body_of(activation::softsign),
    SOFTSIGN.since(1).body_of(activation::softsign),
    SWIGLU.body_of(activation::swiglu),
    SWISH.body_of(activation::swish),
    THRESHOLDED_RELU.body_of(activation::thresholded_relu),
    THRESHOLDED_RELU.since(10).body_of(activation::thresholded_relu),
];

const CELU: Operator = Operator::new("", "Celu", 28)
    .gradient_of(gradients::activation::celu)
    .compute(kernels::activation::unary)
    .attrs(&[default(FLOAT, "alpha", "1.0")])
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("A continuously differentiable exponential linear unit.");

const CLIP: Operator = Operator::new("", "Clip", 13)
    .gradient_of(gradients::activation::clip)
    .compute(kernels::activation::clip)
    .inputs(1, 3)
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("Elements limited to a range.");

const ELU: Operator = Operator::new("", "Elu", 22)
    .gradient_of(gradients::activation::elu)
    .compute(kernels::activation::unary)
    .attrs(&[default(FLOAT, "alpha", "1.0")])
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("An exponential linear unit.");

const GELU: Operator = Operator::new("", "Gelu", 20)
    .compute(kernels::activation::unary)
    .attrs(&[default(STRING, "approximate", "\"none\"")])
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("The Gaussian error linear unit.");

const HARD_SIGMOID: Operator = Operator::new("", "HardSigmoid", 22)
    .gradient_of(gradients::activation::hard_sigmoid)
    .compute(kernels::activation::unary)
    .attrs(&[default(FLOAT, "alpha", "0.2"), default(FLOAT, "beta", "0.5")])
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("A piecewise linear sigmoid.");

const HARD_SWISH: Operator = Operator::new("", "HardSwish", 22)
    .compute(kernels::activation::unary)
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("The input times its hard sigmoid.");

const HARDMAX: Operator = Operator::new("", "Hardmax", 13)
    .compute(kernels::softmax::hardmax)
    .attrs(&[default(INT, "axis", "-1")])
    .infer(elementwise::same)
    .doc("One at the first largest element along an axis, zero elsewhere.");

const LEAKY_RELU: Operator = Operator::new("", "LeakyRelu", 16)
    .gradient_of(gradients::activation::leaky_relu)
    .compute(kernels::activation::unary)
    .attrs(&[default(FLOAT, "alpha", "0.01")])
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("A rectifier with a slope below zero.");

const LOG_SOFTMAX: Operator = Operator::new("", "LogSoftmax", 13)
    .gradient_of(gradients::normalize::log_softmax)
    .compute(kernels::softmax::softmax)
    .attrs(&[default(INT, "axis", "-1")])
    .infer(elementwise::same)
    .doc("The logarithm of the softmax.");

const MISH: Operator = Operator::new("", "Mish", 22)
    .compute(kernels::activation::unary)
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("The input times the hyperbolic tangent of its softplus.");

const PRELU: Operator = Operator::new("", "PRelu", 16)
    .gradient_of(gradients::activation::prelu)
    .compute(kernels::activation::prelu)
    .inputs(2, 2)
    .fusion(FusionKind::BROADCAST)
    .infer(elementwise::same)
    .doc("A rectifier with given slopes below zero.");

const RELU: Operator = Operator::new("", "Relu", 14)
    .gradient_of(gradients::activation::relu)
    .compute(kernels::activation::relu)
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("The rectifier.");

const SELU: Operator = Operator::new("", "Selu", 22)
    .gradient_of(gradients::activation::selu)
    .compute(kernels::activation::unary)
    .attrs(&[default(FLOAT, "alpha", "1.6732632"), default(FLOAT, "gamma", "1.050701")])
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("A scaled exponential linear unit.");

const SHRINK: Operator = Operator::new("", "Shrink", 9)
    .compute(kernels::activation::shrink)
    .attrs(&[default(FLOAT, "bias", "0.0"), default(FLOAT, "lambd", "0.5")])
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("Values near zero set to zero, others moved towards it.");

const SIGMOID: Operator = Operator::new("", "Sigmoid", 13)
    .gradient_of(gradients::math::sigmoid)
    .compute(kernels::activation::unary)
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("The logistic function.");

const SOFTMAX: Operator = Operator::new("", "Softmax", 13)
    .gradient_of(gradients::normalize::softmax)
    .compute(kernels::softmax::softmax)
    .attrs(&[default(INT, "axis", "-1")])
    .infer(elementwise::same)
    .doc("Exponentials divided by their sum along an axis.");

const SOFTPLUS: Operator = Operator::new("", "Softplus", 22)
    .gradient_of(gradients::activation::softplus)
    .compute(kernels::activation::unary)
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("A smooth rectifier.");

const SOFTSIGN: Operator = Operator::new("", "Softsign", 22)
    .compute(kernels::activation::unary)
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("The input divided by one plus its absolute value.");

const SWIGLU: Operator = Operator::new("", "SwiGLU", 28)
    .compute(kernels::activation::swiglu)
    .inputs(2, 2)
    .attrs(&[default(FLOAT, "alpha", "1.0")])
    .fusion(FusionKind::BROADCAST)
    .infer(elementwise::binary)
    .doc("One tensor gated by the swish of another.");

const SWISH: Operator = Operator::new("", "Swish", 24)
    .compute(kernels::activation::unary)
    .attrs(&[default(FLOAT, "alpha", "1.0")])
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("The input times a sigmoid of it.");

const THRESHOLDED_RELU: Operator = Operator::new("", "ThresholdedRelu", 22)
    .compute(kernels::activation::unary)
    .attrs(&[default(FLOAT, "alpha", "1.0")])
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::same)
    .doc("The input above a threshold, else zero.");

relais_plugin_api::prelude::operators! { OPERATORS }
