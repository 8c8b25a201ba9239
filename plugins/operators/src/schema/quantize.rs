//! Quantised numbers to real ones and back.

use super::versions::{all, count};
use crate::{bodies, kernels, relations};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &all::<{ count(TABLE) }>(TABLE);

const TABLE: &[Operator] = &[DEQUANTIZE_LINEAR, DYNAMIC_QUANTIZE_LINEAR, QUANTIZE_LINEAR];

const DEQUANTIZE_LINEAR: Operator = Operator::new("", "DequantizeLinear", 28)
    .fusion(FusionKind::BROADCAST)
    .infer(relations::quantize::dequantize_linear)
    .compute(kernels::quantize::dequantize)
    .doc("Integers turned into floats by scale and zero point.");

const DYNAMIC_QUANTIZE_LINEAR: Operator = Operator::new("", "DynamicQuantizeLinear", 11)
    .infer(relations::quantize::dynamic_quantize_linear)
    .body_of(bodies::quantize::dynamic_quantize_linear)
    .doc("Floats turned into 8-bit integers, with the scale and zero point found on the way.");

const QUANTIZE_LINEAR: Operator = Operator::new("", "QuantizeLinear", 28)
    .fusion(FusionKind::BROADCAST)
    .infer(relations::quantize::quantize_linear)
    .compute(kernels::quantize::quantize)
    .doc("Floats turned into integers by scale and zero point.");

relais_plugin_api::prelude::operators! { OPERATORS }
