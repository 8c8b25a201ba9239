//! Everything a Relais plugin depends on.

pub mod boundary;
pub mod infer;
pub mod ir;
pub mod op;
pub mod rewrite;
pub mod text;
