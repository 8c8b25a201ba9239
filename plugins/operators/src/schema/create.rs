//! Tensors made from shapes and numbers.

use super::{
    attr::{FLOAT, FLOATS, INT, INTS, SPARSE_TENSOR, STRING, STRINGS, TENSOR, default, optional, required},
    formals,
};
use crate::bodies::create as made;
use crate::kernels;
use crate::relations::{create, elementwise};
use relais_plugin_api::op::*;

/// The operators, newest version first.
pub const OPERATORS: &[Operator] = &formals::with::<{ TABLE.len() }>(TABLE);

const TABLE: &[Operator] = &[
    CONSTANT,
    CONSTANT.since(24),
    CONSTANT.since(23),
    CONSTANT.since(21),
    CONSTANT.since(19),
    CONSTANT.since(13),
    CONSTANT.since(12),
    CONSTANT.since(11).attrs(&[optional(SPARSE_TENSOR, "sparse_value"), optional(TENSOR, "value")]),
    CONSTANT.since(9).attrs(&[required(TENSOR, "value")]),
    CONSTANT.since(1).attrs(&[required(TENSOR, "value")]),
    CONSTANT_OF_SHAPE,
    CONSTANT_OF_SHAPE.since(24),
    CONSTANT_OF_SHAPE.since(23),
    CONSTANT_OF_SHAPE.since(21),
    CONSTANT_OF_SHAPE.since(20),
    CONSTANT_OF_SHAPE.since(9),
    EYE_LIKE,
    EYE_LIKE.since(9),
    RANGE.body_of(made::range),
    RANGE.since(11).attrs(&[]).body_of(made::range),
];

const CONSTANT: Operator = Operator::new("", "Constant", 25)
    .inputs(0, 0)
    .attrs(&[
        optional(SPARSE_TENSOR, "sparse_value"),
        optional(TENSOR, "value"),
        optional(FLOAT, "value_float"),
        optional(FLOATS, "value_floats"),
        optional(INT, "value_int"),
        optional(INTS, "value_ints"),
        optional(STRING, "value_string"),
        optional(STRINGS, "value_strings"),
    ])
    .infer(create::constant)
    .doc("A constant tensor.");

const CONSTANT_OF_SHAPE: Operator = Operator::new("", "ConstantOfShape", 25)
    .compute(kernels::create::constant_of_shape)
    .attrs(&[optional(TENSOR, "value")])
    .effects(Effects::TRAPS)
    .infer(create::constant_of_shape)
    .doc("One value in a given shape.");

const EYE_LIKE: Operator = Operator::new("", "EyeLike", 22)
    .compute(kernels::create::eye_like)
    .attrs(&[optional(INT, "dtype"), default(INT, "k", "0")])
    .infer(elementwise::like)
    .doc("Ones on a diagonal, zeros elsewhere.");

const RANGE: Operator = Operator::new("", "Range", 27)
    .compute(kernels::create::range)
    .inputs(3, 3)
    .attrs(&[default(INT, "stash_type", "1")])
    .effects(Effects::TRAPS)
    .infer(create::range)
    .doc("Numbers from a start to a limit, in steps.");

relais_plugin_api::prelude::operators! { OPERATORS }
