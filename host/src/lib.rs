//! Relais, the pass host.

pub mod inspect;
pub mod instruments;
pub mod listing;
pub mod loaded;
pub mod lock;
pub mod manager;
pub mod options;
pub mod pass;
pub mod pipeline;
pub mod plugin;
pub mod registry;
pub mod report;
pub mod table;
pub mod transform;
pub mod words;

pub use relais_files::{self as files, mapped};
pub use relais_onnx as onnx;
pub use relais_plugin_api::ir;
