//! Reading and writing ONNX.
//!
//! # Modules
//!
//! Each uses only those listed before it; one that is not listed is used by no other.
//!
//! 1. `error`: the errors between a file and the IR: each has a place, a cause and a help
//! 2. `schema`: the field numbers of ONNX's messages
//! 3. `wire`: the protobuf wire format
//! 4. `types`: `TypeProto` and `ValueInfoProto`, both ways
//! 5. `encode`: the usual encodings: the writer writes them, and the reader keeps what a file has in another one
//! 6. `external`: tensors in other files: where they are, and that they stay in the model's folder
//! 7. `meta`: the names under which the reader keeps data that the IR has no other place for, so that the writer
//!    finds it again
//! 8. `names`: names by number: each is hashed once, and compared by number from then on
//! 9. `read`: reading: from the bytes of a model to an `IRModule`, without a copy of any weight
//! 10. `strip`: leaving out what a model says about itself and does not compute with
//! 11. `valid`: the models that readers of the format refuse, whatever their operators are
//! 12. `write`: writing: anything that no pass touched is written byte for byte as it was read

mod encode;
mod error;
mod external;
pub mod meta;
mod names;
mod read;
mod schema;
mod strip;
mod types;
mod valid;
mod wire;
mod write;

pub use error::{ErrorKind, ExternalFault, OnnxError, Warning, WireFault};
pub use read::{ReadModel, ReadOptions, read, read_bytes, read_model};
pub use strip::{Strip, strip};
pub use types::states_type;
pub use valid::{attr_fault, attr_twice};
pub use write::{
    ExternalData, StatedTypes, WriteOptions, WriteReport, data_files, write, write_destination, write_if, write_to,
};

/// Replaces calls of a model's own functions by their bodies.
pub use relais_plugin_api::ir::inline_functions;
