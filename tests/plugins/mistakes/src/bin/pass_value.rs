use relais_plugin_api::prelude::*;

#[function_pass(name = "acme.Text", opt_level = "2")]
fn text(_: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

#[function_pass(name = "acme.Negative", opt_level = -1)]
fn negative(_: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

#[function_pass(name = "acme.Required", required = "InferType")]
fn required(_: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

#[function_pass(name = "acme.Parallel", parallel = "no")]
fn parallel(_: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

fn main() {}
