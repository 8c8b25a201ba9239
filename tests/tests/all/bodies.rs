//! Operators that are defined by other operators: their types, constants and calls come from their bodies, and models
//! are written with them.

use relais_tests::{
    cargo_built::plugin,
    cli::{Run, command, folder},
    venv::{every, judge, judge_models},
};
use std::{fs, path::Path};

const HEADER: &str = r#"def @main(%x: Tensor[(2, 3), float32]) -> (%y) #[opset = {"": 18, "acme": 1}]"#;

/// Runs passes over a body of `main`, with the plugin; the output is text or ONNX, by its name.
fn run(here: &Path, body: &str, passes: &str, output: &str) -> Run {
    fs::write(here.join("model.relay"), format!("{HEADER} {body}\n")).unwrap();
    let mut relais = command();
    relais.current_dir(here).args(["run", "model.relay", "--passes", passes, "-o", output]);
    Run::of(relais.args(["--allow-writable-plugins", "--no-reproducer", "--plugin"]).arg(plugin("bodies")))
}

/// Every operator that has a sound body, with an attribute, without it, and without an argument.
const ALL: &str = "{
  %low = const(float32, -0.1);
  %a = acme::Silu(%x);
  %b = acme::Leak(%a, slope = 0.25);
  %c = acme::Leak(%b, %low);
  (%d, %e) = acme::Halves(%c);
  %f = acme::Twice(%e);
  %y = Add(%d, %f);
  %y
}";

/// The same, written out.
const WRITTEN_OUT: &str = "{
  %low = const(float32, -0.1);
  %s = Sigmoid(%x);
  %a = Mul(%x, %s);
  %b = LeakyRelu(%a, alpha = 0.25);
  %c = LeakyRelu(%b, alpha = 0.5);
  %d = Clip(%c, %low);
  %t = Sigmoid(%d);
  %e = Mul(%d, %t);
  %f = Neg(%e);
  %g = Add(%f, %f);
  %y = Add(%e, %g);
  %y
}";

#[test]
fn a_model_with_them_runs_elsewhere() {
    let here = folder("bodies-elsewhere");
    run(&here, WRITTEN_OUT, "relais.InferType", "model.onnx").expect_success();
    run(&here, ALL, "relais.InferType", "functions.onnx").expect_success();
    run(&here, ALL, "relais.Inline", "inlined.onnx").expect_success();
    for made in ["functions.onnx", "inlined.onnx"] {
        judge(["same".as_ref(), here.as_os_str(), here.join(made).as_os_str()]);
    }
    // The functions have the operators' names.
    let again = Run::of(command().current_dir(&here).args(["show", "functions.onnx"])).expect_success();
    for function in ["Silu", "Leak", "Halves", "Twice"] {
        assert!(again.stdout.contains(&format!("def @\"acme::{function}\"")), "{}", again.stdout);
    }
}

#[test]
fn operators_that_a_model_had_stay_as_they_are() {
    let here = folder("bodies-had");
    // Without the plugin, nothing has a body.
    fs::write(here.join("model.relay"), format!("{HEADER} {{ %y: Tensor[(2, 3), float32] = acme::Silu(%x); %y }}\n"))
        .unwrap();
    let written = ["-q", "run", "model.relay", "-O0", "-o", "had.onnx"];
    Run::of(command().current_dir(&here).args(written)).expect_success();
    let again = ["-q", "run", "had.onnx", "-O0", "-o", "same.onnx", "--allow-writable-plugins", "--plugin"];
    Run::of(command().current_dir(&here).args(again).arg(plugin("bodies"))).expect_success();
    assert!(fs::read(here.join("had.onnx")).unwrap() == fs::read(here.join("same.onnx")).unwrap());
}

#[test]
fn inlining_leaves_the_operators_of_onnx_only() {
    let here = folder("bodies-inlined");
    run(&here, ALL, "relais.Inline", "out.relay").expect_success();
    let text = fs::read_to_string(here.join("out.relay")).unwrap();
    assert!(!text.contains("acme::") && text.matches("def @").count() == 1, "{text}");
    assert!(text.contains("alpha = 0.25") && text.contains("alpha = 0.5"), "{text}");
}

