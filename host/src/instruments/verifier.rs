//! `verifier`: checks the module after each pass.

use super::BuiltIn;
use crate::pass::{PassInfo, PassInstrument, check_module};
use relais_plugin_api::{diagnostics::PassError, ir::IRModule};
use std::sync::Arc;

inventory::submit! {
    BuiltIn {
        name: "verifier",
        doc: "Checks the module after each pass.\nA pass that leaves a broken one has failed.",
        options: Vec::new,
        make: |_, _| Ok(Arc::new(VerifyInstrument)),
    }
}

/// Checks the module after each pass.
#[derive(Clone, Copy, Debug, Default)]
pub struct VerifyInstrument;

impl PassInstrument for VerifyInstrument {
    fn name(&self) -> &str {
        "verifier"
    }

    fn accept(&self, module: &IRModule, _pass: &PassInfo<'_>) -> Result<(), PassError> {
        check_module(module)
    }
}
