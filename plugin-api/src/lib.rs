//! Everything a Relais plugin depends on.

pub mod boundary;
pub mod ir;
pub mod op;
pub mod text;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod random;
