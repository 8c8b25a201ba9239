//! Calls of operators that have kernels and no evaluators: they are folded and checked by their kernels, as far as these
//! are right.

use relais_tests::{
    cargo_built::plugin,
    cli::{Run, command, folder},
};
use std::fs;

/// A call of a constant, whose result `main` adds to its input.
fn module(op: &str) -> String {
    format!(
        "def @main(%x: Tensor[(2), float32]) #[opset = {{\"\": 17, \"liar\": 1}}] {{
  %c = const(float32, [1.0, 0.0]);
  %y = liar::{op}(%c);
  %z = Add(%x, %y);
  %z
}}
"
    )
}

/// Folds the call of an operator of the liar.
fn fold(op: &str) -> (Run, Option<String>) {
    let here = folder(&format!("folded-{op}"));
    fs::write(here.join("model.relay"), module(op)).unwrap();
    let mut relais = command();
    relais.current_dir(&here).args([
        "run",
        "-q",
        "model.relay",
        "-o",
        "out.relay",
        "--passes",
        "InferType,FoldConstant",
    ]);
    relais.args(["--no-reproducer", "--remarks=missed", "--allow-writable-plugins", "--plugin"]).arg(plugin("liar"));
    (Run::of(&mut relais), fs::read_to_string(here.join("out.relay")).ok())
}

/// A kernel that is right for these arguments says what the call comes to.
#[test]
fn kernels_fold() {
    for op in ["HonestKernel", "KernelPanics"] {
        let (run, folded) = fold(op);
        run.expect_success();
        let folded = folded.unwrap();
        assert!(folded.contains("%y = const(float32, [1.0, 0.0])"), "{op}: {folded}");
    }
    // An evaluator is asked first.
    let folded = fold("KernelContradicts").1.unwrap();
    assert!(folded.contains("%y = const(float32, [2.0, 0.0])"), "{folded}");
}

/// A program that stops says nothing about the call, which stays as it is; the remark names the place.
#[test]
fn c14_a_kernel_that_stops_folds_nothing() {
    let stops = [
        ("KernelEndless", "its kernel does not end within the 134217728 steps"),
        ("KernelLong", "its kernel does not end within the 134217728 steps"),
        ("KernelHungry", "4398046511104 more bytes are asked for"),
        ("KernelStrays", "index 2 is out of bounds: the size of axis 0 of `%x0` is 2"),
        ("KernelDivides", "division by zero"),
    ];
    for (op, why) in stops {
        let (run, left) = fold(op);
        let run = run.expect_success();
        assert!(run.stderr.contains(why), "{op}: {}", run.stderr);
        assert!(run.stderr.contains(&format!("liar::{op}(%c)")), "{op}: {}", run.stderr);
        assert!(left.unwrap().contains(&format!("liar::{op}(%c)")), "{op}");
    }
}

/// A result that depends on what memory held before, or a kernel that breaks a rule, is its plugin's fault.
#[test]
fn c14_a_kernel_that_is_wrong_is_a_failure_of_its_plugin() {
    const CHANCE: &str = "its kernel reads memory that it did not write, or leaves results unwritten";
    let wrong = [
        ("KernelForgets", CHANCE),
        ("KernelRecalls", CHANCE),
        ("KernelRaces", "the turns of its parallel loops disturb each other"),
        ("KernelMistyped", "int64 is stored in memory of float32"),
        ("KernelOfItself", "error[V210]"),
        ("KernelOfOther", "it made a kernel for other arguments or results than those of the call"),
    ];
    for (op, why) in wrong {
        let (run, written) = fold(op);
        let run = run.expect_failure();
        let guilty = format!("the kernel of `liar::{op}`, of plugin `liar 0.1.0`, is at fault: ");
        assert!(run.stderr.contains(&guilty) && run.stderr.contains(why), "{op}: {}", run.stderr);
        assert_eq!(written, None, "{op}");
    }
}

/// A model is checked by kernels, too, and a pass that spoils it is found by them.
#[test]
fn outputs_are_checked_by_kernels() {
    let check = |op: &str, pass: &str| {
        let here = folder(&format!("checked-kernel-{op}-{}", pass.len()));
        let module = format!(
            "def @main(%x: Tensor[(2, 2), float32]) #[opset = {{\"\": 17, \"liar\": 1}}] {{
  %c = const(float32, [[1.0, 0.5], [0.25, 2.0]]);
  %m = MatMul(%x, %c);
  %flat = Reshape(%m, [4]);
  %y = liar::{op}(%flat);
  %y
}}
"
        );
        fs::write(here.join("model.relay"), module).unwrap();
        let mut relais = command();
        relais.current_dir(&here).args(["run", "model.relay", "-o", "out.relay", "--check", "--passes", pass]);
        Run::of(relais.args(["--no-reproducer", "--allow-writable-plugins", "--plugin"]).arg(plugin("liar")))
    };
    check("HonestKernel", "InferType").expect_success();
    let spoilt = check("HonestKernel", "InferType,liar.Spoils").expect_failure();
    assert!(spoilt.stderr.contains("differ"), "{spoilt:?}");
    let stopped = check("KernelStrays", "InferType").expect_failure();
    assert!(stopped.stderr.contains("KernelStrays") && stopped.stderr.contains("out of bounds"), "{stopped:?}");
}
