use relais_plugin_api::prelude::*;

#[function_pass(name = "acme.Function")]
fn function(_: &mut Editor, _: &PassCx<'_>) {}

#[rewrite_pass(name = "acme.Rewrite")]
fn rewrite(_: CallView<'_>, _: &mut RewriteCx<'_>) -> Option<NodeId> {
    None
}

#[sequential_pass(name = "acme.Sequential")]
fn sequential() -> Vec<String> {
    Vec::new()
}

fn main() {}
