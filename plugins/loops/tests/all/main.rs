//! The passes on programs that are built.

mod common;
mod remove_no_op;
mod unroll_loop;
