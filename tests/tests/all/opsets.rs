//! Models converted to other operator sets: `--target-opset`, the pass `ConvertOpset`, the pipeline `modern`.

use relais_tests::{
    cli::{files, folder, quick_folder, relais, run_text as run},
    venv::{judge, judge_models, some_cases, some_models},
};
use std::{ffi::OsStr, path::Path};

#[test]
fn the_cases_of_the_onnx_package_mean_the_same_in_others() {
    let every = some_cases();
    let every = every.each_ref().map(String::as_str);
    println!(
        "{}",
        judge_models(&["opsets"], &[&["--kind", "node", "--target", "13", "--target", "24"][..], &every].concat())
    );
}

#[test]
fn exported_models_mean_the_same_in_others() {
    let kinds = ["--kind", "light", "--kind", "simple", "--kind", "pytorch-operator", "--kind", "pytorch-converted"];
    let targets = ["--target", "8", "--target", "12", "--target", "18", "--target", "24"];
    let some = some_models();
    println!("{}", judge_models(&["opsets"], &[&kinds[..], &targets, &some.each_ref().map(String::as_str)].concat()));
}

#[test]
fn all_that_cannot_be_expressed_is_said_at_once_and_nothing_is_written() {
    let model = "def @main(%x: Tensor[(2, 3), float32], %k: Tensor[(1), int64], %u: Tensor[*, float32], %b: Tensor[(2, 3), bfloat16]) #[opset = {\"\": 20}] {
  %a = BitwiseNot(%k);
  %s = Slice(%x, %k, %k);
  %t = Slice(%x, %k, %k);
  %m = Softmax(%u, axis = 1);
  %r = Relu(%b);
  %g = Gelu(%x);
  %l = Scan(%x, body = fn(%e) { %n = Neg(%e); %n }, num_scan_inputs = 1);
  (%a, %s, %t, %m, %r, %g, %l)
}
";
    let (text, said) = run(model, &["--target-opset", "8"]);
    let stderr = said.expect_failure().stderr;
    for expected in [
        "`BitwiseNot` cannot be converted to operator set 8: operator set 17 has no such operator",
        "`Slice` cannot be converted to operator set 8: its argument `starts` is not constant",
        "2 calls in all",
        "`Gelu` cannot be converted to operator set 8: the body calls `Erf`, and operator set ",
        "`Softmax` cannot be converted to operator set 8: the rank of its argument `input` is not known",
        "`Relu` cannot be converted to operator set 8: its input 0 (`X`) has elements of type bfloat16",
        "`Scan` cannot be converted to operator set 8: version 9 made another operator of it, without batches",
        "nothing was written",
    ] {
        assert!(stderr.contains(expected), "{expected}\n{stderr}");
    }
    assert!(text.is_empty(), "{text}");
}

#[test]
fn a_set_that_does_not_exist_is_refused_before_the_first_pass() {
    let model = "def @main(%x) #[opset = {\"\": 17}] { %1 = Relu(%x); %1 }";
    for (target, expected) in [
        ("99", "no operator set `ai.onnx` 99 is known\n  help: the newest is 28"),
        ("6", "option `target` of `relais.ConvertOpset` cannot be 6"),
    ] {
        let (text, said) = run(model, &["--target-opset", target]);
        let stderr = said.expect_failure().stderr;
        assert!(stderr.contains(expected), "{expected}\n{stderr}");
        assert!(text.is_empty(), "{text}");
    }
}

#[test]
fn sets_before_broadcasting_are_not_converted() {
    let model = "def @main(%x: Tensor[(2), float32]) #[opset = {\"\": 6}] { %1 = Add(%x, %x); %1 }";
    let (text, said) = run(model, &["--target-opset", "13"]);
    let stderr = said.expect_failure().stderr;
    assert!(stderr.contains("it imports operator set 6, and conversion begins at 7"), "{stderr}");
    assert!(text.is_empty(), "{text}");
}

