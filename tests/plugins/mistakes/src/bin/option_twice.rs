use relais_plugin_api::prelude::*;

#[derive(PassOptions)]
struct Options {
    #[option(default = 1)]
    times: u8,
    #[option(default = 2, name = "times")]
    more: u8,
}

#[derive(PassOptions)]
enum Style {
    InColour,
    #[option(name = "in_colour")]
    Colourful,
}

fn main() {}
