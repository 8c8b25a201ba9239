//! The command line over the plugins that are shipped.

use relais_tests::cli::{folder, relais};
use std::fs;

const CONV_AND_NORM: &str = r#"def @main(%x: Tensor[(1, 1, 3, 3), float32]) -> (%y) #[opset = {"": 17}] {
  %s = const(float32, (2), [6.0, 3.0]);
  %b = const(float32, (2), [0.5, 0.25]);
  %m = const(float32, (2), [0.0, 1.0]);
  %v = const(float32, (2), [1.0, 4.0]);
  %w = const(float32, (2, 1, 1, 1), [2.0, 3.0]);
  %c = Conv(%x, %w);
  %y = BatchNormalization(%c, %s, %b, %m, %v);
  %y
}
"#;

#[test]
fn passes_that_are_named_are_on_and_levels_switch_what_they_consist_of() {
    let folder = folder("named-passes");
    let (model, out) = (folder.join("model.relay"), folder.join("out.relay"));
    fs::write(&model, CONV_AND_NORM).unwrap();
    let run = |args: &[&str]| {
        let files = ["run", model.to_str().unwrap(), "-o", out.to_str().unwrap(), "--allow-writable-plugins"];
        let said = relais(files.iter().chain(args)).expect_success();
        let has_norm = fs::read_to_string(&out).unwrap().contains("BatchNormalization(");
        (has_norm, said.stderr.contains("at level 2, `relais.FoldScaleAxis` runs without "))
    };
    assert_eq!(run(&["--passes", "FoldScaleAxis", "-O3"]), (false, false));
    assert_eq!(run(&["--passes", "FoldScaleAxis"]), (true, true), "its members are of level 3");
    assert_eq!(run(&["--passes", "FoldScaleAxis", "--require", "BackwardFoldScaleAxis"]), (false, true));
    assert_eq!(run(&["--passes", "FoldScaleAxis", "-O3", "--disable", "BackwardFoldScaleAxis"]), (true, false));
    assert_eq!(run(&["--passes", "BackwardFoldScaleAxis", "-O0"]), (false, false), "a pass that is named is on");
    assert_eq!(run(&["--passes", "BackwardFoldScaleAxis", "--disable", "BackwardFoldScaleAxis"]), (true, false));
    assert_eq!(run(&["--passes", "FoldConstant"]), (true, false));
    let pipeline = folder.join("level.toml");
    for (level, folds) in [("", false), (", opt_level = 2", true), (", opt_level = 3", false)] {
        fs::write(&pipeline, format!("steps = [{{ pass = \"BackwardFoldScaleAxis\"{level} }}]")).unwrap();
        assert_eq!(run(&["-p", pipeline.to_str().unwrap()]), (!folds, false), "{level}");
    }
}

const CHAIN: &str = "def @main(%x: Tensor[(2), float32]) -> (%y) #[opset = {\"\": 17}] {\n  %a = Identity(%x);\n  %y = Relu(%a);\n  %y\n}\n";

#[test]
fn several_passes_are_named_with_commas_wherever_passes_are() {
    let folder = folder("commas");
    let (model, out) = (folder.join("model.relay"), folder.join("out.relay"));
    fs::write(&model, CHAIN).unwrap();
    let run = |args: &[&str]| {
        let files = ["run", model.to_str().unwrap(), "-o", out.to_str().unwrap(), "-q"];
        relais(files.iter().chain(args)).expect_success();
        fs::read_to_string(&out).unwrap().contains("Identity(")
    };
    assert!(!run(&["--passes", "EliminateNoOp,DeadCodeElimination"]));
    assert!(run(&["-O1", "--disable", "EliminateNoOp,DeadCodeElimination"]));
    assert!(!run(&["-O1", "--disable", "DeadCodeElimination", "--disable", "CastLikeToCast"]));
    let said =
        relais(["run", model.to_str().unwrap(), "-o", "x", "--disable", "EliminateNoOp,Nowhere"]).expect_failure();
    assert!(said.stderr.contains("no pass `Nowhere`"), "{said:?}");
}

