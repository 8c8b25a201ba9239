//! Passes over loop programs.

use relais_plugin_api::prelude::*;

pub mod simplify;

plugin! { description = "Passes over loop programs." }
