//! Exact evaluators of ONNX operators, for constant folding.
//!
//! An evaluator either returns the result that ONNX determines, or reports that it does not cover the call: where the
//! standard leaves a result open and runtimes disagree, nothing is folded. Uniform arguments have uniform results,
//! without being expanded.

mod along;
mod arithmetic;
mod cast;
mod cx;
mod doubt;
mod elementwise;
mod elems;
mod gather;
mod generate;
mod logic;
mod math;
mod matmul;
mod minifloat;
mod movement;
mod pad;
mod quantize;
mod reduce;
mod reshape;
mod scalar;
mod shape;
mod text;
mod unary;
mod unique;

use relais_plugin_api::{op::Evaluator, prelude::plugin};

plugin! { description = "Exact evaluators of ONNX's operators." }

/// The evaluators, file by file.
pub static TABLES: &[&[Evaluator]] = &[
    along::EVALUATORS,
    arithmetic::EVALUATORS,
    cast::EVALUATORS,
    gather::EVALUATORS,
    generate::EVALUATORS,
    logic::EVALUATORS,
    math::EVALUATORS,
    matmul::EVALUATORS,
    movement::EVALUATORS,
    pad::EVALUATORS,
    quantize::EVALUATORS,
    reduce::EVALUATORS,
    reshape::EVALUATORS,
    text::EVALUATORS,
    unary::EVALUATORS,
    unique::EVALUATORS,
];

/// All evaluators.
pub fn evaluators() -> impl Iterator<Item = &'static Evaluator> {
    TABLES.iter().flat_map(|table| table.iter())
}
