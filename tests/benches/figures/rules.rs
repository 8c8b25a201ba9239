//! Nanoseconds per node of rules in the text form: many that do not match, and one that always does, beside a pass that
//! is written by hand; and beside onnxscript's rewriter where `RELAIS_BENCH_PYTHON` names a Python that has it.

use crate::{
    models, sample, shipped,
    timing::{in_turns, ratio},
};
use relais::{
    ir::*,
    loaded::PassHandle,
    onnx::{self, WriteOptions},
    pass::RunCx,
    registry::Registry,
};
use relais_plugin_api::options::Value;
use std::{hint::black_box, path::Path, process::Command};

const SIZES: [(usize, usize); 3] = [(10_000, 15), (100_000, 5), (1_000_000, 3)];
/// The size at which onnxscript is measured, which takes it a minute.
const PEER_SIZE: usize = 100_000;
const OPS: [&str; 10] = ["Neg", "Relu", "Abs", "Sigmoid", "Exp", "Sqrt", "Floor", "Ceil", "Tanh", "Erf"];
/// Operators that the model does not have.
const ABSENT: [&str; 5] = ["Sign", "Cos", "Log", "Sin", "Atan"];

/// The two operators of each rule that fails at its second call: five rules for each operator.
fn pairs() -> Vec<[&'static str; 2]> {
    OPS.iter().flat_map(|op| ABSENT.map(|inner| [*op, inner])).collect()
}

fn second_is_absent() -> Vec<String> {
    pairs().iter().map(|[op, inner]| format!("{op}({inner}(x)) => {inner}(x)")).collect()
}

/// Five rules for each operator: three whose second call is not there, two whose condition does not hold.
fn none_matches() -> Vec<String> {
    let of_op = |at: usize| {
        let (op, before) = (OPS[at], OPS[(at + OPS.len() - 1) % OPS.len()]);
        let absent = ["Sign", "Cos", "Log"].map(|inner| format!("{op}({inner}(x)) => {inner}(x)"));
        let refused = ["rank(x) == 5", "elem(x) == float16"].map(|it| format!("{op}({before}(x)) => {op}(x) if {it}"));
        absent.into_iter().chain(refused)
    };
    (0..OPS.len()).flat_map(of_op).collect()
}

/// Applies the rules of `sys.argv`'s pairs of operators to its model, and prints the nanoseconds that this took.
const ONNXSCRIPT: &str = "import sys, time
from onnxscript import ir
from onnxscript.rewriter import pattern

def rule(outer, inner):
    before = lambda op, x: getattr(op, outer)(getattr(op, inner)(x))
    return pattern.RewriteRule(before, lambda op, x: getattr(op, inner)(x))

rules = pattern.RewriteRuleSet([rule(*pair.split('-')) for pair in sys.argv[2:]])
model = ir.load(sys.argv[1])
start = time.perf_counter_ns(); rules.apply_to_model(model); print(time.perf_counter_ns() - start)";

pub fn run() {
    let shipped = shipped();
    let registry = crate::loaded(&["relais_operators", "relais_graph"].map(|name| shipped.join(crate::library(name))));
    // It describes operators of its own, which rules would not know from the others.
    let sample = crate::loaded(&[sample()]);
    println!("ns per node, rules                            10^4       10^5       10^6");
    let times = |what: &str, rules: &[String], goal: &str| {
        let rewrite = create(&registry, rules);
        let times = SIZES.map(|(n, rounds)| time(&registry, &rewrite, &chain(n, &OPS), n, rounds));
        let [small, middle, large] = times;
        let what = format!("{} rules, {what}", rules.len());
        println!("  {what:<37} {small:>10.1} {middle:>10.1} {large:>10.1}{goal}");
    };
    times("second call is not there", &second_is_absent(), "   [150]");
    if let Some(time) = std::env::var_os("RELAIS_BENCH_PYTHON").and_then(|python| onnxscript(python.as_ref())) {
        println!("  {:<37} {:>10} {time:>10.1}", "  onnxscript", "");
    }
    times("two conditions do not hold", &none_matches(), "");
    let rewrite = create(&registry, &["Relu(Relu(x) as r) => r".to_owned()]);
    let by_hand = sample.create("sample.ReluRelu", &Value::Struct(Vec::new())).expect("the sample has it");
    let ratios = SIZES.map(|(n, rounds)| {
        let module = chain(n, &["Relu"]);
        let (cx, sample_cx) = (RunCx::new(&registry), RunCx::new(&sample));
        let mut by_rule = || call(&rewrite, &module, &cx);
        let times = in_turns(rounds, &mut [&mut by_rule, &mut || call(&by_hand, &module, &sample_cx)]);
        (times[0].as_nanos() as f64 / n as f64, ratio(times[0], times[1]))
    });
    let [small, middle, large] = ratios.map(|(time, _)| time);
    println!("  {:<37} {small:>10.1} {middle:>10.1} {large:>10.1}", "a rule that matches everywhere");
    let [small, middle, large] = ratios.map(|(_, ratio)| ratio);
    println!("  {:<37} {small:>10.2} {middle:>10.2} {large:>10.2}   [3]", "  rule / pass written by hand");
}

/// Returns the nanoseconds per node that onnxscript takes to apply the rules whose second call is not there.
fn onnxscript(python: &Path) -> Option<f64> {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let model = folder.path().join("chain.onnx");
    onnx::write(&chain(PEER_SIZE, &OPS), &model, &WriteOptions::default()).expect("it can be written");
    let rules = pairs().into_iter().map(|pair| pair.join("-"));
    let run = Command::new(python).args(["-c", ONNXSCRIPT]).arg(&model).args(rules).output().ok()?;
    let nanos: f64 = String::from_utf8(run.stdout).ok()?.trim_end().parse().ok()?;
    Some(nanos / PEER_SIZE as f64)
}

fn create(registry: &Registry, rules: &[String]) -> PassHandle {
    let rules = Value::List(rules.iter().map(|rule| Value::Str(rule.clone())).collect());
    registry.create("relais.Rewrite", &Value::Struct(vec![("rules".to_owned(), rules)])).expect("the rules are valid")
}

fn time(registry: &Registry, pass: &PassHandle, module: &IRModule, n: usize, rounds: usize) -> f64 {
    let cx = RunCx::new(registry);
    in_turns(rounds, &mut [&mut || call(pass, module, &cx)])[0].as_nanos() as f64 / n as f64
}

fn call(pass: &PassHandle, module: &IRModule, cx: &RunCx<'_>) {
    drop(black_box(pass.run(module, cx).expect("the rules are applied")));
}

fn chain(n: usize, ops: &[&str]) -> IRModule {
    let mut module = IRModule::new();
    module.set_function(MAIN, models::of_ops(n, ops));
    module
}
