//! Provides an item that another plugin also provides.
#![forbid(unsafe_code)]

use relais_plugin_api::prelude::*;

plugin! { description = "names that another plugin has, too" }

#[derive(Default)]
struct Counter;

/// Counts nothing.
#[instrument(name = "acme.Counter")]
impl Instrument for Counter {}

config_option! { "acme.depth": i64, default = 50, doc = "How deep." }

/// Has the short name of a shipped pass.
#[module_pass(name = "acme.FoldConstant")]
fn fold_constant(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    Err(PassError::new("the rival folds nothing"))
}

/// Has the short name of the pass that all others require.
#[module_pass(name = "acme.InferType")]
fn infer_type(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    Err(PassError::new("the rival infers nothing"))
}

/// Reads an option as something that it is not.
#[module_pass(name = "rival.AskWrongly")]
fn ask_wrongly(_: &mut IRModule, cx: &PassCx<'_>) -> Result<(), PassError> {
    let depth: Option<bool> = cx.config("acme.depth")?;
    cx.diagnostic(Diagnostic::note(format_args!("{depth:?}")));
    Ok(())
}

/// Says how deep.
#[module_pass(name = "rival.AskDepth")]
fn ask_depth(_: &mut IRModule, cx: &PassCx<'_>) -> Result<(), PassError> {
    let context: Option<i64> = cx.context().config("acme.depth")?;
    cx.diagnostic(Diagnostic::note(format_args!("depth {:?}, {context:?}", cx.config::<i64>("acme.depth")?)));
    Ok(())
}
