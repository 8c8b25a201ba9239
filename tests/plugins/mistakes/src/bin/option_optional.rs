use relais_plugin_api::prelude::*;

#[derive(PassOptions)]
struct WithDefault {
    #[option(default = 3)]
    depth: Option<i64>,
}

#[derive(PassOptions)]
struct Items {
    depths: Vec<Option<i64>>,
    deeper: Option<Vec<Vec<Option<i64>>>>,
}

fn main() {}
