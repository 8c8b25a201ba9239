//! Standalone C99 from loop programs.

use relais_plugin_api::prelude::*;

mod arrays;
mod body;
mod driver;
pub mod emit_c;
mod expression;
mod facts;
mod globals;
mod helpers;
mod names;
mod vectors;

plugin! { description = "Standalone C99 from loop programs." }
