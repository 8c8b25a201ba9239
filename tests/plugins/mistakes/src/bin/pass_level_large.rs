use relais_plugin_api::prelude::*;

#[function_pass(name = "acme.Large", opt_level = 300)]
fn large(_: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

fn main() {}
