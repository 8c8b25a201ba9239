use relais_plugin_api::prelude::*;

use std::collections::BTreeMap;

#[derive(PassOptions)]
struct Options {
    sizes: BTreeMap<String, u32>,
    name: &'static str,
}

fn main() {}
