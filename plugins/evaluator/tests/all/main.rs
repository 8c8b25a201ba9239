//! The tests of the evaluators: one program, so that there is one thing to link.

mod common;
mod edges;
mod hostile;
mod networks;
mod normalizations;
mod numbers;
mod windows;
