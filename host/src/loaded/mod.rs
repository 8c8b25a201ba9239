//! What plugins provide, as the manager asks for it: passes, instruments, type relations.

mod catalogue;
mod instrument;
mod pass;
mod relations;
mod services;

pub use instrument::PluginInstrument;
pub use pass::{Outcome, PassFailure, PassHandle};
