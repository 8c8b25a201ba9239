//! The crates that authors depend on could be published as they are.

use relais_tests::{
    cargo_built::{author_cargo, plugin_target},
    cli::{Run, folder},
};
use std::{collections::BTreeSet, fs, path::Path, process::Command};

const CRATES: [&str; 3] = ["relais-plugin-api", "relais-plugin-api-macros", "relais-patterns"];

fn cargo(args: &[&str]) -> Run {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut cargo = author_cargo();
    cargo.current_dir(root).env("CARGO_NET_OFFLINE", "true");
    Run::of(cargo.args(args)).expect_success()
}

/// All are packed, unpacked and built only from the packed files.
#[test]
fn what_is_packed_builds() {
    let run = cargo(&["package", "--allow-dirty", "-p", CRATES[0], "-p", CRATES[1], "-p", CRATES[2]]);
    assert!(!run.stderr.contains("warning"), "{}", run.stderr);
    for name in CRATES {
        assert!(run.stderr.contains(&format!("Verifying {name} ")), "{}", run.stderr);
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
    let here = folder("packed");
    let name = format!("relais-plugin-api-{}", env!("CARGO_PKG_VERSION"));
    cargo(&["package", "--allow-dirty", "--no-verify", "-p", CRATES[0], "-p", CRATES[1], "-p", CRATES[2]]);
    let file = plugin_target().join("package").join(format!("{name}.crate"));
    Run::of(Command::new("tar").arg("xzf").arg(file).arg("-C").arg(&here)).expect_success();
    let manifest: toml::Table = fs::read_to_string(here.join(name).join("Cargo.toml")).unwrap().parse().unwrap();
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
