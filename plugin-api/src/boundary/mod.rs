//! The plugin boundary: what crosses it, and the unsafe code that this takes.

pub mod bytes;
pub(crate) mod cast;
