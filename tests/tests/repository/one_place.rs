//! One place for an operator: all of its parts are in files of one name, that of its family.

use crate::architecture::{code, sources};
use relais_tests::page::blocks;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

const PAGE: &str = include_str!("../../../docs/adding-an-operator.md");

const SCHEMA: &str = "plugins/operators/src/schema/";

/// Where the parts of operators stand, beside the schema.
const COLUMNS: [&str; 6] = [
    "plugins/operators/src/relations/",
    "plugins/evaluator/src/",
    "plugins/operators/src/kernels/",
    "plugins/operators/src/bodies/",
    "plugins/operators/src/gradients/",
    "plugins/operators/math/src/",
];

/// Files that are named after no family, and why.
const OTHERS: &[(&str, &str)] = &[
    ("plugins/operators/src/schema/mod.rs", "it lists the families"),
    ("plugins/operators/src/schema/onnx.rs", "made from the onnx package"),
    ("plugins/operators/src/schema/precision.rs", "why operators of several families keep their precision"),
    ("plugins/operators/src/schema/terms.rs", "the words of `onnx.rs`"),
    ("plugins/operators/src/schema/versions.rs", "how the rows of a family become versions"),
    ("plugins/operators/math/src/defaults.rs", "made from the onnx package, for all families"),
    ("plugins/operators/math/src/window.rs", "of convolutions and pooling"),
];

/// The folder within a column for what several families use.
const SHARED: &str = "shared";

fn all_sources() -> BTreeMap<String, String> {
    ["plugins/operators", "plugins/evaluator"].into_iter().flat_map(sources).collect()
}

/// The name of a file right in a folder, without its ending.
fn file_in<'a>(file: &'a str, folder: &str) -> Option<&'a str> {
    let name = file.strip_prefix(folder)?.strip_suffix(".rs").filter(|name| !name.contains('/'))?;
    let is_named = !matches!(name, "mod" | "lib" | SHARED) && OTHERS.iter().all(|(other, _)| *other != file);
    is_named.then_some(name)
}

/// The texts between two other texts.
fn between<'a>(code: &'a str, before: &str, after: &str) -> Vec<&'a str> {
    code.split(before).skip(1).filter_map(|rest| Some(rest.split_once(after)?.0)).collect()
}

/// The names of the operators that the constants of a schema describe: `Operator::new("", "Add", 14)`.
fn described(code: &str) -> Vec<&str> {
    between(code, "Operator::new(", ")").into_iter().filter_map(|args| args.split('"').rev().nth(1)).collect()
}

/// Complaints about parts of operators in files of other names.
fn misplaced(files: &BTreeMap<String, String>) -> Vec<String> {
    let mut found = Vec::new();
    let schemas: BTreeMap<&str, String> =
        files.iter().filter_map(|(file, source)| Some((file_in(file, SCHEMA)?, code(source)))).collect();
    let family_of: BTreeMap<&str, &str> =
        schemas.iter().flat_map(|(&family, code)| described(code).into_iter().map(move |op| (op, family))).collect();
    for file in files.keys() {
        let name = COLUMNS.iter().find_map(|column| file_in(file, column));
        if let Some(name) = name.filter(|name| !schemas.contains_key(name)) {
            found.push(format!(
                "`{file}` is named after no family: there is no `{SCHEMA}{name}.rs`. Name it as the schema of its \
                 operators, or put what several families use into `{SHARED}`"
            ));
        }
    }
    // By a shared part: the families that name it.
    let mut users: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for (&family, code) in &schemas {
        for (setter, column) in [
            ("infer", "relations"),
            ("compute", "kernels"),
            ("body", "bodies"),
            ("body_of", "bodies"),
            ("gradient_of", "gradients"),
        ] {
            for part in between(code, &format!(".{setter}("), ")") {
                let place: Vec<&str> = part.split("::").collect();
                match place[..] {
                    [of, file, _] if of == column && file == family => {}
                    [of, SHARED, ..] if of == column => drop(users.entry(part.to_owned()).or_default().insert(family)),
                    _ => found.push(format!(
                        "`{SCHEMA}{family}.rs` names `{part}`: it belongs into `plugins/operators/src/{column}/{family}.rs`, \
                         and is written `{column}::{family}::…`"
                    )),
                }
            }
        }
    }
    for (part, families) in users.iter().filter(|(_, families)| families.len() == 1) {
        let family = families.first().expect("one family names it");
        found.push(format!("`{part}` is shared, and only `{family}` names it: put it into the file of that name"));
    }
    for (file, source) in files {
        let Some(name) = file_in(file, COLUMNS[1]) else { continue };
        for line in code(source).lines() {
            let op = line.trim().strip_prefix('"').and_then(|line| line.split_once("\" @ "));
            let family = op.map(|(op, _)| (op, family_of.get(op).copied()));
            match family {
                Some((op, Some(family))) if family != name => {
                    found.push(format!("`{op}` is evaluated in `{file}`: it belongs into `{}{family}.rs`", COLUMNS[1]))
                }
                Some((op, None)) => found.push(format!("`{file}` evaluates `{op}`, which no schema describes")),
                _ => {}
            }
        }
    }
    found
}

