//! The judge (`tests/judge`) and the tests of the Python package (`python/`), in one Python environment.
//!
//! Making the environment needs the network; once it is there, nothing does.

use crate::{
    cargo_built::{plugin, workspace},
    run::Run,
};
use std::{
    ffi::OsStr,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

/// The lists of the packages in the environment.
const REQUIREMENTS: [&str; 2] = ["tests/judge/requirements.txt", "python/tests/requirements.txt"];

static PYTHON: LazyLock<Result<PathBuf, String>> = LazyLock::new(environment);

static MODELS: LazyLock<Result<Models, String>> = LazyLock::new(|| collect(&[]));

/// The interpreter of the environment, which is made unless it is what its stamp says.
fn environment() -> Result<PathBuf, String> {
    let folder = workspace().scratch.join("venv");
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let stamp = stamp()?;
    let is_stamped = |folder: &Path| fs::read_to_string(folder.join("stamp")).is_ok_and(|old| old == stamp);
    alone(&folder.with_extension("lock"), || {
        if !is_stamped(&folder) {
            make(&folder, &python)?;
            fs::write(folder.join("stamp"), &stamp).map_err(|error| format!("`{}`: {error}", folder.display()))?;
        }
        Ok(python)
    })
}

/// Everything that the environment is made of: the interpreter and the packages.
fn stamp() -> Result<String, String> {
    let mut stamp = step(
        base_python().args(["-c", "import sys, venv; print(sys.base_prefix, sys.version)"]),
        "these tests need Python 3.11 or later with its module `venv` (on Debian and Ubuntu: the package \
         `python3-venv`); `PYTHON` may name the interpreter",
    )?;
    for list in REQUIREMENTS.map(in_repository) {
        stamp += &fs::read_to_string(&list).map_err(|error| format!("`{}`: {error}", list.display()))?;
    }
    Ok(stamp)
}

/// Makes the environment.
fn make(folder: &Path, python: &Path) -> Result<(), String> {
    let _ = fs::remove_dir_all(folder);
    step(base_python().args(["-m", "venv"]).arg(folder), "a Python environment cannot be made")?;
    // Bytecode is written where the tests say when they run.
    let mut pip = pip(python);
    pip.args(["--no-compile", "--retries", "10"]);
    for list in REQUIREMENTS.map(in_repository) {
        pip.arg("--requirement").arg(list);
    }
    let help = format!(
        "these tests install the packages that `{}` list from PyPI, which needs the network, once: run them again where there \
         is one, or let `PIP_INDEX_URL` or `PIP_FIND_LINKS` say where the packages are",
        REQUIREMENTS.join("` and `")
    );
    step(&mut pip, &help).map(drop)
}

fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

fn base_python() -> Command {
    Command::new(std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into()))
}

fn pip(python: &Path) -> Command {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    pip
}

/// Runs a command, and returns what it prints.
fn step(command: &mut Command, help: &str) -> Result<String, String> {
    let said = match command.output() {
        Ok(output) if output.status.success() => return Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => error.to_string(),
    };
    Err(format!("{help}\n{command:?} failed: {}", said.trim_end()))
}

/// The interpreter of the environment, once the Python package is installed in it.
static PACKAGE: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
    let python = PYTHON.as_ref().map_err(Clone::clone)?;
    let scratch = &workspace().scratch;
    alone(&scratch.join("venv.lock"), || {
        let mut pip = pip(python);
        pip.args(["--no-index", "--no-build-isolation", "--no-deps"]);
        let bin = python.parent().map(Path::to_owned);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(bin.into_iter().chain(std::env::split_paths(&path)));
        pip.env("PATH", path.map_err(|error| error.to_string())?);
        // The command line is there. The library is built with what the program is built of, and put elsewhere: beside
        // the program it would be taken for a plugin. With the feature it is built of the same features.
        pip.env("RELAIS_PROGRAM", &workspace().relais);
        pip.env("CARGO_BUILD_BUILD_DIR", scratch.parent().expect("it is in cargo's target folder"));
        pip.env("CARGO_TARGET_DIR", scratch.join("python"));
        let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
        pip.env("MATURIN_PEP517_ARGS", format!("--features program --profile {profile}"));
        step(pip.arg(package()), "the Python package is not installed")
    })?;
    Ok(python.clone())
});

/// The folder of the Python package's sources.
pub fn package() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../python")
}

/// Builds the Python package, installs it, and runs a file of its tests. Returns what they print.
///
/// # Panics
/// Panics if the package is not installed or a test fails, with what was printed.
#[track_caller]
pub fn package_tests(file: &str) -> String {
    let mut tests = package_python();
    tests.args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"]).arg(package().join("tests").join(file));
    let run = Run::of(&mut tests);
    assert!(run.status == Some(0), "{tests:?} is not satisfied:\n{}{}", run.stdout, run.stderr);
    run.stdout
}

/// A Python in whose environment the package is installed, without plugins that the user installed.
///
/// # Panics
/// Panics if the package cannot be installed, with the reason.
#[track_caller]
pub fn package_python() -> Command {
    let mut python = Command::new(PACKAGE.as_ref().unwrap_or_else(|why| panic!("{why}")));
    // Not where the package's sources are, which would be taken for it.
    python.current_dir(&workspace().scratch).env_remove("RELAIS_PLUGIN_PATH");
    python.env("PYTHONPYCACHEPREFIX", workspace().scratch.join("bytecode"));
    python
}

/// The models that the judge writes.
pub struct Models {
    /// Where: `KIND/NAME/model.onnx`.
    pub folder: PathBuf,
    /// How many there are of each kind, a line for each.
    pub counts: String,
}

