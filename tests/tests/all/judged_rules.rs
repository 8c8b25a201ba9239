//! Rules are judged by instances of their left sides, without a module of the author's.

use relais_tests::{
    cargo_built::plugin,
    cli::{Run, command},
};
use serde_json::Value;
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
    assert_eq!((found, unsound.len(), all.len()), (unsound, 10, 20), "{}", run.stdout);
    for judged in said["judged"].as_array().unwrap() {
        assert!(judged["changed"].as_u64().is_some_and(|n| n > 0), "{judged}");
        assert_eq!(
            (&judged["silent"], &judged["rules_not_judged"]),
            (&Value::Array(vec![]), &Value::Array(vec![])),
            "{judged}"
        );
    }
}
