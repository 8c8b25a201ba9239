use relais_plugin_api::prelude::*;

#[derive(PassOptions)]
struct Text {
    #[option(range = 0..=3)]
    name: String,
}

#[derive(PassOptions)]
struct Empty {
    #[option(range = 3..=0)]
    times: i64,
}

#[module_pass(name = "acme.Empty")]
fn empty(_: &mut IRModule, _: &PassCx<'_>, _: &Empty) -> Result<(), PassError> {
    Ok(())
}

fn main() {}
