use relais_plugin_api::prelude::*;

#[function_pass(name = "acme.Text", check = "can_work")]
fn text(_: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

fn without_options(_: &IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

/// Options of the pass.
#[derive(PassOptions)]
struct Options {
    /// How deep.
    #[option(default = 1)]
    _depth: i64,
}

#[function_pass(name = "acme.Options", check = without_options)]
fn options(_: &mut Editor, _: &PassCx<'_>, _: &Options) -> Result<(), PassError> {
    Ok(())
}

fn says_no(_: &IRModule, _: &PassCx<'_>) -> bool {
    false
}

#[module_pass(name = "acme.Result", check = says_no)]
fn result(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

fn main() {}
