//! The verdicts of `relais run --check` on lower precisions, and on what no run reaches.

use relais_tests::{
    cargo_built::plugin,
    cli::{Run, command, folder},
};
use std::{fs, path::Path};

fn run(here: &Path, model: &str, args: &[&str]) -> Run {
    fs::write(here.join("model.relay"), model).unwrap();
    let mut relais = command();
    relais.current_dir(here).args(["run", "model.relay", "-o", "out.onnx", "--allow-writable-plugins"]).args(args);
    Run::of(relais.arg("--plugin").arg(plugin("liar")))
}

/// Two layers, in which terms cancel.
fn layers() -> String {
    const N: usize = 16;
    let row = |of: usize| (0..N).map(move |at| format!("{:.3}", ((of * 7 + at * 5) % 23) as f32 / 9.0 - 1.2));
    let rows: Vec<String> = (0..N).map(|of| format!("[{}]", row(of).collect::<Vec<_>>().join(", "))).collect();
    let w = rows.join(", ");
    format!(
        r#"def @main(%x: Tensor[(4, {N}), float32]) -> (%y) #[opset = {{"": 17}}] {{
  %w = const(float32, [{w}]);
  %a = MatMul(%x, %w);
  %b = Tanh(%a);
  %c = MatMul(%b, %w);
  %s = const(float32, [1.5]);
  %y: Tensor[(4, {N}), float32] = Mul(%c, %s);
  %y
}}
"#
    )
}

#[test]
fn an_output_in_a_lower_precision_is_measured_by_that_precision() {
    let here = folder("checked-parts-precision");
    for dtype in ["float16", "bfloat16"] {
        let good = run(&here, &layers(), &["--dtype", dtype, "--check=5"]).expect_success();
        assert!(good.stdout.contains("largest difference: "), "{}", good.stdout);
        // The passes before the conversion are measured, too.
        let bad = run(&here, &layers(), &["--passes", "liar.Spoils", "--dtype", dtype, "--check=5"]).expect_failure();
        assert!(bad.stderr.contains("error[D001]"), "{}", bad.stderr);
    }
    // Nothing asks for fewer digits here.
    let bad = run(&here, &layers(), &["--passes", "liar.Spoils", "--check"]).expect_failure();
    assert!(bad.stderr.contains("error[D001]"), "{}", bad.stderr);
}

/// A model with a branch that runs only for one rate.
const RATES: &str = r#"def @main(%x: Tensor[(4), float32], %rate: Tensor[(), int64]) -> (%y) #[opset = {"": 17}] {
  %known = const(int64, 16000);
  %is_known = Equal(%rate, %known);
  %y: Tensor[(4), float32] = if (%is_known) {
    %t = Relu(%x);
    %t
  } else {
    %e = Neg(%x);
    %e
  };
  %y
}
"#;

#[test]
fn inputs_have_the_values_of_constants_beside_them() {
    let here = folder("checked-parts-rates");
    let rule = ["--rule", "Relu(x) => Abs(x)", "--no-judge", "--check=1"];
    let bad = run(&here, RATES, &rule).expect_failure();
    assert!(bad.stderr.contains("error[D001]") && bad.stderr.contains("`rate` is 16000"), "{}", bad.stderr);
    let good = run(&here, RATES, &["--check=1,strict"]).expect_success();
    assert!(good.stdout.contains("6 runs") && !good.stderr.contains("did not reach"), "{}{}", good.stdout, good.stderr);
}

/// A model with a branch that inputs of the usual size do not reach.
const RARE: &str = r#"def @main(%x: Tensor[(4), float32]) -> (%y) #[opset = {"": 17}] {
  %sum = ReduceSum(%x, keepdims = 0);
  %much = const(float32, 1e6);
  %is_much = Greater(%sum, %much);
  %y: Tensor[(4), float32] = if (%is_much) {
    %t = Relu(%x);
    %t
  } else {
    %e = Neg(%x);
    %e
  };
  %y
}
"#;

#[test]
fn parts_that_the_passes_changed_and_no_run_reached_are_named() {
    let here = folder("checked-parts-rare");
    let rule = ["--rule", "Relu(x) => Abs(x)", "--no-judge"];
    let unseen = "the check did not reach `then` of `y`, which the passes changed";
    let warned = run(&here, RARE, &[&rule[..], &["--check"]].concat()).expect_success();
    assert!(warned.stderr.contains(unseen), "{}", warned.stderr);
    let refused = run(&here, RARE, &[&rule[..], &["--check=2,strict"]].concat()).expect_failure();
    assert!(refused.stderr.contains("error[D002]") && refused.stderr.contains("`then` of `y`"), "{}", refused.stderr);
    // It need not run if nothing in it changed.
    let same = run(&here, RARE, &["-O0", "--check=strict"]).expect_success();
    assert!(!same.stderr.contains("did not reach"), "{}", same.stderr);
    for wrong in ["--check=0", "--check=strict,3", "--check=3,", "--check=,strict"] {
        let wrong = run(&here, RARE, &[wrong]);
        assert_eq!(wrong.status, Some(2));
        assert!(wrong.stderr.contains("a number from 1 to 1000"), "{}", wrong.stderr);
    }
}

/// Boxes in pixels and scores in one output.
const DETECTION: &str = "def @main(%x: Tensor[(1, 8, 4), float32]) #[opset = {\"\": 17}] {
  %0 = Mul(%x, 6.0);
  %1 = Exp(%0);
  %2 = Mul(%1, 320.0);
  %3 = Sigmoid(%x);
  Concat(%2, %3, axis = 1)
}";

#[test]
fn the_errors_of_boxes_excuse_no_scores() {
    let here = folder("checked-boxes");
    for args in [&["--check=5"][..], &["--check=5", "--dtype", "bfloat16"]] {
        let rule = |rule: &'static str| [args, &["--no-judge", "--no-reproducer", "--rule", rule]].concat();
        run(&here, DETECTION, &rule("Sigmoid(x) => Div(1.0, Add(1.0, Exp(Neg(x))))")).expect_success();
        let text = run(&here, DETECTION, &rule("Sigmoid(x) => Neg(x)")).expect_failure().stderr;
        assert!(text.contains("error[D001]"), "{text}");
    }
}
