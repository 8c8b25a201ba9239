//! Commands that documents name are there.

use crate::architecture::sources;
use serde_json::Value;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Programs of others that a document or a script installs, and what for.
const OTHERS: &[(&str, &str)] = &[("cargo-fuzz", "the fuzz targets"), ("mdbook", "the documents as a book")];

/// The package on PyPI; the crate that it is built of is not published.
const PACKAGE: &str = "relais-onnx";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("`{path}`: {error}"))
}

/// The files of the repository that are text.
fn texts() -> Vec<(String, String)> {
    let mut listed = Command::new("git");
    listed.current_dir(root()).args(["ls-files", "--cached", "--others", "--exclude-standard"]);
    let names = String::from_utf8(listed.output().expect("git can be started").stdout).expect("names are text");
    let text = |name: &str| Some((name.to_owned(), fs::read_to_string(root().join(name)).ok()?));
    names.lines().filter_map(text).collect()
}

/// The packages that a text says to install or to depend on by one of these commands.
fn installed<'a>(text: &'a str, command: &str) -> Vec<&'a str> {
    let word = |rest: &'a str| {
        let line = rest.lines().next().unwrap_or_default();
        let line = &line[..line.find(['`', '\'', '"', ';', '|', ')', '>']).unwrap_or(line.len())];
        let mut words = line.split_whitespace().take_while(|word| *word != "&&" && *word != "--path");
        loop {
            match words.next()? {
                // The folder to install into.
                "--root" => _ = words.next(),
                word if word.starts_with(['$', '.', '/']) => return None,
                word if word.starts_with('-') => {}
                word => return word.split('@').next(),
            }
        }
    };
    let names = text.match_indices(command).filter_map(|(at, _)| word(&text[at + command.len()..]));
    names.map(|name| name.trim_end_matches(['.', ',', ':'])).filter(|name| !name.is_empty()).collect()
}

/// The packages of the workspace.
fn crates() -> BTreeSet<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["metadata", "--no-deps", "--offline", "--format-version", "1"];
    let output = Command::new(cargo).current_dir(root()).args(arguments).output().unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages.map(|package| package["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_users_are_told_to_install_is_a_crate_of_this_workspace() {
    let crates = crates();
    assert!(crates.len() > 10, "{crates:?}");
    let is_known = |name: &str| crates.contains(name) || OTHERS.iter().any(|(other, _)| *other == name);
    let mut n_named = 0;
    for (file, text) in texts().iter().filter(|(file, _)| !file.ends_with("workshop.rs")) {
        for name in ["cargo install ", "cargo add "].into_iter().flat_map(|command| installed(text, command)) {
            assert!(is_known(name), "{file} says to install `{name}`, which is no crate of this workspace");
            n_named += 1;
        }
        for name in installed(text, "pip install ").into_iter().filter(|name| name.starts_with("relais")) {
            assert!(name == PACKAGE, "{file} says to install `{name}`, and the package is `{PACKAGE}`");
        }
    }
    assert!(n_named > 5, "{n_named}");
    assert!(read("python/pyproject.toml").contains(&format!("\nname = \"{PACKAGE}\"\n")));
    // The program comes with the crate of that name.
    assert_eq!(installed("`cargo install --locked relais-opt`, or", "cargo install "), ["relais-opt"]);
    assert_eq!(installed("cargo install --quiet --path host/cli", "cargo install "), Vec::<&str>::new());
    assert_eq!(installed("help: cargo install relais.", "cargo install "), ["relais"]);
    assert_eq!(installed("cargo install --root target/book mdbook", "cargo install "), ["mdbook"]);
}

/// The value that follows a text on its line.
fn value<'a>(text: &'a str, key: &str) -> &'a str {
    let (_, rest) = text.split_once(key).unwrap_or_else(|| panic!("`{key}` is missing"));
    rest.lines().next().unwrap_or_default().trim().trim_matches('"')
}

#[test]
fn continuous_integration_is_one_command_with_pinned_compilers() {
    let workflow = read(".github/workflows/ci.yml");
    assert_eq!(workflow.matches("run: .ci/run\n").count(), 1);
    let of = |job: &str| value(workflow.split(job).nth(1).expect("there is such a job"), "RUSTUP_TOOLCHAIN: ");
    let (pinned, oldest) = (of("\nenv:\n"), of("\n  oldest:\n"));
    let number = |version: &str| version.split('.').map(|part| part.parse::<u32>().unwrap()).collect::<Vec<_>>();
    let least = value(&read("Cargo.toml"), "rust-version = ").to_owned();
    assert_eq!(oldest, format!("{least}.0"));
    assert!(number(pinned) > number(oldest) && number(pinned).len() == 3, "{pinned}");
    // A version there would make rustup fetch it.
    assert_eq!(value(&read("rust-toolchain.toml"), "\nchannel = "), "stable");
}

#[test]
fn the_test_command_is_what_continuous_integration_ends_with() {
    let command = "cargo test --release --workspace";
    let last = read(".ci/run").lines().last().map(str::to_owned).unwrap();
    assert_eq!(last, format!("{command} --no-fail-fast"));
    for page in ["README.md", "CONTRIBUTING.md"] {
        assert!(read(page).contains(command), "{page}");
    }
}

/// `cargo xtask new-pass` leaves marks in what it writes.
#[test]
fn no_pass_is_only_begun() {
    for (file, source) in sources("plugins") {
        assert!(!source.contains("TODO: "), "{file} has a pass that is not described or not written");
    }
    let marked = fs::read_dir(root().join("tests/xtask/templates")).unwrap().map(|entry| entry.unwrap().path());
    let templates: Vec<String> = marked.map(|path| fs::read_to_string(path).unwrap()).collect();
    assert_eq!(templates.iter().filter(|template| template.contains("TODO: ")).count(), 3);
}
