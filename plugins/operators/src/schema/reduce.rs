//! Reductions.

use super::{
    precision,
    versions::{all, count},
};
use crate::{bodies, gradients, kernels, relations};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &all::<{ count(TABLE) }>(TABLE);

const TABLE: &[Operator] = &[
    ARG_MAX,
    ARG_MIN,
    REDUCE_L1.effects(Effects::TRAPS),
    REDUCE_L1.since(13),
    REDUCE_L2.effects(Effects::TRAPS),
    REDUCE_L2.since(13),
    REDUCE_LOG_SUM.effects(Effects::TRAPS),
    REDUCE_LOG_SUM.since(13),
    REDUCE_LOG_SUM_EXP.effects(Effects::TRAPS),
    REDUCE_LOG_SUM_EXP.since(13),
    REDUCE_MAX.effects(Effects::TRAPS),
    REDUCE_MAX.since(13),
    REDUCE_MEAN.effects(Effects::TRAPS),
    REDUCE_MEAN.since(13),
    REDUCE_MIN.effects(Effects::TRAPS),
    REDUCE_MIN.since(13),
    REDUCE_PROD.effects(Effects::TRAPS),
    REDUCE_PROD.since(13),
    REDUCE_SUM.effects(Effects::TRAPS),
    REDUCE_SUM.since(11),
    REDUCE_SUM_SQUARE.effects(Effects::TRAPS),
    REDUCE_SUM_SQUARE.since(13),
];

const ARG_MAX: Operator = Operator::new("", "ArgMax", 13)
    .fusion(FusionKind::COMM_REDUCE)
    .infer(relations::reduce::arg_reduce)
    .compute(kernels::reduce::arg)
    .axes(Axes::reduce("axis"))
    .exact(Exactness::Rounded)
    .doc("The index of the largest element along an axis.");

const ARG_MIN: Operator = Operator::new("", "ArgMin", 13)
    .fusion(FusionKind::COMM_REDUCE)
    .infer(relations::reduce::arg_reduce)
    .compute(kernels::reduce::arg)
    .axes(Axes::reduce("axis"))
    .exact(Exactness::Rounded)
    .doc("The index of the smallest element along an axis.");

const REDUCE_L1: Operator = Operator::new("", "ReduceL1", 18)
    .fusion(FusionKind::COMM_REDUCE)
    .infer(relations::reduce::reduce)
    .compute(kernels::reduce::reduce)
    .body_of(bodies::reduce::l1)
    .axes(Axes::reduce("axes").sums())
    .precision(precision::SUMS)
    .doc("The sum of absolute values over axes.");

const REDUCE_L2: Operator = Operator::new("", "ReduceL2", 18)
    .fusion(FusionKind::COMM_REDUCE)
    .infer(relations::reduce::reduce)
    .compute(kernels::reduce::reduce)
    .body_of(bodies::reduce::l2)
    .axes(Axes::reduce("axes").sums())
    .exact(Exactness::Never)
    .precision(precision::SUMS)
    .doc("The Euclidean norm over axes.");

const REDUCE_LOG_SUM: Operator = Operator::new("", "ReduceLogSum", 28)
    .fusion(FusionKind::COMM_REDUCE)
    .infer(relations::reduce::reduce)
    .compute(kernels::reduce::reduce)
    .body_of(bodies::reduce::log_sum)
    .axes(Axes::reduce("axes").sums())
    .exact(Exactness::Never)
    .precision(precision::SUMS)
    .doc("The logarithm of the sum over axes.");

const REDUCE_LOG_SUM_EXP: Operator = Operator::new("", "ReduceLogSumExp", 28)
    .fusion(FusionKind::COMM_REDUCE)
    .infer(relations::reduce::reduce)
    .compute(kernels::reduce::log_sum_exp)
    .body_of(bodies::reduce::log_sum_exp)
    .axes(Axes::reduce("axes").sums())
    .exact(Exactness::Never)
    .precision(precision::SUMS)
    .doc("The logarithm of the sum of exponentials over axes.");

const REDUCE_MAX: Operator = Operator::new("", "ReduceMax", 20)
    .fusion(FusionKind::COMM_REDUCE)
    .infer(relations::reduce::reduce)
    .compute(kernels::reduce::reduce)
    .gradient_of(gradients::reduce::extreme)
    .axes(Axes::reduce("axes"))
    .exact(Exactness::Rounded)
    .doc("The maximum over axes.");

const REDUCE_MEAN: Operator = Operator::new("", "ReduceMean", 18)
    .fusion(FusionKind::COMM_REDUCE)
    .infer(relations::reduce::reduce)
    .compute(kernels::reduce::reduce)
    .gradient_of(gradients::reduce::mean)
    .axes(Axes::reduce("axes").sums())
    .exact(Exactness::Never)
    .precision(precision::SUMS)
    .doc("The mean over axes.");

const REDUCE_MIN: Operator = Operator::new("", "ReduceMin", 20)
    .fusion(FusionKind::COMM_REDUCE)
    .infer(relations::reduce::reduce)
    .compute(kernels::reduce::reduce)
    .gradient_of(gradients::reduce::extreme)
    .axes(Axes::reduce("axes"))
    .exact(Exactness::Rounded)
    .doc("The minimum over axes.");

const REDUCE_PROD: Operator = Operator::new("", "ReduceProd", 18)
    .fusion(FusionKind::COMM_REDUCE)
    .infer(relations::reduce::reduce_prod)
    .compute(kernels::reduce::reduce)
    .axes(Axes::reduce("axes").sums())
    .precision(precision::SUMS)
    .doc("The product over axes.");

const REDUCE_SUM: Operator = Operator::new("", "ReduceSum", 13)
    .fusion(FusionKind::COMM_REDUCE)
    .infer(relations::reduce::reduce_sum)
    .compute(kernels::reduce::reduce)
    .gradient_of(gradients::reduce::sum)
    .axes(Axes::reduce("axes").sums())
    .precision(precision::SUMS)
    .doc("The sum over axes.");

const REDUCE_SUM_SQUARE: Operator = Operator::new("", "ReduceSumSquare", 18)
    .fusion(FusionKind::COMM_REDUCE)
    .infer(relations::reduce::reduce)
    .compute(kernels::reduce::reduce)
    .body_of(bodies::reduce::sum_square)
    .axes(Axes::reduce("axes").sums())
    .precision(precision::SUMS)
    .doc("The sum of squares over axes.");

relais_plugin_api::prelude::operators! { OPERATORS }
