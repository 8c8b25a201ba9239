//! TVM's options, as its passes register them, and a pass that reads them.

use relais_plugin_api::prelude::*;

/// What TVM's `UnrollLoopConfig` holds.
#[derive(PassOptions, PartialEq)]
struct UnrollLoop {
    /// The number of steps up to which a loop is unrolled by itself.
    #[option(default = 0)]
    auto_max_step: i64,
    /// How deep nested loops may be unrolled by themselves.
    #[option(default = 8)]
    auto_max_depth: i64,
    /// The extent up to which a loop is unrolled whatever its steps.
    #[option(default = 0)]
    auto_max_extent: i64,
    /// Whether the loop is unrolled here, rather than marked for the code generator.
    #[option(default = true)]
    explicit_unroll: bool,
    /// Whether local memory is always accessed by constant indices.
    #[option(default = false)]
    unroll_local_access: bool,
}

config_option! { "tir.UnrollLoop": UnrollLoop, doc = "How loops are unrolled." }
config_option! { "relay.FuseOps.max_depth": i64, default = 256, range = 1.., doc = "The most operators in one group." }

/// Says what its options are.
#[module_pass(name = "acme.AskOptions")]
fn ask_options(_: &mut IRModule, cx: &PassCx<'_>) -> Result<(), PassError> {
    let unroll: Option<UnrollLoop> = cx.config("tir.UnrollLoop");
    if unroll != PassContext::current().config("tir.UnrollLoop") {
        return Err(PassError::new("`config` and `context` differ"));
    }
    let UnrollLoop { auto_max_step, auto_max_depth, auto_max_extent, explicit_unroll, unroll_local_access } =
        unroll.ok_or("nobody registered `tir.UnrollLoop`")?;
    let max_depth: i64 = cx.config("relay.FuseOps.max_depth").ok_or("nobody registered `relay.FuseOps.max_depth`")?;
    cx.diagnostic(Diagnostic::note(format_args!(
        "step {auto_max_step}, depth {auto_max_depth}, extent {auto_max_extent}, explicit {explicit_unroll}, \
         local {unroll_local_access}; at most {max_depth}"
    )));
    Ok(())
}
