//! A pass may be called like anything that the macros generate.

use relais_plugin_api::{prelude::*, testing};

#[derive(PassOptions)]
struct Options {
    /// Unused.
    #[option(default = false)]
    unused: bool,
}

#[module_pass(name = "t.Module")]
fn module(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

#[function_pass(name = "t.Subject")]
fn subject(_: &mut Editor, _: &PassCx<'_>, options: &Options) -> Result<(), PassError> {
    if options.unused { Err("it is off by default".into()) } else { Ok(()) }
}

#[function_pass(name = "t.Function")]
fn function(_: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

#[prim_func_pass(name = "t.PrimFunc")]
fn prim_func(_: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

#[rewrite_pass(name = "t.Rule")]
fn rule(_: CallView<'_>, _: &mut RewriteCx<'_>) -> Rewrite {
    Rewrite::Keep
}

#[rewrite_pass(name = "t.Call", max_rounds = 3)]
fn call(_: CallView<'_>, _: &mut RewriteCx<'_>, _: &Options) -> Rewrite {
    Rewrite::Keep
}

#[sequential_pass(name = "t.Options")]
fn options(_: &Options) -> Vec<Step> {
    vec![Step::new("t.Cx")]
}

#[module_pass(name = "t.Cx")]
fn cx(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

#[test]
fn passes_called_like_generated_names_run() {
    const TEXT: &str = "def @main(%x) { %1 = Relu(%x); %1 }";
    for name in ["t.Module", "t.Subject", "t.Function", "t.Rule", "t.Call"] {
        assert!(testing::run(name, TEXT).contains("%1 = Relu(%x)"), "{name}");
    }
}
