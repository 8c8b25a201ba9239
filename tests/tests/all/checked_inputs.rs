//! The inputs on which `relais run --check` compares, beside random ones, and how long it does.

use relais_tests::cli::{Run, command, folder};
use serde_json::Value;
use std::{fs, path::Path};

/// Runs a model through one rule, which is not judged, with a check.
fn check(here: &Path, model: &str, rule: &str, args: &[&str]) -> Run {
    fs::write(here.join("model.relay"), model).unwrap();
    let _ = fs::remove_file(here.join("report.json"));
    let mut relais = command();
    relais.current_dir(here).args(["run", "model.relay", "-o", "out.relay", "--report", "report.json"]);
    Run::of(relais.args(["--passes", "InferType", "--rule", rule, "--no-judge", "--no-reproducer"]).args(args))
}

#[test]
fn small_results_of_an_operator_that_rounds_numbers_of_about_one_may_be_apart_as_these_are() {
    let here = folder("checked-rounded");
    let check = |op: &str, error: &str| {
        let head = "def @main(%x: Tensor[(64), float32]) -> (%y) #[opset = {\"\": 17}]";
        let model = format!("{head} {{ %a = Add(%x, const(float32, -24.0)); %y = {op}(%a); %y }}");
        check(&here, &model, &format!("{op}(Add(x, c)) => Add({op}(Sub(x, Neg(c))), {error})"), &["--check=3"])
    };
    check("Sigmoid", "0.0000001").expect_success();
    for run in [check("Sigmoid", "0.0000009"), check("Exp", "0.0000001")] {
        assert!(run.expect_failure().stderr.contains("error[D001]"));
    }
}

/// Faults that no random inputs show, the rule with each, and the words about the inputs that do.
const FAULTS: [(&str, &str, &str, &str); 5] = [
    (
        "def @main(%x: Tensor[(4), int8]) #[opset = {\"\": 17}] { %limit = const(int8, -100); Max(%x, %limit) }",
        "Max(x, y) => x",
        "`x` has the edges of its type",
        "Max(x, y) => Where(Less(x, y), y, x)",
    ),
    (
        "def @main(%x: Tensor[(), int64]) #[opset = {\"\": 17}] { %rate = const(int64, 16000); Equal(%x, %rate) }",
        "Equal(x, y) => Less(y, y)",
        "`x` is 16000, near a constant of the model",
        "Equal(x, y) => Not(Or(Less(x, y), Less(y, x)))",
    ),
    (
        "def @main(%x: Tensor[(), float32]) #[opset = {\"\": 17}] { %limit = const(float32, 1000.0); %0 = Abs(%x); Greater(%0, %limit) }",
        "Greater(x, y) => Less(y, y)",
        "`x` is 1001, near a constant of the model",
        "Greater(x, y) => Less(y, x)",
    ),
    (
        "def @main(%x: Tensor[(N), float32]) #[opset = {\"\": 17}] {
           %from = const(int64, [0]); %to = const(int64, [100]); Slice(%x, %from, %to) }",
        "Slice(x, f, t) => x",
        "dimension N = 131",
        "Slice(x, f, t) => Slice(x, f, t, [0], [1])",
    ),
    (
        "def @main(%x: Tensor[(N), float32]) #[opset = {\"\": 17}] { %one = const(int64, 1); %0 = Size(%x); Max(%0, %one) }",
        "Max(x, y) => x",
        "dimension N = 0",
        "Max(x, y) => Where(Less(x, y), y, x)",
    ),
];

#[test]
fn faults_that_random_inputs_do_not_show_are_found() {
    for (at, (model, wrong, words, right)) in FAULTS.into_iter().enumerate() {
        let here = folder(&format!("checked-inputs-{at}"));
        let run = check(&here, model, wrong, &["--check"]).expect_failure();
        assert!(run.stderr.contains("error[D001]") && run.stderr.contains(words), "{wrong}: {}", run.stderr);
        assert!(!here.join("out.relay").exists(), "{wrong}");
        check(&here, model, right, &["--check"]).expect_success();
        let report: Value = serde_json::from_str(&fs::read_to_string(here.join("report.json")).unwrap()).unwrap();
        let n_runs = report["check"]["runs"].as_array().unwrap().len();
        assert!(n_runs > 3, "{right}: {n_runs}");
    }
}

#[test]
fn integers_that_leave_the_range_of_a_lower_precision_are_no_inputs() {
    let here = folder("checked-edges");
    for (elem, n_edges) in [("int64", 0), ("int8", 2)] {
        let model = format!(
            "def @main(%x: Tensor[(4, 3), {elem}], %w: Tensor[(3, 2), float32]) #[opset = {{\"\": 17}}] {{
               %0 = Cast(%x, to = 1); MatMul(%0, %w) }}"
        );
        check(&here, &model, "Neg(Neg(x)) => x", &["--dtype", "float16", "--check"]).expect_success();
        let report: Value = serde_json::from_str(&fs::read_to_string(here.join("report.json")).unwrap()).unwrap();
        let runs = report["check"]["runs"].as_array().unwrap();
        assert_eq!(runs.iter().filter(|run| run["edges"] == true).count(), n_edges, "{report}");
    }
}