#[test]
fn a_function_has_no_initializers_for_constants_that_no_node_makes() {
    let model = |elem: &str| {
        format!(
            "def @main(%x: Tensor[(2), float32]) #[opset = {{\"\": 9}}] {{ %1 = @F(%x); %1 }}
def @F(%x: Tensor[(2), float32]) #[opset = {{\"\": 9}}] {{ %c = const({elem}) #[form = value]; %1 = Identity(%c); %1 }}"
        )
    };
    let (text, said) = run(&model("bool, true"), &["--target-opset", "8"]);
    let stderr = said.expect_failure().stderr;
    let why = "`Constant` cannot be converted to operator set 8: before version 9 it has no elements of type bool";
    assert!(stderr.contains(why) && text.is_empty(), "{stderr}{text}");
    run(&model("float32, 1.0"), &["--target-opset", "8"]).1.expect_success();
}

#[test]
fn numbers_that_an_older_version_does_not_take_are_refused() {
    let topmost = |k: i64| {
        format!(
            "def @main(%x: Tensor[(3), float32]) #[opset = {{\"\": 10}}] {{
  %k = const(int64, [{k}]);
  %t = TopK(%x, %k) -> 2;
  %v = %t[0];
  %v
}}"
        )
    };
    let one_hot = |kind: &str, index: i64| {
        format!(
            "def @main(%v: Tensor[(2), float32]) #[opset = {{\"\": 11}}] {{
  %i = const({kind}, [{index}]);
  %d = const(int64, 3);
  %y = OneHot(%i, %d, %v);
  %y
}}"
        )
    };
    for (target, model, refusal) in [
        (
            "9",
            topmost(0),
            Some("`TopK` cannot be converted to operator set 9: before version 10 its `k` is at least 1"),
        ),
        ("9", topmost(1), None),
        ("10", one_hot("int32", -1), Some("`OneHot` cannot be converted to operator set 10: its indices are negative")),
        ("10", one_hot("int64", -1), None),
        ("10", one_hot("int32", 1), None),
    ] {
        let (text, said) = run(&model, &["--target-opset", target]);
        match refusal {
            Some(refusal) => {
                let stderr = said.expect_failure().stderr;
                assert!(stderr.contains(refusal) && text.is_empty(), "{stderr}{text}");
            }
            None => _ = said.expect_success(),
        }
    }
}

#[test]
fn branches_give_one_shape_before_version_11() {
    let model = |then: &str| {
        format!(
            "def @main(%x: Tensor[(2, 1, 4), float32], %c: Tensor[(), bool]) #[opset = {{\"\": 12}}] {{
  %y = if (%c) {{ %t = {then}; %t }} else {{ %e = Neg(%x); %e }};
  %y
}}"
        )
    };
    let (text, said) = run(&model("Squeeze(%x, axes = [1])"), &["--target-opset", "10"]);
    let stderr = said.expect_failure().stderr;
    let why = "`If` cannot be converted to operator set 10: before version 11 its branches give the same shapes";
    assert!(stderr.contains(why) && text.is_empty(), "{stderr}{text}");
    run(&model("Squeeze(%x, axes = [1])"), &["--target-opset", "11"]).1.expect_success();
    run(&model("Relu(%x)"), &["--target-opset", "10"]).1.expect_success();
}

#[test]
fn functions_of_the_module_are_converted_too() {
    let model = "def @main(%x: Tensor[(2), float32]) #[opset = {\"\": 11}] { %1 = @Widen(%x); %1 }
def @Widen(%v) #[opset = {\"\": 11}] { %1 = Unsqueeze(%v, axes = [0]); %1 }";
    let (text, said) = run(model, &["--target-opset", "13", "--check"]);
    said.expect_success();
    assert_eq!(text.matches("\"\": 13").count(), 2, "{text}");
    assert!(text.contains("const(int64, [0])") && !text.contains("axes ="), "{text}");
}

#[test]
fn a_huge_constant_is_refused_rather_than_written_out() {
    let model = "def @main(%x: Tensor[(2), float32]) #[opset = {\"\": 17}] {
  %1 = splat(int64, (4000000000000), 0);
  %2 = Pad(%x, %1);
  %2
}";
    let (text, said) = run(model, &["--target-opset", "10"]);
    let stderr = said.expect_failure().stderr;
    assert!(stderr.contains("its argument `pads` is too large") && text.is_empty(), "{stderr}{text}");
}

