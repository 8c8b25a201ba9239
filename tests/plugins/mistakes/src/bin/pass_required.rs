use relais_plugin_api::prelude::*;

#[function_pass(name = "acme.NoList", required = ("acme.Other", limit = 2))]
fn no_list(_: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

#[function_pass(name = "acme.NoName", required = ["acme.Other", 2])]
fn no_name(_: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

#[function_pass(name = "acme.Empty", required = [""])]
fn empty(_: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

#[function_pass(name = "acme.Nothing", required = [()])]
fn nothing(_: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

#[function_pass(name = "acme.NoKey", required = [("acme.Other", 2)])]
fn no_key(_: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

#[function_pass(name = "acme.Quoted", required = [("acme.Other", "limit" = 2)])]
fn quoted(_: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

#[function_pass(name = "acme.Constant", required = [("acme.Other", limit = u8::MAX)])]
fn constant(_: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

#[function_pass(name = "acme.Twice", required = [("acme.Other", limit = 1, limit = 2)])]
fn twice(_: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

fn main() {}
