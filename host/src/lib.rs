//! Relais, the pass host.

pub mod conformance;
pub mod files;
pub mod instruments;
pub mod lock;
pub mod manager;
pub mod mapped;
pub mod onnx;
pub mod options;
pub mod pass;
pub mod pipeline;
pub mod plugin;
pub mod registry;
pub mod report;
mod services;
pub mod transform;

pub use relais_plugin_api::ir;
