//! Pooling.

use super::{
    precision,
    versions::{all, count},
};
use crate::{gradients, kernels, relations};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &all::<{ count(TABLE) }>(TABLE);

const TABLE: &[Operator] =
    &[AVERAGE_POOL, GLOBAL_AVERAGE_POOL, GLOBAL_LP_POOL, GLOBAL_MAX_POOL, LP_POOL, MAX_POOL, MAX_UNPOOL];

const AVERAGE_POOL: Operator = Operator::new("", "AveragePool", 22)
    .fusion(FusionKind::OUT_ELEMWISE_FUSABLE)
    .layouts(&[Layout::new("NCW->NCW"), Layout::new("NCHW->NCHW"), Layout::new("NCDHW->NCDHW")])
    .infer(relations::pool::pool)
    .compute(kernels::pool::average_pool)
    .gradient_of(gradients::pool::average_pool)
    .doc("The mean of each window.");

const GLOBAL_AVERAGE_POOL: Operator = Operator::new("", "GlobalAveragePool", 22)
    .fusion(FusionKind::OUT_ELEMWISE_FUSABLE)
    .layouts(&[Layout::new("NCW->NCW"), Layout::new("NCHW->NCHW"), Layout::new("NCDHW->NCDHW")])
    .infer(relations::pool::global_pool)
    .compute(kernels::pool::global)
    .gradient_of(gradients::pool::global_average)
    .precision(precision::SUMS)
    .doc("The mean over all spatial axes.");

const GLOBAL_LP_POOL: Operator = Operator::new("", "GlobalLpPool", 22)
    .fusion(FusionKind::OUT_ELEMWISE_FUSABLE)
    .layouts(&[Layout::new("NCW->NCW"), Layout::new("NCHW->NCHW"), Layout::new("NCDHW->NCDHW")])
    .infer(relations::pool::global_pool)
    .compute(kernels::pool::global)
    .precision(precision::SUMS)
    .doc("The p-norm over all spatial axes.");

const GLOBAL_MAX_POOL: Operator = Operator::new("", "GlobalMaxPool", 22)
    .fusion(FusionKind::OUT_ELEMWISE_FUSABLE)
    .layouts(&[Layout::new("NCW->NCW"), Layout::new("NCHW->NCHW"), Layout::new("NCDHW->NCDHW")])
    .infer(relations::pool::global_pool)
    .compute(kernels::pool::global)
    .gradient_of(gradients::pool::global_max)
    .doc("The maximum over all spatial axes.");

const LP_POOL: Operator = Operator::new("", "LpPool", 22)
    .fusion(FusionKind::OUT_ELEMWISE_FUSABLE)
    .layouts(&[Layout::new("NCW->NCW"), Layout::new("NCHW->NCHW"), Layout::new("NCDHW->NCDHW")])
    .infer(relations::pool::pool)
    .compute(kernels::pool::lp_pool)
    .precision(precision::SUMS)
    .doc("The p-norm of each window.");

const MAX_POOL: Operator = Operator::new("", "MaxPool", 22)
    .fusion(FusionKind::OUT_ELEMWISE_FUSABLE)
    .layouts(&[Layout::new("NCW->NCW,NCW"), Layout::new("NCHW->NCHW,NCHW"), Layout::new("NCDHW->NCDHW,NCDHW")])
    .infer(relations::pool::pool)
    .compute(kernels::pool::max_pool)
    .gradient_of(gradients::pool::max_pool)
    .doc("The maximum of each window, and where it was.");

const MAX_UNPOOL: Operator = Operator::new("", "MaxUnpool", 22)
    .effects(Effects::TRAPS)
    .infer(relations::pool::max_unpool)
    .doc("Maxima put back where they came from.");

relais_plugin_api::prelude::operators! { OPERATORS }