#[test]
fn types_and_constants_come_from_them() {
    let here = folder("bodies-types");
    let body = "{ %a = acme::Leak(%x); (%b, %c) = acme::Halves(%a); %y = Sub(%b, %c); %y }";
    run(&here, body, "relais.InferType", "out.relay").expect_success();
    let text = fs::read_to_string(here.join("out.relay")).unwrap();
    assert!(
        text.contains("%a: Tensor[(2, 3), float32] = ") && text.contains("%c: Tensor[(2, 3), float32] = "),
        "{text}"
    );
    let body = "{ %c = const(float32, [1.0, 2.0, 3.0]); %a = acme::Twice(%c); %y = Add(%x, %a); %y }";
    run(&here, body, "relais.InferType,relais.FoldConstant,relais.DeadCodeElimination", "out.relay").expect_success();
    let text = fs::read_to_string(here.join("out.relay")).unwrap();
    assert!(text.contains("[2.0, 4.0, 6.0]") && !text.contains("acme::"), "{text}");
}

/// Calls that each have a body of their own; equal ones share it.
const OF_CALLS: &str = "{
  %a = acme::Power(%x, exponent = 2);
  %b = acme::Power(%a, exponent = 3);
  %c = acme::Power(%b, exponent = 2);
  %d = acme::Power(%c, exponent = 9);
  %d
}";

#[test]
fn a_body_that_depends_on_the_call_is_made_for_each() {
    let here = folder("bodies-of-calls");
    run(&here, &OF_CALLS.replace("9", "1"), "relais.InferType", "functions.onnx").expect_success();
    let again = Run::of(command().current_dir(&here).args(["show", "functions.onnx"])).expect_success();
    let functions: Vec<&str> = again.stdout.lines().filter(|line| line.starts_with("def @\"acme")).collect();
    assert_eq!(functions.len(), 3, "{functions:?}");
    let written_out = "{ %a = Mul(%x, %x); %b = Mul(%a, %a); %c = Mul(%b, %a); %d = Mul(%c, %c); %d }";
    run(&here, written_out, "relais.InferType", "model.onnx").expect_success();
    judge(["same".as_ref(), here.as_os_str(), here.join("functions.onnx").as_os_str()]);
}

#[test]
fn a_call_without_a_body_of_its_own_stays() {
    let here = folder("bodies-declined");
    run(&here, OF_CALLS, "relais.Inline", "out.relay").expect_success();
    let out = fs::read_to_string(here.join("out.relay")).unwrap();
    assert!(out.matches("acme::Power").count() == 1 && out.contains("exponent = 9"), "{out}");
    // Constants are computed where there is one.
    let body = "{ %c = const(float32, [1.0, 2.0, 3.0]); %a = acme::Power(%c, exponent = 3); %y = Add(%x, %a); %y }";
    run(&here, body, "relais.InferType,relais.FoldConstant,relais.DeadCodeElimination", "out.relay").expect_success();
    let out = fs::read_to_string(here.join("out.relay")).unwrap();
    assert!(out.contains("[1.0, 8.0, 27.0]") && !out.contains("acme::"), "{out}");
}

#[test]
fn a_body_that_does_not_fit_is_refused_and_nothing_is_written() {
    let here = folder("bodies-refused");
    for (op, passes, expected) in [
        ("Old", "relais.InferType", "[B008] the body of `acme::Old` is written for version 11 of `ai.onnx`"),
        ("Ping", "relais.DeadCodeElimination", "[B005] the bodies of operators call each other: `acme::P"),
        ("Ping", "relais.Inline", "the bodies of operators call each other: `acme::P"),
    ] {
        let run = run(&here, &format!("{{ %y = acme::{op}(%x); %y }}"), passes, "out.onnx");
        let Run { status, stderr, .. } = &run;
        assert!(*status == Some(1) && stderr.contains(expected), "{op}, {passes}: {status:?} {stderr}");
        assert!(!here.join("out.onnx").exists());
    }
    let typed = run(&here, "{ %y = acme::Ping(%x); %y }", "relais.InferType", "typed.relay").expect_success();
    let warning = "it calls itself: acme::Ping -> acme::Pong -> acme::Ping";
    assert!(typed.stderr.contains(warning), "{}", typed.stderr);
    // Calls that were replaced are in no output, and their bodies are not asked for.
    fs::write(here.join("model.relay"), format!("{HEADER} {{ %y = acme::Old(%x); %y }}\n")).unwrap();
    let replaced = |more: &[&str]| {
        let mut relais = command();
        relais.current_dir(&here).args(["run", "model.relay", "--rule", "acme::Old(x) => Relu(x)", "-o", "gone.onnx"]);
        Run::of(relais.args(more).args(["--allow-writable-plugins", "--plugin"]).arg(plugin("bodies")))
    };
    replaced(&["--no-judge"]).expect_success();
    // The rule is judged by the body, which computes something else.
    let judged = replaced(&[]).expect_failure();
    assert!(judged.stderr.contains("error[L030]: --rule[0]:1:1: "), "{}", judged.stderr);
    // The text form has operators as they are.
    run(&here, "{ %y = acme::Old(%x); %y }", "relais.DeadCodeElimination", "out.relay").expect_success();
}

