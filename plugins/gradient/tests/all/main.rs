//! Gradients against central differences, in double precision, and what is refused.

mod common;
mod differences;
mod networks;
mod refused;