#[test]
fn calls_that_no_operator_set_has_are_refused() {
    let imports = r#"#[opset = {"": 18}]"#;
    for (call, expected) in [
        ("Shape(start = 1)", "it has too few arguments"),
        ("Split(%x, num_outputs = 1000000000000) -> 2", "`num_outputs` is not the number of its results"),
    ] {
        let model = format!("def @main(%x: Tensor[(4000000000000000), float32]) {imports} {{ %1 = {call}; %1 }}");
        let (text, said) = run(&model, &["--target-opset", "10"]);
        let stderr = said.expect_failure().stderr;
        assert!(stderr.contains(expected) && text.is_empty(), "{stderr}{text}");
    }
}

#[test]
fn a_parameter_of_a_function_becomes_no_argument() {
    let model = "def @main(%x: Tensor[(1, 2), float32]) #[opset = {\"\": 11}] { %1 = @Narrow(%x, axes = [0]); %1 }
def @Narrow(%v) #[opset = {\"\": 11}, attributes = [\"axes\"]] { %1 = Squeeze(%v, axes = $axes: ints); %1 }";
    let (text, said) = run(model, &["--target-opset", "13"]);
    let stderr = said.expect_failure().stderr;
    assert!(stderr.contains("its attribute `axes` is a parameter of the function"), "{stderr}");
    assert!(text.is_empty(), "{text}");
}

#[test]
fn conversion_comes_first_and_alone_if_nothing_else_is_asked_for() {
    let model = "def @main(%x: Tensor[(1, 2), float32]) #[opset = {\"\": 11}] {
  %1 = Identity(%x);
  %2 = Squeeze(%1, axes = [0]);
  %3 = Neg(%2);
  %4 = Neg(%3);
  %4
}";
    let (text, said) = run(model, &["--target-opset", "13", "--check"]);
    said.expect_success();
    assert!(text.contains("Identity") && text.contains("const(int64, [0])") && text.contains("\"\": 13"), "{text}");
    let (text, said) = run(model, &["--target-opset", "13", "-O3"]);
    said.expect_success();
    assert!(!text.contains("Identity") && text.contains("Squeeze(%x, "), "{text}");
    let (text, said) = run(model, &["--target-opset", "13", "--rule", "Neg(Neg(x)) => x"]);
    said.expect_success();
    assert!(text.contains("Identity") && !text.contains("Neg") && text.contains("\"\": 13"), "{text}");
}

#[test]
fn nodes_to_keep_keep_the_version_that_they_are_written_for() {
    let model = "def @main(%x: Tensor[(1, 2), float32]) #[opset = {\"\": 11}] { %a = Squeeze(%x, axes = [0]); %a }";
    let (text, said) = run(model, &["--target-opset", "13", "--keep", "a"]);
    let stderr = said.expect_failure().stderr;
    assert!(stderr.contains("nodes to keep are written for operator set 11, and a pass made it 13"), "{stderr}");
    assert!(text.is_empty(), "{text}");
}

#[test]
fn the_format_is_that_of_the_time_of_the_operator_set() {
    let model = "#[ir_version = 10]
def @main(%x: Tensor[(2), float32]) #[opset = {\"\": 21}] { %1 = Relu(%x); %1 }";
    for (target, expected) in [("24", 10), ("21", 10), ("20", 9), ("13", 7), ("11", 6), ("8", 4)] {
        let (text, said) = run(model, &["--target-opset", target]);
        said.expect_success();
        assert!(text.contains(&format!("ir_version = {expected}")), "{target}: {text}");
    }
}

