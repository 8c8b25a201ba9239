//! The items of plugins as the manager asks for them: passes, instruments, type relations.

mod catalogue;
mod instrument;
mod pass;
mod relations;
mod services;

pub use instrument::PluginInstrument;
pub use pass::{Outcome, PassFailure, PassHandle};
