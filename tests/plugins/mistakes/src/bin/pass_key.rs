use relais_plugin_api::prelude::*;

#[function_pass(name = "acme.Function", ops = ["Relu"])]
fn function(_: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

#[rewrite_pass(name = "acme.Rewrite", op = ["Relu"])]
fn rewrite(_: CallView<'_>, _: &mut RewriteCx<'_>) -> Rewrite {
    Rewrite::Keep
}

#[module_pass(name = "acme.Module", parallel = true)]
fn module(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

#[sequential_pass(name = "acme.Sequential", steps = ["A"])]
fn sequential() {}

#[module_pass(name = "acme.Twice", opt_level = 1, opt_level = 2)]
fn twice(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

#[rewrite_pass(name = "acme.Typo", optlevel = 1)]
fn typo(_: CallView<'_>, _: &mut RewriteCx<'_>) -> Rewrite {
    Rewrite::Keep
}

fn main() {}