#[test]
fn modern_operators_take_the_place_of_what_is_written_out() {
    let model = "def @main(%x: Tensor[(2, 4), float32], %s: Tensor[(4), float32]) #[opset = {\"\": 13}] {
  %m = ReduceMean(%x, axes = [-1]);
  %d = Sub(%x, %m);
  %q = Mul(%d, %d);
  %v = ReduceMean(%q, axes = [-1]);
  %e = Add(%v, 1e-5);
  %r = Sqrt(%e);
  %n = Div(%d, %r);
  %l = Mul(%n, %s);
  %g = Div(%l, 1.4142135);
  %h = Erf(%g);
  %i = Add(%h, 1.0);
  %j = Mul(%l, %i);
  %k = Mul(%j, 0.5);
  %o = Sigmoid(%k);
  %y = Mul(%k, %o);
  %y
}";
    let (text, said) = run(model, &["-p", "modern", "--check"]);
    said.expect_success();
    for operator in ["LayerNormalization(", "Gelu(", "Swish("] {
        assert!(text.contains(operator), "{operator}\n{text}");
    }
    // The pipeline converts to another version if one is named: to one that has no `Swish`, and to a later one.
    for (target, is_there) in [("20", false), ("25", true)] {
        let (text, said) = run(model, &["-p", "modern", "--target-opset", target]);
        said.expect_success();
        assert!(text.contains(&format!("\"\": {target}")) && text.contains("Gelu("), "{text}");
        assert_eq!(text.contains("Swish("), is_there, "{text}");
    }
}

/// Folding would make it possible, and need not come first.
#[test]
fn arguments_that_follow_from_constants_become_attributes() {
    let model = "def @main(%x: Tensor[(N, 4, 3), float32]) -> (%y, %z) #[opset = {\"\": 18}] {
  %a = const(int64, [1]);
  %b = const(int64, [0]);
  %axes = Add(%a, %b);
  %y = ReduceMean(%x, %axes);
  %both = Concat(%a, %b, axis = 0);
  %z = ReduceMax(%x, %both, keepdims = 0);
  (%y, %z)
}";
    for more in [&[][..], &["-O3"]] {
        let (text, said) = run(model, &[&["--target-opset", "13", "--check"], more].concat());
        said.expect_success();
        assert!(text.contains("axes = [1]") && text.contains("axes = [1, 0]"), "{text}");
        assert!(!text.contains("Concat") && !text.contains("Add"), "{text}");
    }
    // An input is not a constant.
    let open = model.replace("]) -> ", "], %a: Tensor[(1), int64]) -> ").replace("  %a = const(int64, [1]);\n", "");
    let (_, said) = run(&open, &["--target-opset", "13"]);
    assert!(said.expect_failure().stderr.contains("its argument `axes` is not constant"));
}

/// It is said once, and there is nothing to reproduce: the user asked for what cannot be done.
#[test]
fn a_refusal_is_said_once_and_leaves_no_reproducer() {
    let folder = quick_folder();
    let [input, output] = ["in.relay", "out.relay"].map(|name| folder.path().join(name).display().to_string());
    let model = "def @main(%x: Tensor[(2), float32], %k: Tensor[(1), int64]) #[opset = {\"\": 17}] { %s = Slice(%x, %k, %k); %s }";
    std::fs::write(&input, model).unwrap();
    let stderr = relais(["run", &input, "-o", &output, "--target-opset", "8"]).expect_failure().stderr;
    assert_eq!(stderr.matches("its argument `starts` is not constant").count(), 1, "{stderr}");
    assert!(
        stderr.contains("pass `relais.ConvertOpset` of plugin") && stderr.contains("nothing was written"),
        "{stderr}"
    );
    assert_eq!(files(folder.path()), ["in.relay"]);
}

#[test]
fn nothing_is_computed_over_a_size_of_zero() {
    let model =
        "def @main(%x: Tensor[(0, 2), float32]) -> (%y) #[opset = {\"\": 9}] { %y = Softmax(%x, axis = 0); %y }";
    let (text, said) = run(model, &["--target-opset", "13"]);
    said.expect_success();
    assert!(text.contains("%y: Tensor[(0, 2), float32] = Softmax(%x, axis = -1)"), "{text}");
}

/// `Hardmax` has one result in every version: what the input had wrong stays, and no pass is blamed.
#[test]
fn a_call_with_results_that_no_version_has_stays_as_it_is() {
    let model = "def @main(%x: Tensor[(3, 2), float32]) -> (%a) #[opset = {\"\": 9}] {
  %1 = Hardmax(%x, axis = 0) -> 2;
  %a = %1[0];
  %b = %1[1];
  %a
}";
    let (text, said) = run(model, &["--target-opset", "13"]);
    said.expect_success();
    assert!(text.contains("Hardmax(%x, axis = 0) -> 2"), "{text}");
}

