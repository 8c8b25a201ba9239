use relais_plugin_api::prelude::*;

#[derive(PassOptions)]
#[options(chek = in_order)]
struct UnknownKey {
    least: i64,
}

#[derive(PassOptions)]
#[options(check = "in_order")]
struct NoFunction {
    least: i64,
}

#[derive(PassOptions)]
#[options(check = in_order, check = in_order)]
struct Twice {
    least: i64,
}

#[derive(PassOptions)]
#[options(check = in_order)]
enum Choice {
    One,
}

fn main() {}
