//! Nanoseconds per node of every pass that is shipped, on functions of three sizes.

use crate::{models, shipped, timing::in_turns};
use relais::{ir::*, pass::RunCx, registry::Registry};
use relais_plugin_api::{boundary::record::Level, options::Value};
use std::hint::black_box;

const SIZES: [(usize, usize); 3] = [(10_000, 15), (100_000, 5), (1_000_000, 3)];
/// Makes a function with about that many nodes.
type Shape = fn(usize) -> Function;

/// Looks at a function.
type Check = fn(&Function);

const SHAPES: [(&str, Shape); 2] = [("chain", models::chain), ("blocks", models::blocks)];

pub fn run() {
    let shipped = shipped();
    let plugins = [
        "relais_operators",
        "relais_evaluator",
        "relais_gradient",
        "relais_graph",
        "relais_loops",
        "relais_onnxruntime",
    ];
    let registry = crate::loaded(&plugins.map(|name| shipped.join(crate::library(name))));
    for (shape, make) in SHAPES {
        println!("ns per node, {shape:<27} {:>10} {:>10} {:>10}   [100, flat]", "10^4", "10^5", "10^6");
        let modules = SIZES.map(|(n, _)| typed(&registry, make(n)));
        for (pass, _) in registry.passes().filter(|(pass, _)| pass.level != Level::SEQUENTIAL) {
            let name = pass.name.rsplit('.').next().unwrap_or(&pass.name);
            let Ok(handle) = registry.create(&pass.name, &Value::Struct(Vec::new())) else {
                println!("  {name:<37} has options that must be given");
                continue;
            };
            let cx = RunCx::new(&registry);
            let times = [0, 1, 2].map(|size| {
                let module = &modules[size];
                let mut run = || drop(black_box(handle.run(module, &cx)));
                let n = module.function(MAIN).expect("it was put there").n_nodes();
                in_turns(SIZES[size].1, &mut [&mut run])[0].as_nanos() as f64 / n as f64
            });
            let changed = handle.run(&modules[0], &cx).is_ok_and(|outcome| outcome.module.is_some());
            let changed = if changed { "changes it" } else { "" };
            println!("  {name:<37} {:>10.1} {:>10.1} {:>10.1}   {changed}", times[0], times[1], times[2]);
        }
        // The manager's checks after a pass that changed something, and once at the end.
        let checks: [(&str, Check); 2] = [
            ("(verify_arena)", |f| drop(black_box(verify_arena(f)))),
            ("(verify)", |f| drop(black_box(verify_function(f, None)))),
        ];
        for (name, check) in checks {
            let times = [0, 1, 2].map(|size| {
                let function = modules[size].function(MAIN).expect("it was put there");
                let mut run = || check(function);
                in_turns(SIZES[size].1, &mut [&mut run])[0].as_nanos() as f64 / function.n_nodes() as f64
            });
            println!("  {name:<37} {:>10.1} {:>10.1} {:>10.1}", times[0], times[1], times[2]);
        }
    }
}

/// With its types, which passes find when a pipeline runs.
fn typed(registry: &Registry, function: Function) -> IRModule {
    let mut module = IRModule::new();
    module.set_function(MAIN, function);
    let handle = registry.create("InferType", &Value::Struct(Vec::new())).expect("it is shipped");
    handle.run(&module, &RunCx::new(registry)).expect("the model is valid").module.unwrap_or(module)
}
