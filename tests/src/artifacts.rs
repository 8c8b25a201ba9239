//! What the tests run: the program and its plugins, as cargo builds them.
//!
//! `cargo test` builds neither the program of another package nor libraries to be loaded, so that what lies in the
//! target folder may be old. Cargo is asked to build them, and says where they are.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::LazyLock,
};

/// The packages that make up an installation.
const PACKAGES: &[&str] = &["relais", "relais-graph", "relais-operators", "relais-evaluator"];

/// The program and the plugins that are shipped with it.
#[derive(Debug, Clone)]
pub struct Shipped {
    /// The program. The plugins lie beside it.
    pub program: PathBuf,
    /// The libraries.
    pub plugins: Vec<PathBuf>,
}

/// The program and its plugins, built as the running test was.
///
/// # Panics
/// When cargo does not build them.
pub fn shipped() -> &'static Shipped {
    static SHIPPED: LazyLock<Shipped> = LazyLock::new(|| {
        let (target, profile) = build_folder();
        let packages = PACKAGES.iter().flat_map(|package| ["-p", package]);
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
        let files = cargo_build(&manifest, &target, &profile, packages);
        let program =
            files.iter().find(|file| file.file_stem().is_some_and(|stem| stem == "relais") && is_program(file));
        let program = program.expect("cargo names the program").clone();
        Shipped { program, plugins: files.into_iter().filter(|file| is_library(file)).collect() }
    });
    &SHIPPED
}

/// The library of a plugin in `tests/plugins`, built as an author outside of the workspace would build it.
///
/// # Panics
/// When cargo does not build it.
pub fn test_plugin(folder: &str) -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("plugins").join(folder).join("Cargo.toml");
    let target = build_folder().0.join("tmp/plugins");
    let files = cargo_build(&manifest, &target, "dev", []);
    files.into_iter().find(|file| is_library(file)).expect("cargo names the library")
}

fn is_library(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == env::consts::DLL_EXTENSION)
}

fn is_program(file: &Path) -> bool {
    file.extension().unwrap_or_default() == env::consts::EXE_EXTENSION
}

/// The target folder and the profile that the running test was built with.
fn build_folder() -> (PathBuf, String) {
    let test = env::current_exe().expect("the test has a path");
    // `<target>/<profile>/deps/<test>`
    let folder = test.ancestors().nth(2).expect("tests lie in a target folder");
    let name = folder.file_name().expect("the profile names the folder").to_string_lossy().into_owned();
    let profile = if name == "debug" { "dev".to_owned() } else { name };
    (folder.parent().expect("it is in the target folder").to_owned(), profile)
}

/// Builds with cargo; gives the files that it made or that were fresh.
fn cargo_build<'a>(
    manifest: &Path,
    target: &Path,
    profile: &str,
    arguments: impl IntoIterator<Item = &'a str>,
) -> Vec<PathBuf> {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--message-format=json-render-diagnostics", "--profile", profile]);
    cargo.arg("--manifest-path").arg(manifest).arg("--target-dir").arg(target).args(arguments);
    let output = cargo.stderr(Stdio::inherit()).output().expect("cargo can be started");
    assert!(output.status.success(), "cargo builds `{}`", manifest.display());
    let mut files = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let message: serde_json::Value = serde_json::from_str(line).expect("cargo writes JSON");
        // Artifacts of dependencies lie in `deps`; what was asked for lies beside the program.
        for file in message["filenames"].as_array().into_iter().flatten().filter_map(|file| file.as_str()) {
            let file = PathBuf::from(file);
            if file.parent().and_then(Path::file_name).is_some_and(|folder| folder != "deps") {
                files.push(file);
            }
        }
    }
    files
}
