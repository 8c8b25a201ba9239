use relais_plugin_api::prelude::*;

#[function_pass(name = "acme.Few")]
fn few(_: &mut Editor) -> Result<(), PassError> {
    Ok(())
}

#[rewrite_pass(name = "acme.Many")]
fn many(_: CallView<'_>, _: &mut RewriteCx<'_>, _: &(), _: &()) -> Rewrite {
    Rewrite::Keep
}

#[sequential_pass(name = "acme.Members", passes = ["FoldConstant"])]
fn members(_: &()) {}

#[function_pass(name = "acme.Async")]
async fn asynchronous(_: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

#[module_pass(name = "acme.Generic")]
fn generic<T>(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

#[module_pass(name = "acme.NoFunction")]
struct NoFunction;

fn main() {}
