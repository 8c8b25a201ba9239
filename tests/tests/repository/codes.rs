//! Codes of errors: one meaning each.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The Rust sources below a folder, tests left out.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        match path.is_dir() {
            true if !matches!(name.as_str(), "tests" | "target" | "golden") => sources(&path, found),
            false if name.ends_with(".rs") && !name.starts_with("tests") => found.push(path),
            _ => {}
        }
    }
}

/// The literals of a source that look like codes, up to its tests.
fn codes(source: &str) -> BTreeSet<&str> {
    let source = source.split("#[cfg(test)]\nmod ").next().unwrap_or(source);
    let is_code = |text: &&str| {
        let (letter, digits) = text.split_at_checked(1).unwrap_or_default();
        letter.chars().all(|c| c.is_ascii_uppercase())
            && digits.len() == 3
            && digits.chars().all(|c| c.is_ascii_digit())
    };
    source.split('"').filter(is_code).collect()
}

#[test]
fn a_code_has_one_meaning() {
    let mut files = Vec::new();
    ["host", "plugin-api", "plugins"].iter().for_each(|folder| sources(&root().join(folder), &mut files));
    let mut places: BTreeMap<String, BTreeSet<PathBuf>> = BTreeMap::new();
    for file in files {
        for code in codes(&fs::read_to_string(&file).unwrap()) {
            places.entry(code.to_owned()).or_default().insert(file.strip_prefix(root()).unwrap().to_owned());
        }
    }
    assert!(places.len() > 60, "{places:?}");
    places.retain(|_, files| files.len() > 1);
    assert!(places.is_empty(), "these codes stand in several files, one of which should name it: {places:#?}");
}

#[test]
fn only_codes_are_looked_at() {
    let source = "f(\"A001\", \"a001\", \"AB01\", \"A0011\"); g(\"Z999\"); #[cfg(test)]\nmod tests { \"B001\" }";
    assert_eq!(codes(source).into_iter().collect::<Vec<_>>(), ["A001", "Z999"]);
}
