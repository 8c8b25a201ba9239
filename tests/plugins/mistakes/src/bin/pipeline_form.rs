use relais_plugin_api::prelude::*;

pipeline! { "acme.tidy", "steps = []" }

pipeline! { name = "acme.tidy" }

pipeline! { name = "acme.tidy", file = "tidy.toml" }

pipeline! { name = "acme tidy", toml = "steps = []" }

pipeline! { name = "acme.empty", toml = "" }

pipeline! { name = "acme.number", toml = 3 }

fn main() {}
