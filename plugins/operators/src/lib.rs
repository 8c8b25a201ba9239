//! ONNX operators: schemas, type relations, effects and fusion kinds.
//!
//! # Modules
//!
//! Each uses only those listed before it; one that is not listed is used by no other.
//!
//! 1. `calls`: the attributes of calls, or their defaults in the version of a call, and the types of arguments
//! 2. `bodies`: operators in terms of other operators
//! 3. `gradients`: the gradients of operators, made for a call
//! 4. `kernels`: the kernels of operators: the loop program that computes one call
//! 5. `relations`: type relations, by hand
//! 6. `schema`: what is said of each operator: what the ONNX standard says of its versions, and where its parts are

mod bodies;
mod calls;
mod gradients;
mod kernels;
mod relations;
mod schema;

use relais_plugin_api::{op::Operator, prelude::plugin};
pub use schema::FAMILIES;

plugin! {
    description = "ONNX's operators: schemas, type relations, effects and fusion kinds.",
    closed_domains = &[("", NEWEST)],
}

/// The newest version of ONNX's own operator set that is described.
pub const NEWEST: u32 = 28;

/// All operators, each version that changed one.
pub fn operators() -> impl Iterator<Item = &'static Operator> {
    FAMILIES.iter().copied().flatten()
}
