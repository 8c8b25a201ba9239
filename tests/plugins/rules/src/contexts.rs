//! Passes that query their context.

use relais_plugin_api::{
    context::{ContextSettings, PassContext},
    prelude::*,
};
use std::sync::Mutex;

config_option! { "acme.depth": i64, default = 3, range = 0..=100, doc = "How deep." }

/// A context as text.
fn shown(context: &PassContext) -> String {
    let depth: Option<i64> = context.config("acme.depth").unwrap();
    let required: Vec<&str> = context.required().collect();
    let disabled: Vec<&str> = context.disabled().collect();
    format!("level {}, depth {depth:?}, required {required:?}, disabled {disabled:?}", context.opt_level())
}

/// Says what its context is, by its argument and without one, itself and in the turns of a loop.
#[function_pass(name = "acme.AskContext")]
fn ask_context(_: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    let given = shown(&cx.context());
    let odd = Mutex::new(Vec::new());
    let compare = |found: String| {
        if found != given {
            odd.lock().unwrap().push(found);
        }
    };
    compare(shown(&PassContext::current()));
    cx.parallel_for(32, &|_| {
        compare(shown(&PassContext::current()));
        cx.parallel_for(4, &|_| compare(shown(&PassContext::current())));
        compare(shown(&PassContext::current()));
    });
    compare(shown(&PassContext::current()));
    for found in odd.into_inner().unwrap() {
        cx.diagnostic(Diagnostic::error(format_args!("{found}, not {given}")));
    }
    if cx.config::<i64>("acme.depth")? != cx.context().config("acme.depth")? {
        cx.diagnostic(Diagnostic::error("`config` and `context` differ"));
    }
    cx.diagnostic(Diagnostic::note(given));
    Ok(())
}

/// Says what its context is, and runs a pass that does, itself and in the turns of a loop.
#[module_pass(name = "acme.AskTwice")]
fn ask_twice(module: &mut IRModule, cx: &PassCx<'_>) -> Result<(), PassError> {
    cx.diagnostic(Diagnostic::note(shown(&PassContext::current())));
    let shared = &*module;
    cx.parallel_for(32, &|_| {
        let ran = cx.get_pass("AskContext").and_then(|pass| pass.run(shared));
        assert!(ran.is_ok(), "{:?}", ran.err());
    });
    *module = cx.get_pass("AskContext")?.run(module)?;
    Ok(())
}

/// Says what the context of a thread of its own is.
#[module_pass(name = "acme.AskThread")]
fn ask_thread(_: &mut IRModule, cx: &PassCx<'_>) -> Result<(), PassError> {
    let copy = PassContext::current();
    let (own, taken) = std::thread::spawn(move || (shown(&PassContext::current()), shown(&copy))).join().unwrap();
    cx.diagnostic(Diagnostic::note(own));
    cx.diagnostic(Diagnostic::note(taken));
    Ok(())
}

/// Says whether some names are disabled and required: a full name, a short one, an alias, and one of another pass.
#[module_pass(name = "acme.AskNames", opt_level = 6)]
fn ask_names(_: &mut IRModule, cx: &PassCx<'_>) -> Result<(), PassError> {
    let context = cx.context();
    let disabled = ["relais.FoldConstant", "FoldConstant", "relax.transform.FoldConstant", "acme.FoldConstant"];
    let [a, b, c, d] = disabled.map(|name| context.is_disabled(name));
    cx.diagnostic(Diagnostic::note(format_args!("disabled {a} {b} {c} {d}")));
    let required = ["relais.PrintIR", "PrintIR", "relax.transform.PrintIR", "acme.PrintIR"];
    let [a, b, c, d] = required.map(|name| context.is_required(name));
    cx.diagnostic(Diagnostic::note(format_args!("required {a} {b} {c} {d}")));
    Ok(())
}

/// Options of [`within`].
#[derive(PassOptions)]
struct WithinOptions {
    /// The value of `acme.depth` in the context.
    #[option(default = 9)]
    depth: i64,
    /// A pass that is disabled in it.
    #[option(default = "Fails")]
    disabled: String,
    /// Whether it starts from the current context.
    #[option(default = false)]
    inherits: bool,
    /// Whether `acme.Reviewer` watches it.
    #[option(default = false)]
    watched: bool,
    /// Whether to panic in it.
    #[option(default = false)]
    panics: bool,
}

/// Says what its context is, before, in and after a context of its own, where it runs a pass that does.
#[module_pass(name = "acme.Within")]
fn within(module: &mut IRModule, cx: &PassCx<'_>, options: &WithinOptions) -> Result<(), PassError> {
    let say = || cx.diagnostic(Diagnostic::note(shown(&PassContext::current())));
    let mut settings = if options.inherits { ContextSettings::inherited() } else { ContextSettings::new() };
    settings = settings.opt_level(4).disable(&options.disabled).config("acme.depth", Value::Int(options.depth));
    if options.watched {
        settings = settings.instrument("acme.Reviewer", vec![("refused".into(), Value::Str("Relu".into()))]);
    }
    say();
    let ran = cx.within(&settings, || {
        say();
        if options.panics {
            panic!("on purpose");
        }
        let inner = ContextSettings::inherited().opt_level(6);
        cx.within(&inner, || {
            say();
            cx.parallel_for(3, &|_| say());
        })?;
        if cx.config("acme.depth")? != Some(options.depth) {
            return Err(PassError::new("`config` is of another context"));
        }
        cx.get_pass("AskContext")?.run(module)
    });
    say();
    *module = ran??;
    Ok(())
}
