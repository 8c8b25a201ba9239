//! Passes from a library: their effects, and how their faults end.

use crate::common::*;
use relais::{
    ir::*,
    pass::{Member, RunCx, RunnablePass},
};
use relais_plugin_api::options::Value;
use std::{
    process::{Command, Output},
    sync::Mutex,
};

fn none() -> Value {
    table(&[])
}

fn bad(fault: &str) -> String {
    let registry = sample();
    let module = chain(&["Relu"]);
    let failure = run(&registry, "sample.Bad", &table(&[("fault", text(fault))]), &module).err().unwrap();
    assert_eq!(failure.plugin, "sample-passes");
    assert_eq!(op_names(&module), ["Relu"]);
    failure.to_string()
}

#[test]
fn a_rewrite_runs_and_the_input_stays_as_it_was() {
    let module = chain(&["Relu", "Relu", "Neg"]);
    let outcome = run(&sample(), "sample.ReluRelu", &none(), &module).unwrap();
    assert_eq!(op_names(&outcome.module.unwrap()), ["Relu", "Neg"]);
    assert_eq!(outcome.changed, ["main"]);
    assert_eq!(op_names(&module), ["Relu", "Relu", "Neg"]);
}

#[test]
fn a_pass_that_changes_nothing_says_so() {
    let registry = sample();
    for pass in ["sample.ReluRelu", "sample.Nothing", "sample.Types"] {
        let outcome = run(&registry, pass, &none(), &chain(&["Neg"])).unwrap();
        assert_eq!(outcome.module.is_some(), pass == "sample.Types", "{pass}");
    }
}

#[test]
fn a_function_pass_takes_its_options_and_speaks() {
    let registry = sample();
    let inner = table(&[("times", Value::Int(2)), ("separator", text("_"))]);
    let options = table(&[("prefix", text("n")), ("style", text("with_underscore")), ("inner", inner)]);
    let pass = registry.create("Rename", &options).unwrap();
    let said = Said::default();
    let outcome =
        pass.run(&chain(&["Neg"]), &RunCx::new(&registry).with_diagnostics(&said.hear())).unwrap().module.unwrap();
    let f = outcome.main().unwrap();
    assert_eq!(f.name(f.bindings(f.body())[0]), "nn_0_");
    let said = said.take();
    assert!(said[0].starts_with("note: named `nn_0_` with weight 0.5 (at %"), "{said:?}");
    assert!(said[0].ends_with("in `@main`)"), "{said:?}");
}

#[test]
fn rule_r26_an_error_diagnostic_fails_the_pass() {
    let options = table(&[("prefix", text("n")), ("keep_params", Value::Bool(false))]);
    let failure = run(&sample(), "sample.Rename", &options, &chain(&["Neg"])).err().unwrap();
    assert_eq!(
        failure.to_string(),
        "pass `sample.Rename` of plugin `sample-passes 1.2.3` failed: parameters cannot be renamed (in `@main`)\n  help: leave `keep_params` as it is"
    );
}

#[test]
fn a_module_pass_adds_a_function_once() {
    let registry = sample();
    let first = run(&registry, "AddHelper", &none(), &chain(&[])).unwrap();
    assert_eq!(first.changed, ["helper"]);
    assert!(run(&registry, "AddHelper", &none(), &first.module.unwrap()).unwrap().module.is_none());
}

#[test]
fn a_sequential_pass_runs_its_members() {
    let registry = sample();
    let outcome = run(&registry, "sample.Both", &none(), &chain(&["Relu", "Relu"])).unwrap();
    assert_eq!(outcome.changed, ["main", "helper"]);
    let named = registry.create("sample.Named", &none()).unwrap();
    let Member::Named(member, options) = &named.members().unwrap()[0] else { panic!("a plugin knows only names") };
    assert_eq!((member.as_str(), options.get("prefix")), ("sample.Rename", Some(&text("s"))));
    let named = named.run(&chain(&["Neg"]), &RunCx::new(&registry)).unwrap().module.unwrap();
    let f = named.main().unwrap();
    assert_eq!(f.name(f.bindings(f.body())[0]), "s0");
}

#[test]
fn a_prim_func_pass_sees_loop_programs_alone() {
    let mut module = chain(&["Neg"]);
    module.set_prim_func("loop", function(&["Neg"]));
    let outcome = run(&sample(), "sample.EmptyPrim", &none(), &module).unwrap();
    assert_eq!(outcome.changed, ["loop"]);
}

