//! Operators: their descriptions, the inference of types, evaluation, building and rewriting of calls, and patterns.
//!
//! Plugins and hosts use this crate as the modules `op`, `infer`, `build`, `facts`, `interpret`, `rewrite` and `pattern` of
//! `relais_plugin_api`.
//!
//! # Modules
//!
//! Each uses only those listed before it; one that is not listed is used by no other.
//!
//! 1. `error`: the errors of the functions that belong to operators
//! 2. `request`: one call of an operator, by value
//! 3. `version`: versions of the boundary
//! 4. `abi`: the functions of the host, and those of operators, as they cross the plugin boundary
//! 5. `op`: descriptions of operators: schema, type relation, effects, fusion kind, layouts, evaluator
//! 6. `relations`: what is asked about operators: typing, checking, blaming
//! 7. `infer`: type inference over a whole function: one pass in program order, each call typed by its operator's
//!    relation
//! 8. `one_call`: one call by value as a function of its own
//! 9. `bodies`: operators in terms of other operators
//! 10. `build`: making nodes that are checked
//! 11. `core_facts`: the facts about the core operators, for rewrites of loop programs
//! 12. `scalar`: the values that the core operators compute: the one definition of their arithmetic, shared by all
//!     that compute with it
//! 13. `run`: the exact interpreter of loop programs
//! 14. `interpret`: runs a function on tensors, with the evaluators there are
//! 15. `facts`: the facts about operators, as passes and hosts look them up
//! 16. `parts`: the functions of an operator for other libraries
//! 17. `rewrite`: the rewrite driver: authors match one call and decide; the driver mutates
//! 18. `pattern`: rules as text: compiled and matched

pub mod abi;
pub mod bodies;
pub mod build;
pub mod core_facts;
pub mod error;
pub mod facts;
pub mod infer;
pub mod interpret;
mod one_call;
pub mod op;
pub mod parts;
pub mod pattern;
pub mod relations;
pub mod request;
pub mod rewrite;
pub mod run;
pub mod scalar;
pub mod version;
