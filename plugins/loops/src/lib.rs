//! Passes on loop programs: prim funcs, whose calls are core operators (domain `tir`).

use relais_plugin_api::prelude::*;

mod program;
pub mod unroll_loop;

plugin! { description = "Passes on loop programs." }
