//! Elements placed by index.

use super::versions::{all, count};
use crate::{kernels, relations};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &all::<{ count(TABLE) }>(TABLE);

const TABLE: &[Operator] = &[SCATTER, SCATTER_ELEMENTS, SCATTER_ND, TENSOR_SCATTER];

const SCATTER: Operator = Operator::new("", "Scatter", 11)
    .effects(Effects::TRAPS)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::scatter::scatter_elements)
    .doc("Elements put in places along an axis.");

const SCATTER_ELEMENTS: Operator = Operator::new("", "ScatterElements", 18)
    .effects(Effects::TRAPS)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::scatter::scatter_elements)
    .doc("Elements put in, or combined with, places along an axis.");

const SCATTER_ND: Operator = Operator::new("", "ScatterND", 18)
    .effects(Effects::TRAPS)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::scatter::scatter_nd)
    .doc("Slices put in, or combined with, places by index tuples.");

const TENSOR_SCATTER: Operator = Operator::new("", "TensorScatter", 24)
    .effects(Effects::TRAPS)
    .infer(relations::shared::elementwise::same)
    .doc("A cache with updates written at given positions.");

relais_plugin_api::prelude::operators! { OPERATORS }
