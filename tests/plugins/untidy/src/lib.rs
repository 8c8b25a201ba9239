//! Provides an item of another plugin, a pipeline that cannot be parsed, and a pass for an unknown extension point.
#![forbid(unsafe_code)]

use relais_plugin_api::prelude::*;

plugin! { description = "names that another plugin has, too" }

pipeline! { name = "tidy.All", toml = "steps = []\n" }

pipeline! { name = "untidy.Broken", toml = "# Two faults.\nopt_lvl = 2\nsteps = [{ pas = \"A\" }]\n" }

pipeline! { name = "untidy.Files", toml = "steps = [{ include = \"../../etc/passwd\" }, { include = \"all.toml\" }]" }

pipeline! { name = "untidy.Cycle", toml = "steps = [{ include = \"untidy.Cycle\" }]" }

/// Does nothing.
#[module_pass(name = "untidy.Nothing", extends = "after-simplfy")]
fn nothing(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

/// Does nothing.
#[module_pass(name = "tidy.Check", extends = "tidy-checks")]
fn check(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}
