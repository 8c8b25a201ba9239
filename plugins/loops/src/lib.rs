//! Passes over loop programs.

use relais_plugin_api::prelude::*;

mod program;
pub mod simplify;
pub mod unroll_loop;

plugin! { description = "Passes over loop programs." }
