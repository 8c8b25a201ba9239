//! The judge (`tests/judge`) and the tests of the Python package (`python/`), each run in a Python environment of its own.

use crate::{
    cargo_built::{author_cargo, plugin, workspace},
    cli::Run,
};
use std::{
    ffi::OsStr,
    fs::{self, File},
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

/// A file in an environment that has everything.
const WHOLE: &str = "whole";

static PYTHON: LazyLock<Result<PathBuf, String>> =
    LazyLock::new(|| environment("judge", "tests/judge/requirements.txt"));

static MODELS: LazyLock<Result<Models, String>> = LazyLock::new(|| collect(&[]));

/// The interpreter of an environment with the packages that a file lists.
fn environment(name: &str, requirements: &str) -> Result<PathBuf, String> {
    let requirements = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(requirements);
    let list = fs::read_to_string(&requirements).map_err(|error| format!("`{}`: {error}", requirements.display()))?;
    // By content, so that an environment never holds the packages of an older list.
    let mut hasher = DefaultHasher::new();
    list.hash(&mut hasher);
    let folder = workspace().scratch.join(format!("{name}-{:016x}", hasher.finish()));
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let made = || if folder.join(WHOLE).exists() { Ok(()) } else { make(&folder, &requirements) };
    alone(&folder.with_extension("lock"), made)?;
    Ok(python)
}

/// The interpreter of an environment where the Python package is installed.
static PACKAGE: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
    let python = environment("python", "python/tests/requirements.txt")?;
    alone(&workspace().scratch.join("python.lock"), || {
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        pip.args(["--no-build-isolation", "--no-deps"]);
        // Built as other crates outside the workspace are, with what they share.
        pip.envs(author_cargo().get_envs().filter_map(|(name, value)| Some((name, value?))));
        let bin = python.parent().map(Path::to_owned);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(bin.into_iter().chain(std::env::split_paths(&path)));
        pip.env("PATH", path.map_err(|error| error.to_string())?);
        // The command line is there.
        pip.env("RELAIS_PROGRAM", &workspace().relais);
        step(pip.env("MATURIN_PEP517_ARGS", "--profile dev").arg(package()), "the Python package is not installed")
    })?;
    Ok(python)
});

/// The folder of the Python package's sources.
pub fn package() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../python")
}

/// Builds the Python package, installs it into an environment of its own, and runs a file of its tests there. Returns what
/// they print.
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
    python.env("PYTHONPYCACHEPREFIX", workspace().scratch.join("python-bytecode"));
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

/// Of how many cases one is taken where all of them take long: of eight, or of as many as `RELAIS_EVERY` says.
///
/// # Panics
/// Panics if that is not a number.
pub fn every() -> usize {
    std::env::var("RELAIS_EVERY").map_or(8, |every| every.parse().expect("`RELAIS_EVERY` is a number"))
}

/// Arguments of the judge for work that takes long with all node cases of the onnx package.
pub fn some_cases() -> [String; 2] {
    ["--every".to_owned(), every().to_string()]
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
    command.env("PYTHONPYCACHEPREFIX", workspace().scratch.join("judge-bytecode"));
    Ok(command)
}

/// Makes the environment; its last act is the mark that it is whole.
fn make(folder: &Path, requirements: &Path) -> Result<(), String> {
    let _ = fs::remove_dir_all(folder);
    let python = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
    step(
        Command::new(python).args(["-m", "venv"]).arg(folder),
        "these tests need Python 3.11 or later with its module `venv` (on Debian and Ubuntu: the package \
         `python3-venv`); `PYTHON` may name the interpreter",
    )?;
    let bin = folder.join(if cfg!(windows) { "Scripts" } else { "bin" });
    let mut pip = Command::new(bin.join("python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "10"]);
    pip.arg("--requirement").arg(requirements);
    let help = format!("these tests install `{}` from PyPI, which needs a network", requirements.display());
    step(&mut pip, &help)?;
    fs::write(folder.join(WHOLE), "").map_err(|error| format!("`{}`: {error}", folder.display()))
}

fn step(command: &mut Command, help: &str) -> Result<(), String> {
    let said = match command.output() {
        Ok(output) if output.status.success() => return Ok(()),
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => error.to_string(),
    };
    Err(format!("{help}\n{command:?} failed: {}", said.trim_end()))
}
