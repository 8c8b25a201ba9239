//! Passes to watch.

use relais_plugin_api::prelude::*;

/// Does nothing.
#[function_pass(name = "acme.Nothing", opt_level = 1)]
fn nothing(_: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

/// Needs what does nothing.
#[module_pass(name = "acme.NeedsNothing", required = ["Nothing"])]
fn needs_nothing(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

/// Fails.
#[module_pass(name = "acme.Fails")]
fn fails(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    Err(PassError::new("told to fail"))
}
