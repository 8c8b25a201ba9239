//! The passes on programs that are built.

mod common;
mod unroll_loop;
