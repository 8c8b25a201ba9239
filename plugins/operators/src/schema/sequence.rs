//! Sequences and optionals.

use super::{
    attr::{ANY, GRAPH, INT, TYPE, default, optional, required},
    formals,
};
use crate::relations::sequence;
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &formals::with::<{ TABLE.len() }>(TABLE);

const TABLE: &[Operator] = &[
    CONCAT_FROM_SEQUENCE,
    OPTIONAL,
    OPTIONAL.since(15),
    OPTIONAL_GET_ELEMENT,
    OPTIONAL_GET_ELEMENT.since(18),
    OPTIONAL_GET_ELEMENT.since(15),
    OPTIONAL_HAS_ELEMENT,
    OPTIONAL_HAS_ELEMENT.since(18),
    OPTIONAL_HAS_ELEMENT.since(15).inputs(1, 1),
    SEQUENCE_AT,
    SEQUENCE_CONSTRUCT,
    SEQUENCE_EMPTY,
    SEQUENCE_ERASE,
    SEQUENCE_INSERT,
    SEQUENCE_LENGTH,
    SEQUENCE_MAP,
    SPLIT_TO_SEQUENCE,
    SPLIT_TO_SEQUENCE.since(11),
];

const CONCAT_FROM_SEQUENCE: Operator = Operator::new("", "ConcatFromSequence", 11)
    .attrs(&[required(INT, "axis"), default(INT, "new_axis", "0")])
    .effects(Effects::TRAPS)
    .infer(sequence::concat_from_sequence)
    .doc("The tensors of a sequence joined or stacked along an axis.");

const OPTIONAL: Operator = Operator::new("", "Optional", 28)
    .inputs(0, 1)
    .attrs(&[optional(TYPE, "type")])
    .infer(sequence::optional)
    .doc("An optional, empty or not.");

const OPTIONAL_GET_ELEMENT: Operator = Operator::new("", "OptionalGetElement", 28)
    .effects(Effects::TRAPS)
    .infer(sequence::optional_get_element)
    .doc("What an optional holds.");

const OPTIONAL_HAS_ELEMENT: Operator = Operator::new("", "OptionalHasElement", 28)
    .inputs(0, 1)
    .infer(sequence::optional_has_element)
    .doc("Whether an optional holds something.");

const SEQUENCE_AT: Operator = Operator::new("", "SequenceAt", 11)
    .inputs(2, 2)
    .effects(Effects::TRAPS)
    .infer(sequence::at)
    .doc("A tensor of a sequence, by position.");

const SEQUENCE_CONSTRUCT: Operator =
    Operator::new("", "SequenceConstruct", 11).inputs(1, ANY).infer(sequence::construct).doc("A sequence of tensors.");

const SEQUENCE_EMPTY: Operator = Operator::new("", "SequenceEmpty", 11)
    .inputs(0, 0)
    .attrs(&[optional(INT, "dtype")])
    .infer(sequence::empty)
    .doc("An empty sequence.");

const SEQUENCE_ERASE: Operator = Operator::new("", "SequenceErase", 11)
    .inputs(1, 2)
    .effects(Effects::TRAPS)
    .infer(sequence::erase)
    .doc("A sequence without the tensor at a position.");

const SEQUENCE_INSERT: Operator = Operator::new("", "SequenceInsert", 11)
    .inputs(2, 3)
    .effects(Effects::TRAPS)
    .infer(sequence::insert)
    .doc("A sequence with one more tensor.");

const SEQUENCE_LENGTH: Operator =
    Operator::new("", "SequenceLength", 11).infer(sequence::length).doc("The number of tensors in a sequence.");

const SEQUENCE_MAP: Operator = Operator::new("", "SequenceMap", 17)
    .inputs(1, ANY)
    .outputs(1, ANY)
    .attrs(&[required(GRAPH, "body")])
    .infer(sequence::map)
    .doc("A graph run over the items of sequences.");

const SPLIT_TO_SEQUENCE: Operator = Operator::new("", "SplitToSequence", 24)
    .inputs(1, 2)
    .attrs(&[default(INT, "axis", "0"), default(INT, "keepdims", "1")])
    .effects(Effects::TRAPS)
    .infer(sequence::split_to_sequence)
    .doc("A tensor cut along an axis into a sequence.");

relais_plugin_api::prelude::operators! { OPERATORS }
