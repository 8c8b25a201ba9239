//! Operators: their descriptions, the inference of types, evaluation, building and rewriting of calls, and patterns.
//!
//! Plugins and hosts use this crate as the modules `op`, `infer`, `build`, `facts`, `interpret`, `rewrite` and `pattern` of
//! `relais_plugin_api`.

pub mod abi;
pub mod bodies;
pub mod build;
pub mod core_facts;
pub mod error;
pub mod facts;
pub mod infer;
pub mod interpret;
pub mod op;
pub mod parts;
pub mod pattern;
pub mod request;
pub mod rewrite;
pub mod run;
pub mod scalar;
pub mod version;
