//! The cost of the checks C1 to C9 of what plugins return, and of C15 and C16 of what is written: runs beside runs of the same
//! sources without these checks.
//!
//! A copy of the sources is patched and built, since nothing that is shipped can leave the checks out.

use crate::timing::{interval, ratio};
use relais::{
    ir::*,
    onnx::{self, WriteOptions},
};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// In operators; a block of the module has about a hundred.
const SIZES: [usize; 3] = [10_000, 100_000, 1_000_000];
/// About a hundred calls, in the mix that models have. Each of three passes changes one of them.
const BLOCK: &str = include_str!("mix.relay");
const PARAMS: &str = "%w3: Tensor[(8, 8, 3, 3), float32], %w1: Tensor[(8, 8, 1, 1), float32], \
    %scale: Tensor[(8), float32], %shift: Tensor[(8), float32], %row: Tensor[(64), float32], \
    %square: Tensor[(64, 64), float32], %other: Tensor[(64, 64), float32], %mask: Tensor[(8, 64), bool]";
const CONSTANTS: &str = "  %zero = const(float32, 0.0);
  %six = const(float32, 6.0);
  %two = const(float32, 2.0);
  %small = const(float32, 0.125);
  %one = const(int64, 1);
  %at0 = const(int64, [0]);
  %at1 = const(int64, [1]);
  %at8 = const(int64, [8]);
  %at64 = const(int64, [64]);
  %heads = const(int64, [8, 4, 16]);
  %flat = const(int64, [8, 64]);
  %image = const(int64, [1, 8, 8, 8]);
";
const PIPELINE: &str = r#"name = "checks"
opt_level = 3
steps = [
    { pass = "relais.Rewrite", options = { rules = ["Neg(Neg(x)) => x"] } },
    "relais.EliminateNoOp",
    "relais.EliminateCommonSubexpr",
]
"#;

/// The heads of the columns for these sizes.
const HEADS: [&str; 3] = ["10^4", "10^5", "10^6"];

/// Runs with the checks of passes beside runs without them.
pub fn run() {
    let programs = programs("without_checks.patch");
    let folder = tempfile::tempdir().expect("a folder can be made");
    fs::write(folder.path().join("pipeline.toml"), PIPELINE).expect("the folder can be written");
    let mut table = Table::new("with checks, without them");
    for (n, head) in SIZES.into_iter().zip(HEADS) {
        fs::write(folder.path().join("model.relay"), text(n)).expect("the folder can be written");
        let args = ["model.relay", "--pipeline", "pipeline.toml", "-o", "out.relay"];
        let times = measured(&programs, rounds(n), |program| seconds(program, folder.path(), &args));
        table.add(head, n, &times);
    }
    table.print("ns per node", "at most 1.15");
}

/// Whole runs that read back what they wrote, and hold it against what onnxruntime takes, beside runs that do not.
pub fn run_written() {
    let programs = programs("without_read_back.patch");
    let folder = tempfile::tempdir().expect("a folder can be made");
    let whole = |program: &Path, args: &[&str]| {
        let _ = fs::remove_file(folder.path().join("out.onnx"));
        let began = Instant::now();
        let mut relais = Command::new(program);
        let status = relais.current_dir(&folder).arg("run").args(args).args(["--threads", "1", "-q"]).status();
        assert!(status.expect("it runs").success(), "a run fails");
        began.elapsed()
    };
    let mut table = Table::new("with C15, C16, without them");
    for (n, head) in SIZES.into_iter().zip(HEADS) {
        fs::write(folder.path().join("model.relay"), text(n)).expect("the folder can be written");
        whole(&programs[0], &["model.relay", "-O0", "-o", "model.onnx"]);
        let times = measured(&programs, rounds(n), |program| whole(program, &["model.onnx", "-o", "out.onnx"]));
        table.add(head, n, &times);
        fs::remove_file(folder.path().join("model.onnx")).expect("it is there");
    }
    table.print("ns per node", "at most 1.15");
    let mut table = Table::new("  MB of weights");
    for (n, head) in [(128, "128"), (512, "512")] {
        onnx::write(&weighty(n), folder.path().join("model.onnx"), &WriteOptions::default())
            .expect("it can be written");
        let times = measured(&programs, 9, |program| whole(program, &["model.onnx", "-o", "out.onnx"]));
        table.add(head, n, &times);
        let args = ["model.onnx", "-O0", "-o", "split.onnx", "--external-data", "always"];
        whole(&programs[0], &args);
        let args = ["split.onnx", "-o", "out.onnx", "--external-data", "keep"];
        let times = measured(&programs, 9, |program| whole(program, &args));
        table.add("that stay", n, &times);
        for file in ["model.onnx", "split.onnx", "split.onnx.data"] {
            fs::remove_file(folder.path().join(file)).expect("it is there");
        }
    }
    table.print("ns per MB", "at most 2; that stay: 1.15");
}

