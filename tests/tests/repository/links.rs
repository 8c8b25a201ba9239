//! The links of all documents, and the contents of the book.

use relais_tests::{
    cli::files,
    page::{check_links, find},
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Returns all documents, those that are generated included.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    find(root, "md", &mut found);
    find(&root.join("docs/passes"), "md", &mut found);
    found
}

#[test]
fn every_link_of_every_document_leads_somewhere() {
    let documents = documents();
    assert!(documents.len() > 50, "{documents:?}");
    documents.iter().for_each(|page| check_links(page));
}

/// `tests/book/run` adds the pages in the folders of `passes/README.md` and `examples/README.md`.
#[test]
fn the_book_has_every_page_once() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let of_folder = files(&docs).into_iter().filter(|name| name.ends_with(".md") && name != "SUMMARY.md");
    let others = ["passes/README.md", "examples/README.md", "../README.md", "../ARCHITECTURE.md", "../CHANGELOG.md"];
    for page in of_folder.chain(others.map(str::to_owned)) {
        assert_eq!(summary.matches(&format!("]({page})")).count(), 1, "{page}");
    }
}
