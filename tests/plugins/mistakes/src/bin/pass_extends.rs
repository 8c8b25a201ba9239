use relais_plugin_api::prelude::*;

#[derive(PassOptions)]
struct Options {
    /// How deep.
    depth: i64,
}

#[module_pass(name = "acme.Deep", extends = "last")]
fn deep(_: &mut IRModule, _: &PassCx<'_>, _: &Options) -> Result<(), PassError> {
    Ok(())
}

#[module_pass(name = "acme.Nowhere", extends = "")]
fn nowhere(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

#[module_pass(name = "acme.Odd", extends = "after simplify")]
fn odd(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

fn main() {}
