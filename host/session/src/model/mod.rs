//! Models, and what users ask of them themselves: reading and writing, shapes of inputs, parts, calls that stay, what they
//! compute.

mod bodies;
mod declared;
mod extract;
mod file;
mod keep;
mod macs;
mod part;
mod shapes;
mod target;
mod valid;
mod write;

pub use bodies::{OperatorNames, with_bodies};
pub use declared::{Edited, forget_outdated_sizes, infer_types, renew_types};
pub use extract::{extract, set_outputs};
pub use file::{Format, Model};
pub use keep::{keep, release};
pub use macs::{MacCount, count_macs};
pub use part::{DeclaredSizes, Part};
pub use shapes::set_input_shapes;
pub(crate) use target::{Target, imported_operators};
pub use write::{NotWritten, as_written, write, write_if};
