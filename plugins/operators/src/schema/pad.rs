//! Borders added and cut off.

use super::versions::{all, count};
use crate::{bodies, gradients, kernels, relations};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &all::<{ count(TABLE) }>(TABLE);

const TABLE: &[Operator] = &[CENTER_CROP_PAD, PAD];

const CENTER_CROP_PAD: Operator = Operator::new("", "CenterCropPad", 18)
    .effects(Effects::TRAPS)
    .fusion(FusionKind::INJECTIVE)
    .infer(relations::pad::center_crop_pad)
    .body_of(bodies::pad::center_crop_pad)
    .doc("Crops or pads around the centre to a shape.");

const PAD: Operator = Operator::new("", "Pad", 25)
    .effects(Effects::TRAPS)
    .fusion(FusionKind::INJECTIVE)
    .infer(relations::pad::pad)
    .compute(kernels::pad::pad)
    .gradient_of(gradients::pad::pad)
    .exact(Exactness::Moved)
    .doc("A tensor with a border.");

relais_plugin_api::prelude::operators! { OPERATORS }
