//! `verifier`: checks the module after each pass.

use super::BuiltIn;
use crate::pass::{Instrument, PassInfo, check_module};
use relais_plugin_api::{diagnostics::PassError, ir::IRModule};
use std::sync::Arc;

inventory::submit! {
    BuiltIn {
        name: "verifier",
        doc: "Checks the module after each pass.\nA pass that leaves a broken one has failed.",
        options: Vec::new,
        make: |_, _| Ok(Arc::new(Verifier)),
    }
}

/// Checks the module after each pass.
#[derive(Clone, Copy, Debug, Default)]
pub struct Verifier;

impl Instrument for Verifier {
    fn name(&self) -> &str {
        "verifier"
    }

    fn accept(&self, module: &IRModule, _pass: &PassInfo<'_>) -> Result<(), PassError> {
        check_module(module)
    }
}
