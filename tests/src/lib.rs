//! Shared code of the end-to-end tests.
//!
//! # Modules
//!
//! Each uses only those listed before it; one that is not listed is used by no other.
//!
//! 1. `run`: running a program to its end
//! 2. `cargo_built`: the program and the plugins that cargo builds for the tests
//! 3. `cli`: running `relais` as a user does
//! 4. `reference`: plain loops for operators that runtimes may compute in different ways

pub mod cargo_built;
pub mod cli;
pub mod filetest;
pub mod golden;
pub mod many;
pub mod page;
pub mod reference;
pub mod run;
pub mod venv;