#[test]
fn a_function_of_the_model_is_not_mistaken_for_a_body() {
    let here = folder("bodies-own");
    let body = r#"{ %a = @"acme::Twice"(%x); %y = acme::Twice(%a); %y }"#;
    let other = r#"def @"acme::Twice"(%v) #[opset = {"": 18}] { Mul(%v, %v) }"#;
    let run = run(&here, &format!("{body}\n{other}"), "relais.InferType", "out.onnx");
    assert!(
        run.status == Some(1) && run.stderr.contains("[B007] the module has a function `@acme::Twice`"),
        "{}",
        run.stderr
    );
}

/// Runs `Inline` over a model of ONNX's operators, some of which are requested.
fn inlined(here: &Path, opset: i64, operators: &[&str], body: &str) -> Run {
    let main = format!("def @main(%x: Tensor[(2, 3), float32]) #[opset = {{\"\": {opset}}}] {{ {body} }}\n");
    fs::write(here.join("model.relay"), main).unwrap();
    let options = format!("{{ operators = {operators:?} }}");
    let pipeline = format!("name = \"asked\"\nsteps = [{{ pass = \"relais.Inline\", options = {options} }}]\n");
    fs::write(here.join("asked.toml"), pipeline).unwrap();
    let mut relais = command();
    relais.current_dir(here).args(["-q", "run", "model.relay", "-p", "asked.toml", "-o", "out.relay"]);
    Run::of(relais.arg("--no-reproducer"))
}

#[test]
fn every_body_of_onnx_takes_the_place_of_its_calls() {
    // On each of ONNX's cases of these operators, in onnxruntime or the reference evaluator.
    let (step, n) = if every() == 1 { ("1", 465) } else { ("8", 59) };
    let said = judge_models(&["bodies"], &["--every", step]);
    assert!(said.contains(&format!("49 operators, {n} same results, 0 identical, 0 not judged")), "{said}");
}

#[test]
fn normalisations_are_expanded() {
    let said = judge_models(&["bodies", "--by", "SimplifyInference"], &[]);
    assert!(said.contains("6 operators, 49 same results, 0 identical, 0 not judged"), "{said}");
}

#[test]
fn fixed_bodies_of_onnx_fit_their_operators() {
    let bodies = relais_operators::operators().filter(|op| !op.body.is_empty());
    let names: std::collections::BTreeSet<&str> = bodies.map(|op| op.name).collect();
    let names: Vec<&str> = names.into_iter().collect();
    assert_eq!(names, ["GreaterOrEqual", "HardSwish", "LessOrEqual", "Mish"]);
    // Each is checked before the run.
    inlined(&folder("bodies-of-onnx"), 18, &names, "%y = Relu(%x); %y").expect_success();
}

#[test]
fn bodies_are_of_the_version_of_the_call() {
    let here = folder("bodies-versions");
    // The axes of reductions are an attribute, then an argument.
    for (opset, op, expected) in [
        (13, "Softmax", "ReduceMax(%x, axes = [-1], keepdims = 1)"),
        (18, "Softmax", "ReduceMax(%x, %"),
        (11, "DynamicQuantizeLinear", "= QuantizeLinear(%x, "),
        (21, "DynamicQuantizeLinear", "= QuantizeLinear(%x, "),
        (9, "Elu", "= Less(%x, "),
        (21, "Relu", "= Max(%x, "),
    ] {
        let results = if op.starts_with("Dynamic") { "(%y, %s, %z)" } else { "%y" };
        inlined(&here, opset, &[op], &format!("{results} = {op}(%x); {results}")).expect_success();
        let out = fs::read_to_string(here.join("out.relay")).unwrap();
        assert!(out.contains(expected) && !out.contains(&format!("= {op}(")), "{op}: {out}");
    }
    // `Where` came with version 9, and broadcasting with 7.
    for opset in [6, 8] {
        inlined(&here, opset, &["Elu"], "%y = Elu(%x); %y").expect_success();
        assert!(fs::read_to_string(here.join("out.relay")).unwrap().contains("= Elu(%x"), "{opset}");
    }
}

#[test]
fn operators_without_a_body_are_refused() {
    let here = folder("bodies-refused");
    let run = inlined(&here, 18, &["Mihs"], "%y = Relu(%x); %y").expect_failure();
    assert!(
        run.stderr.contains("error[F003]") && run.stderr.contains("no plugin describes a body of `Mihs`"),
        "{}",
        run.stderr
    );
}
