//! The plugin for the rules about instruments, contexts and options.
#![forbid(unsafe_code)]

mod analyses;
mod begins;
mod checks;
mod contexts;
mod instruments;
mod kinds;
mod options;
mod passes;
mod requirements;
mod statistics;

use relais_plugin_api::prelude::*;

plugin! { description = "what watches passes, and passes that ask what they run in" }
