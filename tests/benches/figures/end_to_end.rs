//! The time of the parts of a run. `python -m judge peers` measures whole runs, next to other optimisers.
//!
//! `RELAIS_BENCH_MODEL` names a model instead of the one made here.

use crate::{
    models, shipped,
    timing::{line, median},
};
use relais::{
    ir::*,
    manager::{self, ManagerOptions},
    onnx::{self, ReadOptions, WriteOptions},
    pipeline::{Disk, PipelineSpec},
    plugin::{Policy, SearchDir, WritableFiles, discover},
    registry::{Choices, Linked, Registry},
};
use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

const STEPS: [&str; 6] =
    ["finding plugins, reading records", "resolving the pipeline", "reading", "passes", "again, opened", "writing"];

pub fn run() {
    let shipped = shipped();
    let folder = tempfile::tempdir().expect("a folder can be made");
    let output = folder.path().join("out.onnx");
    let model = std::env::var_os("RELAIS_BENCH_MODEL").map(PathBuf::from).unwrap_or_else(|| {
        let path = folder.path().join("in.onnx");
        let mut module = IRModule::new();
        module.set_function(MAIN, models::blocks(500));
        onnx::write(&module, &path, &WriteOptions::default()).expect("it can be written");
        path
    });
    println!("a run of the default pipeline over `{}`", model.file_name().unwrap_or_default().display());
    let rounds: Vec<[Duration; 6]> = (0..11).map(|_| steps(&shipped, &model, &output)).collect();
    for (index, step) in STEPS.iter().enumerate() {
        line(&format!("  {step}"), median(rounds.iter().map(|round| round[index]).collect()), "-");
    }
}

/// One run within this process, its parts timed. Plugins are opened again each time.
fn steps(shipped: &Path, model: &Path, output: &Path) -> [Duration; 6] {
    let mut last = Instant::now();
    let mut lap = || {
        let now = Instant::now();
        now - std::mem::replace(&mut last, now)
    };
    let dirs = SearchDir::standard(Some(shipped), None, None, &[]);
    let found = discover(&dirs, &[], Policy { writable: WritableFiles::Allow });
    let registry = Registry::new(found, Linked::Exclude, &Choices::new());
    let find = lap();
    let spec = PipelineSpec::read(Path::new("builtin:default"), &Disk).expect("it is built in");
    let pipeline = spec.resolve(&registry).expect("it names what is shipped");
    let resolve = lap();
    let module = onnx::read(model, &ReadOptions::default()).expect("the model is valid");
    let read = lap();
    let run = || manager::run(&pipeline, &module, &registry, &ManagerOptions::default()).expect("the passes run").0;
    let first = run();
    let passes = lap();
    drop(run());
    let again = lap();
    onnx::write(&first, output, &WriteOptions::default()).expect("it can be written");
    [find, resolve, read, passes, again, lap()]
}
