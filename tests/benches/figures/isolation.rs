//! The costs of running a plugin in a process of its own.

use crate::{
    models::{blocks, chain},
    timing::{in_turns, ratio},
};
use abi_stable::std_types::RArc;
use relais::{
    ir::*,
    isolation::{Isolation, launch_workers_by},
    pass::RunCx,
    registry::Registry,
};
use relais_plugin_api::options::Value;
use std::{
    path::PathBuf,
    process::Command,
    sync::LazyLock,
    time::{Duration, Instant},
};

/// The program that is started.
static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| crate::shipped().join("relais"));

pub fn run() {
    launch_workers_by(|| {
        let mut command = Command::new(&*PROGRAM);
        command.arg("worker");
        Ok(command)
    });
    LazyLock::force(&PROGRAM);
    let here = crate::loaded(&[crate::sample()]);
    let away = || here.isolate(|_| Some(Isolation::default()), "", Vec::new());
    let none = Value::Struct(Vec::new());
    let mut starts: Vec<Duration> = (0..15)
        .map(|_| {
            let away = away();
            let start = Instant::now();
            let pass = away.create("sample.Nothing", &none).expect("the sample has it");
            let time = start.elapsed();
            drop(pass);
            time
        })
        .collect();
    starts.sort();
    println!("{:<62} {:>10.1?}", "a process, until a pass of its plugin is made", starts[starts.len() / 2]);
    println!(
        "{:<32} {:>9} {:>10} {:>10} {:>8} {:>9}",
        "a pass over a function", "bytes", "here", "away", "ratio", "per MB"
    );
    let away = away();
    for shape in ["chain", "blocks"] {
        let make = if shape == "chain" { chain } else { blocks };
        for n in [1_000, 10_000, 100_000, 1_000_000] {
            // Objects that take turns: a process has the last one.
            let modules: Vec<IRModule> = (0..2).map(|_| module(make(n))).collect();
            let bytes = relais_plugin_api::boundary::ship::Ship::module(&modules[0]).bytes().len();
            for (what, pass, n_modules) in [
                ("the one before", "sample.Nothing", 1),
                ("unchanged", "sample.Nothing", 2),
                ("changed", "sample.ReluRelu", 2),
            ] {
                let time = |registry: &Registry| {
                    let pass = registry.create(pass, &none).expect("the sample has it");
                    let cx = RunCx::new(registry);
                    let mut turn = 0;
                    let mut call = || {
                        turn += 1;
                        let module = &modules[turn % n_modules];
                        drop(std::hint::black_box(pass.run(module, &cx).expect("the pass runs")));
                    };
                    call();
                    in_turns(if n > 100_000 { 7 } else { 25 }, &mut [&mut call])[0]
                };
                let (one, other) = (time(&here), time(&away));
                let per_mb = (other.saturating_sub(one)).as_secs_f64() * 1e3 / (bytes as f64 / 1e6);
                let named = format!("{shape}, {n}, {what}");
                let ratio = ratio(other, one);
                println!("{named:<32} {bytes:>9} {one:>10.1?} {other:>10.1?} {ratio:>8.1} {per_mb:>6.2} ms");
            }
        }
    }
}

fn module(f: Function) -> IRModule {
    let mut module = IRModule::new();
    module.set_function(MAIN, RArc::new(f));
    module
}
