//! `print-before`: the program before passes.

use super::{BuiltIn, Output, Selection, select::pass_title};
use crate::pass::{PassInfo, PassInstrument};
use relais_plugin_api::{diagnostics::PassError, ir::IRModule};
use std::sync::Arc;

inventory::submit! {
    BuiltIn {
        name: "print-before",
        doc: "Prints the program before passes, large constants left out.",
        options: Selection::options,
        make: |given, output| Ok(Arc::new(PrintBefore::new(Selection::given(given), output.clone()))),
    }
}

/// Prints the program before passes.
pub struct PrintBefore {
    selection: Selection,
    output: Arc<dyn Output>,
}

impl PrintBefore {
    /// Prints these functions before these passes.
    pub fn new(selection: Selection, output: Arc<dyn Output>) -> Self {
        Self { selection, output }
    }
}

impl PassInstrument for PrintBefore {
    fn name(&self) -> &str {
        "print-before"
    }

    fn before(&self, module: &IRModule, pass: &PassInfo<'_>) -> Result<(), PassError> {
        if self.selection.has_pass(pass) {
            self.output.print(&format!("// before {}\n{}\n", pass_title(pass), self.selection.print(module)));
        }
        Ok(())
    }
}
