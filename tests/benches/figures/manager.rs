//! The costs of the manager for each pass that it runs, and the gain from threads over many functions.

use crate::{
    models, shipped,
    timing::{each, interval, line, pairs, ratio},
};
use relais::{
    ir::*,
    manager::{self, ManagerOptions},
    pass::{Catalogue, RunCx, RunnablePass, Verify},
    pipeline::{Disk, PipelineSpec},
    registry::Registry,
    transform::{Pass, PassLibrary},
};
use std::hint::black_box;

/// Steps of the pipeline whose overhead is measured: enough to make one-time costs negligible.
const N_STEPS: u32 = 1000;

pub fn run() {
    overhead();
    threads();
}

/// A pass that does nothing, of the program's own and of a plugin, in a pipeline of many steps against called alone.
fn overhead() {
    let registry = crate::loaded(&[crate::sample()]);
    let mut library = PassLibrary::new(&registry);
    library.register(&Pass::module("own.Nothing", 0, |_, _| Ok(None)));
    let mut module = IRModule::new();
    module.set_function(MAIN, models::chain(10));
    let options = ManagerOptions { verify: Some(Verify::Off), ..ManagerOptions::default() };
    for name in ["own.Nothing", "sample.Nothing"] {
        let text = format!("steps = [{}]", vec![format!("{name:?}"); N_STEPS as usize].join(", "));
        let spec = PipelineSpec::parse("overhead.toml", &text, &Disk).expect("it is a pipeline");
        let pipeline = spec.resolve(&library).expect("the passes are there");
        let managed = each(20, || drop(black_box(manager::run(&pipeline, &module, &library, &options)))) / N_STEPS;
        let pass = pipeline.passes[0].pass().clone();
        let alone = each(20 * N_STEPS, || drop(black_box(call(&*pass, &module, &library))));
        line(&format!("{name}, run by the manager"), managed, "-");
        line("  called alone", alone, "-");
        line("  the manager's part", managed.saturating_sub(alone), "1 us");
    }
}

fn call(
    pass: &dyn RunnablePass,
    module: &IRModule,
    catalogue: &dyn Catalogue,
) -> Result<Option<IRModule>, relais_plugin_api::diagnostics::PassError> {
    pass.run(module, &RunCx::new(catalogue))
}

/// 500 functions of one size, by one thread and by two.
fn threads() {
    const N_FUNCTIONS: usize = 500;
    let registry = shipped_registry();
    let mut module = IRModule::new();
    for i in 0..N_FUNCTIONS {
        let name = if i == 0 { MAIN.to_owned() } else { format!("f{i}") };
        module.set_function(&name, models::blocks(2000));
    }
    let text =
        "opt_level = 3\nsteps = [\"InferType\", \"EliminateCommonSubexpr\", \"FoldConstant\", \"DeadCodeElimination\"]";
    let spec = PipelineSpec::parse("threads.toml", text, &Disk).expect("it is a pipeline");
    let pipeline = spec.resolve(&registry).expect("the passes are there");
    let options = ManagerOptions { verify: Some(Verify::Off), ..ManagerOptions::default() };
    let pools = [1, 2].map(|n| rayon::ThreadPoolBuilder::new().num_threads(n).build().expect("threads start"));
    let run = |pool: &rayon::ThreadPool| {
        pool.install(|| drop(black_box(manager::run(&pipeline, &module, &registry, &options))));
    };
    let (mut one, mut two) = (|| run(&pools[0]), || run(&pools[1]));
    let pairs = pairs(15, &mut one, &mut two);
    let gains: Vec<f64> = pairs.iter().map(|&(one, two)| ratio(one, two)).collect();
    let (low, middle, high) = interval(gains);
    println!(
        "{:<50} {middle:>12.2}   [1.8]   ({low:.2} to {high:.2})",
        format!("{N_FUNCTIONS} functions, one thread / two")
    );
}

fn shipped_registry() -> Registry {
    let shipped = shipped();
    crate::loaded(
        &["relais_operators", "relais_evaluator", "relais_graph"].map(|name| shipped.join(crate::library(name))),
    )
}
