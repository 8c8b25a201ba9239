use relais_plugin_api::prelude::*;

#[derive(PassOptions)]
struct WithDefault {
    #[option(default = 3)]
    depth: Option<i64>,
}

#[module_pass(name = "acme.WithDefault")]
fn with_default(_: &mut IRModule, _: &PassCx<'_>, _: &WithDefault) -> Result<(), PassError> {
    Ok(())
}

#[derive(PassOptions)]
struct Items {
    depths: Vec<Option<i64>>,
}

fn main() {}
