//! Rules are judged by instances of their left sides, without a module of the author's.

use relais_tests::{
    cargo_built::{plugin, plugin_source},
    cli::{Run, command, folder},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// The kit has no other modules than instances of the left sides.
#[test]
fn every_unsound_rule_is_found_and_no_sound_one() {
    let mut relais = command();
    relais.args(["plugin", "test", "--json", "--modules", "0", "--allow-writable-plugins"]).arg(plugin("judged"));
    let run = Run::of(&mut relais);
    assert_eq!(run.status, Some(1), "{}", run.stderr);
    let said: Value = serde_json::from_str(&run.stdout).unwrap();
    let subjects = |list: &Value| -> BTreeSet<String> {
        let subjects = list.as_array().unwrap().iter().filter_map(|it| it["subject"].as_str());
        subjects.map(|subject| subject.trim_start_matches("pass ").to_owned()).collect()
    };
    let (found, all) = (subjects(&said["findings"]), subjects(&said["judged"]));
    let unsound: BTreeSet<String> = all.iter().filter(|name| name.starts_with("unsound.")).cloned().collect();
    assert_eq!((found, unsound.len(), all.len()), (unsound, 16, 31), "{}", run.stdout);
    for judged in said["judged"].as_array().unwrap() {
        if judged["subject"] == format!("pass {OPEN}") {
            assert_eq!((&judged["cases"], &judged["rules_not_judged"]), (&json!(0), &json!([NOT_JUDGED])), "{judged}");
            continue;
        }
        assert!(judged["changed"].as_u64().is_some_and(|n| n > 0), "{judged}");
        assert_eq!((&judged["silent"], &judged["rules_not_judged"]), (&json!([]), &json!([])), "{judged}");
    }
}

/// The pass with a rule whose condition is a function, without samples.
const OPEN: &str = "open.PowOfNeg";

const NOT_JUDGED: &str = "rule 1 (its condition `is_even` is a function, and it has no samples)";

#[test]
fn a_rule_with_a_function_and_no_samples_is_a_finding_if_that_is_asked_for() {
    let test = |only: &str, arguments: &[&str]| {
        let mut relais = command();
        relais.args(["plugin", "test", "--modules", "0", "--allow-writable-plugins", "--only", only]).args(arguments);
        Run::of(relais.arg(plugin("judged")))
    };
    let said = test(OPEN, &[]).expect_success().stdout;
    assert!(said.contains(&format!("not judged: {NOT_JUDGED}")), "{said}");
    let said = test(OPEN, &["--strict"]).expect_failure().stdout;
    assert!(said.contains(&format!("pass {OPEN}: not-judged: rule 1 was not judged: its condition")), "{said}");
    assert!(said.contains("help: give examples of its left side"), "{said}");
    test("sound.PowOfNeg", &["--strict"]).expect_success();
}

#[test]
fn a_function_is_part_of_the_rule_that_is_shown() {
    let mut relais = command();
    relais.args(["describe", "sound.PowOfNeg", "--allow-writable-plugins", "--plugin"]).arg(plugin("judged"));
    let said = Run::of(&mut relais).expect_success().stdout;
    assert!(said.contains("powers: Pow(Neg(x), const n) => Pow(x, n) if is_even(n)\n"), "{said}");
    let mut relais = command();
    relais.args(["list", "rules", "--allow-writable-plugins", "--plugin"]).arg(plugin("judged"));
    let said = Run::of(&mut relais).expect_success().stdout;
    assert!(said.contains("Pow(Neg(x), const n) => Pow(x, n) if is_even(n)"), "{said}");
}

#[test]
fn the_filetests_of_a_rule_with_a_function_hold() {
    let filetests = plugin_source("judged").join("filetests");
    let bless = std::env::var_os("RELAIS_BLESS").map(|_| "--bless");
    let mut relais = command();
    relais.args(["filetest", "--allow-writable-plugins", "--plugin"]).arg(plugin("judged")).arg(filetests).args(bless);
    let run = Run::of(&mut relais).expect_success();
    assert!(run.stdout.contains("2 cases") || run.stderr.contains("2 cases"), "{} {}", run.stdout, run.stderr);
}

/// Writes the rules of the plugin to `all.rules` and, without those that are unsound, to `sound.rules`, each with the
/// name of its pass, in a folder with a model.
fn rules(case: &str) -> (PathBuf, Vec<String>) {
    let here = folder(&format!("judged-rules-{case}"));
    let listed = command()
        .args(["list", "rules", "--json", "--allow-writable-plugins", "--plugin"])
        .arg(plugin("judged"))
        .output()
        .unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let mut all = Vec::new();
    for rule in listed.as_array().unwrap() {
        let (pass, text) = (rule["pass"].as_str().unwrap(), rule["text"].as_str().unwrap());
        // A function of the plugin is not known to a run.
        if pass.contains("sound.") && !["is_even", "is_whole"].iter().any(|function| text.contains(function)) {
            all.push(format!("{}: {text}", pass.replace('.', "_")));
        }
    }
    assert_eq!(all.len(), 28);
    let sound: Vec<String> = all.iter().filter(|rule| rule.starts_with("sound_")).cloned().collect();
    fs::write(here.join("all.rules"), all.join(";\n")).unwrap();
    fs::write(here.join("sound.rules"), sound.join(";\n")).unwrap();
    let model = "def @main(%x: Tensor[(2), float32]) #[opset = {\"\": 17}] { %a = Neg(%x); %b = Neg(%a); Relu(%b) }\n";
    fs::write(here.join("model.relay"), model).unwrap();
    (here, all)
}

/// Runs the model of a folder with further arguments.
fn run(here: &Path, arguments: &[&str]) -> Run {
    let run = Run::of(command().current_dir(here).args(["run", "model.relay", "-o", "out.relay"]).args(arguments));
    assert_eq!(here.join("out.relay").exists(), run.status == Some(0), "{}", run.stderr);
    let _ = fs::remove_file(here.join("out.relay"));
    run
}

#[test]
fn unsound_rules_of_a_run_are_refused_and_sound_ones_run() {
    let (here, all) = rules("run");
    let refused = run(&here, &["--rules", "all.rules"]).expect_failure().stderr;
    assert!(refused.contains("error[L030]: all.rules:") && refused.contains("nothing was run"), "{refused}");
    assert!(refused.contains("--no-judge") && refused.contains("def @main("), "{refused}");
    assert!(refused.contains("result 0 was ") && refused.contains("%v1 is "), "{refused}");
    for (line, rule) in all.iter().enumerate() {
        let (name, _) = rule.split_once(':').unwrap();
        let is_named = refused.contains(&format!("all.rules:{}:1: rule `{name}`", line + 1));
        assert_eq!(is_named, name.starts_with("unsound_"), "{name}: {refused}");
    }
    assert_eq!(run(&here, &["--rules", "all.rules"]).stderr, refused, "the same is found each time");
    let ran = run(&here, &["--rules", "sound.rules"]).expect_success();
    assert!(!ran.stderr.contains("not judged"), "{}", ran.stderr);
    let _ = run(&here, &["--rules", "all.rules", "--no-judge"]).expect_success();
}

#[test]
fn rules_of_a_pipeline_are_judged() {
    let (here, _) = rules("pipeline");
    for (name, options) in [
        ("text", "rules = [\"Neg(Neg(x)) => x\", \"Relu(x) => Abs(x)\"]"),
        ("file", "files = [\"unsound.rules\"]"),
        ("sound", "rules = [\"Neg(Neg(x)) => x\"]"),
    ] {
        fs::write(here.join("unsound.rules"), "// A comment.\nRelu(x) => Abs(x)").unwrap();
        let steps = format!("[{{ pass = \"relais.Rewrite\", options = {{ {options} }} }}]");
        fs::write(here.join("p.toml"), format!("steps = {steps}\n")).unwrap();
        let judged = run(&here, &["-p", "p.toml"]);
        let expected = match name {
            "text" => "error[L030]: rules[1]:1:1: rule `Relu(x) => Abs(x)`",
            "file" => "unsound.rules:2:1: rule `Relu(x) => Abs(x)`",
            _ => {
                let _ = judged.expect_success();
                continue;
            }
        };
        assert!(judged.expect_failure().stderr.contains(expected), "{name}");
        let _ = run(&here, &["-p", "p.toml", "--no-judge"]).expect_success();
    }
}

#[test]
fn rules_of_a_build_are_judged() {
    let (here, _) = rules("build");
    fs::write(
        here.join("b.toml"),
        "steps = [{ include = \"builtin:build-c\" }]\n[extend]\nbefore-lowering = [\
        { pass = \"relais.Rewrite\", options = { files = [\"unsound.rules\"] } }]\n",
    )
    .unwrap();
    fs::write(here.join("unsound.rules"), "Relu(x) => Abs(x)").unwrap();
    let build = |arguments: &[&str]| {
        let run = Run::of(command().current_dir(&here).args(["build", "model.relay", "-o", "net.c"]).args(arguments));
        assert_eq!(here.join("net.c").exists(), run.status == Some(0), "{}", run.stderr);
        let _ = fs::remove_file(here.join("net.c"));
        run
    };
    for rules in [["--rules", "unsound.rules"], ["-p", "b.toml"]] {
        let refused = build(&rules).expect_failure().stderr;
        assert!(refused.starts_with("error[L030]: "), "{refused}");
        assert!(refused.contains("unsound.rules:1:1: rule `Relu(x) => Abs(x)` changes"), "{refused}");
        let _ = build(&[&rules[..], &["--no-judge"]].concat()).expect_success();
    }
    let _ = build(&["--rule", "Neg(Neg(x)) => x"]).expect_success();
}

#[test]
fn a_rule_that_cannot_be_judged_is_a_warning() {
    let (here, _) = rules("not-judged");
    for (rule, why) in [
        ("silu: Mul(x, Sigmoid(x)) => acme::Silu(x)", "rule `silu` is not judged: `Silu` has no evaluator"),
        ("Neg(Neg(x)) => x if rank(x) == 2, rank(x) == 3", "is not judged: its conditions hold for none"),
    ] {
        let warned = run(&here, &["--rule", rule]).expect_success().stderr;
        assert!(warned.contains("warning: ") && warned.contains(why), "{warned}");
        assert!(!run(&here, &["--rule", rule, "--quiet"]).expect_success().stderr.contains("judged"), "{rule}");
        assert!(!run(&here, &["--rule", rule, "--no-judge"]).expect_success().stderr.contains("judged"), "{rule}");
    }
}
