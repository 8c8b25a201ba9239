//! Rules in a pipeline: they are checked before the first pass, for the model that was read.

use relais_plugin_api::boundary::{
    record::{HEADER, Header, MAGIC},
    wire::checksum,
};
use relais_tests::{
    cargo_built::plugin,
    cli::{Run, command, folder},
    venv::{judge_models, models},
};
use std::{fs, path::Path};

/// Writes a model that negates twice, and runs further arguments on it.
fn run_with(case: &str, arguments: &[&str]) -> (Run, String) {
    let folder = folder(&format!("rewrite-rules-{case}"));
    let body = "%a = Neg(%x); %b = Neg(%a); %y = Relu(%b); %y";
    let text = format!("def @main(%x: Tensor[(2), float32]) -> (%y) #[opset = {{\"\": 17}}] {{ {body} }}\n");
    fs::write(folder.join("model.relay"), text).unwrap();
    fs::write(folder.join("two.rules"), "// Twice.\nneg: Neg(Neg(x)) => x;\nrelu: Relu(x) => Abs(x)\n").unwrap();
    let run = Run::of(command().current_dir(&folder).args(["run", "model.relay", "-o", "out.relay"]).args(arguments));
    let written = fs::read_to_string(folder.join("out.relay")).unwrap_or_default();
    assert_eq!(!written.is_empty(), run.status == Some(0), "{}", run.stderr);
    (run, written)
}

#[test]
fn rules_on_the_command_line_run_alone_or_before_a_pipeline() {
    let (_, written) = run_with("alone", &["--rule", "Neg(Neg(x)) => x"]);
    assert!(written.contains("Relu(%x)") && !written.contains("Neg"), "what was replaced is gone: {written}");
    let (_, written) = run_with("file", &["--no-judge", "--rules", "two.rules"]);
    assert!(written.contains("Abs(%x)") && !written.contains("Neg"), "{written}");
    let several = ["--no-judge", "--rule", "Relu(x) => Neg(x)", "--rule", "Neg(Neg(x)) => x"];
    let (_, written) = run_with("several", &several);
    assert!(written.contains("Neg(%x)") && !written.contains("Relu"), "{written}");
    let passes = ["--no-judge", "--rule", "Relu(x) => Abs(x)", "--passes", "relais.InferType"];
    let (_, written) = run_with("passes", &passes);
    assert!(written.contains("Abs(") && written.matches("Neg").count() == 2, "{written}");
    let (_, written) = run_with("level", &["--rule", "Abs(Abs(x)) => Abs(x)", "-O1"]);
    assert!(written.contains("Relu"), "{written}");
}

#[test]
fn a_rule_that_doubles_what_it_matches_ends_with_its_name() {
    let rule = ["--no-judge", "--no-reproducer", "--rule", "double: Neg(x) => Neg(Neg(x))"];
    let (run, _) = run_with("double", &rule);
    let said = run.expect_failure().stderr;
    assert!(said.contains("still rewriting after ") && said.contains("were rewritten by `double`"), "{said}");
}

#[test]
fn the_pass_of_the_page_is_the_one_that_is_tested() {
    let page = include_str!("../../../docs/patterns.md");
    let blocks = page.split("```rust\n").skip(1).map(|rest| rest.split_once("```\n").unwrap().0);
    let sources = [include_str!("../../plugins/sample/src/good.rs"), include_str!("../../plugins/judged/src/lib.rs")];
    assert_eq!(blocks.clone().count(), sources.len());
    for (block, source) in blocks.zip(sources) {
        assert!(source.contains(block), "{block}");
    }
}

