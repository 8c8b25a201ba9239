//! The cost of the checks C1 to C9 of what plugins return: runs beside runs of the same sources without these checks.
//!
//! A copy of the sources is patched and built, since nothing that is shipped can leave the checks out.

use crate::timing::{interval, ratio};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
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

pub fn run() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let tree = target.join("unchecked");
    without_checks(root, &tree);
    let [checked, unchecked] = [(root, "checked"), (&tree, "unchecked-build")].map(|(tree, name)| {
        let target = target.join(name);
        let [tree, target] = [tree, &target].map(|path| path.to_str().expect("the target folder is text"));
        crate::cargo_build(&[
            "-p",
            "relais-opt",
            "--manifest-path",
            &format!("{tree}/Cargo.toml"),
            "--target-dir",
            target,
        ]);
        Path::new(target).join("release").join(format!("relais{}", std::env::consts::EXE_SUFFIX))
    });
    let folder = tempfile::tempdir().expect("a folder can be made");
    fs::write(folder.path().join("pipeline.toml"), PIPELINE).expect("the folder can be written");
    println!("{:<27} {:>10} {:>10} {:>10}   [at most 1.15]", "with checks, without them", "10^4", "10^5", "10^6");
    let mut lines = [String::new(), String::new(), String::new(), String::new()];
    for n in SIZES {
        fs::write(folder.path().join("model.relay"), text(n)).expect("the folder can be written");
        let rounds = if n < 1_000_000 { 9 } else { 5 };
        let times: Vec<[Duration; 2]> = (0..rounds)
            .map(|round| match round % 2 {
                0 => [&checked, &unchecked].map(|program| seconds(program, folder.path())),
                _ => {
                    let [second, first] = [&unchecked, &checked].map(|program| seconds(program, folder.path()));
                    [first, second]
                }
            })
            .collect();
        let (low, middle, high) = interval(times.iter().map(|[one, other]| ratio(*one, *other)).collect());
        let per_node = |which: usize| {
            let times = times.iter().map(|pair| pair[which].as_secs_f64() * 1e9 / n as f64);
            interval(times.collect()).1
        };
        for (line, cell) in lines.iter_mut().zip([per_node(0), per_node(1)]) {
            line.push_str(&format!(" {cell:>10.1}"));
        }
        lines[2].push_str(&format!(" {middle:>10.3}"));
        lines[3].push_str(&format!(" {:>10}", format!("{low:.2}-{high:.2}")));
    }
    for (what, line) in ["ns per node with checks", "ns per node without", "ratio", "  80 of 100"].iter().zip(lines) {
        println!("  {what:<25}{line}");
    }
}

/// Copies the sources, and takes the checks out.
fn without_checks(root: &Path, tree: &Path) {
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
    let patch: PathBuf = root.join("tests/benches/without_checks.patch");
    let mut git = Command::new("git");
    // Without the ceiling, git takes the copy for a part of the repository around it.
    git.current_dir(tree).env("GIT_CEILING_DIRECTORIES", tree.parent().expect("it has one")).arg("apply").arg(&patch);
    assert!(git.status().expect("git runs").success(), "`{}` no longer applies", patch.display());
}

/// The time of the passes of a run, with what is checked and typed around them.
fn seconds(program: &Path, folder: &Path) -> Duration {
    let report = folder.join("report.json");
    // Only outputs are replaced.
    let _ = fs::remove_file(&report);
    let mut relais = Command::new(program);
    relais.current_dir(folder).args(["run", "model.relay", "--pipeline", "pipeline.toml", "-o", "out.relay"]);
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
