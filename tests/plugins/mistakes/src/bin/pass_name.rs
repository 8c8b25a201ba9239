use relais_plugin_api::prelude::*;

#[function_pass(name = "fuse my thing")]
fn pass(_: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

#[function_pass(name = FuseMyThing)]
fn no_text(_: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

#[function_pass(name = "acme.Alias", aliases = ["", "acme.Other"])]
fn alias(_: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

fn main() {}
