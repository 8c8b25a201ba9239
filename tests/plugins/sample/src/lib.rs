//! Passes that behave, and passes that do not.
#![forbid(unsafe_code)]

mod bad;
pub(crate) mod good;
mod ops;

use relais_plugin_api::prelude::*;

plugin! { description = "passes for the tests of the plugin boundary" }
