//! `print-after`: the program after passes.

use super::{BuiltIn, Output, Selection, select::pass_title};
use crate::pass::{PassInfo, PassInstrument};
use relais_plugin_api::{diagnostics::PassError, ir::IRModule};
use std::sync::Arc;

inventory::submit! {
    BuiltIn {
        name: "print-after",
        doc: "Prints the program after passes, large constants left out.",
        options: Selection::options,
        make: |given, output| Ok(Arc::new(PrintAfter::new(Selection::given(given), output.clone()))),
    }
}

/// Prints the program after passes.
pub struct PrintAfter {
    selection: Selection,
    output: Arc<dyn Output>,
}

impl PrintAfter {
    /// Prints these functions after these passes.
    pub fn new(selection: Selection, output: Arc<dyn Output>) -> Self {
        Self { selection, output }
    }
}

impl PassInstrument for PrintAfter {
    fn name(&self) -> &str {
        "print-after"
    }

    fn after(&self, module: &IRModule, pass: &PassInfo<'_>) -> Result<(), PassError> {
        if self.selection.has_pass(pass) {
            self.output.print(&format!("// after {}\n{}\n", pass_title(pass), self.selection.print(module)));
        }
        Ok(())
    }

    fn failed(&self, pass: &PassInfo<'_>, error: &PassError) {
        if self.selection.has_pass(pass) {
            let message = &error.rec().message;
            self.output.print(&format!("// {} failed, the program is as before it: {message}\n\n", pass_title(pass)));
        }
    }
}
