//! Exact evaluators of ONNX operators, for constant folding and for comparing programs.
//!
//! An evaluator either returns the result that ONNX determines, or reports that it does not cover the call: where the
//! standard leaves a result open and runtimes disagree, nothing is folded. Uniform arguments have uniform results,
//! without being expanded.
//!
//! # Modules
//!
//! Each uses only those listed before it; one that is not listed is used by no other.
//!
//! 1. `shared`: what the evaluators of several families use
//! 2. `cast`: casts between all element types
//! 3. `text`: strings
//! 4. `quantize`: quantised numbers to real ones and back, with one scale or one for each index along an axis

mod activation;
mod arithmetic;
mod cast;
mod compare;
mod conv;
mod create;
mod cumulative;
mod einsum;
mod gather;
mod join;
mod logic;
mod loss;
mod math;
mod matmul;
mod movement;
mod normalize;
mod pad;
mod pool;
mod quantize;
mod random;
mod recurrent;
mod reduce;
mod reshape;
mod resize;
mod scatter;
mod shared;
mod signal;
mod softmax;
mod sort;
mod text;

use relais_plugin_api::{op::Evaluator, prelude::plugin};

plugin! { description = "Exact evaluators of ONNX's operators." }

/// The evaluators, family by family.
pub static TABLES: &[&[Evaluator]] = &[
    activation::EVALUATORS,
    arithmetic::EVALUATORS,
    cast::EVALUATORS,
    compare::EVALUATORS,
    conv::EVALUATORS,
    create::EVALUATORS,
    cumulative::EVALUATORS,
    einsum::EVALUATORS,
    gather::EVALUATORS,
    join::EVALUATORS,
    logic::EVALUATORS,
    loss::EVALUATORS,
    math::EVALUATORS,
    matmul::EVALUATORS,
    movement::EVALUATORS,
    normalize::EVALUATORS,
    pad::EVALUATORS,
    pool::EVALUATORS,
    quantize::EVALUATORS,
    random::EVALUATORS,
    recurrent::EVALUATORS,
    reduce::EVALUATORS,
    reshape::EVALUATORS,
    resize::EVALUATORS,
    scatter::EVALUATORS,
    signal::EVALUATORS,
    softmax::EVALUATORS,
    sort::EVALUATORS,
    text::EVALUATORS,
];

/// All evaluators.
pub fn evaluators() -> impl Iterator<Item = &'static Evaluator> {
    TABLES.iter().flat_map(|table| table.iter())
}
