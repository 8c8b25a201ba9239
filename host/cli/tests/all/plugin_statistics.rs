//! The counts of passes of plugins.

use crate::common::*;
use relais::{
    ir::IRModule,
    manager::{self, ManagerOptions},
    pass::RunCx,
    pipeline::{Disk, PipelineSpec},
    plugin::StatisticRecord,
    registry::Registry,
};
use relais_plugin_api::options::Value;
use std::sync::Mutex;

fn many() -> IRModule {
    let mut module = IRModule::new();
    for i in 0..40 {
        module.set_function(&format!("f{i}"), function(&["Relu", "Relu", "Relu"]));
    }
    module
}

fn counting(how: &str) -> Value {
    table(&[("counting", text(how))])
}

/// Runs a pass: its counts, in order, and its failure.
fn counts(registry: &Registry, pass: &str, options: &Value, cx: RunCx<'_>) -> (Vec<String>, Option<String>) {
    let counts = Mutex::new(Vec::new());
    let count = |statistic: &str, n| counts.lock().unwrap().push(format!("{statistic} {n}"));
    let pass = registry.create(pass, options).unwrap();
    let failure = pass.run(&many(), &cx.with_count(&count)).err().map(|failure| failure.to_string());
    (counts.into_inner().unwrap(), failure)
}

#[test]
fn counts_are_sums_in_the_order_of_declaration_whatever_the_threads() {
    let registry = registry(&[&RULES]);
    for n in [1, 2, 8] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
        let counts = counts(&registry, "acme.Count", &counting("right"), RunCx::new(&registry).with_pool(&pool));
        assert_eq!(counts, (vec!["calls 120".to_owned(), "turns 4000".to_owned()], None));
    }
}

#[test]
fn what_is_not_declared_fails_the_pass_which_then_has_counted_nothing() {
    let registry = registry(&[&RULES]);
    let cx = RunCx::new(&registry);
    let (counted, failure) = counts(&registry, "acme.Count", &counting("misspelt"), cx);
    assert_eq!(counted, Vec::<String>::new());
    assert_eq!(
        failure.unwrap(),
        "pass `acme.Count` of plugin `acme-rules 0.3.0` failed: `acme.Count` counts `call` and does not declare it \
         (in `@f0`)\n  help: did you mean `calls`?"
    );
    let (counted, failure) = counts(&registry, "acme.Count", &counting("undeclared"), cx);
    assert_eq!(counted, Vec::<String>::new());
    let help = "\n  help: write `statistics(functions = \"what is counted\")` into its attribute";
    assert!(failure.unwrap().ends_with(help));
    let (counted, failure) = counts(&registry, "acme.Count", &counting("failing"), cx);
    assert_eq!(counted, Vec::<String>::new());
    assert!(failure.unwrap().contains("told to fail"));
}

#[test]
fn rewrites_are_counted_for_their_authors() {
    let registry = registry(&[&RULES]);
    let counts = counts(&registry, "acme.ReluRelu", &table(&[]), RunCx::new(&registry));
    assert_eq!(counts, (vec!["rewritten 80".to_owned()], None));
}

#[test]
fn a_pipeline_sums_up_and_tells_apart_who_counted() {
    let registry = registry(&[&RULES]);
    let steps = "steps = [\"acme.Count\", \"HaveCounted\", \"acme.Count\"]";
    let pipeline = PipelineSpec::parse("p.toml", steps, &Disk).unwrap().resolve(&registry);
    let pipeline = pipeline.unwrap_or_else(|faults| panic!("{faults}"));
    let (_, report) = manager::run(&pipeline, &many(), &registry, &ManagerOptions::default()).unwrap();
    let counted: Vec<String> =
        report.statistics.iter().map(|found| format!("{} {} {}", found.pass, found.name, found.count)).collect();
    assert_eq!(
        counted,
        [
            "acme.Count calls 240",
            "acme.Count turns 8000",
            "acme.HaveCounted acme.Count: calls 120",
            "acme.HaveCounted acme.Count: turns 4000",
            "acme.HaveCounted asked 1",
        ]
    );
}

#[test]
fn records_say_what_is_counted() {
    let registry = registry(&[&RULES]);
    let statistics = |pass: &str| -> Vec<(String, String)> {
        let records = &registry.pass(pass).unwrap().statistics;
        records.iter().map(|StatisticRecord { name, doc }| (name.clone(), doc.clone())).collect()
    };
    let pair = |name: &str, doc: &str| (name.to_owned(), doc.to_owned());
    assert_eq!(statistics("HaveCounted"), [pair("asked", "passes asked")]);
    assert_eq!(statistics("acme.ReluRelu"), [pair("rewritten", "calls replaced")]);
    assert_eq!(statistics("AskContext"), []);
}
