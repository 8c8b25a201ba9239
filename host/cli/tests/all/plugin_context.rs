//! The context that passes of a plugin see is the host's, on every thread on which the host runs them.

use crate::common::*;
use relais::{
    ir::IRModule,
    manager::{self, ManagerOptions},
    pass::{PassContext, RunCx, Scope},
    pipeline::{Disk, PipelineSpec},
    registry::Registry,
};
use relais_plugin_api::options::Value;
use std::{collections::BTreeSet, sync::Arc};

fn rules() -> Registry {
    registry(&[&RULES])
}

/// A module of many functions.
fn many() -> IRModule {
    let mut module = IRModule::new();
    for i in 0..60 {
        module.set_function(&format!("f{i}"), function(&["Neg"]));
    }
    module
}

/// Returns the messages of a pass, each one once, without its place.
fn said(registry: &Registry, pass: &str, module: &IRModule, cx: RunCx<'_>) -> BTreeSet<String> {
    let said = Said::default();
    let pass = registry.create(pass, &table(&[])).unwrap();
    let result = pass.run(module, &cx.with_diagnostics(&said.hear()));
    let said = said.take();
    assert!(result.is_ok(), "{said:?}");
    said.iter().map(|line| line.split(" (in `@").next().unwrap().to_owned()).collect()
}

fn one(line: &str) -> BTreeSet<String> {
    [line.to_owned()].into()
}

fn scope() -> Scope {
    Scope {
        opt_level: 3,
        required: ["acme.On".to_owned()].into(),
        disabled: ["acme.Off".to_owned()].into(),
        config: [("acme.depth".to_owned(), Value::Int(9))].into(),
        ..Scope::default()
    }
}

const DEFAULT: &str = "note: level 2, depth Some(3), required [], disabled []";
const SET: &str = "note: level 3, depth Some(9), required [\"acme.On\"], disabled [\"acme.Off\"]";

#[test]
fn r10_the_current_context_in_a_plugin_is_the_hosts() {
    let registry = rules();
    assert_eq!(said(&registry, "AskContext", &chain(&[]), RunCx::new(&registry)), one(DEFAULT));
    let in_scope = Arc::new(PassContext::new(scope()))
        .scope(|_| said(&registry, "AskContext", &chain(&[]), RunCx::new(&registry)));
    assert_eq!(in_scope.unwrap(), one(SET));
    assert_eq!(said(&registry, "AskContext", &chain(&[]), RunCx::new(&registry)), one(DEFAULT));
}

/// Each pass also runs loops within loops, and compares the results of their turns.
#[test]
fn r09_threads_of_the_host_see_the_context_of_the_pass() {
    let registry = rules();
    let pools = [1, 2, 8].map(|n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap());
    let context = Arc::new(PassContext::new(scope()));
    for pool in &pools {
        let in_scope = context.scope(|_| said(&registry, "AskContext", &many(), RunCx::new(&registry).with_pool(pool)));
        assert_eq!(in_scope.unwrap(), one(SET));
        let in_scope = context.scope(|_| said(&registry, "AskTwice", &many(), RunCx::new(&registry).with_pool(pool)));
        assert_eq!(in_scope.unwrap(), one(SET));
        // A thread of the pool keeps nothing of it.
        assert_eq!(pool.install(|| PassContext::current().settings().opt_level), 2);
        assert_eq!(said(&registry, "AskContext", &many(), RunCx::new(&registry).with_pool(pool)), one(DEFAULT));
    }
    assert_eq!(context.scope(|_| said(&registry, "AskContext", &many(), RunCx::new(&registry))).unwrap(), one(SET));
}

/// A pool that two runs share runs one's tasks while the other waits on the same thread.
#[test]
fn r09_runs_that_share_threads_keep_their_contexts() {
    let registry = rules();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    std::thread::scope(|threads| {
        for level in 0..4 {
            let (registry, pool) = (&registry, &pool);
            threads.spawn(move || {
                let scope = Scope { opt_level: level, ..Scope::default() };
                let context = Arc::new(PassContext::new(scope));
                let expected = DEFAULT.replace("level 2", &format!("level {level}"));
                for _ in 0..5 {
                    let in_scope =
                        context.scope(|_| said(registry, "AskContext", &many(), RunCx::new(registry).with_pool(pool)));
                    assert_eq!(in_scope.unwrap(), one(&expected));
                }
            });
        }
    });
}

#[test]
fn r09_a_nested_context_starts_from_defaults_unless_it_inherits() {
    let registry = rules();
    let ask = || said(&registry, "AskContext", &many(), RunCx::new(&registry));
    let outer = Arc::new(PassContext::new(scope()));
    let (fresh, inherited, after) = outer
        .scope(|_| {
            let fresh = Arc::new(PassContext::new(Scope::default())).scope(|_| ask());
            let inherited = Arc::new(PassContext::inherit()).scope(|_| ask());
            (fresh.unwrap(), inherited.unwrap(), ask())
        })
        .unwrap();
    assert_eq!((fresh, inherited, after), (one(DEFAULT), one(SET), one(SET)));
}

#[test]
fn r10_options_of_a_run_count_before_those_of_the_context() {
    let registry = rules();
    let config = [("acme.depth".to_owned(), Value::Int(50))].into();
    let ask = || said(&registry, "AskContext", &many(), RunCx::new(&registry).with_config(&config));
    let in_scope = Arc::new(PassContext::new(scope())).scope(|_| ask()).unwrap();
    assert_eq!(in_scope, one(&SET.replace("Some(9)", "Some(50)")));
}

#[test]
fn r10_scopes_of_a_pipeline_are_the_contexts_of_their_steps() {
    let registry = rules();
    let text = "
        opt_level = 1
        config = { \"acme.depth\" = 4 }
        disabled = [\"AskThread\"]
        steps = [
            \"AskContext\",
            { scope = [\"AskTwice\"], opt_level = 3, config = { \"acme.depth\" = 5 } },
            \"AskContext\",
        ]";
    let spec = PipelineSpec::parse("p.toml", text, &Disk).unwrap();
    let pipeline = spec.resolve(&registry).unwrap_or_else(|faults| panic!("{faults}"));
    let (_, report) = manager::run(&pipeline, &many(), &registry, &ManagerOptions::default()).unwrap();
    let mut said: Vec<String> =
        report.said.iter().map(|said| said.diagnostic.rec().message.as_str().to_owned()).collect();
    said.dedup();
    let shown =
        |level, depth| format!("level {level}, depth Some({depth}), required [], disabled [\"acme.AskThread\"]");
    assert_eq!(said, [shown(1, 4), shown(3, 5), shown(1, 4)]);
}

#[test]
fn r10_a_thread_of_the_plugin_takes_a_copy_or_has_the_default() {
    let registry = rules();
    let in_scope =
        Arc::new(PassContext::new(scope())).scope(|_| said(&registry, "AskThread", &chain(&[]), RunCx::new(&registry)));
    let own = "note: level 2, depth None, required [], disabled []";
    assert_eq!(in_scope.unwrap(), [own.to_owned(), SET.to_owned()].into());
}
