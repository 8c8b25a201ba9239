//! Nanoseconds per node of every pass that is shipped, on functions of three sizes.

use crate::{models, shipped, timing::in_turns};
use relais::{ir::*, pass::RunCx, registry::Registry};
use relais_plugin_api::{
    boundary::record::Level,
    options::Value,
    prim::{CoreOp, PrimBuilder, prim_func},
};
use std::hint::black_box;

const SIZES: [(usize, usize); 3] = [(10_000, 15), (100_000, 5), (1_000_000, 3)];
/// Makes a function with about that many nodes.
type Shape = fn(usize) -> Function;

/// Looks at a module.
type Check = fn(&IRModule);

/// Functions, and whether they are loop programs.
const SHAPES: [(&str, bool, Shape); 4] = [
    ("chain", false, models::chain),
    ("blocks", false, models::blocks),
    ("loops", true, loops),
    ("indices", true, indices),
];

pub fn run() {
    let shipped = shipped();
    let plugins = [
        "relais_operators",
        "relais_evaluator",
        "relais_gradient",
        "relais_emit_c",
        "relais_graph",
        "relais_loops",
        "relais_onnxruntime",
    ];
    let registry = crate::loaded(&plugins.map(|name| shipped.join(crate::library(name))));
    let words: Vec<String> = std::env::args().skip(1).collect();
    let is_named = |name: &str| words.iter().any(|word| word == name);
    let short = |name: &str| name.rsplit('.').next().unwrap_or(name).to_owned();
    let names_shapes = SHAPES.iter().any(|(shape, ..)| is_named(shape));
    let names_passes = registry.passes().any(|(pass, _)| is_named(&short(&pass.name)));
    for (shape, is_prim, make) in SHAPES.into_iter().filter(|(shape, ..)| !names_shapes || is_named(shape)) {
        println!("ns per node, {shape:<27} {:>10} {:>10} {:>10}   [100, flat]", "10^4", "10^5", "10^6");
        let modules = SIZES.map(|(n, _)| if is_prim { prim(make(n)) } else { typed(&registry, make(n)) });
        let is_asked = |level: Level| level != Level::SEQUENTIAL && (level == Level::PRIM_FUNC) == is_prim;
        let is_wanted = |name: &str| !names_passes || is_named(&short(name));
        for (pass, _) in registry.passes().filter(|(pass, _)| is_asked(pass.level) && is_wanted(&pass.name)) {
            let name = short(&pass.name);
            let Ok(handle) = registry.create(&pass.name, &Value::Struct(Vec::new())) else {
                println!("  {name:<37} has options that must be given");
                continue;
            };
            let cx = RunCx::new(&registry);
            let times = [0, 1, 2].map(|size| {
                let module = &modules[size];
                let mut run = || drop(black_box(handle.run(module, &cx)));
                let n = module.body(MAIN).expect("it was put there").n_nodes();
                in_turns(SIZES[size].1, &mut [&mut run])[0].as_nanos() as f64 / n as f64
            });
            let changed = handle.run(&modules[0], &cx).is_ok_and(|outcome| outcome.module.is_some());
            let changed = if changed { "changes it" } else { "" };
            println!("  {name:<37} {:>10.1} {:>10.1} {:>10.1}   {changed}", times[0], times[1], times[2]);
        }
        // The manager's checks after a pass that changed something, and once at the end.
        let checks: [(&str, Check); 2] = [
            ("(verify_arena)", |module| drop(black_box(verify_arena(module.body(MAIN).expect("it was put there"))))),
            ("(verify)", |module| drop(black_box(verify(module)))),
        ];
        for (name, check) in checks {
            let times = [0, 1, 2].map(|size| {
                let mut run = || check(&modules[size]);
                let n = modules[size].body(MAIN).expect("it was put there").n_nodes();
                in_turns(SIZES[size].1, &mut [&mut run])[0].as_nanos() as f64 / n as f64
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

fn prim(f: Function) -> IRModule {
    let mut module = IRModule::new();
    module.set_prim_func(MAIN, f);
    module
}

/// Nests of loops that fill a matrix, until there are about that many nodes.
fn nests(n: usize, mut statement: impl FnMut(&mut PrimBuilder<'_>, [NodeId; 4])) -> Function {
    let size: &[u64] = &[16, 16];
    let mut f = prim_func(&[("x", ElemType::FLOAT, size)], &[("y", ElemType::FLOAT, size)]);
    let [x, y] = *f.params() else { unreachable!("it has two parameters") };
    let mut b = PrimBuilder::new(&mut f);
    while b.function().n_nodes() < n {
        let sixteen = b.index(16);
        b.each(sixteen, |b, i| {
            let sixteen = b.index(16);
            b.each(sixteen, |b, j| statement(b, [x, y, i, j]));
        });
    }
    b.finish().expect("it is right");
    f
}

/// Loop programs in which there is nothing to simplify.
fn loops(n: usize) -> Function {
    nests(n, |b, [x, y, i, j]| {
        let value = b.load(x, &[i, j]);
        let two = b.float(ElemType::FLOAT, 2.0);
        let product = b.op(CoreOp::Mul, &[value, two]);
        let sum = b.op(CoreOp::Add, &[product, value]);
        b.store(y, sum, &[i, j]);
    })
}

/// Loop programs whose indices are computed through a flat one and back, under a condition that holds.
fn indices(n: usize) -> Function {
    nests(n, |b, [x, y, i, j]| {
        let [row, all, width, height] = [16, 256, 16, 16].map(|size| b.index(size));
        let row = b.op(CoreOp::Mul, &[i, row]);
        let flat = b.op(CoreOp::Add, &[row, j]);
        let is_inside = b.op(CoreOp::Lt, &[flat, all]);
        b.when(is_inside, |b| {
            let (i, j) = (b.op(CoreOp::FloorDiv, &[flat, width]), b.op(CoreOp::FloorMod, &[flat, height]));
            let value = b.load(x, &[i, j]);
            b.store(y, value, &[i, j]);
        });
    })
}
