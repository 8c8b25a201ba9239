use relais_plugin_api::prelude::*;

#[derive(PassOptions)]
#[options(check = in_order)]
struct Bounds {
    #[option(default = 0)]
    least: i64,
}

fn in_order(_: &Bounds) -> Result<(), String> {
    Ok(())
}

config_option! { "acme.bounds": Bounds, doc = "Bounds." }

fn main() {}
