//! Two passes that use one analysis, shared by the host against computed by each, and the cost of a result that is known.

use crate::{
    models,
    timing::{each, interval, line, pairs, ratio},
};
use relais::{
    ir::*,
    manager::{self, ManagerOptions},
    pass::Verify,
    pipeline::{Disk, Pipeline, PipelineSpec},
    transform::{Pass, PassLibrary},
};
use relais_plugin_api::{analysis::SubjectRec, ir::Users};
use std::hint::black_box;

pub fn run() {
    let registry = crate::loaded(&[]);
    let mut library = PassLibrary::new(&registry);
    library.register(&Pass::function("own.Shared", 0, |f, _, cx| {
        let known = cx.analysis("relais.Users", &SubjectRec::function(f), false)?;
        black_box(known.and_then(|known| Users::of_lists(known.lists())));
        Ok(None)
    }));
    library.register(&Pass::function("own.Alone", 0, |f, _, _| {
        black_box(Users::compute(f));
        Ok(None)
    }));
    let options = ManagerOptions { verify: Some(Verify::Off), ..ManagerOptions::default() };
    let pipeline = |pass: &str, n: usize| -> Pipeline {
        let text = format!("steps = [{}]", vec![format!("{pass:?}"); n].join(", "));
        let spec = PipelineSpec::parse("analyses.toml", &text, &Disk).expect("it is a pipeline");
        spec.resolve(&library).expect("the passes are there")
    };
    let [shared, alone] = ["own.Shared", "own.Alone"].map(|pass| pipeline(pass, 2));
    for n_nodes in [10_000, 100_000, 1_000_000] {
        let mut module = IRModule::new();
        module.set_function(MAIN, models::chain(n_nodes));
        let run = |pipeline: &Pipeline| drop(black_box(manager::run(pipeline, &module, &library, &options)));
        let pairs = pairs(15, &mut || run(&shared), &mut || run(&alone));
        let (low, middle, high) = interval(pairs.iter().map(|&(shared, alone)| ratio(shared, alone)).collect());
        let what = format!("users of {n_nodes} nodes, asked twice / computed twice");
        println!("{what:<50} {middle:>12.2}   [0.6]   ({low:.2} to {high:.2})");
    }
    let mut module = IRModule::new();
    module.set_function(MAIN, models::chain(10));
    const N_STEPS: u32 = 1000;
    let times = ["own.Shared", "own.Alone"].map(|pass| {
        let pipeline = pipeline(pass, N_STEPS as usize);
        each(20, || drop(black_box(manager::run(&pipeline, &module, &library, &options)))) / N_STEPS
    });
    line("users of 10 nodes, a step that is told them", times[0], "-");
    line("  a step that computes them", times[1], "-");
}