#[test]
fn a_pass_of_a_plugin_consists_of_rules() {
    let sample = plugin("sample");
    let given = ["--allow-writable-plugins", "--plugin", sample.to_str().unwrap()];
    let run = |case: &str, passes: &str| run_with(case, &[&given[..], &["--passes", passes, "--stats"]].concat());
    let (said, written) = run("plugin", "sample.Cancel,relais.DeadCodeElimination");
    assert!(written.contains("Relu(%x)") && !written.contains("Neg"), "{written}");
    assert!(said.stderr.contains("rewritten") || said.stdout.contains("rewritten"), "{} {}", said.stdout, said.stderr);
}

#[test]
fn wrong_rules_on_the_command_line_are_refused() {
    for (case, arguments, expected) in [
        ("bad-rule", ["--rule", "Neg(Neg(x) => x"], "--rule[0]:1:12: expected `,` or `)`"),
        ("bad-operator", ["--rule", "Negg(x) => x"], "did you mean `Neg`?"),
        ("bad-function", ["--rule", "Neg(x) => x if is_even(x)"], "a rule has others in Rust only"),
    ] {
        let (run, _) = run_with(case, &arguments);
        assert!(run.expect_failure().stderr.contains(expected), "{case}");
    }
}

/// A graph that calls a loop program, both of which negate twice.
const BOTH: &str = "def @main(%x: Tensor[(4), float32]) -> (%r) #[opset = {\"\": 17}] {
  %a = Neg(%x); %b = Neg(%a); %r = @k(%b); %r
}
prim @k(%x: Tensor[(4), float32]) -> (%y: Tensor[(4), float32]) {
  for %i in 0..4 { %y[%i] = neg(neg(%x[%i])) * 2.0; }
}
";

/// Runs further arguments on it, in a folder with files of rules and pipelines.
fn run_on_both(case: &str, arguments: &[&str]) -> (Run, String) {
    let here = folder(&format!("rewrite-rules-both-{case}"));
    fs::write(here.join("model.relay"), BOTH).unwrap();
    let both = "// Of each level; a comment.\n  Neg(Neg(x)) => x;\nloops: tir::neg(tir::neg(x)) => x // the end";
    fs::write(here.join("both.rules"), both).unwrap();
    fs::write(here.join("wrong.rules"), "Neg(Neg(x)) => x;\n\n  tir::load(x, i) => x").unwrap();
    let step = |pass: &str, rule: &str| format!("{{ pass = \"relais.{pass}\", options = {{ rules = [\"{rule}\"] }} }}");
    let steps = [
        ("graph.toml", step("Rewrite", "tir::neg(tir::neg(x)) => x")),
        ("loops.toml", step("RewriteLoops", "Neg(Neg(x)) => x")),
        ("fit.toml", step("RewriteLoops", "tir::neg(tir::neg(x)) => x")),
        ("unsound.toml", step("RewriteLoops", "tir::neg(x) => x")),
    ];
    for (file, step) in steps {
        fs::write(here.join(file), format!("steps = [{step}]\n")).unwrap();
    }
    let run = Run::of(command().current_dir(&here).args(["run", "model.relay", "-o", "out.relay"]).args(arguments));
    (run, fs::read_to_string(here.join("out.relay")).unwrap_or_default())
}

#[test]
fn each_rule_is_for_the_level_of_its_operators() {
    let negations = |text: &str| {
        let of_loops = text.matches("-(").count() + text.matches("-%").count();
        (text.matches("Neg(").count(), of_loops)
    };
    for (case, arguments, expected) in [
        ("loops", ["--rule", "tir::neg(tir::neg(x)) => x"], (2, 0)),
        ("graph", ["--rule", "Neg(Neg(x)) => x"], (0, 2)),
        ("text", ["--rule", "Neg(Neg(x)) => x; tir::neg(tir::neg(x)) => x"], (0, 0)),
        ("file", ["--rules", "both.rules"], (0, 0)),
        ("pipeline", ["--pipeline", "fit.toml"], (2, 0)),
    ] {
        let (run, written) = run_on_both(case, &arguments);
        let said = run.expect_success().stderr;
        assert_eq!(negations(&written), expected, "{case}: {written}");
        assert!(!said.contains("warning"), "{case}: {said}");
    }
    // A step without rules is left out.
    let (run, _) = run_on_both("steps", &["--rule", "tir::neg(tir::neg(x)) => x", "--stats"]);
    let said = run.stdout + &run.stderr;
    assert!(said.contains("relais.RewriteLoops") && !said.contains("relais.Rewrite "), "{said}");
}

