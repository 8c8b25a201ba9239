//! Control flow.

use super::{
    attr::{ANY, GRAPH, INT, INTS, optional, required},
    formals,
};
use crate::relations::control;
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &formals::with::<{ TABLE.len() }>(TABLE);

const TABLE: &[Operator] = &[
    IF,
    IF.since(24),
    IF.since(23),
    IF.since(21),
    IF.since(19),
    IF.since(16),
    IF.since(13),
    IF.since(11),
    IF.since(1),
    LOOP,
    LOOP.since(24),
    LOOP.since(23),
    LOOP.since(21),
    LOOP.since(19),
    LOOP.since(16),
    LOOP.since(13),
    LOOP.since(11),
    LOOP.since(1).inputs(3, ANY),
    SCAN,
    SCAN.since(24),
    SCAN.since(23),
    SCAN.since(21),
    SCAN.since(19),
    SCAN.since(16),
    SCAN.since(11),
    SCAN.since(9),
    SCAN.since(8).inputs(2, ANY).attrs(&[
        required(GRAPH, "body"),
        optional(INTS, "directions"),
        required(INT, "num_scan_inputs"),
    ]),
];

const IF: Operator = Operator::new("", "If", 25)
    .outputs(1, ANY)
    .attrs(&[required(GRAPH, "else_branch"), required(GRAPH, "then_branch")])
    .infer(control::conditional)
    .doc("One of two graphs, by a condition.");

const LOOP: Operator = Operator::new("", "Loop", 25)
    .inputs(2, ANY)
    .outputs(1, ANY)
    .attrs(&[required(GRAPH, "body")])
    .effects(Effects::TRAPS)
    .infer(control::r#loop)
    .doc("A graph repeated while a condition holds.");

const SCAN: Operator = Operator::new("", "Scan", 25)
    .inputs(1, ANY)
    .outputs(1, ANY)
    .attrs(&[
        required(GRAPH, "body"),
        required(INT, "num_scan_inputs"),
        optional(INTS, "scan_input_axes"),
        optional(INTS, "scan_input_directions"),
        optional(INTS, "scan_output_axes"),
        optional(INTS, "scan_output_directions"),
    ])
    .infer(control::scan)
    .doc("A graph run over the slices of tensors, with state.");

relais_plugin_api::prelude::operators! { OPERATORS }