/// The greatest of some numbers, all of which are there twice, rounded in two ways.
const TIED: &str = "def @main(%x: Tensor[(50, 4), float32]) -> (%class, %top) #[opset = {\"\": 17}] {
  %tenth = const(float32, 0.1);
  %ten = const(float32, 10.0);
  %product = Mul(%x, %tenth);
  %quotient = Div(%x, %ten);
  %both = Concat(%product, %quotient, axis = 1);
  %class = ArgMax(%both, axis = 1);
  %first = const(int64, [0, 1]);
  %top = Gather(%class, %first);
  (%class, %top)
}";

#[test]
fn what_floats_decide_may_differ_where_they_tie_and_nowhere_else() {
    let here = folder("checked-ties");
    let run = check(&here, TIED, "Mul(x, 0.1) => Div(x, 10.0)", &["--check"]).expect_success();
    assert!(run.stdout.contains("what decides it ties"), "{}", run.stdout);
    let report: Value = serde_json::from_str(&fs::read_to_string(here.join("report.json")).unwrap()).unwrap();
    assert_eq!(report["check"]["largest"]["allowed_by"], "tie");
    let run = check(&here, TIED, "Mul(x, 0.1) => Mul(x, -0.1)", &["--check"]).expect_failure();
    assert!(run.stderr.contains("error[D001]: the output differs from the model: output `class`"), "{}", run.stderr);
    // Ten times the bound apart, and no tie.
    let apart = "def @main(%x: Tensor[(50, 4), float32]) #[opset = {\"\": 17}] {
      %more = const(float32, 1.001); %0 = Mul(%x, %more); %1 = Concat(%x, %0, axis = 1); ArgMax(%1, axis = 1) }";
    check(&here, apart, "Mul(x, 1.001) => Mul(x, 0.999)", &["--check"]).expect_failure();
}

/// A chain of products of matrices, each of which takes a while.
fn slow(n: usize) -> String {
    let products: Vec<String> = (1..n).map(|at| format!("%{at} = MatMul(%{}, %x)", at - 1)).collect();
    format!(
        "def @main(%x: Tensor[(768, 768), float32]) #[opset = {{\"\": 17}}] {{ %0 = MatMul(%x, %x); {}; Neg(%{}) }}",
        products.join("; "),
        n - 1
    )
}

#[test]
fn a_check_ends_with_its_time_and_says_what_it_left_out() {
    let here = folder("checked-time");
    let run = check(&here, &slow(400), "Neg(x) => Mul(x, -1.0)", &["--check", "--check-seconds", "1"]).expect_failure();
    assert!(run.stderr.contains("error[D002]: the output cannot be checked in 1 s"), "{}", run.stderr);
    assert!(run.stderr.contains("--check-seconds N"), "{}", run.stderr);
    assert!(!here.join("out.relay").exists());

    // A difference that is found is not passed over when the time ends before it is explained.
    let differs = slow(12).replace("Neg(", "Abs(");
    let run = check(&here, &differs, "Abs(x) => Neg(x)", &["--check", "--check-seconds", "1"]).expect_failure();
    assert!(run.stderr.contains("error[D001]") || run.stderr.contains("error[D002]"), "{}", run.stderr);

    let short = "def @main(%x: Tensor[(64, 64), float32]) #[opset = {\"\": 17}] { %0 = MatMul(%x, %x); Neg(%0) }";
    let run = check(&here, short, "Neg(x) => Mul(x, -1.0)", &["--check=1000", "--check-seconds", "1"]);
    let report = |here: &Path| -> Value {
        serde_json::from_str(&fs::read_to_string(here.join("report.json")).unwrap()).unwrap()
    };
    let run = run.expect_success();
    let n_left_out = report(&here)["check"]["left_out"].as_u64().unwrap();
    let is_said = run.stderr.contains("warning: the check ended after 1 s");
    // However fast the machine is, both agree.
    assert_eq!(is_said, n_left_out > 0, "{n_left_out}: {}", run.stderr);
    check(&here, short, "Neg(x) => Mul(x, -1.0)", &["--check", "--check-seconds", "0"]).expect_success();
    assert_eq!(report(&here)["check"]["left_out"], 0);
}

#[test]
fn limits_are_numbers() {
    let here = folder("checked-limits");
    let model = "def @main(%x: Tensor[(2), float32]) #[opset = {\"\": 17}] { Neg(%x) }";
    for args in [["--check", "--check-memory=0"], ["--check", "--check-seconds=-1"], ["-q", "--check-seconds=1"]] {
        let run = check(&here, model, "Abs(x) => x", &args);
        assert_eq!(run.status, Some(2), "{args:?}: {}", run.stderr);
        assert!(run.stderr.contains("--check"), "{args:?}: {}", run.stderr);
    }
    check(&here, model, "Abs(x) => x", &["--check", "--check-memory=1"]).expect_success();
}
