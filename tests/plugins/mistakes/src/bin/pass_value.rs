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

#[rewrite_pass(name = "acme.NoOps", ops = [])]
fn no_ops(_: CallView<'_>, _: &mut RewriteCx<'_>) -> Rewrite {
    Rewrite::Keep
}

#[rewrite_pass(name = "acme.Dotted", ops = ["Relu", "com.microsoft.Gelu"])]
fn dotted(_: CallView<'_>, _: &mut RewriteCx<'_>) -> Rewrite {
    Rewrite::Keep
}

#[sequential_pass(name = "acme.NoPasses", passes = [])]
fn no_passes() {}

fn main() {}
