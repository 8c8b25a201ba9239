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
//! Calls of operators that have a body, outside the domains that are described completely, are replaced by the body.
//!
//! Innermost calls go first. A function is inlined only where it and its caller import the same versions of the operator
//! sets that it uses; others stay calls, with a remark. The functions stay in the module: `RemoveUnusedFunctions` takes
//! those that nothing calls any more. A function that is called often is copied as often, so the model may grow; that is
//! why no default pipeline inlines.

use relais_plugin_api::{
    ir::{Walk, WalkStep, inline_functions},
    op::add_bodies,
    prelude::*,
};

/// Replaces calls of the module's own functions by their bodies.
#[module_pass(
    name = "relais.Inline",
    aliases = ["relay._transform.Inline", "relay._transform.InlineGlobals"],
    opt_level = 1,
    statistics(inlined = "calls inlined"),
)]
pub fn inline(module: &mut IRModule, cx: &PassCx<'_>) -> Result<(), PassError> {
    let bodies = add_bodies(module, &mut cx.bodies())?;
    let inlined = inline_functions(module)
        .map_err(|error| PassError::new(error).code("I001").help("break the circle; ONNX does not allow recursion"))?;
    cx.count("inlined", inlined.n_calls);
    // A body that nothing calls is not left behind. One that another body calls goes after it.
    for name in bodies.iter().rev() {
        if !module.functions().any(|(_, f)| calls(f, name)) {
            module.remove(name);
        }
    }
    if cx.wants_remarks() {
        for (caller, callee, reason) in &inlined.declined {
            let remark = Diagnostic::note(format_args!("the call of `@{callee}` stays: {reason}"));
            cx.diagnostic(remark.code("I002").in_function(caller));
        }
    }
    Ok(())
}

/// Whether a function calls another one of the module.
fn calls(f: &Function, name: &str) -> bool {
    let mut walk = Walk::new(f);
    let mut is_called = false;
    while let Some(step) = walk.next(f) {
        if let WalkStep::Binding(id) | WalkStep::Leave(id) = step {
            let callee = f.call(id).map(|call| f.expr(call.callee()));
            is_called |= matches!(callee, Some(Expr::GlobalVar(other)) if other == name);
        }
    }
    is_called
}
