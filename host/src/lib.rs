//! Relais, the pass host.

pub mod mapped;
pub mod onnx;
pub mod plugin;

pub use relais_plugin_api::ir;
