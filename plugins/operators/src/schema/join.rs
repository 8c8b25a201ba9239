//! Tensors joined, and split.

use super::versions::{all, count};
use crate::{gradients, kernels, relations};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &all::<{ count(TABLE) }>(TABLE);

const TABLE: &[Operator] = &[CONCAT, SPLIT];

const CONCAT: Operator = Operator::new("", "Concat", 13)
    .fusion(FusionKind::INJECTIVE)
    .infer(relations::join::concat)
    .compute(kernels::join::concat)
    .gradient_of(gradients::join::concat)
    .exact(Exactness::Moved)
    .doc("Tensors joined along an axis.");

const SPLIT: Operator = Operator::new("", "Split", 18)
    .effects(Effects::TRAPS)
    .fusion(FusionKind::INJECTIVE)
    .infer(relations::join::split)
    .compute(kernels::join::split)
    .gradient_of(gradients::join::split)
    .axes(Axes::along("axis"))
    .exact(Exactness::Moved)
    .doc("A tensor cut into parts along an axis.");

relais_plugin_api::prelude::operators! { OPERATORS }
