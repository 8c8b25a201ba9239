//! Taking and placing by index.

use super::{
    attr::{INT, STRING, default, optional, required},
    formals,
};
use crate::gradients;
use crate::kernels;
use crate::relations::{elementwise, index};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &formals::with::<{ TABLE.len() }>(TABLE);

const TABLE: &[Operator] = &[
    COMPRESS,
    COMPRESS.since(11),
    COMPRESS.since(9),
    GATHER,
    GATHER.since(11),
    GATHER.since(1),
    GATHER_ELEMENTS,
    GATHER_ELEMENTS.since(11),
    GATHER_ND,
    GATHER_ND.since(12),
    GATHER_ND.since(11).attrs(&[]),
    NON_ZERO,
    NON_ZERO.since(9),
    ONE_HOT,
    ONE_HOT.since(11),
    ONE_HOT.since(9),
    REVERSE_SEQUENCE,
    REVERSE_SEQUENCE.since(10),
    SCATTER,
    SCATTER.since(9),
    SCATTER_ELEMENTS,
    SCATTER_ELEMENTS.since(16),
    SCATTER_ELEMENTS.since(13).attrs(&[default(INT, "axis", "0")]),
    SCATTER_ELEMENTS.since(11).attrs(&[default(INT, "axis", "0")]),
    SCATTER_ND,
    SCATTER_ND.since(16),
    SCATTER_ND.since(13).attrs(&[]),
    SCATTER_ND.since(11).attrs(&[]),
    TENSOR_SCATTER,
    TOP_K,
    TOP_K.since(11),
    TOP_K.since(10).attrs(&[default(INT, "axis", "-1")]),
    TOP_K.since(1).inputs(1, 1).attrs(&[default(INT, "axis", "-1"), required(INT, "k")]),
    UNIQUE,
    UNIQUE.since(11),
];

const COMPRESS: Operator = Operator::new("", "Compress", 28)
    .inputs(2, 2)
    .attrs(&[optional(INT, "axis")])
    .infer(index::compress)
    .doc("The slices along an axis that a condition selects.");

const GATHER: Operator = Operator::new("", "Gather", 13)
    .gradient_of(gradients::movement::gather)
    .compute(kernels::index::gather)
    .inputs(2, 2)
    .attrs(&[default(INT, "axis", "0")])
    .effects(Effects::TRAPS)
    .fusion(FusionKind::INJECTIVE)
    .infer(index::gather)
    .doc("Slices along an axis, by index.");

const GATHER_ELEMENTS: Operator = Operator::new("", "GatherElements", 13)
    .gradient_of(gradients::movement::gather_elements)
    .compute(kernels::index::gather_elements)
    .inputs(2, 2)
    .attrs(&[default(INT, "axis", "0")])
    .effects(Effects::TRAPS)
    .fusion(FusionKind::INJECTIVE)
    .infer(index::gather_elements)
    .doc("Elements along an axis, by index.");

const GATHER_ND: Operator = Operator::new("", "GatherND", 13)
    .gradient_of(gradients::movement::gather_nd)
    .compute(kernels::index::gather_nd)
    .inputs(2, 2)
    .attrs(&[default(INT, "batch_dims", "0")])
    .effects(Effects::TRAPS)
    .fusion(FusionKind::INJECTIVE)
    .infer(index::gather_nd)
    .doc("Slices by index tuples.");

const NON_ZERO: Operator =
    Operator::new("", "NonZero", 13).infer(index::non_zero).doc("The indices of elements that are not zero.");

const ONE_HOT: Operator = Operator::new("", "OneHot", 28)
    .compute(kernels::index::one_hot)
    .inputs(3, 3)
    .attrs(&[default(INT, "axis", "-1")])
    .effects(Effects::TRAPS)
    .infer(index::one_hot)
    .doc("A value at an index, another elsewhere.");

const REVERSE_SEQUENCE: Operator = Operator::new("", "ReverseSequence", 28)
    .compute(kernels::index::reverse_sequence)
    .inputs(2, 2)
    .attrs(&[default(INT, "batch_axis", "1"), default(INT, "time_axis", "0")])
    .effects(Effects::TRAPS)
    .fusion(FusionKind::INJECTIVE)
    .infer(elementwise::same)
    .doc("The beginnings of sequences of different lengths, reversed.");

const SCATTER: Operator = Operator::new("", "Scatter", 11)
    .compute(kernels::index::scatter_elements)
    .inputs(3, 3)
    .attrs(&[default(INT, "axis", "0")])
    .effects(Effects::TRAPS)
    .infer(elementwise::same)
    .doc("Elements put in places along an axis.");

const SCATTER_ELEMENTS: Operator = Operator::new("", "ScatterElements", 18)
    .compute(kernels::index::scatter_elements)
    .inputs(3, 3)
    .attrs(&[default(INT, "axis", "0"), default(STRING, "reduction", "\"none\"")])
    .effects(Effects::TRAPS)
    .infer(elementwise::same)
    .doc("Elements put in, or combined with, places along an axis.");

const SCATTER_ND: Operator = Operator::new("", "ScatterND", 18)
    .compute(kernels::index::scatter_nd)
    .inputs(3, 3)
    .attrs(&[default(STRING, "reduction", "\"none\"")])
    .effects(Effects::TRAPS)
    .infer(elementwise::same)
    .doc("Slices put in, or combined with, places by index tuples.");

const TENSOR_SCATTER: Operator = Operator::new("", "TensorScatter", 24)
    .inputs(2, 3)
    .attrs(&[default(INT, "axis", "-2"), default(STRING, "mode", "\"linear\"")])
    .effects(Effects::TRAPS)
    .infer(elementwise::same)
    .doc("A cache with updates written at given positions.");

const TOP_K: Operator = Operator::new("", "TopK", 24)
    .compute(kernels::index::top_k)
    .inputs(2, 2)
    .outputs(2, 2)
    .attrs(&[default(INT, "axis", "-1"), default(INT, "largest", "1"), default(INT, "sorted", "1")])
    .effects(Effects::TRAPS)
    .infer(index::top_k)
    .doc("The largest or smallest elements along an axis, and where they are.");

const UNIQUE: Operator = Operator::new("", "Unique", 28)
    .outputs(1, 4)
    .attrs(&[optional(INT, "axis"), default(INT, "sorted", "1")])
    .infer(index::unique)
    .doc("The elements or slices that differ, and where they are.");

relais_plugin_api::prelude::operators! { OPERATORS }
