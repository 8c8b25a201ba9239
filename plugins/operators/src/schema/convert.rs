//! Conversions of element types.

use super::{
    attr::{INT, STRING, default, required},
    formals,
};
use crate::bodies::activation;
use crate::gradients;
use crate::kernels;
use crate::relations::elementwise;
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &formals::with::<{ TABLE.len() }>(TABLE);

const TABLE: &[Operator] = &[
    BIT_CAST,
    CAST.effects(Effects::TRAPS),
    CAST.since(25).effects(Effects::TRAPS),
    CAST.since(24).effects(Effects::TRAPS),
    CAST.since(23).attrs(&[default(INT, "saturate", "1"), required(INT, "to")]).effects(Effects::TRAPS),
    CAST.since(21).attrs(&[default(INT, "saturate", "1"), required(INT, "to")]).effects(Effects::TRAPS),
    CAST.since(19).attrs(&[default(INT, "saturate", "1"), required(INT, "to")]).effects(Effects::TRAPS),
    CAST.since(13).attrs(&[required(INT, "to")]).effects(Effects::TRAPS),
    CAST.since(9).attrs(&[required(INT, "to")]).effects(Effects::TRAPS),
    CAST.since(6).attrs(&[required(INT, "to")]),
    CAST.since(1).attrs(&[required(STRING, "to")]),
    CAST_LIKE.body_of(activation::cast_like),
    CAST_LIKE.since(24).body_of(activation::cast_like),
    CAST_LIKE.since(23).attrs(&[default(INT, "saturate", "1")]).body_of(activation::cast_like),
    CAST_LIKE.since(21).attrs(&[default(INT, "saturate", "1")]).body_of(activation::cast_like),
    CAST_LIKE.since(19).attrs(&[default(INT, "saturate", "1")]).body_of(activation::cast_like),
    CAST_LIKE.since(15).attrs(&[]).body_of(activation::cast_like),
];

const BIT_CAST: Operator = Operator::new("", "BitCast", 26)
    .compute(kernels::math::bit_cast)
    .attrs(&[required(INT, "to")])
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::bit_cast)
    .doc("The same bits as another element type of equal width.");

const CAST: Operator = Operator::new("", "Cast", 28)
    .gradient_of(gradients::arithmetic::cast)
    .compute(kernels::math::cast)
    .attrs(&[default(STRING, "round_mode", "\"up\""), default(INT, "saturate", "1"), required(INT, "to")])
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::cast)
    .doc("Elements converted to another type.");

const CAST_LIKE: Operator = Operator::new("", "CastLike", 25)
    .gradient_of(gradients::arithmetic::cast)
    .compute(kernels::math::cast)
    .inputs(2, 2)
    .attrs(&[default(STRING, "round_mode", "\"up\""), default(INT, "saturate", "1")])
    .effects(Effects::TRAPS)
    .fusion(FusionKind::ELEMWISE)
    .infer(elementwise::cast_like)
    .doc("Elements converted to the type of the second argument.");

relais_plugin_api::prelude::operators! { OPERATORS }
