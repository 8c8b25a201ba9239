//! The commands of contributors.

mod begun;
mod command_line;
