//! Functions for the evaluators of several families.

pub mod cx;
pub mod doubles;
pub mod doubt;
pub mod elementwise;
pub mod elems;
pub mod index;
pub mod lines;
pub mod minifloat;
pub mod scalar;
pub mod shape;
pub mod window;
