//! Prints the program, to be put between other passes.
//!
//! ```text
//! steps = ["FoldConstant", { pass = "PrintIR", options = { header = "folded" } }, "DeadCodeElimination"]
//! ```
//! says, after constants were folded:
//! ```text
//! PrintIR(folded):
//! def @main(%x: Tensor[(2), float32]) {
//!   …
//! ```
//!
//! It is printed when the pass has run, before the next one begins. Large constants are left out. The program stays as it
//! is. To see it before or after every pass of a name, use the instruments `print-before` and `print-after`.

use relais_plugin_api::{
    prelude::*,
    text::{self, Large, PrintOptions},
};

/// Options of `PrintIR`.
#[derive(PassOptions)]
pub struct PrintIrOptions {
    /// The text before the program.
    #[option(default = "")]
    pub header: String,
}

/// Prints the program as text, large constants left out.
#[module_pass(
    name = "relais.PrintIR",
    aliases = ["transform.PrintIR", "relay._transform.PrintIR", "relax.transform.PrintIR"],
    opt_level = 0,
    phase = "none",
)]
pub fn print_ir(module: &mut IRModule, cx: &PassCx<'_>, options: &PrintIrOptions) -> Result<(), PassError> {
    let text = text::print(module, &PrintOptions { large: Large::Elide, ..PrintOptions::default() });
    cx.diagnostic(Diagnostic::printed(format_args!("PrintIR({}):\n{}", options.header, text.trim_end())));
    Ok(())
}
