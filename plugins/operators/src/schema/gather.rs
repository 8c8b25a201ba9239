//! Elements taken by index.

use super::versions::{all, count};
use crate::{gradients, kernels, relations};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &all::<{ count(TABLE) }>(TABLE);

const TABLE: &[Operator] = &[COMPRESS, GATHER, GATHER_ELEMENTS, GATHER_ND];

const COMPRESS: Operator = Operator::new("", "Compress", 28)
    .infer(relations::gather::compress)
    .exact(Exactness::Moved)
    .doc("The slices along an axis that a condition selects.");

const GATHER: Operator = Operator::new("", "Gather", 13)
    .effects(Effects::TRAPS)
    .fusion(FusionKind::INJECTIVE)
    .infer(relations::gather::gather)
    .compute(kernels::gather::gather)
    .gradient_of(gradients::gather::gather)
    .exact(Exactness::Moved)
    .doc("Slices along an axis, by index.");

const GATHER_ELEMENTS: Operator = Operator::new("", "GatherElements", 13)
    .effects(Effects::TRAPS)
    .fusion(FusionKind::INJECTIVE)
    .infer(relations::gather::gather_elements)
    .compute(kernels::gather::gather_elements)
    .gradient_of(gradients::gather::gather_elements)
    .exact(Exactness::Moved)
    .doc("Elements along an axis, by index.");

const GATHER_ND: Operator = Operator::new("", "GatherND", 13)
    .effects(Effects::TRAPS)
    .fusion(FusionKind::INJECTIVE)
    .infer(relations::gather::gather_nd)
    .compute(kernels::gather::gather_nd)
    .gradient_of(gradients::gather::gather_nd)
    .exact(Exactness::Moved)
    .doc("Slices by index tuples.");

relais_plugin_api::prelude::operators! { OPERATORS }
