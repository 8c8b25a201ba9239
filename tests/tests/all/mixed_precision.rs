//! Models in `float16` and `bfloat16`: `ToMixedPrecision`, `--dtype`. The judge runs them in onnxruntime and in the
//! reference evaluator, and `--check` with the evaluators of this repository. `.ci/full real` does so with real models.

use relais_tests::{
    cargo_built::workspace,
    cli::{Run, quick_folder, relais},
    venv::{every, judge, judge_models},
};
use std::{ffi::OsStr, fs};

/// Small models of each kind, whose types `bfloat16` has, too.
const MODELS: [(&str, &str); 7] = [
    (
        "attention",
        r#"def @main(%x: Tensor[(1, 3, 4), float32]) -> (%y: Tensor[(1, 3, 4), float32]) #[opset = {"": 17}] {
  %q = const(float32, [[0.5, 0.1, -0.3, 0.2], [0.4, -0.6, 0.7, 0.1], [0.3, 0.2, 0.1, -0.9], [-0.2, 0.8, 0.5, 0.4]]);
  %k = const(float32, [[0.1, 0.2, 0.3, 0.4], [-0.5, 0.6, 0.7, -0.8], [0.9, -0.1, 0.2, 0.3], [0.4, 0.5, -0.6, 0.7]]);
  %v = const(float32, [[0.7, -0.4, 0.2, 0.1], [0.3, 0.6, -0.9, 0.5], [0.1, 0.1, 0.8, -0.3], [0.2, -0.7, 0.4, 0.6]]);
  %scale = const(float32, [1.0, 0.9, 1.1, 1.2]);
  %bias = const(float32, [0.1, 0.0, -0.1, 0.2]);
  %mask = const(float32, [[0.0, -1e38, -1e38], [0.0, 0.0, -1e38], [0.0, 0.0, 0.0]]);
  %half = const(float32, 0.5);
  %0 = MatMul(%x, %q);
  %1 = MatMul(%x, %k);
  %2 = Transpose(%1, perm = [0, 2, 1]);
  %3 = MatMul(%0, %2);
  %4 = Mul(%3, %half);
  %5 = Add(%4, %mask);
  %6 = Softmax(%5, axis = -1);
  %7 = MatMul(%x, %v);
  %8 = MatMul(%6, %7);
  %9 = Add(%8, %x);
  %y = LayerNormalization(%9, %scale, %bias);
  %y
}"#,
    ),
    (
        "convolution",
        r#"def @main(%x: Tensor[(1, 1, 5, 5), float32]) -> (%y: Tensor[(1, 2), float32]) #[opset = {"": 22}] {
  %w = const(float32, [[[[0.5, -0.25], [0.125, 1.0]]], [[[0.1, 0.2], [0.3, -0.4]]]]);
  %b = const(float32, [0.1, -0.2]);
  %0 = Conv(%x, %w, %b);
  %1 = Relu(%0);
  %2 = MaxPool(%1, kernel_shape = [2, 2]);
  %3 = GlobalAveragePool(%2);
  %y = Flatten(%3);
  %y
}"#,
    ),
    (
        "recurrence",
        r#"def @main(%x: Tensor[(3, 1, 2), float32]) -> (%y: Tensor[(1, 1, 2), float32]) #[opset = {"": 22}] {
  %w = const(float32, [[[0.5, 0.25], [0.1, 0.2], [0.3, -0.5], [1.0, 0.0], [0.2, 0.1], [0.4, -0.3]]]);
  %r = const(float32, [[[0.5, 0.1], [0.1, 0.2], [0.3, -0.4], [-0.2, 0.3], [0.1, 0.6], [0.2, 0.2]]]);
  (_, %y) = GRU(%x, %w, %r, hidden_size = 2);
  %y
}"#,
    ),
    (
        "condition",
        r#"def @main(%x: Tensor[(2, 2), float32], %c: Tensor[(), bool]) -> (%y: Tensor[(2, 2), float32]) #[opset = {"": 17}] {
  %0 = MatMul(%x, %x);
  %k = const(float32, [[1.0, 2.0], [3.0, 4.0]]);
  (%1, %2) = if (%c) { %3 = Relu(%0); %4 = Sqrt(%3); (%3, %4) } else { %5 = MatMul(%0, %x); %6 = Tanh(%5); (%6, %k) };
  %7 = MatMul(%1, %2);
  %y = Sigmoid(%7);
  %y
}"#,
    ),
    (
        "loop",
        r#"def @main(%x: Tensor[(2, 2), float32]) -> (%y: Tensor[(2, 2), float32], %z: Tensor[(3, 2, 2), float32]) #[opset = {"": 17}] {
  %go = const(bool, true);
  %three = const(int64, 3);
  %w = const(float32, [[0.5, 0.25], [0.125, 0.5]]);
  %0 = MatMul(%x, %w);
  (%y, %z) = Loop(%three, %go, %x, body = fn(%i: Tensor[(), int64], %on: Tensor[(), bool], %v: Tensor[(2, 2), float32]) {
    %1 = MatMul(%v, %w);
    %2 = Add(%1, %0);
    %3 = Identity(%on);
    (%3, %2, %1)
  });
  (%y, %z)
}"#,
    ),
    (
        "function",
        r#"def @main(%x: Tensor[(2, 2), float32]) -> (%y: Tensor[(2, 2), float32]) #[opset = {"": 17, "acme": 1}] {
  %0 = MatMul(%x, %x);
  %1 = @twice(%0);
  %y = Add(%1, %0);
  %y
}
def @twice(%a: Tensor[(2, 2), float32]) #[opset = {"": 17}, domain = "acme"] {
  %0 = MatMul(%a, %a);
  %1 = Add(%0, %a);
  %1
}"#,
    ),
    (
        "sizes",
        r#"def @main(%x: Tensor[(2, 2, 3), float32]) -> (%y: Tensor[(2, 2, ?), float32]) #[opset = {"": 17}] {
  %w = const(float32, [[0.5, 0.25, 0.1], [0.125, 0.5, 0.2], [0.3, -0.4, 0.7]]);
  %0 = MatMul(%x, %w);
  %1 = Shape(%x);
  %two = const(int64, [2]);
  %2 = Gather(%1, %two);
  %3 = Cast(%2, to = 1);
  %factor = const(float32, [1.34]);
  %4 = Mul(%3, %factor);
  %5 = Floor(%4);
  %6 = Cast(%5, to = 7);
  %ones = const(int64, [1, 1]);
  %7 = Concat(%ones, %6, axis = 0);
  %y = Tile(%0, %7);
  %y
}"#,
    ),
];

