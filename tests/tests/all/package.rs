//! The crates that authors depend on could be published as they are.

use relais_tests::{
    cargo_built::{author_cargo, plugin_target},
    cli::{Run, folder},
};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

const CRATES: [&str; 8] = [
    "relais-plugin-api",
    "relais-plugin-api-macros",
    "relais-boundary",
    "relais-ops",
    "relais-loop-analysis",
    "relais-ir",
    "relais-patterns",
    "relais-words",
];

fn cargo(args: &[&str]) -> Run {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut cargo = author_cargo();
    cargo.current_dir(root).env("CARGO_NET_OFFLINE", "true");
    Run::of(cargo.args(args)).expect_success()
}

/// The folder into which all are packed and unpacked. Cargo would verify them too, but from sources that it keeps by
/// version in its home, where those of an earlier run may stand.
static UNPACKED: LazyLock<PathBuf> = LazyLock::new(|| {
    let packages = CRATES.iter().flat_map(|name| ["-p", name]);
    cargo(&["package", "--allow-dirty", "--no-verify"].into_iter().chain(packages).collect::<Vec<_>>());
    let here = folder("packed");
    for name in CRATES {
        // As new files, since those of a package have one date, by which cargo tells whether to build.
        let file = plugin_target().join("package").join(unpacked_name(name) + ".crate");
        Run::of(Command::new("tar").arg("xzmf").arg(file).arg("-C").arg(&here)).expect_success();
    }
    here
});

fn unpacked_name(name: &str) -> String {
    format!("{name}-{}", env!("CARGO_PKG_VERSION"))
}

#[test]
#[ignore = "builds what plugins depend on anew; `.ci/full packages` runs it"]
fn what_is_packed_builds() {
    let members = CRATES.map(unpacked_name);
    let mut manifest = format!("[workspace]\nresolver = \"3\"\nmembers = {members:?}\n[patch.crates-io]\n");
    for name in CRATES {
        manifest.push_str(&format!("{name} = {{ path = {:?} }}\n", unpacked_name(name)));
    }
    fs::write(UNPACKED.join("Cargo.toml"), manifest).unwrap();
    // The versions of other crates that are there without the network.
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("Cargo.lock");
    fs::copy(lock, UNPACKED.join("Cargo.lock")).unwrap();
    let mut cargo = author_cargo();
    cargo.current_dir(&*UNPACKED).env("CARGO_NET_OFFLINE", "true");
    let run = Run::of(cargo.args(["build", "--workspace"])).expect_success();
    assert!(!run.stderr.contains("warning"), "{}", run.stderr);
    for name in CRATES {
        let built = format!("Compiling {name} v{} ({}", env!("CARGO_PKG_VERSION"), UNPACKED.display());
        assert!(run.stderr.contains(&built), "{}", run.stderr);
    }
}

#[test]
fn it_has_what_a_reader_looks_for() {
    for name in CRATES {
        let list = cargo(&["package", "--allow-dirty", "--list", "-p", name]).stdout;
        let files: BTreeSet<&str> = list.lines().collect();
        for file in ["LICENSE-MIT", "LICENSE-APACHE", "README.md", "src/lib.rs"] {
            assert!(files.contains(file), "{name} has no `{file}`");
        }
        let metadata = cargo(&["metadata", "--no-deps", "--format-version", "1"]).stdout;
        let metadata: serde_json::Value = serde_json::from_str(&metadata).unwrap();
        let packages = metadata["packages"].as_array().unwrap();
        let package = packages.iter().find(|package| package["name"] == name).unwrap();
        for key in ["description", "license", "readme", "rust_version", "documentation"] {
            assert!(package[key].as_str().is_some_and(|text| !text.is_empty()), "{name} has no `{key}`");
        }
        assert!((1..=5).contains(&package["keywords"].as_array().unwrap().len()), "crates.io takes five");
        assert!(!package["categories"].as_array().unwrap().is_empty());
    }
}

/// The macros write code for just this version of the crate.
#[test]
fn the_macros_go_with_one_version() {
    let manifest = UNPACKED.join(unpacked_name(CRATES[0])).join("Cargo.toml");
    let manifest: toml::Table = fs::read_to_string(manifest).unwrap().parse().unwrap();
    let wanted = manifest["dependencies"]["relais-plugin-api-macros"]["version"].as_str();
    assert_eq!(wanted, Some(concat!("=", env!("CARGO_PKG_VERSION"))));
}

#[test]
fn its_readme_shows_the_plugin_of_the_other_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let block = |page: &str| {
        let page = fs::read_to_string(root.join(page)).unwrap();
        let (_, block) = page.split_once("```rust\n").unwrap();
        block.split_once("```\n").unwrap().0.to_owned()
    };
    assert_eq!(block("plugin-api/README.md"), block("README.md"));
}
