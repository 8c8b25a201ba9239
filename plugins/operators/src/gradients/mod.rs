//! The gradients of operators, made for a call.
//!
//! In their texts, `%a0`, `%a1`, … are the arguments of the call, `%y0`, … its results, and `%d0`, … the gradients of its
//! results. They are written for the operator set that the function of the call imports.

pub mod activation;
pub mod arithmetic;
pub mod cast;
pub mod compare;
pub mod conv;
pub mod gather;
pub mod join;
pub mod math;
pub mod matmul;
pub mod movement;
pub mod normalize;
pub mod pad;
pub mod pool;
pub mod random;
pub mod reduce;
pub mod reshape;
mod shared;
pub mod softmax;
