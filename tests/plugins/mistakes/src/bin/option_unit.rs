use relais_plugin_api::prelude::*;

#[derive(PassOptions)]
struct OtherUnit {
    #[option(default = 3, unit = "miles")]
    memory: u64,
}

fn main() {}
