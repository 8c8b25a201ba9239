use relais_plugin_api::prelude::*;

plugin! {}

plugin! { "passes of a company" }

plugin! { name = "acme" }

plugin! { description = " " }

plugin! { description = "passes of a company", version = "1.0" }

fn main() {}
