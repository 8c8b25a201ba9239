//! Reductions and scans along axes.

use super::{
    attr::{INT, INTS, default, optional},
    formals,
};
use crate::bodies::reduce as made;
use crate::gradients;
use crate::kernels;
use crate::relations::{elementwise, reduce};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &formals::with::<{ TABLE.len() }>(TABLE);

const TABLE: &[Operator] = &[
    ARG_MAX,
    ARG_MAX.since(12),
    ARG_MAX.since(11).attrs(&[default(INT, "axis", "0"), default(INT, "keepdims", "1")]),
    ARG_MAX.since(1).attrs(&[default(INT, "axis", "0"), default(INT, "keepdims", "1")]),
    ARG_MIN,
    ARG_MIN.since(12),
    ARG_MIN.since(11).attrs(&[default(INT, "axis", "0"), default(INT, "keepdims", "1")]),
    ARG_MIN.since(1).attrs(&[default(INT, "axis", "0"), default(INT, "keepdims", "1")]),
    CUM_PROD,
    CUM_SUM,
    CUM_SUM.since(11),
    REDUCE_L1.effects(Effects::TRAPS).body_of(made::l1),
    REDUCE_L1.since(13).inputs(1, 1).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).body_of(made::l1),
    REDUCE_L1.since(11).inputs(1, 1).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).body_of(made::l1),
    REDUCE_L1.since(1).inputs(1, 1).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).body_of(made::l1),
    REDUCE_L2.effects(Effects::TRAPS).body_of(made::l2),
    REDUCE_L2.since(13).inputs(1, 1).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).body_of(made::l2),
    REDUCE_L2.since(11).inputs(1, 1).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).body_of(made::l2),
    REDUCE_L2.since(1).inputs(1, 1).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]).body_of(made::l2),
    REDUCE_LOG_SUM.effects(Effects::TRAPS).body_of(made::log_sum),
    REDUCE_LOG_SUM.since(18).effects(Effects::TRAPS).body_of(made::log_sum),
    REDUCE_LOG_SUM
        .since(13)
        .inputs(1, 1)
        .attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")])
        .body_of(made::log_sum),
    REDUCE_LOG_SUM
        .since(11)
        .inputs(1, 1)
        .attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")])
        .body_of(made::log_sum),
    REDUCE_LOG_SUM
        .since(1)
        .inputs(1, 1)
        .attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")])
        .body_of(made::log_sum),
    REDUCE_LOG_SUM_EXP.effects(Effects::TRAPS).body_of(made::log_sum_exp),
    REDUCE_LOG_SUM_EXP.since(18).effects(Effects::TRAPS).body_of(made::log_sum_exp),
    REDUCE_LOG_SUM_EXP
        .since(13)
        .inputs(1, 1)
        .attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")])
        .body_of(made::log_sum_exp),
    REDUCE_LOG_SUM_EXP
        .since(11)
        .inputs(1, 1)
        .attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")])
        .body_of(made::log_sum_exp),
    REDUCE_LOG_SUM_EXP
        .since(1)
        .inputs(1, 1)
        .attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")])
        .body_of(made::log_sum_exp),
    REDUCE_MAX.effects(Effects::TRAPS),
    REDUCE_MAX.since(18).effects(Effects::TRAPS),
    REDUCE_MAX.since(13).inputs(1, 1).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]),
    REDUCE_MAX.since(12).inputs(1, 1).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]),
    REDUCE_MAX.since(11).inputs(1, 1).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]),
    REDUCE_MAX.since(1).inputs(1, 1).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]),
    REDUCE_MEAN.effects(Effects::TRAPS),
    REDUCE_MEAN.since(13).inputs(1, 1).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]),
    REDUCE_MEAN.since(11).inputs(1, 1).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]),
    REDUCE_MEAN.since(1).inputs(1, 1).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]),
    REDUCE_MIN.effects(Effects::TRAPS),
    REDUCE_MIN.since(18).effects(Effects::TRAPS),
    REDUCE_MIN.since(13).inputs(1, 1).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]),
    REDUCE_MIN.since(12).inputs(1, 1).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]),
    REDUCE_MIN.since(11).inputs(1, 1).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]),
    REDUCE_MIN.since(1).inputs(1, 1).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]),
    REDUCE_PROD.effects(Effects::TRAPS),
    REDUCE_PROD.since(13).inputs(1, 1).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]),
    REDUCE_PROD.since(11).inputs(1, 1).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]),
    REDUCE_PROD.since(1).inputs(1, 1).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]),
    REDUCE_SUM.effects(Effects::TRAPS),
    REDUCE_SUM.since(11).inputs(1, 1).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]),
    REDUCE_SUM.since(1).inputs(1, 1).attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")]),
    REDUCE_SUM_SQUARE.effects(Effects::TRAPS).body_of(made::sum_square),
    REDUCE_SUM_SQUARE
        .since(13)
        .inputs(1, 1)
        .attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")])
        .body_of(made::sum_square),
    REDUCE_SUM_SQUARE
        .since(11)
        .inputs(1, 1)
        .attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")])
        .body_of(made::sum_square),
    REDUCE_SUM_SQUARE
        .since(1)
        .inputs(1, 1)
        .attrs(&[optional(INTS, "axes"), default(INT, "keepdims", "1")])
        .body_of(made::sum_square),
];

const ARG_MAX: Operator = Operator::new("", "ArgMax", 13)
    .compute(kernels::reduce::arg)
    .attrs(&[default(INT, "axis", "0"), default(INT, "keepdims", "1"), default(INT, "select_last_index", "0")])
    .fusion(FusionKind::COMM_REDUCE)
    .infer(reduce::arg_reduce)
    .doc("The index of the largest element along an axis.");