/// The cases of the `onnx` package, and models whose bytes are unusual: those that run, run as before.
#[test]
fn other_models_compute_nearly_the_same_in_float16() {
    let kinds = ["light", "simple", "pytorch-operator", "pytorch-converted", "made"];
    let kinds = if every() == 1 { &kinds[..] } else { &kinds[..3] };
    let arguments: Vec<&str> = kinds.iter().flat_map(|kind| ["--kind", kind]).collect();
    println!("{}", judge_models(&["mixed"], &arguments));
}

#[test]
fn small_models_compute_nearly_the_same_in_both_types() {
    let folder = quick_folder();
    let given = folder.path().join("model.relay");
    let result = folder.path().join("result.relay");
    for (name, text) in MODELS {
        let place = folder.path().join("text").join(name);
        fs::create_dir_all(&place).unwrap();
        fs::write(&given, text).unwrap();
        relais([OsStr::new("run"), given.as_ref(), "-O0".as_ref(), "-o".as_ref(), place.join("model.onnx").as_ref()])
            .expect_success();
        for dtype in ["float16", "bfloat16"] {
            let arguments = ["run".as_ref(), given.as_os_str(), "-o".as_ref(), result.as_ref()];
            // Loops have no evaluator.
            let check =
                if name == "loop" { vec![] } else { vec!["--check", "--check-rtol", "0.05", "--check-atol", "0.05"] };
            let arguments = arguments.into_iter().chain(["--dtype", dtype].map(OsStr::new));
            relais(arguments.chain(check.into_iter().map(OsStr::new))).expect_success();
            let text = fs::read_to_string(&result).unwrap();
            let converted = format!("{dtype}] = ");
            assert!(text.contains(&converted), "{name} in {dtype}: {text}");
        }
    }
    for dtype in ["float16", "bfloat16"] {
        let relais = [OsStr::new("mixed"), "--relais".as_ref(), workspace().relais.as_ref()];
        let models = ["--models".as_ref(), folder.path().as_os_str(), "--kind".as_ref(), "text".as_ref()];
        println!("{}", judge(relais.into_iter().chain(models).chain(["--dtype", dtype].map(OsStr::new))));
    }
}

/// Runs over a text, and returns the result with what was said.
fn run(text: &str, arguments: &[&str]) -> (String, Run) {
    let folder = quick_folder();
    let [input, output] = ["in.relay", "out.relay"].map(|name| folder.path().join(name));
    fs::write(&input, text).unwrap();
    let run = ["run", input.to_str().unwrap(), "-o", output.to_str().unwrap()];
    let said = relais(run.iter().chain(arguments));
    (fs::read_to_string(&output).unwrap_or_default(), said)
}

const TEXT: &str = "def @main(%x: Tensor[(2, 2), float32]) -> (%y: Tensor[(2, 2), float32]) #[opset = {\"\": 17}] {
  %0 = Identity(%x);
  %1 = MatMul(%0, %x) #[name = \"product\"];
  %y = Relu(%1);
  %y
}
";

