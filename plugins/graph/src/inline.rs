//! Replaces calls of the module's own functions by their bodies.
//!
//! ```text
//! def @main(%x) { %1 = @double(%x); %1 }
//! def @double(%v) { %1 = Add(%v, %v); %1 }
//! ```
//! becomes
//! ```text
//! def @main(%x) { %1 = Add(%x, %x); %1 }
//! def @double(%v) { … }
//! ```
//!
//! Innermost calls go first. A function is inlined only where it and its caller import the same versions of the operator
//! sets that it uses; others stay calls, with a remark. The functions stay in the module: `RemoveUnusedFunctions` takes
//! those that nothing calls any more. A function that is called often is copied as often, so the model may grow; that is
//! why no default pipeline inlines.

use relais_plugin_api::prelude::*;

/// Replaces calls of the module's own functions by their bodies.
#[module_pass(
    name = "relais.Inline",
    aliases = ["relay._transform.Inline", "relay._transform.InlineGlobals"],
    opt_level = 1,
    statistics(inlined = "calls inlined"),
)]
pub fn inline(module: &mut IRModule, cx: &PassCx<'_>) -> Result<(), PassError> {
    let inlined = inline_functions(module)
        .map_err(|error| PassError::new(error).code("I001").help("break the circle; ONNX does not allow recursion"))?;
    cx.count("inlined", inlined.n_calls);
    if cx.wants_remarks() {
        for (caller, callee, reason) in &inlined.declined {
            let remark = Diagnostic::note(format_args!("the call of `@{callee}` stays: {reason}"));
            cx.diagnostic(remark.code("I002").in_function(caller));
        }
    }
    Ok(())
}