#[test]
fn rules_for_loop_programs_are_judged_and_wrong_ones_refused() {
    for (case, arguments, expected) in [
        (
            "unsound",
            ["--rule", "tir::exp(tir::log(x)) => x"],
            "error[L030]: --rule[0]:1:1: rule `tir::exp(tir::log(x)) => x` changes",
        ),
        ("zero", ["--rule", "tir::add(x, 0.0) => x"], "error[L030]"),
        ("pipeline", ["--pipeline", "unsound.toml"], "error[L030]: rules[0]:1:1: rule `tir::neg(x) => x` changes"),
        ("load", ["--rule", "tir::load(x, i) => x"], "--rule[0]:1:1: `tir::load` is not an operation on values"),
        ("place", ["--rules", "wrong.rules"], "wrong.rules:3:3: `tir::load` is not an operation on values"),
        ("both", ["--rule", "tir::exp(Log(x)) => x"], "error[L012]"),
        ("name", ["--rule", "tir::negg(x) => x"], "did you mean `tir::neg`?"),
        (
            "to-graphs",
            ["--pipeline", "graph.toml"],
            "the rule is for loop programs, by its operator `tir::neg`, and this pass is for graphs",
        ),
        (
            "to-loops",
            ["--pipeline", "loops.toml"],
            "the rule is for graphs, by its operator `Neg`, and this pass is for loop programs",
        ),
    ] {
        let (run, written) = run_on_both(case, &arguments);
        let said = run.expect_failure().stderr;
        assert!(said.contains(expected) && written.is_empty(), "{case}: {said}");
        assert!(!said.contains("not judged"), "{case}: {said}");
    }
    let (run, written) = run_on_both("unjudged", &["--no-judge", "--rule", "tir::neg(x) => x"]);
    let _ = run.expect_success();
    assert!(written.contains("%x[%i] * 2.0") && !written.contains("-%"), "{written}");
}

/// Files of rules, and what is said of each, on the command line and in a pipeline.
const FILES: [(&str, &[u8], &str); 7] = [
    ("good.rules", b"// Twice.\nNeg(Neg(x)) => x\n", ""),
    ("none.rules", b"", "none.rules` cannot be read: No such file"),
    ("empty.rules", b" \n", "empty.rules` cannot be read: it is empty"),
    ("folder.rules", b"", "folder.rules` cannot be read: it is a folder"),
    ("bytes.rules", b"Neg(Neg(x)) => x;\n\xff", "bytes.rules` cannot be read: line 2 is not UTF-8"),
    ("syntax.rules", b"Abs(Abs(x)) => Abs(x);\n  Neg(x => x", "syntax.rules:2:9: expected `,` or `)`"),
    ("operator.rules", b"\n  Negg(x) => x", "operator.rules:2:3: no plugin describes an operator `Negg`"),
];

