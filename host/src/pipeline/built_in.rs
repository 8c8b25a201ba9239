//! The pipelines that are part of the program.

pub use relais_pipelines::{BUILT_IN, ONNXRUNTIME_TARGET};

/// The prefix of a built-in pipeline's path, where files are named.
pub(super) const PREFIX: &str = "builtin:";

/// The extension points of the built-in pipelines.
pub const EXTENSION_POINTS: &[&str] =
    &["before-simplify", "while-simplifying", "after-simplify", "last", "before-lowering", "on-loops", "before-emit"];

/// The text of a built-in pipeline.
pub fn built_in(name: &str) -> Option<&'static str> {
    BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