/// The sizes may be 0 where the shape is computed.
#[test]
fn a_shape_that_allows_zeros_is_named() {
    let model = "def @main(%x: Tensor[(N, 12), float32]) -> (%y) #[opset = {\"\": 18}] {
  %k = const(int64, [3, 4]);
  %s = Shape(%x, start = 0, end = 1);
  %c = Concat(%s, %k, axis = 0);
  %y = Reshape(%x, %c, allowzero = 1);
  %y
}";
    let (_, said) = run(model, &["--target-opset", "13"]);
    let stderr = said.expect_failure().stderr;
    assert!(stderr.contains("it has `allowzero`, which came with version 14"), "{stderr}");
}

#[test]
fn versions_without_a_kernel_in_onnxruntime_are_said() {
    // The constant is a call, which becomes an initializer.
    let model = "def @main(%x: Tensor[(1, 2, 3, 3), float32]) -> (%y) #[opset = {\"\": 21}] {
  %c = Constant(sparse_value = sparse(hex\"0a0c0801100122040000004042001209080110073a010142001803\"));
  %y = GlobalLpPool(%x);
  %r = Add(%y, %c);
  %r
}
";
    let folder = folder("kernels");
    let [text, read, written] = ["in.relay", "in.onnx", "out.onnx"].map(|name| folder.join(name));
    std::fs::write(&text, model).unwrap();
    let relais = |from: &Path, to: &Path, arguments: &[&str]| {
        let fixed = [OsStr::new("run"), from.as_ref(), "-o".as_ref(), to.as_ref()];
        relais(fixed.into_iter().chain(arguments.iter().map(OsStr::new))).expect_success().stderr
    };
    relais(&text, &read, &["-O0"]);
    for (target, expected) in [
        ("20", None),
        ("22", Some("has no kernel for `GlobalLpPool` at operator set 22")),
        ("28", Some("has no kernel for operator set 28")),
    ] {
        let stderr = relais(&read, &written, &["--target-opset", target]);
        let said = stderr.lines().find(|line| line.contains("has no kernel"));
        assert_eq!(said.is_some(), expected.is_some(), "{stderr}");
        assert!(expected.is_none_or(|expected| stderr.contains(expected)), "{stderr}");
    }
    // It does not take the model either.
    relais(&read, &read, &["-O0", "--target-opset", "22"]);
    let stderr = relais(&read, &written, &["--target-opset", "23"]);
    assert!(!stderr.contains("has no kernel"), "{stderr}");
}

/// The tables are those of the onnxruntime that the tests run.
#[test]
fn the_target_is_what_onnxruntime_says() {
    let said = judge(&[OsStr::new("kernels")]);
    assert!(said == relais::pipeline::ONNXRUNTIME_TARGET, "generate it anew: `python -m judge kernels --write`");
}

#[test]
fn types_without_a_kernel_in_onnxruntime_are_said() {
    let model = "def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(3, 4), float32]) -> (%y) #[opset = {\"\": 21}] {
  %y = MatMul(%x, %w);
  %y
}
";
    let folder = folder("types-without-kernels");
    let [text, read, written] = ["in.relay", "in.onnx", "out.onnx"].map(|name| folder.join(name));
    std::fs::write(&text, model).unwrap();
    relais(["run".as_ref(), text.as_os_str(), "-o".as_ref(), read.as_ref(), "-O0".as_ref()]).expect_success();
    // Halves are cast where a kernel is lacking.
    for (dtype, is_lacking) in [("bfloat16", true), ("float16", false)] {
        let fixed = ["run".as_ref(), read.as_os_str(), "-o".as_ref(), written.as_ref()];
        let stderr = relais(fixed.into_iter().chain(["--dtype", dtype].map(OsStr::new))).expect_success().stderr;
        assert_eq!(stderr.contains("has no kernel for `MatMul` of bfloat16 at"), is_lacking, "{stderr}");
    }
}
