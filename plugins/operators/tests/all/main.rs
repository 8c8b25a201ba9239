//! The tests of the operators: one program, so that there is one thing to link.

mod hostile;
mod relations;
mod support;
