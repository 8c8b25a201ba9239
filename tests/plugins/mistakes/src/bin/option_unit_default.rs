use relais_plugin_api::prelude::*;

#[derive(PassOptions)]
struct Options {
    #[option(unit = "bytes")]
    name: String,
    #[option(unit = "bytes")]
    sizes: Vec<u64>,
    #[option(default = "64k", unit = "bytes")]
    no_unit: u64,
    #[option(default = "64KiB", unit = "bytes", range = 0..=1024)]
    out_of_range: u64,
    #[option(default = "8EiB", unit = "bytes")]
    large: u64,
    #[option(default = "5GB", unit = "bytes")]
    out_of_type: u32,
    #[option(unit = "bytes", range = -1..)]
    negative: i64,
}

fn main() {}
