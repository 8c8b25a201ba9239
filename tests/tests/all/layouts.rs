//! Layouts that operators name: calls in other ones compute the same in onnxruntime, what cannot be is refused with all
//! reasons, and forms that are untrue are found.

use relais_tests::{
    cargo_built::plugin,
    cli::{Run, command, files, folder},
    venv::judge,
};
use serde_json::Value;
use std::{fs, path::Path};

/// Channels last between the operators, which are all channels first.
const NETWORK: &str = r#"def @main(%x: Tensor[(N, 8, 8, 3), float32], %s: Tensor[(3), float32]) -> (%y) #[opset = {"": 17, "acme": 1}] {
  %1 = Transpose(%x, perm = [0, 3, 1, 2]);
  %2 = acme::Scale(%1, %s);
  %3 = Transpose(%2, perm = [0, 2, 3, 1]);
  %4 = Relu(%3);
  %5 = Transpose(%4, perm = [0, 3, 1, 2]);
  %6 = GlobalAveragePool(%5);
  %7 = Transpose(%6, perm = [0, 2, 3, 1]);
  %y = Reshape(%7, [0, 3]);
  %y
}
"#;

/// The same for integers, with operators that onnxruntime has in both layouts.
const QUANTISED: &str = r#"def @main(%x: Tensor[(2, 8, 8, 3), uint8]) -> (%y) #[opset = {"": 17, "com.microsoft": 1}] {
  %s = const(float32, 0.5);
  %z = const(uint8, 3);
  %w = const(uint8, (2, 3, 1, 1), [1, 2, 3, 4, 5, 6]);
  %1 = Transpose(%x, perm = [0, 3, 1, 2]);
  %2 = QLinearConv(%1, %s, %z, %w, %s, %z, %s, %z);
  %3 = MaxPool(%2, kernel_shape = [2, 2], strides = [2, 2], pads = [0, 1, 1, 0]);
  %4 = com.microsoft::QLinearGlobalAveragePool(%3, %s, %z, %s, %z);
  %5 = Transpose(%4, perm = [0, 2, 3, 1]);
  %6 = Concat(%5, %5, axis = 3);
  %y = Squeeze(%6, [1, 2]);
  %y
}
"#;

fn run(here: &Path, model: &str, pipeline: &str, output: &str) -> Run {
    fs::write(here.join("model.relay"), model).unwrap();
    fs::write(here.join("pipeline.toml"), pipeline).unwrap();
    let mut relais = command();
    relais.current_dir(here).args(["-q", "run", "model.relay", "-p", "pipeline.toml", "-o", output]);
    Run::of(
        relais
            .args(["--allow-writable-plugins", "--no-reproducer", "--verify-each", "--plugin"])
            .arg(plugin("layouts")),
    )
}

/// A pipeline of one pass with options.
fn pass(name: &str, options: &str) -> String {
    format!("opt_level = 3\nsteps = [{{ pass = \"{name}\", options = {{ {options} }} }}, \"DeadCodeElimination\"]\n")
}

/// Converts a model, which leaves `n` transposes, and holds the results against the model in onnxruntime.
#[track_caller]
fn converts(topic: &str, model: &str, pipeline: &str, n: usize, expected: &[&str]) {
    let here = folder(topic);
    run(&here, model, "steps = [\"InferType\"]", "model.onnx").expect_success();
    run(&here, model, pipeline, "out.onnx").expect_success();
    run(&here, model, pipeline, "out.relay").expect_success();
    let text = fs::read_to_string(here.join("out.relay")).unwrap();
    assert_eq!(text.matches("Transpose(").count(), n, "{text}");
    for part in expected {
        assert!(text.contains(part), "{part}\n{text}");
    }
    judge(["same".as_ref(), here.as_os_str(), here.join("out.onnx").as_os_str()]);
}

#[test]
fn calls_of_a_plugin_are_in_the_layouts_that_are_asked_for() {
    let wanted = r#"desired_layouts = [
        { op = "acme::Scale", layouts = ["NHWC", "default"] }, { op = "acme::PoolLast", layouts = ["NHWC"] },
    ]"#;
    let expected = ["data_layout = \"NHWC\"", "acme::PoolLast("];
    converts("layouts-asked", NETWORK, &pass("ConvertLayout", &wanted.replace('\n', "")), 0, &expected);
}