/// A chain of products with that many MB of weights.
fn weighty(n: usize) -> IRModule {
    const WIDTH: u64 = 1024;
    let mut f = Function::new();
    f.set_opset_imports(&[("", 17)]);
    let ty = f.tensor_type(ElemType::FLOAT, &[Dim::Static(1), Dim::Static(WIDTH)]);
    let x = f.add_var("x", ty);
    f.set_params(f.root(), &[x]);
    let product = f.add_op("", "MatMul", "", 0);
    let y = (0..n / 4).fold(x, |x, at| {
        let number = |i: u64| ((i * 7 + at as u64) % 1000) as f32 / 1000.0;
        let weight = Tensor::from_f32(&[WIDTH, WIDTH], &(0..WIDTH * WIDTH).map(number).collect::<Vec<f32>>());
        let weight = f.add_constant(weight, ConstForm::ANY);
        let y = f.add_call(product, &[x, weight]);
        f.append(f.body(), y);
        y
    });
    f.set_results(f.body(), &[y]);
    let mut module = IRModule::new();
    module.set_function(MAIN, f);
    module
}

fn rounds(n: usize) -> usize {
    if n < 1_000_000 { 9 } else { 5 }
}

/// The times of a program and of the other one, in turns.
fn measured(programs: &[PathBuf; 2], rounds: usize, time: impl Fn(&Path) -> Duration) -> Vec<[Duration; 2]> {
    let [one, other] = programs;
    (0..rounds)
        .map(|round| match round % 2 {
            0 => [time(one), time(other)],
            _ => {
                let second = time(other);
                [time(one), second]
            }
        })
        .collect()
}

/// Times with something and without it, a column each.
struct Table {
    head: String,
    lines: [String; 4],
}

impl Table {
    fn new(what: &str) -> Self {
        Self { head: format!("{what:<27}"), lines: Default::default() }
    }

    /// `n` is what the times are divided by.
    fn add(&mut self, head: &str, n: usize, times: &[[Duration; 2]]) {
        let (low, middle, high) = interval(times.iter().map(|[one, other]| ratio(*one, *other)).collect());
        let each = |which: usize| {
            let times = times.iter().map(|pair| pair[which].as_secs_f64() * 1e9 / n as f64);
            format!("{:.1}", interval(times.collect()).1)
        };
        self.head.push_str(&format!(" {head:>10}"));
        let cells = [each(0), each(1), format!("{middle:.3}"), format!("{low:.2}-{high:.2}")];
        for (line, cell) in self.lines.iter_mut().zip(cells) {
            line.push_str(&format!(" {cell:>10}"));
        }
    }

    fn print(self, unit: &str, goal: &str) {
        println!("{}   [{goal}]", self.head);
        let names = [format!("{unit} with"), format!("{unit} without"), "ratio".to_owned(), "  80 of 100".to_owned()];
        for (name, line) in names.iter().zip(self.lines) {
            println!("  {name:<25}{line}");
        }
    }
}

