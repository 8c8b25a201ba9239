use relais_plugin_api::prelude::*;

#[derive(PassOptions)]
struct Options {
    #[option(default = 1)]
    times: u8,
}

struct NoOptions {
    times: u8,
}

#[function_pass(name = "acme.Value")]
fn value(_: &mut Editor, _: &PassCx<'_>, _: Options) -> Result<(), PassError> {
    Ok(())
}

#[function_pass(name = "acme.Mutable")]
fn mutable(_: &mut Editor, _: &PassCx<'_>, _: &mut Options) -> Result<(), PassError> {
    Ok(())
}

#[function_pass(name = "acme.Underived")]
fn underived(_: &mut Editor, _: &PassCx<'_>, _: &NoOptions) -> Result<(), PassError> {
    Ok(())
}

fn main() {}