#[test]
fn rule_r13_functions_that_ask_for_it_are_left_alone() {
    let mut module = chain(&["Relu", "Relu"]);
    let f = module.function_mut(MAIN).unwrap();
    let attr = f.encode_attr(&Attr::meta("SkipOptimization", 1i64));
    let recs: Vec<_> = f.attr_recs(f.root()).iter().copied().chain([attr]).collect();
    f.set_attr_recs(f.root(), &recs);
    assert!(run(&sample(), "ReluRelu", &none(), &module).unwrap().module.is_none());
}

#[test]
fn rule_r13_results_and_faults_come_in_module_order() {
    let registry = sample();
    let mut module = IRModule::new();
    for i in 0..50 {
        module.set_function(&format!("f{i}"), function(&["Neg"]));
    }
    let pass = registry.create("Rename", &table(&[("prefix", text("n"))])).unwrap();
    let said = Said::default();
    let outcome = pass.run(&module, &RunCx::new(&registry).with_diagnostics(&said.hear())).unwrap();
    let in_order: Vec<String> = (0..50).map(|i| format!("f{i}")).collect();
    assert_eq!(outcome.changed, in_order);
    let said = said.take();
    assert!(said.iter().zip(&in_order).all(|(said, name)| said.ends_with(&format!("in `@{name}`)"))));
    let failure = run(&registry, "sample.Bad", &table(&[("fault", text("text"))]), &module).err().unwrap();
    assert_eq!(failure.error.rec().function, "f0");
}

#[test]
fn a_pass_asks_for_another_one() {
    let outcome = run(&sample(), "sample.Delegate", &none(), &chain(&["Relu", "Relu"])).unwrap();
    assert_eq!(op_names(&outcome.module.unwrap()), ["Relu"]);
}

#[test]
fn a_pass_that_runs_itself_is_stopped() {
    let failure = run(&sample(), "sample.Endless", &none(), &chain(&[])).err().unwrap();
    let text = failure.to_string();
    assert!(text.contains("`sample.Endless` is run by passes that it runs itself"), "{text}");
}

#[test]
fn parallel_loops_and_options_of_the_context() {
    let registry = sample();
    let pass = registry.create("Parallel", &none()).unwrap();
    let said = Said::default();
    let hear = said.hear();
    let cx = RunCx::new(&registry).with_diagnostics(&hear);
    pass.run(&chain(&[]), &cx).unwrap();
    let config = [("sample.depth".to_owned(), Value::Int(9))].into();
    pass.run(&chain(&[]), &cx.with_config(&config)).unwrap();
    let said = said.take();
    assert!(said[0].contains("sum 499500, depth 7"), "{said:?}");
    assert!(said[1].contains("depth 9"), "{said:?}");
    let cancel = std::sync::atomic::AtomicBool::new(true);
    let failure = pass.run(&chain(&[]), &cx.with_cancel(&cancel)).err().unwrap();
    assert_eq!(failure.error.rec().message, "cancelled");
}

#[test]
fn operators_are_described_and_called_across_libraries() {
    let registry = sample();
    let pass = registry.create("sample.Types", &none()).unwrap();
    let said = Said::default();
    let module = chain(&["Relu", "sample::Faulty", "sample::Random", "Nobody"]);
    // The type relation panics, which the pass reports and ignores; its plugin has failed anyway.
    let failure = pass.run(&module, &RunCx::new(&registry).with_diagnostics(&said.hear())).err().unwrap();
    assert_eq!(failure.error.rec().code, "operator-fault");
    let said: Vec<String> = said.take().iter().map(|line| line.split(" (at").next().unwrap().to_owned()).collect();
    assert_eq!(said[0], "note: Relu true since 14 eval true effects 0");
    assert_eq!(said[1], "note: Faulty true since 1 eval false effects 0");
    assert_eq!(said[2], "note: Random true since 1 eval false effects 2");
    assert_eq!(said[3], "note: Nobody false since 0 eval false effects 8");
    assert!(said[4].starts_with("warning: panicked: in a type relation\n  at sample/src"), "{said:?}");
    let module = chain(&["Relu", "sample::Random", "Nobody"]);
    let outcome = pass.run(&module, &RunCx::new(&registry)).unwrap().module.unwrap();
    let f = outcome.main().unwrap();
    assert_eq!(f.type_id(f.bindings(f.body())[0]), f.type_id(f.params()[0]));
}