#[test]
fn the_conversion_follows_the_pipeline_that_is_asked_for() {
    for (arguments, has_identity) in [(&[][..], false), (&["-O0"], true), (&["--passes", "EliminateNoOp"], false)] {
        let (text, said) = run(TEXT, &[arguments, &["--dtype", "float16"]].concat());
        said.expect_success();
        assert_eq!(text.contains("Identity"), has_identity, "{arguments:?}: {text}");
        assert!(text.contains("Tensor[(2, 2), float16] = Relu("), "{arguments:?}: {text}");
        assert!(text.contains("%x: Tensor[(2, 2), float32]") && text.contains("to = 1)"), "{arguments:?}: {text}");
    }
}

#[test]
fn inputs_and_outputs_are_converted_on_request() {
    let (text, said) = run(TEXT, &["--dtype", "bfloat16", "--set", "ToMixedPrecision.convert_io=true"]);
    said.expect_success();
    assert!(!text.contains("float32") && !text.contains("Cast"), "{text}");
}

#[test]
fn nodes_and_operators_are_kept_on_request() {
    for arguments in [["--keep", "product"], ["--set", "ToMixedPrecision.keep=[\"MatMul\"]"]] {
        let (text, said) = run(TEXT, &[&["--dtype", "float16"], &arguments[..]].concat());
        said.expect_success();
        assert!(
            text.contains("Tensor[(2, 2), float32] = MatMul(") && !text.contains("float16"),
            "{arguments:?}: {text}"
        );
    }
}

#[test]
fn another_type_is_refused_where_it_was_written() {
    let (text, said) = run(TEXT, &["--dtype", "float8"]);
    let said = said.expect_failure();
    assert!(text.is_empty());
    assert!(said.stderr.contains("error[P004]: option `dtype`") && said.stderr.contains("--dtype:1:1"), "{said:?}");
    assert!(said.stderr.contains("`float16` or `bfloat16`"), "{said:?}");
}

#[test]
fn an_operator_set_without_the_type_is_refused() {
    let model = |opset: u32| {
        format!(
            "def @main(%x: Tensor[(2, 2), float32]) #[opset = {{\"\": {opset}}}] {{ %0 = MatMul(%x, %x); @more(%0) }}
            def @more(%x: Tensor[(2, 2), float32]) #[opset = {{\"\": {opset}}}] {{ %0 = MatMul(%x, %x); %0 }}"
        )
    };
    let (text, said) = run(&model(12), &["--dtype", "bfloat16"]);
    let stderr = said.expect_failure().stderr;
    // All functions are named.
    for expected in ["error[N001]", "its operator set has no such `Cast`", "`@main`", "`@more`", "--target-opset"] {
        assert!(stderr.contains(expected), "{expected}\n{stderr}");
    }
    assert!(text.is_empty(), "{text}");
    let (text, said) = run(&model(13), &["--dtype", "bfloat16"]);
    said.expect_success();
    assert!(text.contains("bfloat16"), "{text}");
}

#[test]
fn remarks_say_what_keeps_its_type() {
    let text = "def @main(%x: Tensor[(1, 1, 2, 2), float32]) #[opset = {\"\": 17}] {
  %w = const(float32, [[[[0.5]]]]);
  %max = const(float32, 3.4e38);
  %0 = MatMul(%x, %x);
  %1 = Conv(%0, %w);
  %2 = MatMul(%1, %x);
  %3 = Min(%2, %max);
  %4 = Softmax(%2);
  (%3, %4)
}
";
    let (_, said) = run(text, &["-O0", "--dtype", "bfloat16", "--remarks"]);
    let said = said.expect_success().stderr;
    for remark in [
        "`Conv` keeps float32: it has no bfloat16 in version 17 of its operator set",
        "`Min` keeps float32: in argument 1, a value of magnitude 3.4e38 is beyond 3.3895314e38, the largest number of bfloat16",
        "`Softmax` keeps float32: it divides by a sum of many terms",
    ] {
        assert!(said.contains(remark), "`{remark}` is missing: {said}");
    }
}

/// Names of values and what describes nodes stay, so that profiles of both models can be compared.
#[test]
fn names_stay() {
    let folder = quick_folder();
    let [input, output] = ["in.onnx", "out.onnx"].map(|name| folder.path().join(name));
    let text = folder.path().join("in.relay");
    fs::write(&text, TEXT).unwrap();
    let arguments =
        |from: &std::path::Path, to: &std::path::Path| ["run".into(), from.to_owned(), "-o".into(), to.to_owned()];
    relais(arguments(&text, &input)).expect_success();
    let dtype = ["--dtype", "float16"].map(std::path::PathBuf::from);
    relais(arguments(&input, &output).into_iter().chain(dtype)).expect_success();
    let shown = relais([OsStr::new("show"), output.as_ref()]).expect_success().stdout;
    assert!(shown.contains("MatMul(") && shown.contains("name = \"product\""), "{shown}");
    assert!(shown.contains("%y: Tensor[(2, 2), float32] = Cast("), "{shown}");
}
