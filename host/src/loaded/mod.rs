//! The items of plugins as the manager asks for them: passes, instruments, facts about operators.

mod catalogue;
mod instrument;
mod operators;
mod pass;
mod rules;
mod services;

pub use instrument::PluginInstrument;
pub use pass::{PassFailure, PassHandle, PassOutcome};
