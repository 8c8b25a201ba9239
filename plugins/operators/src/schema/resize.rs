//! Images resized.

use super::versions::{all, count};
use crate::{kernels, relations};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &all::<{ count(TABLE) }>(TABLE);

const TABLE: &[Operator] = &[RESIZE, UPSAMPLE];

const RESIZE: Operator = Operator::new("", "Resize", 19)
    .effects(Effects::TRAPS)
    .fusion(FusionKind::INJECTIVE)
    .infer(relations::resize::resize)
    .compute(kernels::resize::resize)
    .exact(Exactness::Never)
    .doc("A tensor resized by interpolation.");

const UPSAMPLE: Operator = Operator::new("", "Upsample", 10)
    .effects(Effects::TRAPS)
    .fusion(FusionKind::INJECTIVE)
    .infer(relations::resize::upsample)
    .compute(kernels::resize::upsample)
    .doc("A tensor upsampled by interpolation.");

relais_plugin_api::prelude::operators! { OPERATORS }
