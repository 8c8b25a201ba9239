use relais_plugin_api::prelude::*;

#[derive(PassOptions)]
struct Options {
    #[option(default = 1)]
    times: u8,
    #[option(default = 2, name = "times")]
    more: u8,
}

#[module_pass(name = "acme.Twice")]
fn twice(_: &mut IRModule, _: &PassCx<'_>, _: &Options) -> Result<(), PassError> {
    Ok(())
}

fn main() {}
