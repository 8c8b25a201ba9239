use relais_plugin_api::prelude::*;

#[derive(PassOptions)]
struct OutOfRange {
    #[option(default = 4, range = 0..=3)]
    times: u8,
}

#[derive(PassOptions)]
struct OutOfType {
    #[option(default = 256)]
    times: u8,
}

#[derive(PassOptions)]
struct OtherType {
    #[option(default = "one")]
    times: u8,
}

#[derive(PassOptions)]
enum Style {
    Plain,
}

#[derive(PassOptions)]
struct NoChoice {
    #[option(default = "fancy")]
    style: Style,
}

config_option! { "acme.depth": i64, default = true, doc = "How deep." }

#[module_pass(name = "acme.OutOfRange")]
fn out_of_range(_: &mut IRModule, _: &PassCx<'_>, _: &OutOfRange) -> Result<(), PassError> {
    Ok(())
}

#[module_pass(name = "acme.OutOfType")]
fn out_of_type(_: &mut IRModule, _: &PassCx<'_>, _: &OutOfType) -> Result<(), PassError> {
    Ok(())
}

#[module_pass(name = "acme.OtherType")]
fn other_type(_: &mut IRModule, _: &PassCx<'_>, _: &OtherType) -> Result<(), PassError> {
    Ok(())
}

#[module_pass(name = "acme.NoChoice")]
fn no_choice(_: &mut IRModule, _: &PassCx<'_>, _: &NoChoice) -> Result<(), PassError> {
    Ok(())
}

fn main() {}
