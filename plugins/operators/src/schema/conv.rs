//! Convolutions.

use super::{
    attr::{INT, INTS, STRING, default, optional},
    formals,
};
use crate::gradients;
use crate::kernels;
use crate::relations::conv;
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &formals::with::<{ TABLE.len() }>(TABLE);

const TABLE: &[Operator] = &[
    CONV,
    CONV.since(11),
    CONV.since(1),
    CONV_INTEGER,
    CONV_TRANSPOSE,
    CONV_TRANSPOSE.since(11),
    CONV_TRANSPOSE.since(1),
    DEFORM_CONV,
    DEFORM_CONV.since(19),
];

const CONV: Operator = Operator::new("", "Conv", 22)
    .macs("y0 * x1 / x1[0]")
    .compute(kernels::conv::conv)
    .layouts(&[Layout::new("NCW,OIW,O->NCW"), Layout::new("NCHW,OIHW,O->NCHW"), Layout::new("NCDHW,OIDHW,O->NCDHW")])
    .gradient_of(gradients::conv::conv)
    .inputs(2, 3)
    .attrs(&[
        default(STRING, "auto_pad", "\"NOTSET\""),
        optional(INTS, "dilations"),
        default(INT, "group", "1"),
        optional(INTS, "kernel_shape"),
        optional(INTS, "pads"),
        optional(INTS, "strides"),
    ])
    .fusion(FusionKind::OUT_ELEMWISE_FUSABLE)
    .infer(conv::conv)
    .doc("Convolution.");

const CONV_INTEGER: Operator = Operator::new("", "ConvInteger", 10)
    .macs("y0 * x1 / x1[0]")
    .compute(kernels::conv::conv)
    .inputs(2, 4)
    .attrs(&[
        default(STRING, "auto_pad", "\"NOTSET\""),
        optional(INTS, "dilations"),
        default(INT, "group", "1"),
        optional(INTS, "kernel_shape"),
        optional(INTS, "pads"),
        optional(INTS, "strides"),
    ])
    .fusion(FusionKind::OUT_ELEMWISE_FUSABLE)
    .infer(conv::conv_integer)
    .doc("Convolution of 8-bit integers into 32-bit ones.");

const CONV_TRANSPOSE: Operator = Operator::new("", "ConvTranspose", 22)
    .macs("x0 * x1 / x1[0]")
    .compute(kernels::conv::conv_transpose)
    .layouts(&[Layout::new("NCW,IOW,O->NCW"), Layout::new("NCHW,IOHW,O->NCHW"), Layout::new("NCDHW,IODHW,O->NCDHW")])
    .inputs(2, 3)
    .attrs(&[
        default(STRING, "auto_pad", "\"NOTSET\""),
        optional(INTS, "dilations"),
        default(INT, "group", "1"),
        optional(INTS, "kernel_shape"),
        optional(INTS, "output_padding"),
        optional(INTS, "output_shape"),
        optional(INTS, "pads"),
        optional(INTS, "strides"),
    ])
    .fusion(FusionKind::OUT_ELEMWISE_FUSABLE)
    .infer(conv::conv_transpose)
    .doc("Transposed convolution.");

const DEFORM_CONV: Operator = Operator::new("", "DeformConv", 22)
    .macs("y0 * x1 / x1[0]")
    .inputs(3, 5)
    .attrs(&[
        optional(INTS, "dilations"),
        default(INT, "group", "1"),
        optional(INTS, "kernel_shape"),
        default(INT, "offset_group", "1"),
        optional(INTS, "pads"),
        optional(INTS, "strides"),
    ])
    .fusion(FusionKind::OUT_ELEMWISE_FUSABLE)
    .infer(conv::conv)
    .doc("Convolution that samples at learned offsets.");

relais_plugin_api::prelude::operators! { OPERATORS }
