//! Quantisation.

use super::{
    attr::{INT, INTS, STRING, default, optional},
    formals,
};
use crate::bodies::create;
use crate::kernels;
use crate::relations::{conv, matmul, quantize};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &formals::with::<{ TABLE.len() }>(TABLE);

const TABLE: &[Operator] = &[
    DEQUANTIZE_LINEAR,
    DEQUANTIZE_LINEAR.since(25),
    DEQUANTIZE_LINEAR.since(24),
    DEQUANTIZE_LINEAR.since(23),
    DEQUANTIZE_LINEAR.since(21).attrs(&[default(INT, "axis", "1"), default(INT, "block_size", "0")]),
    DEQUANTIZE_LINEAR.since(19).attrs(&[default(INT, "axis", "1")]),
    DEQUANTIZE_LINEAR.since(13).attrs(&[default(INT, "axis", "1")]),
    DEQUANTIZE_LINEAR.since(10).attrs(&[]),
    DYNAMIC_QUANTIZE_LINEAR.body_of(create::dynamic_quantize_linear),
    QLINEAR_CONV,
    QLINEAR_MAT_MUL,
    QLINEAR_MAT_MUL.since(10),
    QUANTIZE_LINEAR,
    QUANTIZE_LINEAR.since(25),
    QUANTIZE_LINEAR.since(24),
    QUANTIZE_LINEAR.since(23),
    QUANTIZE_LINEAR.since(21).attrs(&[
        default(INT, "axis", "1"),
        default(INT, "block_size", "0"),
        default(INT, "output_dtype", "0"),
        default(INT, "saturate", "1"),
    ]),
    QUANTIZE_LINEAR.since(19).attrs(&[default(INT, "axis", "1"), default(INT, "saturate", "1")]),
    QUANTIZE_LINEAR.since(13).attrs(&[default(INT, "axis", "1")]),
    QUANTIZE_LINEAR.since(10).attrs(&[]),
];

const DEQUANTIZE_LINEAR: Operator = Operator::new("", "DequantizeLinear", 28)
    .compute(kernels::quantize::dequantize)
    .inputs(2, 3)
    .attrs(&[default(INT, "axis", "1"), default(INT, "block_size", "0"), default(INT, "output_dtype", "0")])
    .fusion(FusionKind::BROADCAST)
    .infer(quantize::dequantize_linear)
    .doc("Integers turned into floats by scale and zero point.");

const DYNAMIC_QUANTIZE_LINEAR: Operator = Operator::new("", "DynamicQuantizeLinear", 11)
    .outputs(3, 3)
    .infer(quantize::dynamic_quantize_linear)
    .doc("Floats turned into 8-bit integers, with the scale and zero point found on the way.");

const QLINEAR_CONV: Operator = Operator::new("", "QLinearConv", 10)
    .macs("y0 * x3 / x3[0]")
    .inputs(8, 9)
    .attrs(&[
        default(STRING, "auto_pad", "\"NOTSET\""),
        optional(INTS, "dilations"),
        default(INT, "group", "1"),
        optional(INTS, "kernel_shape"),
        optional(INTS, "pads"),
        optional(INTS, "strides"),
    ])
    .fusion(FusionKind::OUT_ELEMWISE_FUSABLE)
    .infer(conv::qlinear_conv)
    .doc("Convolution of quantised tensors.");

const QLINEAR_MAT_MUL: Operator = Operator::new("", "QLinearMatMul", 21)
    .macs("y0 * x0[-1]")
    .inputs(8, 8)
    .fusion(FusionKind::OUT_ELEMWISE_FUSABLE)
    .infer(matmul::qlinear_matmul)
    .doc("Matrix product of quantised tensors.");

const QUANTIZE_LINEAR: Operator = Operator::new("", "QuantizeLinear", 28)
    .compute(kernels::quantize::quantize)
    .inputs(2, 3)
    .attrs(&[
        default(INT, "axis", "1"),
        default(INT, "block_size", "0"),
        default(INT, "output_dtype", "0"),
        default(INT, "precision", "0"),
        default(INT, "saturate", "1"),
    ])
    .fusion(FusionKind::BROADCAST)
    .infer(quantize::quantize_linear)
    .doc("Floats turned into integers by scale and zero point.");

relais_plugin_api::prelude::operators! { OPERATORS }
