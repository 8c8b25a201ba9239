//! `docs/tvm-documents.md`: each row has an answer, and the tests, cases, commands and passes that it names are there.

use relais_tests::{cli::relais, page::find};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Where tests are.
const FOLDERS: &[&str] =
    &["tests/tests/all", "host/src", "host/cli/tests/all", "plugin-api", "tests/embedder/tests", "python/tests"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The names of all tests, each behind the path of its file: `…/rules/kinds.rs::r12_…`.
fn tests() -> Vec<String> {
    let mut files = Vec::new();
    for folder in FOLDERS {
        find(&root().join(folder), "rs", &mut files);
        find(&root().join(folder), "py", &mut files);
    }
    let mut tests = Vec::new();
    for file in files {
        let source = fs::read_to_string(&file).unwrap();
        let path = file.with_extension("").to_string_lossy().replace(['/', '\\'], "::");
        let mut is_test = file.extension().is_some_and(|extension| extension == "py");
        let is_python = is_test;
        for line in source.lines().map(str::trim) {
            is_test |= line == "#[test]";
            let name = line.strip_prefix(if is_python { "def test_" } else { "fn " });
            if let Some(name) = name.and_then(|name| name.split('(').next()).filter(|_| is_test) {
                tests.push(format!("{path}::{}{name}", if is_python { "test_" } else { "" }));
                is_test = is_python;
            }
        }
    }
    tests
}

#[test]
fn every_row_has_an_answer_that_is_shown() {
    let page = fs::read_to_string(root().join("docs/tvm-documents.md")).unwrap();
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| name |")).collect();
    assert!(rows.len() > 97, "{}", rows.len());
    let tests = tests();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [name, documents, answer, shown] = *cells else { panic!("{row}") };
        assert!(!name.is_empty(), "{row}");
        assert!(documents.split(' ').all(|document| ["R", "X", "A"].contains(&document)), "{row}");
        match answer.split([':', ';', ',', ' ']).next() {
            Some("here") => assert!(!shown.is_empty(), "{row}"),
            Some("not") => assert!(answer.len() > "not: ".len() && shown.is_empty(), "{row}"),
            _ => panic!("{row}"),
        }
        for pass in answer.split("](passes/").skip(1) {
            let file = root().join("docs/passes").join(pass.split(')').next().unwrap());
            assert!(file.is_file(), "{row}");
        }
        let shown = shown.trim_matches('`');
        if let Some(command) = shown.strip_prefix("relais ") {
            relais(command.split(' ')).expect_success();
        } else if shown.contains("::") {
            assert!(tests.iter().any(|test| test.ends_with(&format!("::{shown}"))), "{row}");
        } else if !shown.is_empty() {
            assert!(root().join("tests/filetests").join(shown).with_extension("relay").is_file(), "{row}");
        }
    }
}
