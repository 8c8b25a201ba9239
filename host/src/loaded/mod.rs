//! The items of plugins as the manager asks for them: passes, instruments, facts about operators.

mod analysis;
mod catalogue;
mod instrument;
mod operators;
mod outer;
mod pass;
mod rules;
mod services;

#[cfg(target_os = "linux")]
pub(crate) use analysis::compute_analysis;
pub use instrument::PluginInstrument;
#[cfg(target_os = "linux")]
pub(crate) use outer::Outer;
#[cfg(target_os = "linux")]
pub(crate) use pass::{Answered, Asked};
pub use pass::{PassFailure, PassHandle, PassOutcome};
