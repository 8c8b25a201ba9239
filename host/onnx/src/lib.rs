//! Reading and writing ONNX.

mod encode;
mod error;
mod external;
pub mod meta;
mod names;
mod read;
mod schema;
mod strip;
mod types;
mod wire;
mod write;

pub use error::{ExternalFault, Fault, OnnxError, Warning, WireFault};
pub use read::{ReadModel, ReadOptions, read, read_bytes, read_model};
pub use strip::{Strip, strip};
pub use write::{ExternalData, StatedTypes, WriteOptions, WriteReport, data_files, write, write_destination, write_to};

/// Replaces calls of a model's own functions by their bodies.
pub use relais_plugin_api::ir::inline_functions;
