//! Nanoseconds per node of rules in the text form: many that do not match, and one that always does, beside a pass that
//! is written by hand.

use crate::{
    models, sample, shipped,
    timing::{in_turns, ratio},
};
use relais::{ir::*, loaded::PassHandle, pass::RunCx, registry::Registry};
use relais_plugin_api::options::Value;
use std::hint::black_box;

const SIZES: [(usize, usize); 3] = [(10_000, 15), (100_000, 5), (1_000_000, 3)];
const OPS: [&str; 10] = ["Neg", "Relu", "Abs", "Sigmoid", "Exp", "Sqrt", "Floor", "Ceil", "Tanh", "Erf"];

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

pub fn run() {
    let shipped = shipped();
    let registry = crate::loaded(&["relais_operators", "relais_graph"].map(|name| shipped.join(crate::library(name))));
    // It describes operators of its own, which rules would not know from the others.
    let sample = crate::loaded(&[sample()]);
    println!("ns per node, rules                            10^4       10^5       10^6");
    let rules = none_matches();
    let rewrite = create(&registry, &rules);
    let times = SIZES.map(|(n, rounds)| time(&registry, &rewrite, &chain(n, &OPS), n, rounds));
    let [small, middle, large] = times;
    println!(
        "  {:<37} {small:>10.1} {middle:>10.1} {large:>10.1}   [150]",
        format!("{} rules, none matches", rules.len())
    );
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
