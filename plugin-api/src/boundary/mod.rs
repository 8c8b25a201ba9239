//! The plugin boundary: everything that crosses it, and the unsafe code that this requires.

pub mod abi;
pub mod bytes;
pub(crate) mod cast;
pub(crate) mod current;
pub mod entry;
pub mod fingerprint;
pub mod guard;
pub mod instrument;
pub mod local;
pub mod logger;
pub(crate) mod parallel;
pub mod record;
pub(crate) mod request;
pub mod wire;
