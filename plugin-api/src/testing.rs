//! Trying a pass on text, in an author's own tests, without a host.

use crate::{
    boundary::local,
    ir::verify,
    options::Value,
    text::{self, PrintOptions, Types},
};

/// Runs a pass of this crate on a module in text form, and gives the text of what comes out, with the types of
/// functions and parameters alone. Passes that it requires run first, where they are linked too.
///
/// ```no_run
/// # use relais_plugin_api::testing;
/// let after = testing::run("acme.ReluRelu", "def @main(%x) { %1 = Relu(%x); %2 = Relu(%1); %2 }");
/// assert!(!after.contains("%2"));
/// ```
///
/// # Panics
/// With the reason, when the text is at fault, the pass fails, or what it makes is not a sound module.
pub fn run(pass: &str, text: &str) -> String {
    run_with(pass, Value::Struct(Vec::new()), text)
}

/// As [`run`], with options: `Value::Struct` of their names and values.
///
/// # Panics
/// As for [`run`].
pub fn run_with(pass: &str, options: Value, text: &str) -> String {
    let before = match text::parse_str(text) {
        Ok(module) => module,
        Err(errors) => panic!("{}", lines(&errors)),
    };
    let mut module = before;
    let required = local::info(pass).map_or(&[][..], |info| info.required);
    let required = required.iter().filter(|name| local::info(name).is_some());
    let defaults = Value::Struct(Vec::new());
    for (name, options) in required.map(|&name| (name, &defaults)).chain([(pass, &options)]) {
        match local::run(name, options, &module) {
            Ok(run) => module = run.module,
            Err(error) => panic!("`{name}` failed: {error}"),
        }
    }
    let faults = verify(&module);
    assert!(faults.is_empty(), "`{pass}` broke the module:\n{}", lines(&faults));
    text::print(&module, &PrintOptions { types: Types::Signatures, ..PrintOptions::default() })
}

fn lines(items: &[impl std::fmt::Display]) -> String {
    items.iter().map(|item| format!("{item}\n")).collect()
}