#[test]
fn calls_of_a_plugin_are_in_the_layouts_that_it_prefers() {
    let options = r#"operators = ["acme::PoolLast"]"#;
    let expected = ["data_layout = \"NHWC\"", "acme::PoolLast("];
    converts("layouts-preferred", NETWORK, &pass("AlterOpLayout", options), 0, &expected);
}

#[test]
fn integers_are_channels_last_in_onnxruntime() {
    let options = r#"operators = ["com.microsoft::QLinearConv", "com.microsoft::NhwcMaxPool"]"#;
    let expected = ["com.microsoft::QLinearConv(", "com.microsoft::NhwcMaxPool(", "channels_last = 1"];
    converts("layouts-integers", QUANTISED, &pass("AlterOpLayout", options), 0, &expected);
}

/// All reasons are given at once, and nothing is written.
#[track_caller]
fn refuses(topic: &str, pipeline: &str, reasons: &[&str]) {
    let here = folder(topic);
    let run = run(&here, NETWORK, pipeline, "out.onnx");
    assert_ne!(run.status, Some(0), "{}", run.stderr);
    for reason in reasons {
        assert!(run.stderr.contains(reason), "{reason}\n{}", run.stderr);
    }
    assert!(!files(&here).contains(&"out.onnx".to_owned()));
}

#[test]
fn layouts_that_operators_do_not_have_are_refused() {
    let wanted = r#"desired_layouts = [
        { op = "acme::Nothing", layouts = ["NHWC"] }, { op = "acme::Plain", layouts = ["NHWC"] },
        { op = "acme::Scale", layouts = ["NWHC"] }, { op = "acme::Scale", layouts = ["NQWC"] },
        { op = "acme::Scale", layouts = ["NHC"] }, { op = "acme::Scale", layouts = ["NHWC", "C", "C"] },
        { op = "Conv", layouts = ["NHWC"] },
    ]"#;
    let reasons = [
        "no plugin describes an operator `acme::Nothing`",
        "the record of `acme::Plain` names no layouts",
        "`acme::Scale` has no form in which argument 0 is NWHC: it has NCHW, NHWC",
        "`NQWC` is not a layout of argument 0 of `acme::Scale`",
        "`NHC` has 3 axes, which argument 0 of `acme::Scale` has not",
        "argument 2 of `acme::Scale`, and all after it, have no layouts",
        "`Conv` has no form in which argument 0 is NHWC: it has NCDHW, NCHW, NCW",
    ];
    refuses("layouts-refused", &pass("ConvertLayout", &wanted.replace('\n', "")), &reasons);
}

#[test]
fn a_layout_that_contradicts_the_rank_of_a_call_is_refused() {
    let wanted = r#"desired_layouts = [{ op = "AveragePool", layouts = ["NCW"] }, { op = "GlobalAveragePool", layouts = ["NCW"] }]"#;
    refuses(
        "layouts-rank",
        &pass("ConvertLayout", wanted),
        &["a call of `GlobalAveragePool` with arguments NCHW, not NCW"],
    );
}

#[test]
fn operators_without_layouts_are_refused() {
    let options = r#"operators = ["acme::Plain", "acme::Nothing"]"#;
    let reasons = ["the record of `acme::Plain` names no layouts", "no plugin describes an operator `acme::Nothing`"];
    refuses("layouts-none", &pass("AlterOpLayout", options), &reasons);
}

#[test]
fn a_form_that_computes_something_else_is_found() {
    let mut relais = command();
    relais.args(["plugin", "test", "--json", "--allow-writable-plugins"]).arg(plugin("layouts"));
    let run = Run::of(&mut relais);
    let said: Value = serde_json::from_str(&run.stdout).unwrap();
    let findings = said["findings"].as_array().unwrap();
    let subjects: Vec<&str> = findings.iter().filter_map(|finding| finding["subject"].as_str()).collect();
    assert_eq!(subjects, ["operator acme::Untrue@1"], "{}", run.stdout);
    assert_eq!(findings[0]["kind"], "numbers");
    for judged in said["judged"].as_array().unwrap() {
        let is_of = |name: &str| judged["subject"].as_str().is_some_and(|subject| subject.contains(name));
        if is_of("acme::Scale") || is_of("acme::PoolLast") {
            assert!(judged["compared"].as_u64().is_some_and(|n| n > 20), "{judged}");
        }
    }
}

