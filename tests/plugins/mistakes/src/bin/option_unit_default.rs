use relais_plugin_api::prelude::*;

#[derive(PassOptions)]
struct OtherType {
    #[option(unit = "bytes")]
    name: String,
}

#[derive(PassOptions)]
struct OtherDefault {
    #[option(default = "64k", unit = "bytes")]
    memory: u64,
}

#[derive(PassOptions)]
struct Negative {
    #[option(unit = "bytes", range = -1..)]
    memory: i64,
}

#[module_pass(name = "acme.Negative")]
fn negative(_: &mut IRModule, _: &PassCx<'_>, _: &Negative) -> Result<(), PassError> {
    Ok(())
}

fn main() {}
