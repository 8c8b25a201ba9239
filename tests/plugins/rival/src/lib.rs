//! Provides what another plugin provides, too.
#![forbid(unsafe_code)]

use relais_plugin_api::prelude::*;

plugin! { description = "names that another plugin has, too" }

#[derive(Default)]
struct Counter;

/// Counts nothing.
#[instrument(name = "acme.Counter")]
impl Instrument for Counter {}
