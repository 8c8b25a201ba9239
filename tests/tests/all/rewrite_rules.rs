//! Rules in a pipeline: they are checked before the first pass, for the model that was read.

use relais_tests::{
    cargo_built::plugin,
    cli::{Run, command, folder},
};
use std::fs;

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
    let (_, written) = run_with("file", &["--rules", "two.rules"]);
    assert!(written.contains("Abs(%x)") && !written.contains("Neg"), "{written}");
    let (_, written) = run_with("several", &["--rule", "Relu(x) => Neg(x)", "--rule", "Neg(Neg(x)) => x"]);
    assert!(written.contains("Neg(%x)") && !written.contains("Relu"), "{written}");
    let (_, written) = run_with("passes", &["--rule", "Relu(x) => Abs(x)", "--passes", "relais.InferType"]);
    assert!(written.contains("Abs(") && written.matches("Neg").count() == 2, "{written}");
    let (_, written) = run_with("level", &["--rule", "Abs(x) => x", "-O1"]);
    assert!(written.contains("Relu"), "{written}");
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
        ("bad-rule", ["--rule", "Neg(Neg(x) => x"], "rules[0]:1:12: expected `,` or `)`"),
        ("bad-file", ["--rules", "none.rules"], "rules `none.rules` cannot be read: "),
        ("bad-operator", ["--rule", "Negg(x) => x"], "did you mean `Neg`?"),
        ("bad-function", ["--rule", "Neg(x) => x if is_even(x)"], "a rule has others in Rust only"),
    ] {
        let (run, _) = run_with(case, &arguments);
        assert!(run.expect_failure().stderr.contains(expected), "{case}");
    }
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
        ("operator", "\"Neg(x) => x\", \"Negg(x) => x\"", "L020", ["rules[1]:1:1: no plugin describes", "`Neg`?"]),
        ("arguments", "\"Neg(x, y) => x\"", "L021", ["`Neg` has 2 arguments", "it takes at most 1"]),
        ("attribute", "\"Elu{alpa = 1.0}(x) => x\"", "L022", ["no attribute `alpa`", "did you mean `alpha`?"]),
        ("random", "\"RandomNormalLike(x) => x\"", "L023", ["are random or keep state", "a rule removes"]),
        ("later", "\"Neg(x) => Gelu(x)\"", "L020", ["version 17 of the domain has no operator `Gelu`", "`@20`"]),
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
    let said = run("skipped", "\"late: @20 Neg(x) => Gelu(x)\"", 17).expect_success().stderr;
    assert!(said.contains("`late` needs version 20"), "{said}");
    let said = run("applied", "\"late: @20 Neg(Neg(x)) => Gelu(x)\"", 20).expect_success().stderr;
    assert!(!said.contains("needs version"), "{said}");
}
