use relais_plugin_api::prelude::*;

#[derive(PassOptions)]
struct Options {
    #[option(range = 0..=3)]
    text: String,
    #[option(range = 1..)]
    list: Vec<i64>,
    #[option(range = 3..=0)]
    empty: i64,
    #[option(range = 1.0..=0.5)]
    empty_of_floats: f64,
    #[option(range = 0..=0.5)]
    floats: i64,
    #[option(range = 0..=256)]
    beyond: u8,
    #[option(range = -1..)]
    below: u8,
}

fn main() {}