#[test]
fn faults_of_files_are_named_with_the_file() {
    for (name, bytes, expected) in FILES {
        let here = folder(&format!("rewrite-rules-{name}"));
        let inner = here.join("inner");
        fs::create_dir(&inner).unwrap();
        match name {
            "none.rules" => {}
            "folder.rules" => fs::create_dir(inner.join(name)).unwrap(),
            _ => fs::write(inner.join(name), bytes).unwrap(),
        }
        let model =
            "def @main(%x: Tensor[(2), float32]) #[opset = {\"\": 17}] { %a = Neg(%x); %b = Neg(%a); Relu(%b) }\n";
        fs::write(here.join("model.relay"), model).unwrap();
        // Relative to the pipeline's file, which is not in the folder of the run.
        let step = format!("{{ pass = \"relais.Rewrite\", options = {{ files = [\"{name}\"] }} }}");
        fs::write(inner.join("p.toml"), format!("steps = [{step}, \"relais.DeadCodeElimination\"]\n")).unwrap();
        let run = |arguments: &[&str]| Run::of(command().current_dir(&here).args(arguments));
        let file = format!("inner/{name}");
        for source in [["--rules", file.as_str()], ["--pipeline", "inner/p.toml"]] {
            let run = run(&[&["run", "model.relay", "-o", "out.relay"], &source[..]].concat());
            if expected.is_empty() {
                let _ = run.expect_success();
                let written = fs::read_to_string(here.join("out.relay")).unwrap();
                assert!(written.contains("Relu(%x)") && !written.contains("Neg"), "{written}");
                fs::remove_file(here.join("out.relay")).unwrap();
                continue;
            }
            let run = run.expect_failure();
            assert!(run.stderr.contains("inner/") && run.stderr.contains(expected), "{}", run.stderr);
            assert!(!here.join("out.relay").exists(), "{name}");
        }
        // A pipeline that names a file which cannot be read is wrong without a model, too.
        let check = run(&["pipeline", "check", "inner/p.toml"]);
        assert_eq!(check.status, Some(i32::from(expected.contains("cannot be read"))), "{}", check.stderr);
    }
}

/// Writes rules as pairs of functions.
fn write_pairs(here: &Path, name: &str, rules: &str) {
    fs::write(here.join("text.rules"), rules).unwrap();
    let _ = Run::of(command().current_dir(here).args(["rules", "text.rules", "-o", name])).expect_success();
}

#[test]
fn pairs_of_functions_are_rules() {
    let here = folder("rewrite-rules-pairs");
    let model = "def @main(%x: Tensor[(2), float32]) #[opset = {\"\": 17}] { %a = Neg(%x); %b = Neg(%a); Relu(%b) }\n";
    fs::write(here.join("model.relay"), model).unwrap();
    let run = |arguments: &[&str]| Run::of(command().current_dir(&here).args(arguments));
    fs::write(here.join("broken.onnx"), "Neg(Neg(x)) => x\n").unwrap();
    let _ = run(&["run", "model.relay", "-o", "model.onnx", "--passes", "InferType"]).expect_success();
    write_pairs(&here, "good.onnx", "neg: Neg(Neg(x)) => x");
    write_pairs(&here, "later.onnx", "neg: @18 Neg(Neg(x)) => x");
    write_pairs(&here, "unsound.onnx", "fine: Neg(Neg(x)) => x; wrong: Neg(Neg(x)) => Abs(x)");
    write_pairs(&here, "operator.onnx", "fine: Abs(Neg(x)) => Abs(x); wrong: Negg(x) => x");
    for (name, expected) in [
        ("good.onnx", ""),
        ("later.onnx", ""),
        ("unsound.onnx", "error[L030]: unsound.onnx:2:1: rule `wrong` changes what a module computes"),
        ("operator.onnx", "operator.onnx:2:8: no plugin describes an operator `Negg`"),
        ("broken.onnx", "rules `broken.onnx` cannot be read: it is not an ONNX model"),
        ("model.onnx", "rules `model.onnx` cannot be read: its graph has 3 nodes"),
        ("none.onnx", "rules `none.onnx` cannot be read: No such file"),
    ] {
        let step = format!("{{ pass = \"relais.Rewrite\", options = {{ files = [\"{name}\"] }} }}");
        fs::write(here.join("p.toml"), format!("steps = [{step}, \"relais.DeadCodeElimination\"]\n")).unwrap();
        for source in [["--rules", name], ["--pipeline", "p.toml"]] {
            let run = run(&[&["run", "model.relay", "-o", "out.relay"], &source[..]].concat());
            if !expected.is_empty() {
                let said = run.expect_failure().stderr;
                // A pipeline names the file from the root.
                let said = said.replace(&format!("{}/", here.display()), "");
                assert!(said.contains(expected), "{said}");
                continue;
            }
            let _ = run.expect_success();
            let written = fs::read_to_string(here.join("out.relay")).unwrap();
            assert_eq!(written.contains("Neg"), name == "later.onnx", "{written}");
            fs::remove_file(here.join("out.relay")).unwrap();
        }
    }
    // Two calls are replaced together, or stay together.
    write_pairs(&here, "twice.onnx", "twice: (p = Add(x, x), q = Neg(Neg(x))) => (Mul(x, 2.0), x)");
    for (other, is_replaced) in [("%x", true), ("%p", false)] {
        let body = format!("%p = Add(%x, %x); %n = Neg({other}); %q = Neg(%n); Concat(%p, %q, axis = 0)");
        let model = format!("def @main(%x: Tensor[(2), float32]) #[opset = {{\"\": 17}}] {{ {body} }}\n");
        fs::write(here.join("two.relay"), model).unwrap();
        let _ = run(&["run", "two.relay", "-o", "out.relay", "--rules", "twice.onnx"]).expect_success();
        let written = fs::read_to_string(here.join("out.relay")).unwrap();
        let is_new = written.contains("Mul(%x") && !written.contains("Add") && !written.contains("Neg");
        assert_eq!(is_new, is_replaced, "{written}");
        fs::remove_file(here.join("out.relay")).unwrap();
    }
}

