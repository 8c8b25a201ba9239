//! One name, one thing: no two public types of the workspace share a name.

use super::{crates, imports::Imports};
use crate::architecture::sources;
use std::collections::{BTreeMap, BTreeSet};

/// Names that two types have, and why.
const SHARED: &[(&str, &str)] = &[
    ("Options", "those of one pass each, in the file of that pass"),
    ("PassContext", "TVM's name: the host's is made and entered, a plugin's is what its passes see of that"),
    ("PassInfo", "TVM's name: the host's and a plugin's instruments are given the same of a pass"),
    (
        "PipelineSpec",
        "the host's is read from TOML, the other one is what the macro of a plugin writes into its record",
    ),
];

/// The most names that may be shared.
const MAX_SHARED: usize = 10;

/// The files that define each public type of crates, by its name.
fn types<'a>(
    crates: impl IntoIterator<Item = (String, &'a BTreeMap<String, String>)>,
) -> BTreeMap<String, BTreeSet<String>> {
    let mut types: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (folder, files) in crates {
        for (name, file) in Imports::of(&folder, files).public_types() {
            types.entry(name).or_default().insert(file);
        }
    }
    types
}

#[test]
fn no_two_public_types_share_a_name() {
    let crates: Vec<(String, BTreeMap<String, String>)> = crates()
        .into_iter()
        .map(|name| format!("{name}/src"))
        .map(|folder| (folder.clone(), sources(&folder)))
        .collect();
    let mut types = types(crates.iter().map(|(folder, files)| (folder.clone(), files)));
    assert!(types.len() > 400, "{}", types.len());
    types.retain(|_, files| files.len() > 1);
    let is_listed = |name: &str| SHARED.iter().any(|(shared, _)| *shared == name);
    let report = types.iter().filter(|(name, _)| !is_listed(name));
    let report: Vec<String> = report.map(|(name, files)| format!("`{name}`: {files:?}")).collect();
    assert!(
        report.is_empty(),
        "public types of one name; give one of each another name, or list the name in `SHARED` with the reason:\n{}",
        report.join("\n")
    );
    assert!(SHARED.iter().all(|(name, _)| types.contains_key(*name)), "a name in `SHARED` is not shared");
    assert!(SHARED.len() <= MAX_SHARED);
}

#[test]
fn a_name_that_two_types_have_is_found() {
    let lib = ("a/src/lib.rs", "mod inner;\npub mod outer;\npub use inner::Kind;\npub struct Place;\n");
    let inner = ("a/src/inner.rs", "pub enum Kind {}\npub struct Hidden;\n");
    let outer = ("a/src/outer.rs", "mod most;\npub use most::*;\npub(crate) struct Kept;\n");
    let most = ("a/src/outer/most.rs", "pub unsafe trait Most {}\npub type Alias = u32;\nstruct Own;\n");
    let files = [lib, inner, outer, most].map(|(file, code)| (file.to_owned(), code.to_owned()));
    let files: BTreeMap<String, String> = files.into_iter().collect();
    let own = types([("a/src".to_owned(), &files)]);
    assert_eq!(own.keys().collect::<Vec<_>>(), ["Alias", "Kind", "Most", "Place"]);

    let other = [("b/src/lib.rs".to_owned(), "pub struct Kind;\npub struct Hidden;\npub use a::Place;\n".to_owned())];
    let other: BTreeMap<String, String> = other.into_iter().collect();
    let all = types([("a/src".to_owned(), &files), ("b/src".to_owned(), &other)]);
    let shared: Vec<&String> = all.iter().filter(|(_, files)| files.len() > 1).map(|(name, _)| name).collect();
    assert_eq!(shared, ["Kind"]);
}