/// The models, written once and kept.
///
/// # Panics
/// Panics if they cannot be written, with the reason.
pub fn models() -> &'static Models {
    MODELS.as_ref().unwrap_or_else(|why| panic!("{why}"))
}

/// Adds the models of 600 MB to the same folder.
///
/// # Panics
/// Panics if they cannot be written, with the reason.
pub fn add_large_models() {
    collect(&["--large"]).unwrap_or_else(|why| panic!("{why}"));
}

/// Runs `python -m judge ARGS`, and returns its output.
///
/// # Panics
/// Panics if the judge is not satisfied, with its output.
#[track_caller]
pub fn judge<I: IntoIterator<Item: AsRef<OsStr>>>(args: I) -> String {
    satisfied("judge", args)
}

/// Runs tests of the judge itself, by their names below `judge.tests`.
///
/// # Panics
/// Panics if one fails, with its output.
#[track_caller]
pub fn judge_tests(names: &[&str]) {
    satisfied("unittest", names.iter().map(|name| format!("judge.tests.{name}")));
}

/// Runs `python -m random_graphs ARGS` with the binary, and returns its output.
///
/// # Panics
/// Panics if a result differs, with its output.
#[track_caller]
pub fn random_graphs(args: &[&str]) -> String {
    let relais = [OsStr::new("--relais"), workspace().relais.as_ref()];
    satisfied("random_graphs", relais.into_iter().chain(args.iter().map(OsStr::new)))
}

/// Runs tests of the random graphs themselves, by their names below `random_graphs.tests`.
///
/// # Panics
/// Panics if one fails, with its output.
#[track_caller]
pub fn random_graphs_tests(names: &[&str]) {
    satisfied("unittest", names.iter().map(|name| format!("random_graphs.tests.{name}")));
}

#[track_caller]
fn satisfied<I: IntoIterator<Item: AsRef<OsStr>>>(module: &str, args: I) -> String {
    let mut python = command(module).unwrap_or_else(|why| panic!("{why}"));
    let run = Run::of(python.args(args));
    assert!(run.status == Some(0), "{python:?} is not satisfied:\n{}{}", run.stdout, run.stderr);
    run.stdout
}

/// Runs a command of the judge with the binary and the models, and further arguments.
///
/// # Panics
/// Panics if the judge is not satisfied, with its output.
#[track_caller]
pub fn judge_models(command: &[&str], args: &[&str]) -> String {
    let models = &models().folder;
    let relais = &workspace().relais;
    let fixed = [OsStr::new("--relais"), relais.as_ref(), OsStr::new("--models"), models.as_ref()];
    judge(command.iter().chain(args).map(OsStr::new).chain(fixed))
}

/// Of how many cases one is taken where all of them take long: of 32, or of as many as `RELAIS_EVERY` says.
///
/// # Panics
/// Panics if that is not a number.
pub fn every() -> usize {
    std::env::var("RELAIS_EVERY").map_or(32, |every| every.parse().expect("`RELAIS_EVERY` is a number"))
}

/// An eighth of a number of random cases, or all of them if `RELAIS_EVERY` is 1.
pub fn share(n: usize) -> usize {
    if every() == 1 { n } else { n / 8 }
}

/// Arguments of the judge for work that takes long with all node cases of the onnx package.
pub fn some_cases() -> [String; 2] {
    ["--every".to_owned(), every().to_string()]
}

/// Arguments of the judge for small models: every third, or all of them if `RELAIS_EVERY` is 1.
pub fn some_models() -> [String; 2] {
    ["--every".to_owned(), every().min(3).to_string()]
}

/// Arguments of the judge for runs of one pass of the crate `tests/plugins/NAME`.
pub fn with_pass(pass: &str, crate_name: &str) -> String {
    format!("--args=--passes {pass} --plugin '{}' --allow-writable-plugins", plugin(crate_name).display())
}

/// A program of the judge's environment.
///
/// # Panics
/// Panics if the environment cannot be made, with the reason.
pub fn program(name: &str) -> PathBuf {
    let python = PYTHON.as_ref().unwrap_or_else(|why| panic!("{why}"));
    python.with_file_name(name).with_extension(std::env::consts::EXE_EXTENSION)
}

fn collect(args: &[&str]) -> Result<Models, String> {
    let folder = workspace().scratch.join("judge-models");
    let output =
        alone(&folder.with_extension("lock"), || Ok(command("judge")?.arg("models").arg(&folder).args(args).output()))?;
    let output = output.map_err(|error| format!("the judge does not start: {error}"))?;
    if !output.status.success() {
        return Err(format!("the models were not written:\n{}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(Models { folder, counts: String::from_utf8_lossy(&output.stdout).into_owned() })
}

/// Does something that no other process does at the same time.
fn alone<T>(lock: &Path, work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let failed = |error| format!("`{}`: {error}", lock.display());
    fs::create_dir_all(lock.parent().expect("the lock stands in the scratch folder")).map_err(failed)?;
    let file = File::create(lock).map_err(failed)?;
    file.lock().map_err(failed)?;
    work()
}

fn command(module: &str) -> Result<Command, String> {
    let python = PYTHON.as_ref().map_err(Clone::clone)?;
    let mut command = Command::new(python);
    command.args(["-m", module]).current_dir(env!("CARGO_MANIFEST_DIR")).env_remove("RELAIS_PLUGIN_PATH");
    command.env("PYTHONPYCACHEPREFIX", workspace().scratch.join("bytecode"));
    Ok(command)
}