#[test]
fn rules_are_printed_and_written_in_both_forms() {
    let here = folder("rewrite-rules-forms");
    let rules = |arguments: &[&str]| Run::of(command().current_dir(&here).arg("rules").args(arguments));
    let text = "sum: Add(x, Neg(y)) => Sub(x, y);\nscale: @7 Elu{alpha = a}(Relu(x)) => Relu(Elu{alpha = a}(x));\n\
                both: (s = Sin(x), c = Cos(s)) => acme::SinCosSin(x);\n";
    fs::write(here.join("own.rules"), text).unwrap();
    let _ = rules(&["own.rules", "-o", "own.onnx"]).expect_success();
    assert_eq!(rules(&["own.onnx"]).expect_success().stdout, text);
    let _ = rules(&["own.onnx", "-o", "again.rules"]).expect_success();
    assert_eq!(fs::read_to_string(here.join("again.rules")).unwrap(), text);
    // Of a pass, also with conditions that functions cannot say.
    let fused = rules(&["relais.FuseGemm"]).expect_success().stdout;
    assert!(fused.contains("sum: @7 Add(MatMul(a, b) as ab, c) => Gemm(a, b, c) if rank(a) == 2"), "{fused}");
    for (arguments, expected) in [
        (
            &["relais.FuseGemm", "-o", "own.onnx"][..],
            "error[L040]: rule `sum`: functions cannot say condition `rank(a) == 2`",
        ),
        (
            &["relais.FuseGem"],
            "error: no file and no pass is named `relais.FuseGem`\n  help: did you mean `relais.FuseGemm`?",
        ),
        (&["relais.InferType"], "error: pass `relais.InferType` does not consist of rules"),
        (&["own.rules", "-o", "gone/own.onnx"], "gone"),
    ] {
        let said = rules(arguments).expect_failure().stderr;
        assert!(said.contains(expected), "{said}");
    }
    assert_eq!(rules(&["own.onnx"]).expect_success().stdout, text, "a failing command leaves the output as it was");
}

