//! What the plugin boundary costs: a pass call, a pass over a big function, reading records, opening a library.
//!
//! `cargo bench -p relais --bench boundary` prints one line for each; goals are in brackets.

#[path = "../../tests/plugins/sample/src/lib.rs"]
mod sample_passes;

use abi_stable::std_types::RArc;
use relais::{
    ir::*,
    pass::RunCx,
    plugin::{Policy, WritableFiles, discover, read_records, read_section},
    registry::{Choices, Linked, Registry},
};
use relais_plugin_api::options::Value;
use std::{
    hint::black_box,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

/// The best of several runs, per turn: what else the machine does only ever adds to it.
fn time(turns: u32, mut f: impl FnMut()) -> Duration {
    let run = || {
        let start = Instant::now();
        (0..turns).for_each(|_| f());
        start.elapsed() / turns
    };
    std::iter::repeat_with(run).take(7).min().expect("there are some runs")
}

fn line(what: &str, time: Duration, goal: &str) {
    println!("{what:<50} {time:>12.1?}   [{goal}]");
}

fn build() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/plugins/sample/Cargo.toml");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plugins");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--release", "--manifest-path"]).arg(manifest).arg("--target-dir").arg(&target);
    assert!(cargo.status().expect("cargo runs").success());
    let name = format!("{}sample_passes{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    target.join("release").join(name)
}

fn chain(n: usize) -> Function {
    let mut f = Function::new();
    f.set_opset_imports(&[("", 17)]);
    let ty = f.tensor_type(ElemType::FLOAT, &[Dim::Static(2)]);
    let mut last = f.add_var("x", ty);
    f.set_params(f.root(), &[last]);
    let (relu, neg) = (f.add_op("", "Relu", "", 0), f.add_op("", "Neg", "", 0));
    for i in 0..n {
        last = f.add_call(if i % 2 == 0 { neg } else { relu }, &[last]);
        f.append(f.body(), last);
    }
    f.set_results(f.body(), &[last]);
    f
}

fn main() {
    let path = build();
    let policy = Policy { writable: WritableFiles::Allow };
    let find = || discover(&[], std::slice::from_ref(&path), policy);
    let loaded = Registry::new(find(), Linked::Exclude, &Choices::new());
    let linked = Registry::new(Default::default(), Linked::Include, &Choices::new());
    let none = Value::Struct(Vec::new());

    for (name, registry) in [("loaded", &loaded), ("linked", &linked)] {
        let nothing = registry.create("sample.Nothing", &none).expect("the sample has it");
        let f = RArc::new(chain(10));
        let cx = RunCx::new(registry);
        let call = nothing.bench_call(&cx, &f);
        line(&format!("a pass call ({name})"), time(100_000, call), "50 ns");
        let mut module = IRModule::new();
        module.set_function(MAIN, f.clone());
        let run = || drop(black_box(nothing.run(&module, &cx)));
        line(&format!("the same with the host's part ({name})"), time(10_000, run), "-");
        let mut big = IRModule::new();
        big.set_function(MAIN, chain(1_000_000));
        let rewrite = registry.create("sample.ReluRelu", &none).expect("the sample has it");
        let run = || drop(black_box(rewrite.run(&big, &cx)));
        line(&format!("a rewrite over 1,000,000 nodes ({name})"), time(1, run), "loaded 1.05 x linked");
    }

    let section = read_section(&path).expect("the sample has records");
    line("finding records in the file", time(200, || drop(black_box(read_section(&path)))), "100 us together");
    line("reading them", time(200, || drop(black_box(read_records(&section)))), "100 us together");
    let open = || {
        let registry = Registry::new(find(), Linked::Exclude, &Choices::new());
        registry.create("sample.Nothing", &none).expect("the sample has it");
    };
    line("finding, opening and checking a plugin", time(3, open), "-");
}