#[test]
fn the_parts_of_an_operator_stand_in_files_of_one_name() {
    let files = all_sources();
    assert_eq!(misplaced(&files), Vec::<String>::new());
    let n_described: usize =
        files.iter().filter(|(file, _)| file_in(file, SCHEMA).is_some()).map(|(_, s)| described(&code(s)).len()).sum();
    assert!(n_described > 220, "{n_described} operators");
    for (file, why) in OTHERS {
        assert!(files.contains_key(*file), "`{file}`, {why}, is not there");
    }
}

#[test]
fn parts_in_other_files_are_found() {
    let files = all_sources();
    let moved = |from: &str, to: &str| {
        let mut files = files.clone();
        let source = files.remove(from).unwrap();
        files.insert(to.to_owned(), source);
        misplaced(&files)
    };
    let kernels = "plugins/operators/src/kernels/";
    assert_eq!(
        moved(&format!("{kernels}resize.rs"), &format!("{kernels}spatial.rs")),
        ["`plugins/operators/src/kernels/spatial.rs` is named after no family: there is no \
          `plugins/operators/src/schema/spatial.rs`. Name it as the schema of its operators, or put what several families \
          use into `shared`"]
    );
    let changed = |file: &str, from: &str, to: &str| {
        let mut files = files.clone();
        let source = files.get_mut(file).unwrap();
        assert!(source.contains(from), "{source}");
        *source = source.replacen(from, to, 1);
        misplaced(&files)
    };
    let schema = "plugins/operators/src/schema/resize.rs";
    assert_eq!(
        changed(schema, "kernels::resize::resize", "kernels::image::resize"),
        ["`plugins/operators/src/schema/resize.rs` names `kernels::image::resize`: it belongs into \
          `plugins/operators/src/kernels/resize.rs`, and is written `kernels::resize::…`"]
    );
    assert_eq!(changed(schema, "kernels::resize::resize", "resize").len(), 1);
    assert_eq!(
        changed(schema, "relations::resize::resize", "relations::shared::elementwise::resize"),
        [
            "`relations::shared::elementwise::resize` is shared, and only `resize` names it: put it into the file of that name"
        ]
    );
    let evaluators = "plugins/evaluator/src/pad.rs";
    assert_eq!(
        changed(evaluators, "\"Pad\" @ 1", "\"Resize\" @ 1"),
        ["`Resize` is evaluated in `plugins/evaluator/src/pad.rs`: it belongs into `plugins/evaluator/src/resize.rs`"]
    );
    assert_eq!(
        changed(evaluators, "\"Pad\" @ 1", "\"Padding\" @ 1"),
        ["`plugins/evaluator/src/pad.rs` evaluates `Padding`, which no schema describes"]
    );
}

#[test]
fn the_page_has_ten_steps_and_shows_what_is_there() {
    let steps: Vec<&str> =
        PAGE.lines().filter_map(|line| line.strip_prefix("## ")?.split_once(". ")).map(|(n, _)| n).collect();
    assert_eq!(steps, ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"]);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let named = PAGE
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|quoted| quoted.starts_with("plugins/") || quoted.starts_with("tests/"));
    for path in named.map(|path| path.replace("FAMILY", "activation")) {
        // Relations of activations are shared ones.
        let is_missing = !root.join(&path).exists() && path != "plugins/operators/src/relations/activation.rs";
        assert!(!is_missing, "`{path}` is not there");
    }
    let (mut n_shown, mut n_commands) = (0, 0);
    for block in blocks("adding-an-operator.md", PAGE) {
        match (block.language, block.mark) {
            ("rust", Some(("in", file))) => {
                let source = fs::read_to_string(root.join(file)).unwrap();
                assert!(source.contains(&block.text), "{}: this is not in `{file}`:\n{}", block.place(), block.text);
                n_shown += 1;
            }
            ("sh", None) => n_commands += block.text.lines().map(check_command).count(),
            other => panic!("{}: a block of {other:?}", block.place()),
        }
    }
    assert_eq!((n_shown, n_commands), (8, 3));
}

/// Checks that a command runs tests that are there.
fn check_command(line: &str) {
    let words: Vec<&str> = line.split(' ').collect();
    assert_eq!(words[..3], ["cargo", "test", "--release"], "{line}");
    let manifests = ["plugins/operators", "plugins/operators/math", "plugins/evaluator", "plugins/gradient", "tests"];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let manifests = manifests.map(|folder| fs::read_to_string(root.join(folder).join("Cargo.toml")).unwrap());
    for package in words.windows(2).filter(|pair| pair[0] == "-p").map(|pair| pair[1]) {
        let name = format!("name = \"{package}\"\n");
        assert!(manifests.iter().any(|manifest| manifest.contains(&name)), "there is no package `{package}`");
    }
    let main = [include_str!("main.rs"), include_str!("../all/main.rs")].concat();
    for module in words.iter().filter_map(|word| word.strip_suffix("::")) {
        assert!(main.contains(&format!("\nmod {module};\n")), "there is no module `{module}`");
    }
}
