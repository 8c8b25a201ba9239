//! Type relations on hand-written cases, and the tables that contain them.

use crate::support;
use relais_plugin_api::op::Effects;
use std::{collections::BTreeSet, fs, path::Path};

#[test]
fn cases_hold() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut n_cases = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        n_cases += support::run(&text, |judged| panic!("nothing to compare with: {judged}"));
    }
    assert!(n_cases > 60, "only {n_cases} cases");
}

#[test]
fn entries_are_unique_and_newest_first() {
    let mut seen = BTreeSet::new();
    for table in relais_operators::FAMILIES {
        for pair in table.windows(2) {
            let (a, b) = (&pair[0], &pair[1]);
            assert!(a.name != b.name || a.since_version > b.since_version, "{}", a.name);
        }
    }
    for op in relais_operators::operators() {
        assert!(seen.insert((op.domain, op.name, op.since_version)), "{}@{}", op.name, op.since_version);
        assert!(op.inputs.0 <= op.inputs.1 && op.outputs.0 <= op.outputs.1, "{}", op.name);
        assert!(!op.doc.is_empty() && op.since_version > 0, "{}", op.name);
        let names: BTreeSet<&str> = op.attrs.iter().map(|attr| attr.name).collect();
        assert_eq!(names.len(), op.attrs.len(), "{}@{}", op.name, op.since_version);
    }
}

#[test]
fn a_version_is_found_by_what_it_changed() {
    let squeeze = |version| support::find("", "Squeeze", version).map(|op| (op.since_version, op.inputs));
    assert_eq!(squeeze(12), Some((11, (1, 1))));
    assert_eq!(squeeze(17), Some((13, (1, 2))));
    assert_eq!(support::find("", "Gelu", 19).map(|op| op.since_version), None);
}

#[test]
fn effects_are_by_version() {
    let effects = |name, version| support::find("", name, version).unwrap().effects;
    assert_eq!(effects("Add", 14), Effects::PURE);
    assert_eq!(effects("Dropout", 7), Effects::PURE);
    assert_eq!(effects("Dropout", 13), Effects::RANDOM);
    assert_eq!(effects("ReduceMax", 13), Effects::PURE);
    assert_eq!(effects("ReduceMax", 18), Effects::TRAPS);
    assert!(!effects("RandomNormal", 1).is_mergeable());
    assert!(effects("Gather", 13).is_mergeable() && effects("Gather", 13).is_removable());
}