const ARG_MIN: Operator = Operator::new("", "ArgMin", 13)
    .compute(kernels::reduce::arg)
    .attrs(&[default(INT, "axis", "0"), default(INT, "keepdims", "1"), default(INT, "select_last_index", "0")])
    .fusion(FusionKind::COMM_REDUCE)
    .infer(reduce::arg_reduce)
    .doc("The index of the smallest element along an axis.");

const CUM_PROD: Operator = Operator::new("", "CumProd", 26)
    .compute(kernels::reduce::cumulative)
    .inputs(2, 2)
    .attrs(&[default(INT, "exclusive", "0"), default(INT, "reverse", "0")])
    .effects(Effects::TRAPS)
    .infer(elementwise::same)
    .doc("Cumulative product along an axis.");

const CUM_SUM: Operator = Operator::new("", "CumSum", 14)
    .compute(kernels::reduce::cumulative)
    .inputs(2, 2)
    .attrs(&[default(INT, "exclusive", "0"), default(INT, "reverse", "0")])
    .effects(Effects::TRAPS)
    .infer(elementwise::same)
    .doc("Cumulative sum along an axis.");

const REDUCE_L1: Operator = Operator::new("", "ReduceL1", 18)
    .compute(kernels::reduce::reduce)
    .inputs(1, 2)
    .attrs(&[default(INT, "keepdims", "1"), default(INT, "noop_with_empty_axes", "0")])
    .fusion(FusionKind::COMM_REDUCE)
    .infer(reduce::reduce)
    .doc("The sum of absolute values over axes.");

const REDUCE_L2: Operator = Operator::new("", "ReduceL2", 18)
    .compute(kernels::reduce::reduce)
    .inputs(1, 2)
    .attrs(&[default(INT, "keepdims", "1"), default(INT, "noop_with_empty_axes", "0")])
    .fusion(FusionKind::COMM_REDUCE)
    .infer(reduce::reduce)
    .doc("The Euclidean norm over axes.");

const REDUCE_LOG_SUM: Operator = Operator::new("", "ReduceLogSum", 28)
    .compute(kernels::reduce::reduce)
    .inputs(1, 2)
    .attrs(&[default(INT, "keepdims", "1"), default(INT, "noop_with_empty_axes", "0")])
    .fusion(FusionKind::COMM_REDUCE)
    .infer(reduce::reduce)
    .doc("The logarithm of the sum over axes.");

const REDUCE_LOG_SUM_EXP: Operator = Operator::new("", "ReduceLogSumExp", 28)
    .compute(kernels::reduce::log_sum_exp)
    .inputs(1, 2)
    .attrs(&[default(INT, "keepdims", "1"), default(INT, "noop_with_empty_axes", "0")])
    .fusion(FusionKind::COMM_REDUCE)
    .infer(reduce::reduce)
    .doc("The logarithm of the sum of exponentials over axes.");

const REDUCE_MAX: Operator = Operator::new("", "ReduceMax", 20)
    .gradient_of(gradients::reduce::extreme)
    .compute(kernels::reduce::reduce)
    .inputs(1, 2)
    .attrs(&[default(INT, "keepdims", "1"), default(INT, "noop_with_empty_axes", "0")])
    .fusion(FusionKind::COMM_REDUCE)
    .infer(reduce::reduce)
    .doc("The maximum over axes.");

const REDUCE_MEAN: Operator = Operator::new("", "ReduceMean", 18)
    .gradient_of(gradients::reduce::mean)
    .compute(kernels::reduce::reduce)
    .inputs(1, 2)
    .attrs(&[default(INT, "keepdims", "1"), default(INT, "noop_with_empty_axes", "0")])
    .fusion(FusionKind::COMM_REDUCE)
    .infer(reduce::reduce)
    .doc("The mean over axes.");

const REDUCE_MIN: Operator = Operator::new("", "ReduceMin", 20)
    .gradient_of(gradients::reduce::extreme)
    .compute(kernels::reduce::reduce)
    .inputs(1, 2)
    .attrs(&[default(INT, "keepdims", "1"), default(INT, "noop_with_empty_axes", "0")])
    .fusion(FusionKind::COMM_REDUCE)
    .infer(reduce::reduce)
    .doc("The minimum over axes.");

const REDUCE_PROD: Operator = Operator::new("", "ReduceProd", 18)
    .compute(kernels::reduce::reduce)
    .inputs(1, 2)
    .attrs(&[default(INT, "keepdims", "1"), default(INT, "noop_with_empty_axes", "0")])
    .fusion(FusionKind::COMM_REDUCE)
    .infer(reduce::reduce_prod)
    .doc("The product over axes.");

const REDUCE_SUM: Operator = Operator::new("", "ReduceSum", 13)
    .gradient_of(gradients::reduce::sum)
    .compute(kernels::reduce::reduce)
    .inputs(1, 2)
    .attrs(&[default(INT, "keepdims", "1"), default(INT, "noop_with_empty_axes", "0")])
    .fusion(FusionKind::COMM_REDUCE)
    .infer(reduce::reduce_sum)
    .doc("The sum over axes.");

const REDUCE_SUM_SQUARE: Operator = Operator::new("", "ReduceSumSquare", 18)
    .compute(kernels::reduce::reduce)
    .inputs(1, 2)
    .attrs(&[default(INT, "keepdims", "1"), default(INT, "noop_with_empty_axes", "0")])
    .fusion(FusionKind::COMM_REDUCE)
    .infer(reduce::reduce)
    .doc("The sum of squares over axes.");

relais_plugin_api::prelude::operators! { OPERATORS }
