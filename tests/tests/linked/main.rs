//! The tests that have plugins linked into them which lie and fail: apart, so that no other test sees those.

mod conformance;
mod properties;

// Linked, so that their passes, operators and evaluators are registered.
use {
    relais_emit_c as _, relais_evaluator as _, relais_gradient as _, relais_graph as _, relais_loops as _,
    relais_onnxruntime as _, relais_operators as _,
};
