//! The pipelines that are part of the program.

/// The prefix of a built-in pipeline's path, where files are named.
pub(super) const PREFIX: &str = "builtin:";

/// The built-in pipelines: name and text.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("default", include_str!("../../../pipelines/default.toml")),
    ("O0", include_str!("../../../pipelines/O0.toml")),
    ("O1", include_str!("../../../pipelines/O1.toml")),
    ("O2", include_str!("../../../pipelines/O2.toml")),
    ("O3", include_str!("../../../pipelines/O3.toml")),
    ("build-c", include_str!("../../../pipelines/build-c.toml")),
    ("dtype", include_str!("../../../pipelines/dtype.toml")),
    ("modern", include_str!("../../../pipelines/modern.toml")),
    ("onnxruntime", include_str!("../../../pipelines/onnxruntime.toml")),
    ("opset", include_str!("../../../pipelines/opset.toml")),
    ("quantized", include_str!("../../../pipelines/quantized.toml")),
    ("rules", include_str!("../../../pipelines/rules.toml")),
    ("size", include_str!("../../../pipelines/size.toml")),
    ("strict", include_str!("../../../pipelines/strict.toml")),
];

/// The extension points of the built-in pipelines.
pub const EXTENSION_POINTS: &[&str] =
    &["before-simplify", "while-simplifying", "after-simplify", "last", "before-lowering", "on-loops", "before-emit"];

/// The text of a built-in pipeline.
pub fn built_in(name: &str) -> Option<&'static str> {
    BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