/// All shipped rules, in the versions that pairs of functions can say.
#[test]
fn shipped_rules_survive_as_functions_or_are_refused() {
    let here = folder("rewrite-rules-shipped");
    let listed = Run::of(command().args(["list", "rules", "--json"])).expect_success().stdout;
    let listed: Vec<serde_json::Value> = serde_json::from_str(&listed).unwrap();
    let mut n_written = 0;
    for rule in &listed {
        let text = format!("{}: {};\n", rule["name"].as_str().unwrap_or("rule_1"), rule["text"].as_str().unwrap());
        fs::write(here.join("one.rules"), &text).unwrap();
        let written = Run::of(command().current_dir(&here).args(["rules", "one.rules", "-o", "one.onnx"]));
        if written.status == Some(0) {
            let read = Run::of(command().current_dir(&here).args(["rules", "one.onnx"])).expect_success();
            assert_eq!(read.stdout, text);
            n_written += 1;
        } else {
            assert!(written.stderr.contains("functions cannot say"), "{text}{}", written.stderr);
        }
    }
    assert!(n_written >= 4 && n_written < listed.len(), "{n_written}");
}

/// In onnxruntime, on a model of 415 nodes.
#[test]
fn pairs_of_functions_keep_what_a_real_model_computes() {
    let here = folder("rewrite-rules-real");
    write_pairs(&here, "own.onnx", "relu: Relu(x) => Max(x, 0.0); sum: Sum(x, y) => Add(y, x)");
    let rules = here.join("own.onnx");
    let model = models().folder.join("light/resnet50/model.onnx");
    let mut relais = command();
    relais.arg("run").arg(model).args(["-o", "out.relay", "--stats", "--rules"]).arg(&rules);
    let said = Run::of(relais.current_dir(&here)).expect_success();
    let rewritten = format!("{}{}", said.stdout, said.stderr);
    let row = rewritten.lines().find(|line| line.starts_with("relais.Rewrite")).unwrap_or_default();
    assert!(row.ends_with(" 65"), "49 calls of `Relu` and 16 of `Sum`: {rewritten}");
    let args = format!("--args=--rules '{}'", rules.display());
    println!("{}", judge_models(&["sound"], &["--kind", "light", "--name", "resnet50", &args]));
}

#[test]
fn no_output_replaces_a_file_of_rules() {
    let here = folder("rewrite-rules-spared");
    fs::write(here.join("model.relay"), "def @main(%x) { Relu(%x) }\n").unwrap();
    fs::write(here.join("own.relay"), "Neg(Neg(x)) => x\n").unwrap();
    let step = "{ pass = \"relais.Rewrite\", options = { files = [\"own.relay\"] } }";
    fs::write(here.join("p.toml"), format!("steps = [{step}]\n")).unwrap();
    let run = |output| Run::of(command().current_dir(&here).args(["run", "model.relay", "-p", "p.toml", "-o", output]));
    let refused = run("own.relay").expect_failure();
    assert!(refused.stderr.contains("output would replace the rules"), "{}", refused.stderr);
    assert_eq!(fs::read_to_string(here.join("own.relay")).unwrap(), "Neg(Neg(x)) => x\n");
    let _ = run("other.relay").expect_success();
}

/// Runs a pipeline whose last step has these rules on a model, after a pass that prints.
fn run(case: &str, rules: &str, version: i64) -> Run {
    let folder = folder(&format!("rewrite-rules-{case}"));
    let text = format!(
        "def @main(%x: Tensor[(2), float32]) -> (%y) #[opset = {{\"\": {version}}}] {{\n  %a = Neg(%x);\n  %y = Neg(%a);\n  %y\n}}\n"
    );
    fs::write(folder.join("model.relay"), text).unwrap();
    let steps = format!("[\"relais.PrintIR\", {{ pass = \"relais.Rewrite\", options = {{ rules = [{rules}] }} }}]");
    fs::write(folder.join("rules.toml"), format!("steps = {steps}\n")).unwrap();
    let arguments = ["run", "model.relay", "-o", "out.relay", "--pipeline", "rules.toml", "--remarks=missed"];
    let run = Run::of(command().current_dir(&folder).args(arguments));
    assert_eq!(folder.join("out.relay").exists(), run.status == Some(0), "{}", run.stderr);
    run
}

