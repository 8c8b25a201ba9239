//! Nanoseconds per node of reading and writing ONNX, on chains of growing size; beside `onnx.load` and `onnx.save` where
//! `RELAIS_BENCH_PYTHON` names a Python that has `onnx`.

use crate::{
    models,
    timing::{in_turns, median},
};
use relais::{
    ir::*,
    onnx::{self, ReadOptions, WriteOptions},
};
use std::{hint::black_box, path::Path, process::Command, time::Duration};

const SIZES: [(usize, usize); 3] = [(10_000, 25), (100_000, 9), (1_000_000, 5)];

/// Loads and saves `sys.argv`'s model, and prints the nanoseconds that each took.
const ONNX: &str = "import sys, time, onnx
start = time.perf_counter_ns(); model = onnx.load(sys.argv[1]); loaded = time.perf_counter_ns()
onnx.save(model, sys.argv[2]); print(loaded - start, time.perf_counter_ns() - loaded)";

pub fn run() {
    println!("ns per node, chain {:>17} {:>12}   [10^6: 400 together, a quarter of onnx]", "reading", "writing");
    let folder = tempfile::tempdir().expect("a folder can be made");
    let (input, output) = (folder.path().join("in.onnx"), folder.path().join("out.onnx"));
    for (n, n_rounds) in SIZES {
        let mut module = IRModule::new();
        module.set_function(MAIN, models::chain(n));
        onnx::write(&module, &input, &WriteOptions::default()).expect("it can be written");
        let module = onnx::read(&input, &ReadOptions::default()).expect("it is valid");
        let per_node = |time: Duration| time.as_nanos() as f64 / n as f64;
        let mut read = || drop(black_box(onnx::read(&input, &ReadOptions::default()).expect("it is valid")));
        let mut write = || drop(black_box(onnx::write(&module, &output, &WriteOptions::default())));
        let python = std::env::var_os("RELAIS_BENCH_PYTHON");
        let mut others = Vec::new();
        let mut peer = || {
            others.extend(python.as_ref().and_then(|python| onnx_times(python.as_ref(), &input, &output)));
        };
        let times = in_turns(n_rounds, &mut [&mut read, &mut write, &mut peer]);
        println!("  {n:<32} {:>12.0} {:>12.0}", per_node(times[0]), per_node(times[1]));
        if !others.is_empty() {
            let (load, save): (Vec<Duration>, Vec<Duration>) = others.into_iter().unzip();
            println!("  {:<32} {:>12.0} {:>12.0}", "  onnx", per_node(median(load)), per_node(median(save)));
        }
    }
}

fn onnx_times(python: &Path, input: &Path, output: &Path) -> Option<(Duration, Duration)> {
    let run = Command::new(python).args(["-c", ONNX]).arg(input).arg(output).output().ok()?;
    let said = String::from_utf8(run.stdout).ok()?;
    let (load, save) = said.trim_end().split_once(' ')?;
    Some((Duration::from_nanos(load.parse().ok()?), Duration::from_nanos(save.parse().ok()?)))
}
