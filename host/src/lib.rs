//! Relais, the pass host.

pub mod manager;
pub mod mapped;
pub mod onnx;
pub mod pipeline;
pub mod plugin;

pub use relais_plugin_api::ir;
