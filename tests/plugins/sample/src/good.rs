//! Passes that behave.

use relais_plugin_api::prelude::*;

/// Makes one `Relu` of two in a row.
///
/// ```text
/// Relu(Relu(x))  ->  Relu(x)
/// ```
#[rewrite_pass(name = "sample.ReluRelu", aliases = ["relay._transform.ReluRelu"], opt_level = 1, ops = ["Relu"])]
pub(crate) fn relu_relu(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
    match cx.call_of_op(call.args()[0], "Relu") {
        Some(_) => Rewrite::Replace(call.args()[0]),
        None => Rewrite::decline("the argument is no `Relu`"),
    }
}

/// Cancels pairs of calls.
#[rule_pass(name = "sample.Cancel", opt_level = 1)]
const CANCEL: &str = "
    negations: Neg(Neg(x)) => x;
    transposes: Transpose{perm = p}(Transpose{perm = q}(x)) => x if p == [1, 0], q == [1, 0]
";

/// How [`rename`] names.
#[derive(PassOptions)]
enum Style {
    /// As it is.
    Plain,
    /// With an underscore at the end.
    WithUnderscore,
}

/// Nested options.
#[derive(PassOptions)]
struct Inner {
    /// How often.
    #[option(default = 1, range = 0..=3)]
    times: u8,
    /// Between the parts.
    #[option(default = "")]
    separator: String,
}

/// Options of [`rename`].
#[derive(PassOptions)]
struct RenameOptions {
    /// The text to put before each name.
    prefix: String,
    /// How names look.
    #[option(default = "plain")]
    style: Style,
    /// Whether parameters keep theirs.
    #[option(default = true)]
    keep_params: bool,
    /// A number that is reported.
    #[option(default = 0.5, range = 0.0..=1.0)]
    weight: f64,
    /// Names to leave alone.
    #[option(default = [])]
    except: Vec<String>,
    /// Nested options.
    inner: Inner,
}

/// Names every call.
#[function_pass(name = "sample.Rename", opt_level = 2, required = ["sample.ReluRelu"])]
fn rename(edit: &mut Editor, cx: &PassCx<'_>, options: &RenameOptions) -> Result<(), PassError> {
    let calls: Vec<NodeId> = edit.function().bindings(edit.function().body()).to_vec();
    let calls: Vec<NodeId> = calls.into_iter().filter(|&id| edit.function().call(id).is_some()).collect();
    log::info!("naming {} calls", calls.len());
    for (index, id) in calls.into_iter().enumerate() {
        let name = options.prefix.repeat(options.inner.times.into());
        let end = match options.style {
            Style::Plain => "",
            Style::WithUnderscore => "_",
        };
        let name = format!("{name}{}{index}{end}", options.inner.separator);
        if !options.except.contains(&name) {
            edit.function_mut().set_name(id, &name);
            cx.diagnostic(Diagnostic::note(format_args!("named `{name}` with weight {}", options.weight)).at(id));
        }
    }
    if !options.keep_params {
        cx.diagnostic(Diagnostic::error("parameters cannot be renamed").help("leave `keep_params` as it is"));
    }
    Ok(())
}

/// Adds an empty function `helper`, once.
#[module_pass(name = "sample.AddHelper")]
fn add_helper(module: &mut IRModule, cx: &PassCx<'_>) -> Result<(), PassError> {
    assert_eq!(cx.module().globals().len(), module.globals().len());
    if module.function("helper").is_none() {
        module.set_function("helper", Function::new());
    }
    Ok(())
}

/// Does nothing.
#[function_pass(name = "sample.Nothing")]
fn nothing(_: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    Ok(())
}

/// Runs another pass by its short name.
#[module_pass(name = "sample.Delegate")]
fn delegate(module: &mut IRModule, cx: &PassCx<'_>) -> Result<(), PassError> {
    *module = cx.get_pass("ReluRelu")?.run(module)?;
    Ok(())
}

/// Sums in parallel and says what.
#[function_pass(name = "sample.Parallel", parallel = false)]
fn parallel(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    let sum = std::sync::atomic::AtomicUsize::new(0);
    cx.parallel_for(1000, &|i| {
        sum.fetch_add(i, std::sync::atomic::Ordering::Relaxed);
    });
    cx.progress(1, 1);
    cx.check_cancelled()?;
    let depth = cx.config("sample.depth")?.unwrap_or(-1);
    cx.diagnostic(Diagnostic::note(format_args!(
        "sum {}, depth {depth}, {} nodes",
        sum.into_inner(),
        edit.function().n_nodes()
    )));
    Ok(())
}

config_option! { "sample.depth": i64, default = 7, range = 0..=100, doc = "How deep." }

#[derive(Default)]
struct Watch;

/// Fails when its context is left.
#[instrument(name = "sample.Watch")]
impl Instrument for Watch {
    fn exit(&self, cx: &InstrumentCx<'_>) -> Result<(), PassError> {
        panic!("level {}", cx.context().opt_level());
    }
}

/// Runs two passes.
#[sequential_pass(name = "sample.Both", opt_level = 1, passes = ["sample.ReluRelu", "AddHelper"])]
fn both() {}

/// Runs a pass with options.
#[sequential_pass(name = "sample.Named")]
fn named() -> Vec<Step> {
    vec![Step::new("sample.Rename").option("prefix", Value::Str("s".into()))]
}

/// Empties loop programs.
#[prim_func_pass(name = "sample.EmptyPrim")]
fn empty_prim(edit: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    let body = edit.function().body();
    let function = edit.function_mut();
    function.set_bindings(body, &[]);
    function.set_results(body, &[]);
    Ok(())
}
