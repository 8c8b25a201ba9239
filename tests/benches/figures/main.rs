//! All figures of speed, by one command: `cargo bench -p relais-tests`, or with the names of parts after `--`. Names of
//! shapes and of passes, too, restrict the part `passes` to them: `-- passes loops Simplify`.
//!
//! Alternatives are measured in turns within one run, and the median counts. Goals are in brackets.

mod analyses;
mod boundary;
mod checks;
mod discovery;
mod end_to_end;
mod front_door;
#[cfg(target_os = "linux")]
mod isolation;
mod manager;
mod models;
mod passes;
mod rules;
mod timing;

use relais::{
    plugin::{Policy, WritableFiles, discover},
    registry::{Choices, Linked, Registry},
};
use std::{
    path::{Path, PathBuf},
    process::Command,
};

const PARTS: &[(&str, fn())] = &[
    ("analyses", analyses::run),
    ("boundary", boundary::calls),
    ("records", boundary::records),
    ("checks", checks::run),
    ("read-back", checks::run_written),
    ("discovery", discovery::run),
    ("end-to-end", end_to_end::run),
    ("front-door", front_door::run),
    #[cfg(target_os = "linux")]
    ("isolation", isolation::run),
    ("manager", manager::run),
    ("passes", passes::run),
    ("rules", rules::run),
];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    for &(name, run) in PARTS {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            run();
            println!();
        }
    }
}

fn cargo_build(args: &[&str]) {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--release"]).args(args);
    assert!(cargo.status().expect("cargo runs").success(), "the build fails");
}

fn library(name: &str) -> String {
    format!("{}{name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX)
}

/// The folder with the program and the plugins as they are shipped.
fn shipped() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is inside the target folder");
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
    let target_dir = target.to_str().expect("the target folder is text");
    cargo_build(&["--manifest-path", root, "--target-dir", target_dir]);
    target.join("release")
}

/// A plugin that is built as an author outside the workspace builds it.
fn sample() -> PathBuf {
    author_plugin("sample", "sample_passes")
}

/// The plugin of a crate in `tests/plugins`, and the name of its library.
fn author_plugin(name: &str, library_name: &str) -> PathBuf {
    let target = concat!(env!("CARGO_TARGET_TMPDIR"), "/plugins");
    let manifest = format!(concat!(env!("CARGO_MANIFEST_DIR"), "/plugins/{}/Cargo.toml"), name);
    cargo_build(&["--manifest-path", &manifest, "--target-dir", target]);
    Path::new(target).join("release").join(library(library_name))
}

fn loaded(files: &[PathBuf]) -> Registry {
    let policy = Policy { writable: WritableFiles::Allow };
    Registry::new(discover(&[], files, policy), Linked::Exclude, &Choices::new())
}
