use relais_plugin_api::prelude::*;

#[function_pass(opt_level = 1)]
fn pass(_: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

fn main() {}
