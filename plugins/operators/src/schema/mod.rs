//! The description of each operator: its versions in the ONNX standard, and its other parts.
//!
//! There is one file for each family, and the other parts of its operators are in files of the same name: type relations
//! in `relations/`, kernels in `kernels/`, bodies in `bodies/`, gradients in `gradients/`, evaluators in the plugin
//! `plugins/evaluator`. Functions for several families are in the folder `shared` of their column.
//!
//! Versions, numbers of arguments and results, attributes and types are in `onnx.rs`, which
//! `plugins/operators/schemas.py` makes from the `onnx` package. A family's file has what that package does not say: an
//! operator is a constant that describes its newest version; rows for older versions say where that does not hold for
//! them (see [`versions`]). All versions share a type relation, which looks at the version.
//!
//! *Effects.* `TRAPS` is about the values of arguments: an index out of range, a division by zero, a shape that does
//! not fit. That shapes of arguments do not fit each other is an error in types, found by the type relations where types
//! are known; where they are not, moving any call to where it was not executed needs more than the absence of `TRAPS`.
//! The effects of `If`, `Loop`, `Scan` and `SequenceMap` are these and those of the calls in their graphs.

mod activation;
mod arithmetic;
mod attention;
mod cast;
mod compare;
mod control;
mod conv;
mod create;
mod cumulative;
mod einsum;
mod gather;
mod image;
mod join;
mod logic;
mod loss;
mod math;
mod matmul;
mod ml;
mod movement;
mod normalize;
mod onnx;
mod pad;
mod pool;
mod precision;
mod quantize;
mod random;
mod recurrent;
mod reduce;
mod reshape;
mod resize;
mod scatter;
mod sequence;
mod signal;
mod softmax;
mod sort;
mod terms;
mod text;
mod training;
mod versions;

use relais_plugin_api::op::Operator;

/// All tables, one for each family.
pub static FAMILIES: &[&[Operator]] = &[
    activation::OPERATORS,
    arithmetic::OPERATORS,
    attention::OPERATORS,
    cast::OPERATORS,
    compare::OPERATORS,
    control::OPERATORS,
    conv::OPERATORS,
    create::OPERATORS,
    cumulative::OPERATORS,
    einsum::OPERATORS,
    gather::OPERATORS,
    image::OPERATORS,
    join::OPERATORS,
    logic::OPERATORS,
    loss::OPERATORS,
    math::OPERATORS,
    matmul::OPERATORS,
    ml::OPERATORS,
    movement::OPERATORS,
    normalize::OPERATORS,
    pad::OPERATORS,
    pool::OPERATORS,
    quantize::OPERATORS,
    random::OPERATORS,
    recurrent::OPERATORS,
    reduce::OPERATORS,
    reshape::OPERATORS,
    resize::OPERATORS,
    scatter::OPERATORS,
    sequence::OPERATORS,
    signal::OPERATORS,
    softmax::OPERATORS,
    sort::OPERATORS,
    text::OPERATORS,
    training::OPERATORS,
];
