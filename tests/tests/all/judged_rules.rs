//! Rules are judged by instances of their left sides, without a module of the author's.

use relais_tests::{
    cargo_built::{plugin, plugin_source},
    cli::{Run, command},
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

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
    assert_eq!((found, unsound.len(), all.len()), (unsound, 11, 23), "{}", run.stdout);
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
