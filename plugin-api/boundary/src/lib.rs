//! Everything that crosses between a host and a plugin: options, contexts, passes and instruments, the records that describe them,
//! and the tables and layouts by which they are called.
//!
//! Plugins and hosts use this crate as the modules `boundary`, `options`, `context`, `pass` and `instrument` of
//! `relais_plugin_api`.
//!
//! # Modules
//!
//! Each uses only those listed before it; one that is not listed is used by no other.
//!
//! 1. `abi`: the types that cross the boundary, beside the IR
//! 2. `current`: the context of the host's thread
//! 3. `options`: options of passes and of contexts: their schemas, which are stored in records, and their values
//! 4. `context`: the pass context that code of a plugin runs in
//! 5. `record`: the records in a plugin's file
//! 6. `instrument`: instruments, which watch passes (rules R17 to R20), as a plugin writes them
//! 7. `logger`: `log` in a plugin
//! 8. `parallel`: parallel loops on the host's threads
//! 9. `analysis`: analyses, as a plugin writes them and passes ask for them
//! 10. `pass`: the context of a pass, and the requests that it can make of its host
//! 11. `entry`: what the macros expand to
//! 12. `foreign`: passes and operators whose code shares no types with this library
//! 13. `fingerprint`: a number that differs where layouts do
//! 14. `local`: a host for an author's tests, without a host library
//! 15. `rules`: rules in passes: checked and applied with the facts that the host has about operators

pub mod abi;
pub mod analysis;
pub mod context;
mod current;
pub mod entry;
pub mod fingerprint;
pub mod foreign;
pub mod instrument;
pub mod local;
pub mod logger;
pub mod options;
mod parallel;
pub mod pass;
pub mod record;
pub mod rules;