#[test]
fn a_wrong_rule_is_refused_before_the_first_pass() {
    for (case, rules, code, messages) in [
        ("syntax", "\"Neg(x => x\"", "L001", ["rules[0]:1:7: expected `,` or `)`", "items are separated"]),
        ("function", "\"Neg(x) => x if is_even(x)\"", "L009", ["1:16: there is no function `is_even`", "in Rust only"]),
        ("free", "\"Neg(x) => y\"", "L004", ["rules[0]:1:11: `y` is not bound", "the left side binds `x`"]),
        (
            "operator",
            "\"Abs(Abs(x)) => Abs(x)\", \"Negg(x) => x\"",
            "L020",
            ["rules[1]:1:1: no plugin describes", "`Neg`?"],
        ),
        ("arguments", "\"Neg(x, y) => x\"", "L021", ["`Neg` has 2 arguments", "it takes at most 1"]),
        ("attribute", "\"Elu{alpa = 1.0}(x) => x\"", "L022", ["no attribute `alpa`", "did you mean `alpha`?"]),
        ("random", "\"RandomNormalLike(x) => x\"", "L023", ["are random or keep state", "a rule removes"]),
        (
            "later",
            "\"Sub(-1, x) => BitwiseNot(x) if elem(x) == int32\"",
            "L020",
            ["has no operator `BitwiseNot`", "`@18`"],
        ),
    ] {
        let run = run(case, rules, 17).expect_failure();
        for expected in [code, messages[0], messages[1], "Rewrite"] {
            assert!(run.stderr.contains(expected), "{case}: {}", run.stderr);
        }
        assert!(!run.stderr.contains("def @main") && !run.stdout.contains("def @main"), "no pass ran: {}", run.stderr);
    }
}

#[test]
fn what_is_declined_or_does_not_apply_is_a_remark() {
    let said = run("declined", "\"twice: Neg(Neg(x)) => x if rank(x) == 2\"", 17).expect_success().stderr;
    assert!(said.contains("`twice`: `rank(x) == 2` does not hold"), "{said}");
    let said = run("skipped", "\"late: @20 Neg(Neg(x)) => Identity(x)\"", 17).expect_success().stderr;
    assert!(said.contains("`late` needs version 20"), "{said}");
    let said = run("applied", "\"late: @20 Neg(Neg(x)) => Identity(x)\"", 20).expect_success().stderr;
    assert!(!said.contains("needs version"), "{said}");
}

/// At the other calls, it applies.
#[test]
fn a_rule_whose_right_side_an_operator_does_not_take_is_declined_there() {
    let here = folder("rewrite-rules-not-taken");
    let text = "def @main(%x: Tensor[(2), int64], %y: Tensor[(2), float32]) -> (%a, %b, %c, %d)
#[opset = {\"\": 17}] {
  %a = Add(%x, %x);
  %b = Add(%y, %y);
  %c = Gather(%y, %x);
  %d = Gather(%x, %x);
  (%a, %b, %c, %d)
}
";
    fs::write(here.join("m.relay"), text).unwrap();
    for (rule, wanted, why) in [
        ("Add(x, y) => Sum(x, y)", ["%a = Add(", "Sum(%y, %y)"], "`Sum` does not take its arguments: its input 0"),
        (
            "Gather(x, i) => Add(x, i)",
            ["Gather(%y, %x)", "%d = Add(%x, %x)"],
            "`Add` does not take its arguments: input 1",
        ),
    ] {
        let mut relais = command();
        relais.current_dir(&here).args(["run", "m.relay", "-o", "out.relay", "--no-judge", "--no-reproducer"]);
        let said = Run::of(relais.args(["--passes", "InferType", "--remarks", "--rule", rule])).expect_success().stderr;
        let written = fs::read_to_string(here.join("out.relay")).unwrap();
        let untyped = written.replace(": Tensor[(2), int64] =", " =");
        assert!(wanted.iter().all(|call| untyped.contains(call)), "{rule}: {written}");
        assert!(said.contains(why), "{rule}: {said}");
    }
}

