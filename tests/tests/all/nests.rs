//! Random loop programs as C, which computes what the interpreter does, bit for bit.

use relais_conformance::{check::random_inputs, loop_programs};
use relais_plugin_api::{
    ir::{ElemType, IRModule, MAIN, Tensor},
    prim::{self, RunOptions, n_outputs},
    text::{self, PrintOptions},
};
use relais_tests::{
    cli::{Run, command, folder},
    venv::every,
};
use std::{fs, path::Path, process::Command};

/// The contents of an npy file.
fn npy(tensor: &Tensor) -> Vec<u8> {
    let descr = if tensor.elem() == ElemType::INT64 { "<i8" } else { "<f4" };
    let dims: Vec<String> = tensor.dims().iter().map(u64::to_string).collect();
    let shape = if dims.len() == 1 { format!("{},", dims[0]) } else { dims.join(", ") };
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    let header = format!("{text:<117}\n");
    let start = [&b"\x93NUMPY\x01\x00"[..], &(header.len() as u16).to_le_bytes(), header.as_bytes()].concat();
    [&start[..], &tensor.to_bytes()].concat()
}

/// The elements, a NaN without its sign and payload, which are the machine's.
fn elements(tensor: &Tensor) -> Vec<String> {
    match tensor.to_f64s() {
        Some(floats) => floats.iter().map(|x| format!("{x:?}")).collect(),
        None => tensor.to_i64s().into_iter().flatten().map(|x| x.to_string()).collect(),
    }
}

/// How a program becomes C: by which passes, and the warnings that its compiler does not give.
type Way = (&'static str, &'static [&'static str]);

const WAYS: [Way; 3] = [
    // As it is, it compares values with themselves, and computes some that nothing uses.
    ("PlanMemory,EmitC", &["-Wno-tautological-compare", "-Wno-unused-variable"]),
    ("Simplify,RemoveNoOp,UnrollLoop,LoopPartition,Simplify,FlattenBuffer,RemoveNoOp,PlanMemory,EmitC", &[]),
    ("FuseLoops,Simplify,LoopPartition,RemoveNoOp,PlanMemory,StorageRewrite,EmitC", &[]),
];

/// Builds a program and runs it on the inputs; returns its outputs, or `None` if it stopped.
fn run_as_c(
    here: &Path,
    (passes, allowed): Way,
    module: &IRModule,
    inputs: &[Tensor],
    outputs: &[Tensor],
) -> Option<Vec<Tensor>> {
    fs::write(here.join("nest.relay"), text::print(module, &PrintOptions::default())).unwrap();
    let mut relais = command();
    relais.current_dir(here).args(["build", "-q", "nest.relay", "-o", "nest.c", "--main"]);
    Run::of(relais.args(["--passes", passes, "--set", "EmitC.bounds=all"])).expect_success();
    let mut compiler = Command::new("cc");
    let strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-O1"];
    compiler.current_dir(here).args(strict).args(allowed);
    compiler.args(["-fsanitize=undefined", "-fno-sanitize-recover=all"]);
    Run::of(compiler.args(["nest.c", "nest_main.c", "-lm", "-o", "nest"])).expect_success();
    let mut nest = Command::new(here.join("nest"));
    for (at, input) in inputs.iter().enumerate() {
        fs::write(here.join(format!("in{at}.npy")), npy(input)).unwrap();
        nest.arg(format!("in{at}.npy"));
    }
    let files: Vec<String> = (0..outputs.len()).map(|at| format!("out{at}.npy")).collect();
    let ran = Run::of(nest.current_dir(here).args(&files));
    if ran.status != Some(0) {
        assert!(ran.stderr.starts_with("the model stopped: "), "{}", ran.stderr);
        return None;
    }
    let read = |(file, like): (&String, &Tensor)| {
        let bytes = fs::read(here.join(file)).unwrap();
        let elements = bytes[bytes.len() - like.byte_len() as usize..].to_vec();
        Tensor::dense(like.elem(), like.dims(), elements).unwrap()
    };
    Some(files.iter().zip(outputs).map(read).collect())
}

#[test]
#[cfg_attr(not(unix), ignore = "compilers have other arguments there")]
fn random_programs_compute_as_c_what_the_interpreter_does() {
    let here = folder("nests");
    let (mut n_same, mut n_stopped) = (0, 0);
    let all = loop_programs(7, 400 / every()).filter(|module| module.global(MAIN).is_some());
    for (module, &way) in all.zip(WAYS.iter().cycle()) {
        let f = module.global(MAIN).and_then(|main| main.prim_func()).unwrap();
        let mut inputs = random_inputs(f, 1, 0).next().unwrap().unwrap();
        // Random values for the outputs have their types.
        let outputs = inputs.split_off(f.params().len() - n_outputs(f));
        let run = |poison: bool| {
            let mut options = RunOptions::default();
            (options.poison, options.fuel) = (poison, 1 << 22);
            prim::run(&module, MAIN, &inputs, &options)
        };
        let printed = || text::print(&module, &PrintOptions::default());
        let got = run_as_c(&here, way, &module, &inputs, &outputs);
        let (expected, poisoned) = match (run(false), run(true)) {
            (Ok(expected), Ok(poisoned)) => (expected, poisoned),
            // Passes may remove what stops a program.
            (Err(_), _) => {
                assert!(got.is_none() || way != WAYS[0], "{}", printed());
                n_stopped += 1;
                continue;
            }
            (Ok(_), Err(_)) => continue,
        };
        let got = got.unwrap_or_else(|| panic!("it stops: {}", printed()));
        for (at, (got, (expected, poisoned))) in got.iter().zip(expected.iter().zip(&poisoned)).enumerate() {
            let all = elements(expected).into_iter().zip(elements(poisoned)).zip(elements(got));
            // Numbers that depend on memory that was not written may be anything.
            for ((expected, _), got) in all.filter(|((expected, poisoned), _)| expected == poisoned) {
                assert_eq!(got, expected, "output {at} after {} of {}", way.0, printed());
            }
        }
        n_same += 1;
    }
    println!("{n_same} compute the same, {n_stopped} stop");
    assert!(n_same >= 100 / every(), "{n_same}");
}
