//! Passes to watch.

use relais_plugin_api::prelude::*;

/// Does nothing.
#[function_pass(name = "acme.Nothing", opt_level = 1)]
fn nothing(_: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

/// Needs what does nothing.
#[module_pass(name = "acme.NeedsNothing", required = ["Nothing"])]
fn needs_nothing(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

/// Fails.
#[module_pass(name = "acme.Fails")]
fn fails(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    Err(PassError::new("told to fail"))
}

/// Finds two things wrong and one to look at, and changes the function anyway.
#[function_pass(name = "acme.Complain")]
fn complain(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    let Some(&first) = edit.function().bindings(edit.function().body()).first() else { return Ok(()) };
    edit.function_mut().set_name(first, "complained");
    cx.diagnostic(Diagnostic::warning("this looks odd").code("A001").at(first).with_note("it may be meant"));
    cx.diagnostic(Diagnostic::error("this is wrong").code("A002").at(first).help("mend it"));
    cx.diagnostic(Diagnostic::error("this, too").code("A003"));
    Ok(())
}

/// Panics.
#[module_pass(name = "acme.Panics")]
fn panics(_: &mut IRModule, _: &PassCx<'_>) -> Result<(), PassError> {
    panic!("told to panic")
}

/// Options of [`runs_pass`].
#[derive(PassOptions)]
struct RunsPassOptions {
    /// The pass.
    pass: String,
}

/// Runs a pass of any name.
#[module_pass(name = "acme.RunsPass", opt_level = 6)]
fn runs_pass(module: &mut IRModule, cx: &PassCx<'_>, options: &RunsPassOptions) -> Result<(), PassError> {
    *module = cx.get_pass(&options.pass)?.run(module)?;
    Ok(())
}

/// Has a member that requires a pass.
#[sequential_pass(name = "acme.HasNeeds", opt_level = 6, passes = ["acme.NeedsNothing"])]
fn has_needs() {}

/// Sleeps until it is asked to stop.
#[module_pass(name = "acme.Sleeps")]
fn sleeps(_: &mut IRModule, cx: &PassCx<'_>) -> Result<(), PassError> {
    while !cx.is_cancelled() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    Ok(())
}
