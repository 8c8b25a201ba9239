use relais_plugin_api::prelude::*;

config_option! { "acme.depth", default = 1 }

config_option! { acme.depth: i64, default = 1 }

config_option! { "acme depth": i64, default = 1 }

config_option! { "acme.depth": i64, defualt = 1 }

fn main() {}
