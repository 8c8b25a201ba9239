//! The ONNX standard's description of each operator: versions, numbers of arguments and results, attributes.
//!
//! The names and types of arguments and results are in `formals.rs`, which `plugins/operators/formals.py` generates from
//! the `onnx` package.
//!
//! One file per family. An operator is a constant that describes its newest version; older versions in the table below
//! it describe the differences. All versions share a type relation, which looks at the version.
//!
//! *Effects.* `TRAPS` is about the values of arguments: an index out of range, a division by zero, a shape that does
//! not fit. That shapes of arguments do not fit each other is an error in types, found by the type relations where types
//! are known; where they are not, moving any call to where it was not executed needs more than the absence of `TRAPS`.
//! The effects of `If`, `Loop`, `Scan` and `SequenceMap` are these and those of the calls in their graphs.

mod activation;
mod arith;
mod attr;
mod compare;
mod control;
mod conv;
mod convert;
mod create;
mod formals;
mod image;
mod index;
mod logic;
mod loss;
mod math;
mod matmul;
mod ml;
mod nn;
mod norm;
mod pool;
mod preview;
mod quant;
mod random;
mod recurrent;
mod reduce;
mod sequence;
mod signal;
mod tensor;
mod text;
mod training;

use relais_plugin_api::op::Operator;

/// All tables, one for each family.
pub static FAMILIES: &[&[Operator]] = &[
    activation::OPERATORS,
    arith::OPERATORS,
    compare::OPERATORS,
    control::OPERATORS,
    conv::OPERATORS,
    convert::OPERATORS,
    create::OPERATORS,
    image::OPERATORS,
    index::OPERATORS,
    logic::OPERATORS,
    loss::OPERATORS,
    math::OPERATORS,
    matmul::OPERATORS,
    ml::OPERATORS,
    nn::OPERATORS,
    norm::OPERATORS,
    pool::OPERATORS,
    preview::OPERATORS,
    quant::OPERATORS,
    random::OPERATORS,
    recurrent::OPERATORS,
    reduce::OPERATORS,
    sequence::OPERATORS,
    signal::OPERATORS,
    tensor::OPERATORS,
    text::OPERATORS,
    training::OPERATORS,
];
