//! ONNX operators: schemas, type relations, effects and pattern kinds.

mod relations;
mod schema;

pub use schema::FAMILIES;

use relais_plugin_api::{op::Operator, prelude::plugin};

plugin! { description = "ONNX's operators: schemas, type relations, effects and pattern kinds." }

/// All operators, each version that changed one.
pub fn operators() -> impl Iterator<Item = &'static Operator> {
    FAMILIES.iter().copied().flatten()
}
