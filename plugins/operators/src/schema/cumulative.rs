//! Running sums and products.

use super::{
    precision,
    versions::{all, count},
};
use crate::{kernels, relations};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &all::<{ count(TABLE) }>(TABLE);

const TABLE: &[Operator] = &[CUM_PROD, CUM_SUM];

const CUM_PROD: Operator = Operator::new("", "CumProd", 26)
    .effects(Effects::TRAPS)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::cumulative::cumulative)
    .precision(precision::SUMS)
    .doc("Cumulative product along an axis.");

const CUM_SUM: Operator = Operator::new("", "CumSum", 14)
    .effects(Effects::TRAPS)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::cumulative::cumulative)
    .axes(Axes::along_argument(1).sums())
    .precision(precision::SUMS)
    .doc("Cumulative sum along an axis.");

relais_plugin_api::prelude::operators! { OPERATORS }
