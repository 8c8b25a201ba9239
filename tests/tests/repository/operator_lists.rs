//! Passes know of operators what their records say, so that those of other authors count, too.

use crate::architecture::{code, sources};
use relais_tests::{cargo_built::workspace, filetest::Libraries};
use std::collections::{BTreeMap, BTreeSet};

/// The fewest names that are a list.
const FEWEST: usize = 4;

/// Files with a list of operators that is not a property of them, and why.
const LISTS: &[(&str, &str)] = &[
    ("plugins/graph/src/eliminate_no_op.rs", "the calls that it is offered: below, what makes each a no-op"),
    ("plugins/graph/src/shape_entries.rs", "the forms in which exporters write a number of a shape"),
    ("plugins/graph/src/simplify_inference.rs", "the calls that it is offered: those with bodies that it makes"),
    ("plugins/graph/src/simplify_recurrent.rs", "the forms in which exporters write initial states of zeros"),
    ("plugins/graph/src/simplify_reshape.rs", "the calls that it makes one of"),
];

/// The lists of nothing but operators in a code. The calls that a pass is offered, `ops = [`, are its subject.
fn lists(code: &str, names: &BTreeSet<String>) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices('[') {
        let Some((items, _)) = code[at + 1..].split_once(']') else { continue };
        if code[..at].trim_end_matches([' ', '&']).ends_with("ops =") {
            continue;
        }
        let items: Vec<&str> = items.split(',').map(str::trim).filter(|item| !item.is_empty()).collect();
        let named = |item: &&str| {
            let text = item.strip_prefix('"')?.strip_suffix('"')?;
            // Those of passes have dots.
            let name = text.rsplit(':').next().unwrap_or(text);
            names.contains(name).then(|| text.to_owned())
        };
        let listed: Option<Vec<String>> = items.iter().map(named).collect();
        found.extend(listed.filter(|listed| listed.len() >= FEWEST));
    }
    found
}

#[test]
fn passes_hold_no_lists_of_operators() {
    let names = Libraries::open(&workspace().plugins).names();
    let mut found = BTreeMap::new();
    for plugin in ["plugins/graph/src", "plugins/loops/src", "plugins/gradient/src", "plugins/onnxruntime/src"] {
        for (file, source) in sources(plugin).into_iter().filter(|(file, _)| !file.ends_with("/tests.rs")) {
            let lists = lists(&code(&source), &names);
            if !lists.is_empty() {
                found.insert(file, lists);
            }
        }
    }
    let allowed: BTreeSet<&str> = LISTS.iter().map(|(file, _)| *file).collect();
    if let Some((file, lists)) = found.iter().find(|(file, _)| !allowed.contains(file.as_str())) {
        panic!(
            "{file} lists the operators {lists:?}: an operator of another author is missing there. Ask the record, with \
             a property if there is none yet (`plugin-api/ops/src/op/properties.rs`), or add the file to `LISTS` with \
             the reason"
        );
    }
    let unused: Vec<&&str> = allowed.iter().filter(|file| !found.contains_key(**file)).collect();
    assert!(unused.is_empty(), "without a list by now: {unused:?}");
}

#[test]
fn a_list_is_found_unless_a_pass_is_offered_it() {
    let names: BTreeSet<String> = ["Abs", "Add", "Relu", "Silu", "Neg"].map(str::to_owned).into();
    let all = |code: &str| lists(code, &names).concat();
    assert_eq!(all(r#"const UNARY: &[&str] = &["Abs", "Relu", "acme::Silu", "Neg"];"#).len(), 4);
    assert_eq!(all("let all = [\n    \"Abs\",\n    \"Add\",\n    \"Relu\",\n    \"Neg\",\n];").len(), 4);
    for other in [
        r#"ops = ["Abs", "Add", "Relu", "Neg"],"#,
        r#"let ops = ["Abs", "Add", "Relu", "Neg"];"#,
        r#"["Abs", "Add", "Relu"]"#,
        r#"["Abs", "Add", "Relu", "axis"]"#,
        r#"[row("Abs", 1), row("Add", 2), row("Relu", 3), row("Neg", 4)]"#,
    ] {
        assert!(all(other).is_empty(), "{other}");
    }
}
