//! The binary and the plugins that cargo builds for the tests: `cargo test` itself never refreshes a `cdylib`.

use crate::cli::Run;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{LazyLock, Mutex},
};

/// The build outputs of this workspace.
pub struct Workspace {
    /// The binary `relais`. The plugins are beside it, where it finds them.
    pub relais: PathBuf,
    /// The plugins that are shipped with it.
    pub plugins: Vec<PathBuf>,
    /// A folder below cargo's target folder for files that tests make and keep.
    pub scratch: PathBuf,
}

static WORKSPACE: LazyLock<Workspace> = LazyLock::new(build_workspace);
static PLUGINS: Mutex<BTreeMap<PathBuf, PathBuf>> = Mutex::new(BTreeMap::new());

/// Builds the host and its plugins in the profile of the running test, once in a process.
///
/// # Panics
/// Panics if they do not build.
pub fn workspace() -> &'static Workspace {
    &WORKSPACE
}

/// Builds the crate `tests/plugins/NAME` as its author would, once in a process, and returns its library.
///
/// # Panics
/// Panics if it does not build, or makes no library.
pub fn plugin(name: &str) -> PathBuf {
    library(&plugin_source(name))
}

/// Builds a crate outside this workspace as its author would, once in a process, and returns its library.
///
/// # Panics
/// Panics if it does not build, or makes no library.
pub fn library(folder: &Path) -> PathBuf {
    let mut built = PLUGINS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(path) = built.get(folder) {
        return path.clone();
    }
    let mut cargo = author_cargo();
    let artifacts = artifacts_of(cargo.args(BUILD).arg("--manifest-path").arg(folder.join("Cargo.toml")));
    let library = artifacts.libraries.into_iter().next();
    let library = library.unwrap_or_else(|| panic!("`{}` has no target of the type `cdylib`", folder.display()));
    built.insert(folder.to_owned(), library.clone());
    library
}

/// Runs the tests of a crate outside this workspace, and returns their output.
///
/// # Panics
/// Panics if one fails.
pub fn test_crate(folder: &Path) -> String {
    let mut cargo = author_cargo();
    cargo.args(["test", "--quiet", "--manifest-path"]).arg(folder.join("Cargo.toml"));
    Run::of(&mut cargo).expect_success().stdout
}

/// Cargo, for crates outside this workspace: it builds them in the profile `dev`, which can be loaded just as well and
/// builds faster, without debug information, and all into one folder, so that shared parts are built once.
pub fn author_cargo() -> Command {
    let mut cargo = cargo();
    cargo.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_INCREMENTAL", "0").env("CARGO_TARGET_DIR", plugin_target());
    cargo
}

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Cargo's target folder for crates outside this workspace.
pub fn plugin_target() -> PathBuf {
    scratch().join("plugins")
}

/// The folder of the crate `tests/plugins/NAME`.
pub fn plugin_source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("plugins").join(name)
}

/// Cargo's folder for the files of tests, as seen from the running test, which is in `deps`.
fn scratch() -> PathBuf {
    let test = std::env::current_exe().expect("the running test has a path");
    let target = test.ancestors().nth(3).expect("cargo builds into a folder for each profile");
    target.join("tmp")
}

fn build_workspace() -> Workspace {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate stands in the workspace");
    // All of it, and so with the features that cargo has built everything with for the tests.
    let mut cargo = cargo();
    cargo.current_dir(root).args(BUILD).arg("--workspace");
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    let Artifacts { executables, libraries } = artifacts_of(&mut cargo);
    let is_relais = |path: &PathBuf| path.file_stem().is_some_and(|stem| stem == "relais");
    let relais = executables.into_iter().find(is_relais).expect("the workspace has a binary `relais`");
    let target = relais.parent().and_then(Path::parent).expect("cargo builds into a folder for each profile");
    Workspace { scratch: target.join("tmp"), relais, plugins: libraries }
}

#[derive(Default)]
struct Artifacts {
    executables: Vec<PathBuf>,
    libraries: Vec<PathBuf>,
}

const BUILD: [&str; 3] = ["build", "--quiet", "--message-format=json-render-diagnostics"];

/// Returns the outputs of a build.
fn artifacts_of(cargo: &mut Command) -> Artifacts {
    let output = cargo.stderr(Stdio::inherit()).output().expect("cargo can be started");
    assert!(output.status.success(), "failed: {cargo:?}");
    let mut artifacts = Artifacts::default();
    for line in output.stdout.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let message: Value = serde_json::from_slice(line).expect("cargo prints a JSON object on each line");
        if message["reason"] == "compiler-artifact" {
            artifacts.add(&message);
        }
    }
    artifacts
}

impl Artifacts {
    fn add(&mut self, message: &Value) {
        if let Some(path) = message["executable"].as_str() {
            self.executables.push(path.into());
        }
        let mut types = message["target"]["crate_types"].as_array().into_iter().flatten();
        if types.any(|kind| kind == "cdylib") {
            let files = message["filenames"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let libraries = files.filter(|file| file.ends_with(std::env::consts::DLL_SUFFIX)).map(PathBuf::from);
            self.libraries.extend(libraries);
        }
    }
}
