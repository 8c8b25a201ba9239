//! Shared code of the end-to-end tests.

pub mod cargo_built;
pub mod cli;
pub mod filetest;
pub mod golden;
pub mod many;
pub mod page;
pub mod reference;
pub mod run;
pub mod venv;
