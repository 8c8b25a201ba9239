//! Passes that count.

use relais_plugin_api::prelude::*;

/// How a pass counts.
#[derive(PassOptions)]
enum Counting {
    /// As it declares.
    Right,
    /// And something else, whose name is nearly declared.
    Misspelt,
    /// And something else.
    Undeclared,
    /// And fails.
    Failing,
}

/// Options of [`count`].
#[derive(PassOptions)]
struct CountOptions {
    /// How it counts.
    #[option(default = "right")]
    counting: Counting,
}

/// Counts calls.
#[function_pass(
    name = "acme.Count",
    statistics(calls = "calls seen", turns = "turns of a loop", never = "what never happens")
)]
fn count(edit: &mut Editor, cx: &PassCx<'_>, options: &CountOptions) -> Result<(), PassError> {
    let f = edit.function();
    cx.count("calls", f.bindings(f.body()).iter().filter(|&&id| f.call(id).is_some()).count());
    cx.parallel_for(100, &|_| cx.count("turns", 1));
    match options.counting {
        Counting::Right => {}
        Counting::Misspelt => cx.count("call", 1),
        Counting::Undeclared => cx.count("functions", 1),
        Counting::Failing => return Err(PassError::new("told to fail")),
    }
    Ok(())
}

/// Makes one `Relu` of two in a row.
#[rewrite_pass(name = "acme.ReluRelu", ops = ["Relu"])]
fn relu_relu(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
    cx.call_of_op(call.args()[0], "Relu").map_or(Rewrite::Keep, |inner| Rewrite::Replace(inner.id))
}

/// Has others count.
#[module_pass(name = "acme.HaveCounted", statistics(asked = "passes asked"))]
fn have_counted(module: &mut IRModule, cx: &PassCx<'_>) -> Result<(), PassError> {
    cx.count("asked", 1);
    *module = cx.get_pass("acme.Count")?.run(module)?;
    Ok(())
}

/// Runs two passes, of which the second changes nothing.
#[module_pass(name = "acme.RunsTwo")]
fn runs_two(module: &mut IRModule, cx: &PassCx<'_>) -> Result<(), PassError> {
    *module = cx.get_pass("acme.ReluRelu")?.run(module)?;
    *module = cx.get_pass("acme.Count")?.run(module)?;
    Ok(())
}
