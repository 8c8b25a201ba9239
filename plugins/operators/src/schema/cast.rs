//! Conversions between element types.

use super::versions::{all, count};
use crate::{bodies, gradients, kernels, relations};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &all::<{ count(TABLE) }>(TABLE);

const TABLE: &[Operator] = &[BIT_CAST, CAST.effects(Effects::TRAPS), CAST.since(6), CAST_LIKE];

const BIT_CAST: Operator = Operator::new("", "BitCast", 26)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::cast::bit_cast)
    .compute(kernels::cast::bit_cast)
    .doc("The same bits as another element type of equal width.");

const CAST: Operator = Operator::new("", "Cast", 28)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::cast::cast)
    .compute(kernels::cast::cast)
    .gradient_of(gradients::cast::cast)
    .exact(Exactness::Rounded)
    .doc("Elements converted to another type.");

const CAST_LIKE: Operator = Operator::new("", "CastLike", 25)
    .effects(Effects::TRAPS)
    .fusion(FusionKind::ELEMWISE)
    .infer(relations::cast::cast_like)
    .compute(kernels::cast::cast)
    .body_of(bodies::cast::cast_like)
    .gradient_of(gradients::cast::cast)
    .axes(Axes::Elementwise)
    .exact(Exactness::Rounded)
    .doc("Elements converted to the type of the second argument.");

relais_plugin_api::prelude::operators! { OPERATORS }
