//! ONNX operators: schemas, type relations, effects and pattern kinds.

mod relations;
mod schema;

pub use schema::FAMILIES;

use relais_plugin_api::op::Operator;

/// All operators, each version that changed one.
pub fn operators() -> impl Iterator<Item = &'static Operator> {
    FAMILIES.iter().copied().flatten()
}
