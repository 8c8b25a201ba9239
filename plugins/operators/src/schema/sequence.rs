//! Sequences and optionals.

use super::versions::{all, count};
use crate::relations;
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &all::<{ count(TABLE) }>(TABLE);

const TABLE: &[Operator] = &[
    CONCAT_FROM_SEQUENCE,
    OPTIONAL,
    OPTIONAL_GET_ELEMENT,
    OPTIONAL_HAS_ELEMENT,
    SEQUENCE_AT,
    SEQUENCE_CONSTRUCT,
    SEQUENCE_EMPTY,
    SEQUENCE_ERASE,
    SEQUENCE_INSERT,
    SEQUENCE_LENGTH,
    SEQUENCE_MAP,
    SPLIT_TO_SEQUENCE,
];

const CONCAT_FROM_SEQUENCE: Operator = Operator::new("", "ConcatFromSequence", 11)
    .effects(Effects::TRAPS)
    .infer(relations::sequence::concat_from_sequence)
    .doc("The tensors of a sequence joined or stacked along an axis.");

const OPTIONAL: Operator =
    Operator::new("", "Optional", 28).infer(relations::sequence::optional).doc("An optional, empty or not.");

const OPTIONAL_GET_ELEMENT: Operator = Operator::new("", "OptionalGetElement", 28)
    .effects(Effects::TRAPS)
    .infer(relations::sequence::optional_get_element)
    .doc("What an optional holds.");

const OPTIONAL_HAS_ELEMENT: Operator = Operator::new("", "OptionalHasElement", 28)
    .infer(relations::sequence::optional_has_element)
    .doc("Whether an optional holds something.");

const SEQUENCE_AT: Operator = Operator::new("", "SequenceAt", 11)
    .effects(Effects::TRAPS)
    .infer(relations::sequence::at)
    .doc("A tensor of a sequence, by position.");

const SEQUENCE_CONSTRUCT: Operator =
    Operator::new("", "SequenceConstruct", 11).infer(relations::sequence::construct).doc("A sequence of tensors.");

const SEQUENCE_EMPTY: Operator =
    Operator::new("", "SequenceEmpty", 11).infer(relations::sequence::empty).doc("An empty sequence.");

const SEQUENCE_ERASE: Operator = Operator::new("", "SequenceErase", 11)
    .effects(Effects::TRAPS)
    .infer(relations::sequence::erase)
    .doc("A sequence without the tensor at a position.");

const SEQUENCE_INSERT: Operator = Operator::new("", "SequenceInsert", 11)
    .effects(Effects::TRAPS)
    .infer(relations::sequence::insert)
    .doc("A sequence with one more tensor.");

const SEQUENCE_LENGTH: Operator = Operator::new("", "SequenceLength", 11)
    .infer(relations::sequence::length)
    .doc("The number of tensors in a sequence.");

const SEQUENCE_MAP: Operator = Operator::new("", "SequenceMap", 17)
    .infer(relations::sequence::map)
    .doc("A graph run over the items of sequences.");

const SPLIT_TO_SEQUENCE: Operator = Operator::new("", "SplitToSequence", 24)
    .effects(Effects::TRAPS)
    .infer(relations::sequence::split_to_sequence)
    .doc("A tensor cut along an axis into a sequence.");

relais_plugin_api::prelude::operators! { OPERATORS }
