//! Passes that are asked before a run whether they can work.

use relais_plugin_api::prelude::*;

/// Requirements of a pass.
#[derive(PassOptions)]
struct Needs {
    /// The operator that `main` calls.
    #[option(default = "Relu")]
    operator: String,
}

fn calls(module: &IRModule, operator: &str) -> bool {
    let main = module.main();
    main.is_some_and(|main| main.all_bindings().any(|id| main.call(id).is_some_and(|call| call.is_op(operator))))
}

fn calls_it(module: &IRModule, cx: &PassCx<'_>, options: &Needs) -> Result<(), PassError> {
    cx.diagnostic(Diagnostic::warning(format_args!("looking for `{}`", options.operator)).code("A010"));
    if calls(module, &options.operator) {
        return Ok(());
    }
    Err(PassError::new(format_args!("`main` does not call `{}`", options.operator)).code("A011").in_function(MAIN))
}

/// Does nothing to programs that call an operator.
#[function_pass(name = "acme.NeedsOperator", check = calls_it)]
fn needs_operator(_: &mut Editor, cx: &PassCx<'_>, _: &Needs) -> Result<(), PassError> {
    cx.diagnostic(Diagnostic::note("ran"));
    Ok(())
}

/// Checks without options, in a module of their own.
mod without {
    use super::*;

    pub fn is_neg(module: &IRModule, cx: &PassCx<'_>) -> Result<(), PassError> {
        // Counts of a check are ignored.
        cx.count("asked", 1);
        calls(module, "Neg").then_some(()).ok_or_else(|| PassError::new("`main` does not call `Neg`"))
    }

    pub fn complains(_: &IRModule, cx: &PassCx<'_>) -> Result<(), PassError> {
        cx.diagnostic(Diagnostic::error("something is wrong").code("A012"));
        Ok(())
    }
}

/// Does nothing to modules that call `Neg`.
#[module_pass(name = "acme.NeedsNeg", check = without::is_neg, statistics(asked = "times it was asked"))]
fn needs_neg(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

/// Rewrites nothing, and says before that something is wrong.
#[rewrite_pass(name = "acme.Complains", ops = ["Relu"], check = without::complains)]
fn complains(_: CallView<'_>, _: &mut RewriteCx<'_>) -> Rewrite {
    Rewrite::Keep
}

/// Requires a pass that needs `Neg`.
#[module_pass(name = "acme.RequiresNeg", required = ["acme.NeedsNeg"])]
fn requires_neg(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

/// Has a member that needs `Neg`.
#[sequential_pass(name = "acme.HoldsNeg")]
fn holds_neg() -> Vec<Step> {
    vec![Step::new("acme.NeedsOperator"), Step::new("acme.NeedsNeg")]
}

/// Runs a pass that needs `Neg`.
#[module_pass(name = "acme.RunsNeg")]
fn runs_neg(module: &mut IRModule, cx: &PassCx<'_>) -> Result<(), PassError> {
    *module = cx.get_pass("acme.NeedsNeg")?.run(module)?;
    Ok(())
}
