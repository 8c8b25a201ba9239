//! Passes that are wrong on purpose.
#![forbid(unsafe_code)]

pub mod faults;
pub mod properties;

use relais_plugin_api::prelude::*;

plugin! { description = "passes that are wrong on purpose" }