#[test]
fn c08_what_a_sequence_or_an_optional_holds_stays() {
    let here = folder("rewrite-rules-held");
    let text = "def @main(%x: Tensor[(2), float32]) -> (%s, %o) #[opset = {\"\": 18}] {
  %a = SequenceConstruct(%x, %x);
  %s: Seq[Tensor[(2), float32]] = Identity(%a);
  %b = Optional(%x);
  %o: Optional[Tensor[(2), float32]] = Identity(%b);
  (%s, %o)
}
";
    fs::write(here.join("m.relay"), text).unwrap();
    for (rule, is_refused) in [
        ("Identity(SequenceConstruct(a, b)) => SequenceConstruct(Cast{to=7}(a), Cast{to=7}(b))", true),
        ("Identity(Optional(a)) => Optional(Cast{to=7}(a))", true),
        ("Identity(SequenceConstruct(a, b)) => SequenceConstruct(b, Neg(a))", false),
    ] {
        let mut relais = command();
        relais.current_dir(&here).args(["run", "m.relay", "-o", "out.onnx", "--no-judge", "--no-reproducer"]);
        let run = Run::of(relais.args(["--rule", rule]));
        assert_eq!(run.status != Some(0), is_refused, "{rule}: {}", run.stderr);
        assert_eq!(
            run.stderr.contains("elements of type `int64` are not of type `float32`"),
            is_refused,
            "{}",
            run.stderr
        );
    }
}

/// A plugin whose record has other rules than its code: only the host's engine runs those of the record.
#[test]
fn rules_of_a_plugin_are_run_by_the_engine_of_the_host() {
    let here = folder("rules-of-a-record");
    let mut bytes = fs::read(plugin("sample")).unwrap();
    let (old, new) = (b"Neg(Neg(x)) => x", b"Abs(Abs(x)) => x");
    let find = |bytes: &[u8], wanted: &[u8]| bytes.windows(wanted.len()).position(|window| window == wanted);
    let in_record = |at: &usize| {
        let header = bytes[*at..].starts_with(&MAGIC).then(|| Header::read(&bytes[*at..])).flatten();
        header.is_some_and(|header| find(&bytes[at + HEADER..][..header.len], old).is_some())
    };
    let at = (0..bytes.len() - HEADER).find(in_record).expect("a record has the rule");
    let len = Header::read(&bytes[at..]).unwrap().len;
    let fields = &mut bytes[at + HEADER..][..len];
    let place = find(fields, old).unwrap();
    fields[place..][..new.len()].copy_from_slice(new);
    let sum = checksum(fields);
    bytes[at + 24..at + 32].copy_from_slice(&sum.to_le_bytes());
    fs::write(here.join("libother.so"), bytes).unwrap();
    let body = "%a = Neg(%x); %b = Neg(%a); %c = Abs(%b); %y = Abs(%c); %y";
    let text = format!("def @main(%x: Tensor[(2), float32]) -> (%y) #[opset = {{\"\": 17}}] {{ {body} }}\n");
    fs::write(here.join("model.relay"), text).unwrap();
    let arguments = ["run", "model.relay", "-o", "out.relay", "--passes", "sample.Cancel", "--stats"];
    let run = Run::of(command().current_dir(&here).args(arguments).args(["--plugin", "libother.so"]));
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let written = fs::read_to_string(here.join("out.relay")).unwrap();
    // Of two, the outer one is left, and nothing uses it.
    assert!(written.contains("  %b\n}") && written.matches("Neg(").count() == 2, "{written}");
    assert_eq!(written.matches("Abs(").count(), 1, "{written}");
}
