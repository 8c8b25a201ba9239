//! ONNX operators: schemas, type relations, effects and fusion kinds.

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
