//! Type relations, evaluators, rewrites and passes whose results are untrue. A host that believes any of it writes a
//! wrong model.

mod operators;
mod passes;
mod rewrites;

use relais_plugin_api::prelude::*;

plugin! {
    description = "says what is not so",
    closed_domains = &[("untrue", 1)],
}
