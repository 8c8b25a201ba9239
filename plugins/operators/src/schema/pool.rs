//! Pooling.

use super::{
    attr::{FLOAT, INT, INTS, STRING, default, optional, required},
    formals,
};
use crate::gradients;
use crate::kernels;
use crate::relations::pool;
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &formals::with::<{ TABLE.len() }>(TABLE);

const TABLE: &[Operator] = &[
    AVERAGE_POOL,
    AVERAGE_POOL.since(19),
    AVERAGE_POOL.since(11).attrs(&[
        default(STRING, "auto_pad", "\"NOTSET\""),
        default(INT, "ceil_mode", "0"),
        default(INT, "count_include_pad", "0"),
        required(INTS, "kernel_shape"),
        optional(INTS, "pads"),
        optional(INTS, "strides"),
    ]),
    AVERAGE_POOL.since(10).attrs(&[
        default(STRING, "auto_pad", "\"NOTSET\""),
        default(INT, "ceil_mode", "0"),
        default(INT, "count_include_pad", "0"),
        required(INTS, "kernel_shape"),
        optional(INTS, "pads"),
        optional(INTS, "strides"),
    ]),
    AVERAGE_POOL.since(7).attrs(&[
        default(STRING, "auto_pad", "\"NOTSET\""),
        default(INT, "count_include_pad", "0"),
        required(INTS, "kernel_shape"),
        optional(INTS, "pads"),
        optional(INTS, "strides"),
    ]),
    AVERAGE_POOL.since(1).attrs(&[
        default(STRING, "auto_pad", "\"NOTSET\""),
        required(INTS, "kernel_shape"),
        optional(INTS, "pads"),
        optional(INTS, "strides"),
    ]),
    GLOBAL_AVERAGE_POOL,
    GLOBAL_AVERAGE_POOL.since(1),
    GLOBAL_LP_POOL,
    GLOBAL_LP_POOL.since(2),
    GLOBAL_LP_POOL.since(1).attrs(&[default(FLOAT, "p", "2.0")]),
    GLOBAL_MAX_POOL,
    GLOBAL_MAX_POOL.since(1),
    LP_POOL,
    LP_POOL.since(18),
    LP_POOL.since(11).attrs(&[
        default(STRING, "auto_pad", "\"NOTSET\""),
        required(INTS, "kernel_shape"),
        default(INT, "p", "2"),
        optional(INTS, "pads"),
        optional(INTS, "strides"),
    ]),
    LP_POOL.since(2).attrs(&[
        default(STRING, "auto_pad", "\"NOTSET\""),
        required(INTS, "kernel_shape"),
        default(INT, "p", "2"),
        optional(INTS, "pads"),
        optional(INTS, "strides"),
    ]),
    LP_POOL.since(1).attrs(&[
        default(STRING, "auto_pad", "\"NOTSET\""),
        optional(INTS, "kernel_shape"),
        default(FLOAT, "p", "2.0"),
        optional(INTS, "pads"),
        optional(INTS, "strides"),
    ]),
    MAX_POOL,
    MAX_POOL.since(12),
    MAX_POOL.since(11),
    MAX_POOL.since(10),
    MAX_POOL.since(8).attrs(&[
        default(STRING, "auto_pad", "\"NOTSET\""),
        required(INTS, "kernel_shape"),
        optional(INTS, "pads"),
        default(INT, "storage_order", "0"),
        optional(INTS, "strides"),
    ]),
    MAX_POOL.since(1).outputs(1, 1).attrs(&[
        default(STRING, "auto_pad", "\"NOTSET\""),
        required(INTS, "kernel_shape"),
        optional(INTS, "pads"),
        optional(INTS, "strides"),
    ]),
    MAX_UNPOOL,
    MAX_UNPOOL.since(11),
    MAX_UNPOOL.since(9),
];

