//! The program and the plugins that cargo builds for the tests: `cargo test` puts no `cdylib` beside the program.

use crate::run::Run;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{LazyLock, Mutex},
};

/// The build outputs of this workspace.
pub struct Workspace {
    /// The program `relais`, in a folder where nothing is but the plugins, which it finds there.
    pub relais: PathBuf,
    /// The plugins that are shipped with it.
    pub plugins: Vec<PathBuf>,
    /// A folder below cargo's target folder for files that tests make and keep.
    pub scratch: PathBuf,
}

static WORKSPACE: LazyLock<Workspace> = LazyLock::new(build_workspace);
static PLUGINS: LazyLock<BTreeMap<String, PathBuf>> = LazyLock::new(build_plugins);
static OTHERS: Mutex<BTreeMap<PathBuf, PathBuf>> = Mutex::new(BTreeMap::new());

/// Builds the host and its plugins in the profile of the running test, once in a process.
///
/// # Panics
/// Panics if they do not build.
pub fn workspace() -> &'static Workspace {
    &WORKSPACE
}

/// Builds the crates of `tests/plugins` as their authors would, once in a process, and returns the library of
/// `tests/plugins/NAME`.
///
/// # Panics
/// Panics if they do not build, or there is no such crate.
pub fn plugin(name: &str) -> PathBuf {
    PLUGINS.get(name).unwrap_or_else(|| panic!("`tests/plugins/{name}` has no library")).clone()
}

fn build_plugins() -> BTreeMap<String, PathBuf> {
    let mut cargo = author_cargo();
    cargo.args(BUILD).args(["--workspace", "--exclude", "mistakes", "--manifest-path"]);
    let libraries = artifacts_of(cargo.arg(plugin_source("Cargo.toml"))).libraries.into_iter();
    let name = |folder: &Path| folder.file_name().expect("a crate has a folder").to_string_lossy().into_owned();
    libraries.map(|library| (name(&library.folder), library.file)).collect()
}

/// Builds a crate or a plugin in C outside this workspace as its author would, once in a process, and returns its library.
///
/// # Panics
/// Panics if it does not build, or makes no library.
pub fn library(folder: &Path) -> PathBuf {
    let mut built = OTHERS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(path) = built.get(folder) {
        return path.clone();
    }
    if folder.join("plugin.toml").exists() {
        let library = c_library(folder);
        built.insert(folder.to_owned(), library.clone());
        return library;
    }
    let mut cargo = author_cargo();
    let artifacts = artifacts_of(cargo.args(BUILD).arg("--manifest-path").arg(folder.join("Cargo.toml")));
    let library = artifacts.libraries.into_iter().next();
    let library = library.unwrap_or_else(|| panic!("`{}` has no target of the type `cdylib`", folder.display()));
    built.insert(folder.to_owned(), library.file.clone());
    library.file
}

/// Builds the plugin in C in a folder: its records from `plugin.toml`, its code from the one source in `src`.
fn c_library(folder: &Path) -> PathBuf {
    let name = folder.file_name().expect("a plugin has a folder").to_string_lossy();
    let here = plugin_target().join("c").join(&*name);
    fs::create_dir_all(&here).expect("the target folder can be written");
    let mut record = Command::new(&workspace().relais);
    record.args(["plugin", "record"]).arg(folder.join("plugin.toml")).arg("-o").arg(here.join("record.h"));
    Run::of(&mut record).expect_success();
    let sources = fs::read_dir(folder.join("src")).expect("there are sources").map(|entry| entry.unwrap().path());
    let library = here.join(format!("lib{name}.so"));
    c_plugin(&sources.collect::<Vec<_>>(), &here, &library, &[]);
    library
}

/// Compiles sources in C to a plugin, without a warning: `records` is the folder of `record.h`.
///
/// # Panics
/// Panics if they do not compile.
pub fn c_plugin(sources: &[PathBuf], records: &Path, library: &Path, args: &[&str]) {
    let header = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugin-api/c");
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fPIC", "-shared", "-I"]).arg(header);
    cc.arg("-I").arg(records).args(args).args(sources).arg("-o").arg(library);
    Run::of(&mut cc).expect_success();
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

/// Gives a crate outside this workspace the versions of other crates that are there without the network.
///
/// # Panics
/// Panics if its folder cannot be written.
pub fn lock_versions(folder: &Path) {
    fs::copy(plugin_source("Cargo.lock"), folder.join("Cargo.lock")).expect("the folder can be written");
}

/// Cargo's folder for the files of tests, as seen from the running test, which is in `deps`.
fn scratch() -> PathBuf {
    let test = std::env::current_exe().expect("the running test has a path");
    let target = test.ancestors().nth(3).expect("cargo builds into a folder for each profile");
    target.join("tmp")
}

fn build_workspace() -> Workspace {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate stands in the workspace");
    // Of all packages, and so with the features that cargo has built everything with for the tests; and nothing but
    // programs, of one of which the plugins are dependencies.
    let mut cargo = cargo();
    cargo.current_dir(root).args(BUILD).args(["--workspace", "--bins"]);
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    let Artifacts { executables, libraries } = artifacts_of(&mut cargo);
    let is_relais = |path: &&PathBuf| path.file_stem().is_some_and(|stem| stem == "relais");
    let relais = executables.iter().find(is_relais).expect("the workspace has a program `relais`");
    let folder = scratch().join(if cfg!(debug_assertions) { "program-debug" } else { "program" });
    fs::create_dir_all(&folder).expect("the scratch folder can be written");
    let plugins = libraries.iter().map(|library| link(&library.file, &folder)).collect();
    Workspace { relais: link(relais, &folder), plugins, scratch: scratch() }
}

/// Gives a file a second name in a folder, in place of an older one that is there.
fn link(file: &Path, folder: &Path) -> PathBuf {
    let name = file.file_name().expect("cargo names its files");
    let (path, draft) = (folder.join(name), folder.join(format!("{}.{}", name.display(), std::process::id())));
    fs::hard_link(file, &draft).and_then(|()| fs::rename(&draft, &path)).expect("the scratch folder can be written");
    let _ = fs::remove_file(draft);
    path
}

#[derive(Default)]
struct Artifacts {
    executables: Vec<PathBuf>,
    libraries: Vec<Library>,
}

/// A shared library, and the folder of its crate.
struct Library {
    folder: PathBuf,
    file: PathBuf,
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
            let manifest = Path::new(message["manifest_path"].as_str().unwrap_or_default());
            let folder = manifest.parent().unwrap_or(manifest);
            let libraries = files.filter(|file| file.ends_with(std::env::consts::DLL_SUFFIX));
            self.libraries.extend(libraries.map(|file| Library { folder: folder.to_owned(), file: file.into() }));
        }
    }
}
