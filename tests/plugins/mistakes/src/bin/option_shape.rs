use relais_plugin_api::prelude::*;

#[derive(PassOptions)]
struct Tuple(u8);

#[derive(PassOptions)]
struct Generic<T> {
    value: T,
}

#[derive(PassOptions)]
enum Fields {
    One { value: u8 },
}

#[derive(PassOptions)]
enum Empty {}

#[derive(PassOptions)]
union Union {
    value: u8,
}

fn main() {}