const AVERAGE_POOL: Operator = Operator::new("", "AveragePool", 22)
    .compute(kernels::pool::average_pool)
    .layouts(&[Layout::new("NCW->NCW"), Layout::new("NCHW->NCHW"), Layout::new("NCDHW->NCDHW")])
    .gradient_of(gradients::pool::average_pool)
    .attrs(&[
        default(STRING, "auto_pad", "\"NOTSET\""),
        default(INT, "ceil_mode", "0"),
        default(INT, "count_include_pad", "0"),
        optional(INTS, "dilations"),
        required(INTS, "kernel_shape"),
        optional(INTS, "pads"),
        optional(INTS, "strides"),
    ])
    .fusion(FusionKind::OUT_ELEMWISE_FUSABLE)
    .infer(pool::pool)
    .doc("The mean of each window.");

const GLOBAL_AVERAGE_POOL: Operator = Operator::new("", "GlobalAveragePool", 22)
    .compute(kernels::pool::global)
    .layouts(&[Layout::new("NCW->NCW"), Layout::new("NCHW->NCHW"), Layout::new("NCDHW->NCDHW")])
    .gradient_of(gradients::reduce::global_average)
    .fusion(FusionKind::OUT_ELEMWISE_FUSABLE)
    .infer(pool::global_pool)
    .doc("The mean over all spatial axes.");

const GLOBAL_LP_POOL: Operator = Operator::new("", "GlobalLpPool", 22)
    .compute(kernels::pool::global)
    .layouts(&[Layout::new("NCW->NCW"), Layout::new("NCHW->NCHW"), Layout::new("NCDHW->NCDHW")])
    .attrs(&[default(INT, "p", "2")])
    .fusion(FusionKind::OUT_ELEMWISE_FUSABLE)
    .infer(pool::global_pool)
    .doc("The p-norm over all spatial axes.");

const GLOBAL_MAX_POOL: Operator = Operator::new("", "GlobalMaxPool", 22)
    .compute(kernels::pool::global)
    .layouts(&[Layout::new("NCW->NCW"), Layout::new("NCHW->NCHW"), Layout::new("NCDHW->NCDHW")])
    .gradient_of(gradients::reduce::global_max)
    .fusion(FusionKind::OUT_ELEMWISE_FUSABLE)
    .infer(pool::global_pool)
    .doc("The maximum over all spatial axes.");

const LP_POOL: Operator = Operator::new("", "LpPool", 22)
    .compute(kernels::pool::lp_pool)
    .layouts(&[Layout::new("NCW->NCW"), Layout::new("NCHW->NCHW"), Layout::new("NCDHW->NCDHW")])
    .attrs(&[
        default(STRING, "auto_pad", "\"NOTSET\""),
        default(INT, "ceil_mode", "0"),
        optional(INTS, "dilations"),
        required(INTS, "kernel_shape"),
        default(INT, "p", "2"),
        optional(INTS, "pads"),
        optional(INTS, "strides"),
    ])
    .fusion(FusionKind::OUT_ELEMWISE_FUSABLE)
    .infer(pool::pool)
    .doc("The p-norm of each window.");

const MAX_POOL: Operator = Operator::new("", "MaxPool", 22)
    .compute(kernels::pool::max_pool)
    .layouts(&[Layout::new("NCW->NCW,NCW"), Layout::new("NCHW->NCHW,NCHW"), Layout::new("NCDHW->NCDHW,NCDHW")])
    .gradient_of(gradients::pool::max_pool)
    .outputs(1, 2)
    .attrs(&[
        default(STRING, "auto_pad", "\"NOTSET\""),
        default(INT, "ceil_mode", "0"),
        optional(INTS, "dilations"),
        required(INTS, "kernel_shape"),
        optional(INTS, "pads"),
        default(INT, "storage_order", "0"),
        optional(INTS, "strides"),
    ])
    .fusion(FusionKind::OUT_ELEMWISE_FUSABLE)
    .infer(pool::pool)
    .doc("The maximum of each window, and where it was.");

const MAX_UNPOOL: Operator = Operator::new("", "MaxUnpool", 22)
    .inputs(2, 3)
    .attrs(&[required(INTS, "kernel_shape"), optional(INTS, "pads"), optional(INTS, "strides")])
    .effects(Effects::TRAPS)
    .infer(pool::max_unpool)
    .doc("Maxima put back where they came from.");

relais_plugin_api::prelude::operators! { OPERATORS }
