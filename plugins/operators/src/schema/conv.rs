//! Convolutions.

use super::versions::{all, count};
use crate::{bodies, gradients, kernels, relations};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &all::<{ count(TABLE) }>(TABLE);

const TABLE: &[Operator] = &[CAUSAL_CONV_WITH_STATE, CONV, CONV_INTEGER, CONV_TRANSPOSE, DEFORM_CONV, QLINEAR_CONV];

const CAUSAL_CONV_WITH_STATE: Operator = Operator::new("", "CausalConvWithState", 27)
    .infer(relations::conv::causal_conv)
    .body_of(bodies::conv::causal_conv_with_state)
    .doc("A causal convolution that hands its last inputs on.");

const CONV: Operator = Operator::new("", "Conv", 22)
    .fusion(FusionKind::OUT_ELEMWISE_FUSABLE)
    .layouts(&[Layout::new("NCW,OIW,O->NCW"), Layout::new("NCHW,OIHW,O->NCHW"), Layout::new("NCDHW,OIDHW,O->NCDHW")])
    .macs("y0 * x1 / x1[0]")
    .infer(relations::conv::conv)
    .compute(kernels::conv::conv)
    .gradient_of(gradients::conv::conv)
    .precision(Precision::Lower)
    .doc("Convolution.");

const CONV_INTEGER: Operator = Operator::new("", "ConvInteger", 10)
    .fusion(FusionKind::OUT_ELEMWISE_FUSABLE)
    .macs("y0 * x1 / x1[0]")
    .infer(relations::conv::conv_integer)
    .compute(kernels::conv::conv)
    .doc("Convolution of 8-bit integers into 32-bit ones.");

const CONV_TRANSPOSE: Operator = Operator::new("", "ConvTranspose", 22)
    .fusion(FusionKind::OUT_ELEMWISE_FUSABLE)
    .layouts(&[Layout::new("NCW,IOW,O->NCW"), Layout::new("NCHW,IOHW,O->NCHW"), Layout::new("NCDHW,IODHW,O->NCDHW")])
    .macs("x0 * x1 / x1[0]")
    .infer(relations::conv::conv_transpose)
    .compute(kernels::conv::conv_transpose)
    .precision(Precision::Lower)
    .doc("Transposed convolution.");

const DEFORM_CONV: Operator = Operator::new("", "DeformConv", 22)
    .fusion(FusionKind::OUT_ELEMWISE_FUSABLE)
    .macs("y0 * x1 / x1[0]")
    .infer(relations::conv::conv)
    .precision(Precision::Lower)
    .doc("Convolution that samples at learned offsets.");

const QLINEAR_CONV: Operator = Operator::new("", "QLinearConv", 10)
    .fusion(FusionKind::OUT_ELEMWISE_FUSABLE)
    .macs("y0 * x3 / x3[0]")
    .infer(relations::conv::qlinear_conv)
    .doc("Convolution of quantised tensors.");

relais_plugin_api::prelude::operators! { OPERATORS }
