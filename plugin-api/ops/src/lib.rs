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
//! 4. `needs`: the least version of the boundary that follows from what a plugin's code calls
//! 5. `abi`: the functions of the host, and those of operators, as they cross the plugin boundary
//! 6. `op`: descriptions of operators: schema, type relation, effects, fusion kind, layouts, evaluator
//! 7. `relations`: what is asked about operators: typing, checking, blaming
//! 8. `infer`: type inference over a whole function: one pass in program order, each call typed by its operator's
//!    relation
//! 9. `one_call`: one call by value as a function of its own
//! 10. `bodies`: operators in terms of other operators
//! 11. `build`: making nodes that are checked
//! 12. `core_facts`: the facts about the core operators, for rewrites of loop programs
//! 13. `scalar`: the values that the core operators compute: the one definition of their arithmetic, shared by all
//!     that compute with it
//! 14. `run`: the exact interpreter of loop programs
//! 15. `interpret`: runs a function on tensors, with the evaluators there are
//! 16. `facts`: the facts about operators, as passes and hosts look them up
//! 17. `parts`: the functions of an operator for other libraries
//! 18. `rewrite`: the rewrite driver: authors match one call and decide; the driver mutates
//! 19. `pattern`: rules as text: compiled and matched

pub mod abi;
pub mod bodies;
pub mod build;
pub mod core_facts;
pub mod error;
pub mod facts;
pub mod infer;
pub mod interpret;
pub mod needs;
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
