use relais_plugin_api::prelude::*;

plugin! {}

plugin! { "passes of a company" }

plugin! { name = "acme" }

plugin! { description = " " }

fn main() {}
