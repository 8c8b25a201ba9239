//! The kernels of operators: the loop program that computes one call.
//!
//! They become C with loops of fixed bounds, so loops are flat where they can be, and the innermost one runs over
//! elements that are next to each other. A case that is not covered is declined.

pub mod activation;
pub mod arithmetic;
pub mod cast;
pub mod compare;
pub mod conv;
pub mod create;
pub mod cumulative;
pub mod einsum;
pub mod gather;
pub mod join;
pub mod logic;
pub mod math;
pub mod matmul;
pub mod movement;
pub mod normalize;
pub mod pad;
pub mod pool;
pub mod quantize;
pub mod random;
pub mod recurrent;
pub mod reduce;
pub mod reshape;
pub mod resize;
pub mod scatter;
pub mod shared;
pub mod softmax;
pub mod sort;
