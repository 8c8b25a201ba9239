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
struct KeyTwice {
    #[option(default = 1, default = 2)]
    times: u8,
}

#[derive(PassOptions)]
struct HalfOpen {
    #[option(default = 1, range = 0..3)]
    times: u8,
}

#[derive(PassOptions)]
struct NoBound {
    #[option(default = 1, range = ..)]
    times: u8,
}

#[derive(PassOptions)]
struct NoLiteral {
    #[option(default = u8::MAX)]
    times: u8,
}

#[derive(PassOptions)]
struct Documented {
    #[option(default = 1, doc = "How often.")]
    times: u8,
}

#[derive(PassOptions)]
enum Choice {
    #[option(default = 1)]
    One,
}

config_option! { "acme.depth": i64, default = 1, name = "acme.deep" }

fn main() {}
