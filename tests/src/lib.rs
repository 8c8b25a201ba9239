//! Shared code of the end-to-end tests.

pub mod cargo_built;
pub mod cli;
pub mod filetest;
pub mod golden;
pub mod many;
pub mod page;
pub mod reference;
pub mod venv;

// Linked, so that their passes, operators and evaluators are registered in the test programs.
pub use relais_emit_c as emit_c;
pub use relais_evaluator as evaluator;
pub use relais_gradient as gradient;
pub use relais_graph as graph;
pub use relais_loops as loops;
pub use relais_onnxruntime as onnxruntime;
pub use relais_operators as operators;
