use relais_plugin_api::prelude::*;

#[function_pass(name = "acme.Function")]
fn of_function(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

#[module_pass(name = "acme.Module")]
fn of_module(_: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

#[rewrite_pass(name = "acme.Rewrite")]
fn of_rewrite(_: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

#[prim_func_pass(name = "acme.PrimFunc")]
fn of_prim_func(_: &mut Function, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

#[rewrite_pass(name = "acme.Context")]
fn of_context(_: CallView<'_>, _: &PassCx<'_>) -> Rewrite {
    Rewrite::Keep
}

/// A type of the author's own is explained by the compiler.
struct Mine;

#[function_pass(name = "acme.Own")]
fn of_own(_: &mut Mine, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

fn main() {}
