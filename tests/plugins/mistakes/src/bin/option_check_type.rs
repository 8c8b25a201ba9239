use relais_plugin_api::prelude::*;

#[derive(PassOptions)]
#[options(check = in_order)]
struct OtherResult {
    least: i64,
    most: i64,
}

fn in_order(options: &OtherResult) -> bool {
    options.least <= options.most
}

#[derive(PassOptions)]
#[options(check = by_value)]
struct ByValue {
    least: i64,
}

fn by_value(_: ByValue) -> Result<(), String> {
    Ok(())
}

fn main() {}
