//! The macros and the host of an author's tests, in one crate.

use relais_plugin_api::{boundary::local, infer::Coverage, prelude::*};

/// Replaces `Neg(Neg(x))` by `x`.
#[rewrite_pass(name = "local.NegNeg", opt_level = 1, ops = ["Neg"], max_rounds = 8)]
fn neg_neg(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
    match cx.call_of_op(call.args()[0], "Neg") {
        Some(inner) => Rewrite::Replace(inner.args()[0]),
        None => Rewrite::decline("the argument is not a `Neg`"),
    }
}

#[rewrite_pass(name = "local.Circles", ops = ["Neg"], max_rounds = 3)]
fn circles(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
    Rewrite::Replace(cx.call("Neg", call.args()))
}

#[derive(PassOptions)]
struct Options {
    #[option(default = 2, range = 1..)]
    n: usize,
    #[option(default = [1, -2])]
    list: Vec<i64>,
    #[option(name = "type", default = "a")]
    kind: String,
}

#[module_pass(name = "local.Check")]
fn check(_: &mut IRModule, cx: &PassCx<'_>, options: &Options) -> Result<(), PassError> {
    let Options { n, list, kind } = options;
    cx.diagnostic(Diagnostic::note(format_args!("{n} {list:?} {kind} {}", cx.info().name)));
    Ok(())
}

#[sequential_pass(name = "local.Both", passes = ["NegNeg", "local.Check"])]
fn both() {}

#[function_pass(name = "local.Panics")]
fn panics(_: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    Err("no".into())
}

fn same(cx: &mut InferCx<'_>) -> Result<(), OpError> {
    let ty = cx.input_id(0);
    cx.set_output(0, ty);
    Ok(())
}

operators! {
    &[
        Operator::new("", "Neg", 1).infer(same),
        Operator::new("rivals", "Twice", 1).infer(same),
        Operator::new("rivals", "Alike", 1).infer(same),
        Operator::new("rivals", "Later", 1).infer(same),
        Operator::new("rivals", "Later", 2).infer(same),
    ]
}

/// Those of another crate of the program, so to speak: the compiler does not compare constants of several tables.
const RIVALS: [Operator; 2] =
    [Operator::new("rivals", "Twice", 1).inputs(1, 2).infer(same), Operator::new("rivals", "Alike", 1).infer(same)];

operators! { &RIVALS }

#[function_pass(name = "local.Types")]
fn types(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    cx.ops(edit.function()).infer_types(edit.function_mut(), Coverage::Everything);
    Ok(())
}

fn chain(n: usize) -> IRModule {
    chain_of("", "Neg", n)
}

fn chain_of(domain: &str, name: &str, n: usize) -> IRModule {
    let mut f = Function::new();
    f.set_opset_imports(&[("", 13), ("rivals", 2)]);
    let ty = f.tensor_type(ElemType::FLOAT, &[Dim::Static(2)]);
    let mut last = f.add_var("x", ty);
    f.set_params(f.root(), &[last]);
    let neg = f.add_op(domain, name, "", 0);
    for _ in 0..n {
        last = f.add_call(neg, &[last]);
        f.append(f.body(), last);
    }
    f.set_results(f.body(), &[last]);
    let mut module = IRModule::new();
    module.set_function(MAIN, f);
    module
}

fn n_live(module: &IRModule) -> usize {
    let f = module.main().unwrap();
    let (mut n, mut at) = (0, f.result(f.body()));
    while let Some(call) = f.call(at) {
        (n, at) = (n + 1, call.args()[0]);
    }
    n
}

fn run(pass: &str, options: &[(&str, Value)], module: &IRModule) -> Result<local::LocalRun, PassError> {
    let options = options.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    local::run(pass, &Value::Struct(options), module)
}

#[test]
fn a_rewrite_runs_and_says_why_it_did_not() {
    let ran = run("NegNeg", &[], &chain(5)).unwrap();
    assert!(ran.changed);
    assert_eq!(n_live(&ran.module), 1);
    let ran = run("local.NegNeg", &[], &chain(1)).unwrap();
    assert!(!ran.changed);
    assert_eq!(ran.diagnostics[0].rec().message, "the argument is not a `Neg`");
}

#[test]
fn a_rewrite_in_circles_is_an_error() {
    let error = run("Circles", &[], &chain(1)).err().unwrap();
    let told = error.to_string();
    assert!(told.starts_with("still rewriting after 3 rounds (at %"), "{told}");
    assert!(told.contains("in `@main`)\n  note: the last rewrite replaced %"), "{told}");
    assert!(told.contains(", a call of `Neg`\n  help: make sure"), "{told}");
}

#[test]
fn options_have_defaults_and_ranges() {
    let said = |options: &[(&str, Value)]| run("Check", options, &chain(1)).map(|ran| ran.diagnostics[0].to_string());
    assert_eq!(said(&[]).unwrap(), "note: 2 [1, -2] a local.Check");
    assert_eq!(
        said(&[("n", Value::Int(3)), ("type", Value::Str("b".into()))]).unwrap(),
        "note: 3 [1, -2] b local.Check"
    );
    assert!(said(&[("n", Value::Int(-1))]).is_err());
}

#[test]
fn members_run_in_order() {
    let ran = run("Both", &[], &chain(2)).unwrap();
    let said: Vec<String> = ran.diagnostics.iter().map(ToString::to_string).collect();
    assert_eq!((n_live(&ran.module), said.len()), (0, 2), "{said:?}");
    let at = |what: &str| said.iter().position(|said| said.contains(what));
    assert!(at("rewrote 1 call").is_some() && at("rewrote 1 call") < at("local.Check"), "{said:?}");
}

#[test]
fn faults_are_errors() {
    assert_eq!(run("Panics", &[], &chain(1)).err().unwrap().to_string(), "no (in `@main`)");
    assert_eq!(run("Nobody", &[], &chain(1)).err().unwrap().to_string(), "no pass `Nobody` is linked");
}

/// Whether the type of the result of two calls is inferred.
fn is_typed(domain: &str, name: &str) -> bool {
    let ran = run("Types", &[], &chain_of(domain, name, 2)).unwrap();
    let f = ran.module.main().unwrap();
    f.type_id(f.result(f.body())) == f.type_id(f.params()[0])
}

#[test]
fn linked_operators_infer() {
    assert!(is_typed("", "Neg"));
    assert!(is_typed("rivals", "Later"), "the newest version counts");
}

#[test]
fn an_operator_that_is_described_in_two_ways_is_opaque() {
    assert!(!is_typed("rivals", "Twice"));
    assert!(is_typed("rivals", "Alike"));
}
