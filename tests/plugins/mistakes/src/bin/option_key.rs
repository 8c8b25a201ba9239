use relais_plugin_api::prelude::*;

#[derive(PassOptions)]
struct Unknown {
    #[option(defualt = 1)]
    times: u8,
}

#[derive(PassOptions)]
struct Twice {
    #[option(default = 1)]
    #[option(range = 0..=3)]
    times: u8,
}

#[derive(PassOptions)]
struct HalfOpen {
    #[option(default = 1, range = 0..3)]
    times: u8,
}

#[derive(PassOptions)]
struct NoLiteral {
    #[option(default = u8::MAX)]
    times: u8,
}

fn main() {}
