//! The pipelines and the targets that are part of Relais, as text.

macro_rules! pipelines {
    ($($name:literal)*) => {
        /// The built-in pipelines: name and text.
        pub const BUILT_IN: &[(&str, &str)] = &[$(($name, include_str!(concat!($name, ".toml")))),*];
    };
}

pipelines! {
    "default"
    "O0"
    "O1"
    "O2"
    "O3"
    "build-c"
    "dtype"
    "modern"
    "onnxruntime"
    "opset"
    "quantized"
    "rules"
    "size"
    "strict"
}

/// The target of onnxruntime: its kernels by operator, import and element type. `docs/checks.md` describes the form.
pub const ONNXRUNTIME_TARGET: &str = include_str!("targets/onnxruntime.toml");
