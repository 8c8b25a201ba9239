//! Exact evaluators of ONNX operators, for constant folding and for comparing programs.
//!
//! An evaluator either returns the result that ONNX determines, or reports that it does not cover the call: where the
//! standard leaves a result open and runtimes disagree, nothing is folded. Uniform arguments have uniform results,
//! without being expanded.

mod along;
mod arithmetic;
mod cast;
mod conv;
mod cx;
mod doubles;
mod doubt;
mod einsum;
mod elementwise;
mod elems;
mod gather;
mod generate;
mod logic;
mod loss;
mod math;
mod matmul;
mod minifloat;
mod movement;
mod normalize;
mod pad;
mod pool;
mod quantize;
mod recurrent;
mod reduce;
mod reshape;
mod resize;
mod scalar;
mod shape;
mod signal;
mod softmax;
mod text;
mod unary;
mod unique;
mod window;

use relais_plugin_api::{op::Evaluator, prelude::plugin};

plugin! { description = "Exact evaluators of ONNX's operators." }

/// The evaluators, file by file.
pub static TABLES: &[&[Evaluator]] = &[
    along::EVALUATORS,
    arithmetic::EVALUATORS,
    cast::EVALUATORS,
    conv::EVALUATORS,
    einsum::EVALUATORS,
    gather::EVALUATORS,
    generate::EVALUATORS,
    logic::EVALUATORS,
    loss::EVALUATORS,
    math::EVALUATORS,
    matmul::EVALUATORS,
    movement::EVALUATORS,
    normalize::EVALUATORS,
    pad::EVALUATORS,
    pool::EVALUATORS,
    quantize::EVALUATORS,
    recurrent::EVALUATORS,
    reduce::EVALUATORS,
    reshape::EVALUATORS,
    resize::EVALUATORS,
    signal::EVALUATORS,
    softmax::EVALUATORS,
    text::EVALUATORS,
    unary::EVALUATORS,
    unique::EVALUATORS,
];

/// All evaluators.
pub fn evaluators() -> impl Iterator<Item = &'static Evaluator> {
    TABLES.iter().flat_map(|table| table.iter())
}
