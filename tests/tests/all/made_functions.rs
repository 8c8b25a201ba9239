//! Passes that make functions of parts of a model: what they write runs elsewhere, and comes back by `Inline`.

use relais_tests::{
    cli::{Run, command, folder},
    venv::judge,
};
use std::{fs, path::Path};

const HEADER: &str = r#"def @main(%x: Tensor[(2, 3), float32]) -> (%y) #[opset = {"": 18}]"#;

/// Runs passes over a body of `main`, or over a file; the output is text or ONNX, by its name.
fn run(here: &Path, input: &str, passes: &str, output: &str, args: &[&str]) {
    let file = match input.starts_with('{') {
        true => {
            fs::write(here.join("input.relay"), format!("{HEADER} {input}\n")).unwrap();
            "input.relay"
        }
        false => input,
    };
    let mut relais = command();
    relais.current_dir(here).args(["-q", "run", file, "--passes", passes, "-o", output, "--allow-writable-plugins"]);
    Run::of(relais.args(args)).expect_success();
}

const LAYERS: &str = "{
  %v = const(float32, [[0.5, -1.0, 2.0], [1.0, 0.0, -2.0], [3.0, 1.0, 1.0]]);
  %w = const(float32, [[1.0, 1.0, 0.5], [-1.0, 2.0, 0.0], [0.0, 1.0, -3.0]]);
  %a = MatMul(%x, %v);
  %b = Mul(%a, const(float32, 0.5));
  %c = Relu(%b);
  %d = MatMul(%c, %w);
  %e = Mul(%d, const(float32, 0.5));
  %f = Relu(%e);
  %g = Neg(%f);
  %h = Abs(%f);
  %y = Add(%g, %h);
  %y
}";

#[test]
fn fused_calls_run_elsewhere_and_come_back() {
    let here = folder("fused");
    run(&here, LAYERS, "InferType", "model.onnx", &[]);
    run(&here, LAYERS, "FuseOps", "fused.onnx", &[]);
    judge(["same".as_ref(), here.as_os_str(), here.join("fused.onnx").as_os_str()]);
    run(&here, "fused.onnx", "InferType", "fused.relay", &[]);
    let text = fs::read_to_string(here.join("fused.relay")).unwrap();
    assert_eq!(text.matches("def @").count(), 3, "{text}");
    run(&here, "fused.onnx", "Inline,RemoveUnusedFunctions", "back.relay", &[]);
    let text = fs::read_to_string(here.join("back.relay")).unwrap();
    assert!(text.matches("def @").count() == 1 && !text.contains("fused_"), "{text}");
    for (call, count) in [("MatMul(", 2), ("Mul(", 4), ("Relu(", 2), ("Neg(", 1), ("Abs(", 1), ("Add(", 1)] {
        assert_eq!(text.matches(call).count(), count, "{call}: {text}");
    }
}

#[test]
fn a_group_is_no_larger_than_the_option_says() {
    let here = folder("fused-depth");
    let chain = "{ %a = Relu(%x); %b = Neg(%a); %c = Abs(%b); %y = Floor(%c); %y }";
    let functions = |args: &[&str]| {
        run(&here, chain, "FuseOps", "out.relay", args);
        let text = fs::read_to_string(here.join("out.relay")).unwrap();
        let names = text.lines().filter_map(|line| line.strip_prefix("def @fused_")?.split('(').next());
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(functions(&[]), ["Relu_Neg_Abs_Floor"]);
    assert_eq!(functions(&["--set", "relay.FuseOps.max_depth=2"]), ["Relu_Neg", "Abs_Floor"]);
    assert!(functions(&["--set", "relay.FuseOps.max_depth=1"]).is_empty());
}

#[test]
fn a_closure_that_is_called_runs_elsewhere() {
    let here = folder("lifted");
    run(
        &here,
        "{ %a = Mul(%x, %x); %b = Add(%a, %x); %c = Mul(%b, %b); %y = Add(%c, %x); %y }",
        "InferType",
        "model.onnx",
        &[],
    );
    let closure = "{ let %f = fn(%v: Tensor[(2, 3), float32]) { %a = Mul(%v, %v); %b = Add(%a, %x); %b };
        %1 = %f(%x); %y = %f(%1); %y }";
    run(&here, closure, "LambdaLift", "lifted.onnx", &[]);
    judge(["same".as_ref(), here.as_os_str(), here.join("lifted.onnx").as_os_str()]);
    let passed_on =
        "{ let %f = fn(%v: Tensor[(2, 3), float32]) { %b = Neg(%v); %b }; %1 = acme::Map(%x, %f); %2 = %f(%1); %2 }";
    run(&here, passed_on, "LambdaLift", "out.relay", &[]);
    let text = fs::read_to_string(here.join("out.relay")).unwrap();
    assert!(text.contains("let %f = fn(") && text.matches("def @").count() == 1, "{text}");
}

/// The body that an exporter wrote is a function, and so is what a branch in the body of a loop computes.
#[test]
fn bodies_that_become_functions_run_elsewhere() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("filetests/LambdaLift");
    for (case, n_functions) in [("exported_scan", 2), ("bodies_in_bodies", 3)] {
        let here = folder(&format!("lifted-{case}"));
        let input = cases.join(case).with_extension("relay");
        run(&here, input.to_str().unwrap(), "InferType", "model.onnx", &[]);
        let steps = "steps = [{ pass = \"relais.LambdaLift\", options = { bodies = true } }]\n";
        fs::write(here.join("lift.toml"), steps).unwrap();
        for output in ["lifted.onnx", "lifted.relay"] {
            let mut relais = command();
            relais.current_dir(&here).args(["-q", "run", "--pipeline", "lift.toml", "-o", output]).arg(&input);
            Run::of(&mut relais).expect_success();
        }
        judge(["same".as_ref(), here.as_os_str(), here.join("lifted.onnx").as_os_str()]);
        let text = fs::read_to_string(here.join("lifted.relay")).unwrap();
        assert_eq!(text.matches("def @").count(), n_functions, "{text}");
        run(&here, "lifted.onnx", "Inline,RemoveUnusedFunctions", "back.relay", &[]);
        let text = fs::read_to_string(here.join("back.relay")).unwrap();
        assert!(text.matches("def @").count() == 1 && !text.contains("@lifted"), "{text}");
    }
}

/// Version 6 of `Max` does not broadcast, but runtimes do.
#[test]
fn c05_a_fault_that_moves_into_a_new_function_is_not_the_pass() {
    let here = folder("fused-fault");
    let text = "def @main(%x: Tensor[(2, 3), float32], %s: Tensor[(), float32]) -> (%y) #[opset = {\"\": 7}] {
        %a = Neg(%x); %b = Max(%a, %s); %y = Neg(%b); %y }";
    fs::write(here.join("max.relay"), text).unwrap();
    run(&here, "max.relay", "FuseOps", "out.relay", &[]);
    let text = fs::read_to_string(here.join("out.relay")).unwrap();
    assert!(text.contains("@fused_Neg_Max_Neg("), "{text}");
}