#[test]
fn a_level_beside_a_pipeline_is_that_of_its_context() {
    let folder = folder("level");
    let (model, out, pipeline) = (folder.join("model.relay"), folder.join("out.relay"), folder.join("p.toml"));
    fs::write(&model, CHAIN).unwrap();
    fs::write(&pipeline, "steps = [\"EliminateNoOp\"]").unwrap();
    let run = |args: &[&str]| {
        let p = ["run", model.to_str().unwrap(), "-o", out.to_str().unwrap(), "-q", "-p", pipeline.to_str().unwrap()];
        relais(p.iter().chain(args)).expect_success();
        fs::read_to_string(&out).unwrap().contains("Identity(")
    };
    assert_eq!([run(&["-O0"]), run(&["-O1"]), run(&[])], [true, false, false]);
}

/// Calls that their operators do not accept, each with the code that it is reported with.
const UNACCEPTED: [(&str, &str); 5] = [
    ("Relu(%x, %x)", "[M002]: `Relu`: it has 2 inputs and takes at most 1"),
    ("Softmax(%x, axis = \"hello\")", "[M005]: `Softmax`: attribute `axis` is of kind `string` where `int` is wanted"),
    ("Sigmod(%x)", "[M009]: `Sigmod`: version 17 of its domain has no such operator: did you mean `Sigmoid`?"),
    ("Gelu(%x)", "[M009]: `Gelu`: version 17 of its domain has no such operator; version 20 has"),
    ("MatMul(%x, %x)", "[E001]: `MatMul`: "),
];

#[test]
fn calls_of_a_text_that_their_operators_do_not_accept_are_warnings_unless_types_are_strict() {
    let folder = folder("unaccepted");
    let (model, out) = (folder.join("model.relay"), folder.join("out.relay"));
    let run = |call: &str, args: &[&str]| {
        let text = format!(
            "def @main(%x: Tensor[(2, 3), float32]) -> (%y) #[opset = {{\"\": 17}}] {{\n  %a = {call};\n  %y = Neg(%a);\n  %y\n}}\n"
        );
        fs::write(&model, text).unwrap();
        let files = ["run", model.to_str().unwrap(), "-o", out.to_str().unwrap(), "--passes", "InferType"];
        relais(files.iter().chain(args))
    };
    for (call, message) in UNACCEPTED {
        let said = run(call, &[]).expect_success().stderr;
        assert!(said.contains(&format!("warning{message}")), "{said}");
        fs::remove_file(&out).unwrap();
        let said = run(call, &["--set", "InferType.strict=true"]).expect_failure().stderr;
        assert!(said.contains(&format!("error{message}")) && !out.exists(), "{said}");
    }
    // A host need not know what the runtime of a model knows.
    for call in ["Relu(%x)", "acme::Sigmod(%x, axis = \"hello\")"] {
        let said = run(call, &["--set", "InferType.strict=true"]).expect_success().stderr;
        assert!(!said.contains("warning"), "{said}");
    }
}

#[test]
fn a_module_without_functions_is_a_model() {
    let folder = folder("empty-module");
    let (model, out) = (folder.join("model.relay"), folder.join("out.relay"));
    fs::write(&model, "").unwrap();
    relais(["run", model.to_str().unwrap(), "-o", out.to_str().unwrap()]).expect_success();
    assert_eq!(fs::read_to_string(&out).unwrap().trim(), "");
    relais(["show", out.to_str().unwrap()]).expect_success();
}

#[test]
fn passes_are_listed_by_their_short_names_phase_by_phase() {
    let listed = relais(["list", "passes"]).expect_success().stdout;
    let names: Vec<&str> = listed.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    let at = |name: &str| names.iter().position(|it| *it == name).unwrap_or_else(|| panic!("{name}: {listed}"));
    assert!(at("InferType") < at("FoldConstant") && at("FoldConstant") < at("EliminateNoOp"));
    assert!(at("EliminateNoOp") < at("DeadCodeElimination") && at("DeadCodeElimination") < at("PrintIR"));
    let said = relais(["describe", "FoldConstant"]).expect_success().stdout;
    assert!(
        said.contains("pass relais.FoldConstant") && said.contains("aliases  relay._transform.FoldConstant"),
        "{said}"
    );
}