#[test]
fn an_older_version_has_an_older_description() {
    let registry = sample();
    let since = |version| registry.operator("", "Relu", version).map(|(_, op)| op.since_version);
    assert_eq!((since(5), since(6), since(13), since(14), since(99)), (None, Some(6), Some(6), Some(14), Some(14)));
    assert_eq!(since(6), registry.operator("ai.onnx", "Relu", 6).map(|(_, op)| op.since_version));
}

#[test]
fn an_error_keeps_code_place_and_help() {
    assert_eq!(
        bad("error"),
        "pass `sample.Bad` of plugin `sample-passes 1.2.3` failed: `x` has no shape (at %1 in `@main`)\n  help: declare its shape"
    );
}

#[test]
fn every_panic_is_caught_with_its_place() {
    let cases = [
        ("text", "plain text"),
        ("formatted", "formatted 42"),
        ("number", "a payload that is not text"),
        ("bomb", "a payload that is not text"),
        ("parallel", "turn 50"),
    ];
    for (fault, message) in cases {
        let said = bad(fault);
        let start = format!(
            "pass `sample.Bad` of plugin `sample-passes 1.2.3` panicked: {message} (in `@main`)\n  at sample/src/bad.rs:"
        );
        assert!(said.starts_with(&start), "{said}");
    }
}

#[test]
fn a_pass_works_after_another_one_panicked() {
    bad("bomb");
    a_rewrite_runs_and_the_input_stays_as_it_was();
}

#[test]
fn two_hosts_live_in_one_process() {
    let registries = [sample(), sample()];
    std::thread::scope(|scope| {
        for registry in &registries {
            scope.spawn(|| {
                for _ in 0..20 {
                    let said = Said::default();
                    let pass = registry.create("Parallel", &none()).unwrap();
                    pass.run(&chain(&["Neg"]), &RunCx::new(registry).with_diagnostics(&said.hear())).unwrap();
                    assert_eq!(said.take().len(), 1);
                }
            });
        }
    });
}

static LOGGED: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Logger;

impl log::Log for Logger {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        LOGGED.lock().unwrap().push(format!("{} {}: {}", record.level(), record.target(), record.args()));
    }

    fn flush(&self) {}
}

#[test]
fn the_log_of_a_plugin_reaches_the_host() {
    log::set_logger(&Logger).unwrap();
    log::set_max_level(log::LevelFilter::Warn);
    run(&sample(), "sample.Bad", &table(&[("fault", text("log"))]), &chain(&[])).unwrap();
    let logged = LOGGED.lock().unwrap().clone();
    assert!(logged.contains(&"ERROR sample-passes: an error".to_owned()), "{logged:?}");
    assert!(logged.contains(&"WARN sample-passes: a warning".to_owned()), "{logged:?}");
    assert!(!logged.iter().any(|line| line.contains("a trace")), "{logged:?}");
}

/// Runs `child_process` in a process of its own.
fn child(fault: &str) -> Output {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "plugin_run::child_process", "--ignored", "--nocapture"]).env("RELAIS_TEST_CHILD", fault);
    child.output().unwrap()
}

#[test]
#[ignore = "run by other tests, in a process of its own"]
fn child_process() {
    let fault = std::env::var("RELAIS_TEST_CHILD").unwrap();
    run(&sample(), "sample.Bad", &table(&[("fault", text(&fault))]), &chain(&[])).unwrap();
    if fault == "thread" {
        // There is no handle of the plugin's thread to wait for.
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
}

#[test]
fn a_plugin_that_ends_the_process_makes_it_fail() {
    let output = child("exit");
    assert_eq!(output.status.code(), Some(70), "{output:?}");
    let stderr = String::from_utf8_lossy(&output.stderr);
    let wanted = "error: plugin `sample-passes 1.2.3`, in pass `sample.Bad`, ended the process";
    assert!(stderr.contains(wanted), "{stderr}");
}

#[test]
fn what_a_plugin_prints_comes_out() {
    let output = child("print");
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("printed without a newline"));
}

#[test]
fn a_panic_on_a_thread_of_a_plugin_is_its_own() {
    let output = child("thread");
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("on another thread"), "it panicked: {output:?}");
}
