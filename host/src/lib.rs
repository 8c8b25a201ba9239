//! Relais, the pass host.
//!
//! # Modules
//!
//! Each uses only those listed before it; one that is not listed is used by no other.
//!
//! 1. `words`: the wording of messages: lists of names, the names most similar to a mistyped one, sizes, paths
//! 2. `options`: schemas of options as records have them, and checking values against them
//! 3. `pass`: passes as pipelines, instruments and the manager know them: the facts about them, their environment, the
//!    contexts and instruments around them, and where they come from
//! 4. `table`: tables of text, whose columns line up
//! 5. `instruments`: the built-in instruments, each in a file of its own
//! 6. `isolation`: how plugins are isolated: the limits of their processes, and the program that these are
//! 7. `pipeline`: pipelines: what a TOML file says, its names resolved, and TOML again
//! 8. `plugin`: finding, judging and opening plugins
//! 9. `worker`: plugins in processes of their own, as the host sees them
//! 10. `registry`: from names to what plugins register
//! 11. `reload`: plugins whose files are read again
//! 12. `inspect`: everything about a file that can be found out without opening it as a plugin
//! 13. `listing`: lists of everything that is available, as JSON
//! 14. `manager`: running pipelines: contexts, requirements, instruments, roll-back
//! 15. `loaded`: what plugins have, as the manager asks for it: passes, instruments, facts about operators
//! 16. `serve`: the process of an isolated plugin, for its host
//! 17. `lock`: lock files: the parts of a pipeline, recorded so that a later run can insist on them
//! 18. `report`: the contents of a model, and the comparison of two models
//! 19. `transform`: passes, sequences and contexts for programs that embed the host

pub mod inspect;
pub mod instruments;
pub mod isolation;
pub mod listing;
pub mod loaded;
pub mod lock;
pub mod manager;
pub mod options;
pub mod pass;
pub mod pipeline;
pub mod plugin;
pub mod registry;
pub mod reload;
pub mod report;
#[cfg(target_os = "linux")]
pub mod serve;
pub mod table;
pub mod transform;
pub mod words;
mod worker;

pub use relais_files::{self as files, mapped};
pub use relais_onnx as onnx;
pub use relais_plugin_api::ir;