/// The program, and the program of the sources with a patch.
fn programs(patch: &str) -> [PathBuf; 2] {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let tree = target.join("unchecked");
    copy(root, &tree, &root.join("tests/benches").join(patch));
    [(root, "checked"), (&tree, "unchecked-build")].map(|(tree, name)| {
        let target = target.join(name);
        let [tree, target] = [tree, &target].map(|path| path.to_str().expect("the target folder is text"));
        let manifest = format!("{tree}/Cargo.toml");
        crate::cargo_build(&["-p", "relais-opt", "--manifest-path", &manifest, "--target-dir", target]);
        Path::new(target).join("release").join(format!("relais{}", std::env::consts::EXE_SUFFIX))
    })
}

/// Copies the sources, and applies a patch, which takes checks out.
fn copy(root: &Path, tree: &Path, patch: &Path) {
    let listed = Command::new("git").current_dir(root).args(["ls-files", "-z"]).output().expect("git runs");
    assert!(listed.status.success(), "the sources are in a repository");
    for name in String::from_utf8(listed.stdout).expect("names are text").split_terminator('\0') {
        let (from, to) = (root.join(name), tree.join(name));
        // Of those that are as they were, the time stays, so that cargo builds little.
        let Ok(content) = fs::read(&from) else { continue };
        fs::create_dir_all(to.parent().expect("it is in the tree")).expect("the target folder can be written");
        if fs::read(&to).is_ok_and(|old| old == content) {
            continue;
        }
        fs::write(&to, content).expect("the target folder can be written");
    }
    let mut git = Command::new("git");
    // Without the ceiling, git takes the copy for a part of the repository around it.
    git.current_dir(tree).env("GIT_CEILING_DIRECTORIES", tree.parent().expect("it has one")).arg("apply").arg(patch);
    assert!(git.status().expect("git runs").success(), "`{}` no longer applies", patch.display());
}

/// The time of the passes of a run, with what is checked and typed around them.
fn seconds(program: &Path, folder: &Path, args: &[&str]) -> Duration {
    let report = folder.join("report.json");
    // Only outputs are replaced.
    let _ = fs::remove_file(&report);
    let mut relais = Command::new(program);
    relais.current_dir(folder).arg("run").args(args);
    relais.args(["--report", "report.json", "--threads", "1"]).stdout(Stdio::null());
    assert!(relais.status().expect("it runs").success(), "a run fails");
    let report: Value = serde_json::from_slice(&fs::read(report).expect("it is written")).expect("it is JSON");
    Duration::from_secs_f64(report["run"]["seconds"].as_f64().expect("it is a number"))
}

/// A module of about `n` operators.
fn text(n: usize) -> String {
    let mut text =
        format!("def @main(%x0: Tensor[(1, 8, 8, 8), float32], {PARAMS}) #[opset = {{\"\": 17}}] {{\n{CONSTANTS}");
    let n_blocks = n / BLOCK.lines().filter(|line| line.contains('=')).count();
    for block in 0..n_blocks {
        for line in BLOCK.lines().filter(|line| line.contains('=')) {
            let mut rest = line;
            while let Some((before, after)) = rest.split_once('%') {
                let end = after.find(|letter: char| !letter.is_alphanumeric()).unwrap_or(after.len());
                let name = &after[..end];
                // The others are the block's own, and get its number.
                let is_shared = CONSTANTS.contains(&format!("%{name} =")) || PARAMS.contains(&format!("%{name}:"));
                text.push_str(before);
                match name {
                    "y" => text.push_str(&format!("%x{}", block + 1)),
                    "x" => text.push_str(&format!("%x{block}")),
                    _ if is_shared => text.push_str(&format!("%{name}")),
                    _ => text.push_str(&format!("%{name}_{block}")),
                }
                rest = &after[end..];
            }
            text.push_str(rest);
            text.push('\n');
        }
    }
    text.push_str(&format!("  %x{n_blocks}\n}}\n"));
    text
}
