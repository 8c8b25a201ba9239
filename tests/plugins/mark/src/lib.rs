//! A library that leaves a mark when it is opened, and one pass.

use relais_plugin_api::prelude::*;

plugin! { description = "leaves a mark when it is opened" }

#[used]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(windows, unsafe(link_section = ".CRT$XCU"))]
#[cfg_attr(not(any(target_vendor = "apple", windows)), unsafe(link_section = ".init_array"))]
static CONSTRUCTOR: extern "C" fn() = constructor;

extern "C" fn constructor() {
    if let Some(path) = std::env::var_os("RELAIS_TEST_MARK") {
        std::fs::write(path, "opened").expect("the mark can be written");
    }
    if std::env::var_os("RELAIS_TEST_EXIT").is_some() {
        std::process::exit(0);
    }
}

/// Does nothing.
#[module_pass(name = "mark.Nothing", aliases = ["other.Nothing"])]
fn nothing(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}
