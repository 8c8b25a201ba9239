use relais_plugin_api::prelude::*;

plugin! { description = "passes of a company" }

plugin! { description = "more passes of a company" }

fn main() {}
