//! A run as users see it, with the time of its parts; next to the programs they use today, if those are installed.
//!
//! `RELAIS_BENCH_MODEL` names a model instead of the one made here, `RELAIS_BENCH_PYTHON` a Python with peers.

use crate::{
    models, shipped,
    timing::{in_turns, line, median, ratio},
};
use relais::{
    ir::*,
    manager::{self, RunOptions},
    onnx::{self, ReadOptions, WriteOptions},
    pipeline::{Disk, PipelineSpec},
    plugin::{Policy, SearchDir, WritableFiles, discover},
    registry::{Choices, Linked, Registry},
};
use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

const STEPS: [&str; 6] =
    ["finding plugins, reading records", "resolving the pipeline", "reading", "passes", "again, opened", "writing"];

/// The task of each peer, with `sys.argv`'s model and output.
const PEERS: [(&str, &str); 3] = [
    ("onnxsim", "import sys,onnx,onnxsim; m,_=onnxsim.simplify(sys.argv[1]); onnx.save(m,sys.argv[2])"),
    ("onnxslim", "import sys,onnxslim; onnxslim.slim(sys.argv[1],sys.argv[2])"),
    (
        "onnxruntime",
        "import sys,onnxruntime as o; s=o.SessionOptions(); s.optimized_model_filepath=sys.argv[2]; \
         s.graph_optimization_level=o.GraphOptimizationLevel.ORT_ENABLE_BASIC; \
         o.InferenceSession(sys.argv[1],s,providers=['CPUExecutionProvider'])",
    ),
];

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
    processes(&shipped, &model, &output);
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
    let run = || manager::run(&pipeline, &module, &registry, &RunOptions::default()).expect("the passes run").0;
    let first = run();
    let passes = lap();
    drop(run());
    let again = lap();
    onnx::write(&first, output, &WriteOptions::default()).expect("it can be written");
    [find, resolve, read, passes, again, lap()]
}

/// Whole processes, in turns.
fn processes(shipped: &Path, model: &Path, output: &Path) {
    let quiet = |command: &mut Command| {
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    let python = std::env::var_os("RELAIS_BENCH_PYTHON");
    // Each writes a file of its own: to replace a large one that another wrote takes longer than a run.
    let peer = |name: &str, code: &str| {
        let mut command = Command::new(python.as_ref()?);
        command.args(["-c", code]).arg(model).arg(output.with_extension(format!("{name}.onnx")));
        Some(command)
    };
    let mut relais = Command::new(shipped.join("relais"));
    relais.arg("run").arg(model).arg("-o").arg(output).args(["-q", "--allow-writable-plugins"]);
    let peers = PEERS.iter().filter_map(|(name, code)| Some((*name, peer(name, code)?)));
    let mut commands: Vec<(&str, Command)> = [("relais run", relais)].into_iter().chain(peers).collect();
    commands.retain_mut(|(name, command)| {
        let runs = quiet(command);
        if !runs {
            println!("  {name} does not run here");
        }
        runs
    });
    let mut runs: Vec<_> = commands.iter_mut().map(|(_, command)| move || assert!(quiet(command))).collect();
    let mut things: Vec<&mut dyn FnMut()> = runs.iter_mut().map(|run| run as &mut dyn FnMut()).collect();
    let times = in_turns(5, &mut things);
    drop(things);
    drop(runs);
    for ((name, _), &time) in commands.iter().zip(&times) {
        line(&format!("  process: {name}"), time, &format!("{:.1} x relais", ratio(time, times[0])));
    }
}
