use relais_plugin_api::prelude::*;

const MOST: i64 = 3;

/// Options that no pass takes are reported, too.
#[derive(PassOptions)]
struct Numbers {
    #[option(default = 4, range = 0..=3)]
    out_of_range: u8,
    #[option(default = 4, range = 0..=MOST)]
    out_of_a_constant: u8,
    #[option(default = -1)]
    out_of_type: u16,
    #[option(default = "one")]
    other_type: i64,
    #[option(default = 0.5)]
    with_a_fraction: u8,
    #[option(default = 1)]
    without_a_fraction: f64,
    #[option(default = 1.5, range = 0.0..=1.0)]
    out_of_floats: f64,
}

#[derive(PassOptions)]
enum Style {
    Plain,
    InColour,
}

#[derive(PassOptions)]
struct Inner {
    #[option(default = 1)]
    times: u8,
}

#[derive(PassOptions)]
struct Others {
    #[option(default = "fancy")]
    no_choice: Style,
    #[option(default = ["plain", "fancy"])]
    no_choices: Vec<Style>,
    #[option(default = [1, 256])]
    large_item: Vec<u8>,
    #[option(default = 1)]
    no_list: Vec<u8>,
    #[option(default = 1, name = "renamed")]
    no_text: String,
    #[option(default = "")]
    no_path: std::path::PathBuf,
    #[option(default = 1)]
    table: Inner,
}

config_option! { "acme.depth": i64, default = true, doc = "How deep." }

fn main() {}