/// A chain of transposes around calls, which vanish where all of them let transposes pass.
fn between(calls: &str) -> String {
    format!(
        r#"def @main(%x: Tensor[(2, 3, 4), float32]) -> (%y) #[opset = {{"": 17, "acme": 1}}] {{
  %1 = Transpose(%x, perm = [0, 2, 1]);
  {calls}
  %y = Transpose(%2, perm = [0, 2, 1]);
  %y
}}
"#
    )
}

const SIMPLIFY: &str = "opt_level = 3\nsteps = [\"SimplifyTranspose\"]\n";

#[test]
fn transposes_move_past_operators_whose_records_say_how() {
    let elementwise = between("%2 = acme::Bend(%1);");
    converts("axes-elementwise", &elementwise, SIMPLIFY, 0, &["acme::Bend(%x)"]);
    let broadcast = between("%c = const(float32, (3), [1.0, 2.0, 3.0]); %2 = acme::Blend(%1, %c);");
    converts("axes-broadcast", &broadcast, SIMPLIFY, 0, &["[[[1.0], [2.0], [3.0]]]"]);
    let along = between("%2 = acme::Share(%1);");
    converts("axes-along", &along, SIMPLIFY, 0, &["over = 1"]);
}

#[test]
fn transposes_stay_beside_operators_of_which_nothing_is_said() {
    let here = folder("axes-unknown");
    run(&here, &between("%2 = acme::Plain(%1);"), SIMPLIFY, "out.relay").expect_success();
    let text = fs::read_to_string(here.join("out.relay")).unwrap();
    assert_eq!(text.matches("Transpose(").count(), 2, "{text}");
}

#[test]
fn a_precision_is_kept_for_the_reason_of_the_record() {
    let here = folder("precision-of-record");
    let model = between("%2 = acme::Share(%1);").replace("%1 = Transpose(%x", "%m = MatMul(%x, %w); %1 = Transpose(%m");
    let model = model.replace("float32]) ->", "float32], %w: Tensor[(4, 4), float32]) ->");
    let run = run(&here, &model, &pass("ToMixedPrecision", "dtype = \"float16\""), "out.relay").expect_success();
    let text = fs::read_to_string(here.join("out.relay")).unwrap();
    assert!(text.contains("Tensor[(2, 3, 4), float16] = MatMul("), "{text}\n{}", run.stderr);
    assert!(text.contains("Tensor[(2, 4, 3), float32] = acme::Share("), "{text}");
}

#[test]
fn exact_calls_are_those_whose_record_says_so() {
    let here = folder("exact-of-record");
    let model = r#"def @main() -> (%y, %z) #[opset = {"": 17, "acme": 1}] {
  %y = acme::Bend([-1.0, 2.0]);
  %z = acme::Plain([-1.0, 2.0]);
  (%y, %z)
}
"#;
    let exactly = "steps = [\"InferType\", { pass = \"FoldConstant\", options = { exact = true } }]";
    run(&here, model, exactly, "out.relay").expect_success();
    let text = fs::read_to_string(here.join("out.relay")).unwrap();
    assert!(text.contains("acme::Plain(") && !text.contains("acme::Bend("), "{text}");
    run(&here, model, &pass("FoldConstant", ""), "out.relay").expect_success();
    let text = fs::read_to_string(here.join("out.relay")).unwrap();
    assert!(!text.contains("acme::Plain("), "{text}");
}

#[test]
fn properties_are_described() {
    let mut relais = command();
    relais.args(["describe", "acme::Bend", "--allow-writable-plugins", "--plugin"]).arg(plugin("layouts"));
    let said = Run::of(&mut relais).expect_success().stdout;
    assert!(said.contains("\nproperties\n  exact = \"rounded\"\n  acme.color = \"red\"\n"), "{said}");
    let said = relais_tests::cli::relais(["describe", "Softmax"]).expect_success().stdout;
    assert!(said.contains("axes = \"along axis sums\"") && said.contains("precision = \"keep: it divides"), "{said}");
}

#[test]
fn layouts_are_described() {
    let mut relais = command();
    relais.args(["describe", "acme::PoolLast", "--allow-writable-plugins", "--plugin"]).arg(plugin("layouts"));
    let said = Run::of(&mut relais).expect_success().stdout;
    assert!(said.contains("NHWC -> NHWC\n  NCHW -> NCHW, as `GlobalAveragePool`"), "{said}");
}
