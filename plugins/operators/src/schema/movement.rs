//! Elements moved, repeated or left out.

use super::versions::{all, count};
use crate::{bodies, gradients, kernels, relations};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &all::<{ count(TABLE) }>(TABLE);

const TABLE: &[Operator] = &[
    DEPTH_TO_SPACE.body_of(bodies::movement::depth_to_space),
    DEPTH_TO_SPACE.since(1),
    EXPAND,
    REVERSE_SEQUENCE,
    SLICE,
    SPACE_TO_DEPTH.body_of(bodies::movement::space_to_depth),
    SPACE_TO_DEPTH.since(1),
    TILE,
    TRANSPOSE,
    TRILU,
];

const DEPTH_TO_SPACE: Operator = Operator::new("", "DepthToSpace", 28)
    .fusion(FusionKind::INJECTIVE)
    .infer(relations::movement::depth_to_space)
    .compute(kernels::movement::depth_to_space)
    .exact(Exactness::Moved)
    .doc("Blocks of channels laid out in space.");

const EXPAND: Operator = Operator::new("", "Expand", 13)
    .effects(Effects::TRAPS)
    .fusion(FusionKind::BROADCAST)
    .infer(relations::movement::expand)
    .compute(kernels::movement::expand)
    .gradient_of(gradients::movement::expand)
    .exact(Exactness::Moved)
    .doc("A tensor broadcast to a shape.");

const REVERSE_SEQUENCE: Operator = Operator::new("", "ReverseSequence", 28)
    .effects(Effects::TRAPS)
    .fusion(FusionKind::INJECTIVE)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::movement::reverse_sequence)
    .exact(Exactness::Moved)
    .doc("The beginnings of sequences of different lengths, reversed.");

const SLICE: Operator = Operator::new("", "Slice", 13)
    .effects(Effects::TRAPS)
    .fusion(FusionKind::INJECTIVE)
    .infer(relations::movement::slice)
    .compute(kernels::movement::slice)
    .gradient_of(gradients::movement::slice)
    .exact(Exactness::Moved)
    .doc("A part of each axis, in steps.");

const SPACE_TO_DEPTH: Operator = Operator::new("", "SpaceToDepth", 28)
    .fusion(FusionKind::INJECTIVE)
    .infer(relations::movement::space_to_depth)
    .compute(kernels::movement::space_to_depth)
    .exact(Exactness::Moved)
    .doc("Blocks of space laid out in channels.");

const TILE: Operator = Operator::new("", "Tile", 13)
    .effects(Effects::TRAPS)
    .fusion(FusionKind::INJECTIVE)
    .infer(relations::movement::tile)
    .compute(kernels::movement::tile)
    .gradient_of(gradients::movement::tile)
    .axes(Axes::Each { argument: 1 })
    .exact(Exactness::Moved)
    .doc("A tensor repeated along its axes.");

const TRANSPOSE: Operator = Operator::new("", "Transpose", 25)
    .fusion(FusionKind::INJECTIVE)
    .infer(relations::movement::transpose)
    .compute(kernels::movement::transpose)
    .gradient_of(gradients::movement::transpose)
    .exact(Exactness::Moved)
    .doc("The axes in another order.");

const TRILU: Operator = Operator::new("", "Trilu", 14)
    .infer(relations::shared::elementwise::same)
    .compute(kernels::movement::trilu)
    .exact(Exactness::Moved)
    .doc("The upper or lower triangle of matrices.");

relais_plugin_api::prelude::operators! { OPERATORS }
