//! Running the binary as a user does.

pub use crate::run::Run;

use crate::cargo_built::workspace;
use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

/// A folder that does not exist, in the place of the user's own.
pub fn no_home() -> PathBuf {
    workspace().scratch.join("no-home")
}

/// `relais`, without plugin settings of the environment, and without plugins that the user installed.
pub fn command() -> Command {
    let mut command = Command::new(&workspace().relais);
    command.env_remove("RELAIS_PLUGIN_PATH").env("RELAIS_HOME", no_home());
    command
}

/// Runs `relais ARGS`.
pub fn relais<I: IntoIterator<Item: AsRef<OsStr>>>(args: I) -> Run {
    Run::of(command().args(args))
}

/// Runs `relais ARGS` with a stack of 2 MiB.
pub fn relais_on_small_stack<I: IntoIterator<Item: AsRef<OsStr>>>(args: I) -> Run {
    let mut shell = Command::new("sh");
    shell.env_remove("RELAIS_PLUGIN_PATH").env("RELAIS_HOME", no_home());
    shell.args(["-c", "ulimit -s 2048 && exec \"$0\" \"$@\""]).arg(&workspace().relais).args(args);
    Run::of(&mut shell)
}

/// An empty folder of that name, for one test.
///
/// # Panics
/// Panics if it cannot be made.
pub fn folder(name: &str) -> PathBuf {
    let folder = workspace().scratch.join("e2e").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("`{}`: {error}", folder.display()));
    folder
}

/// Returns an empty folder that is removed when it is dropped. It is in memory if the system offers that: syncing costs
/// nothing there.
///
/// # Panics
/// When it cannot be made.
pub fn quick_folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() };
    made.or_else(|_| TempDir::new()).expect("there is a folder for temporary files")
}

/// Runs `relais run` over a text; returns the result, empty if there is none, with the output of the program.
///
/// # Panics
/// Panics if the text cannot be written.
pub fn run_text(model: &str, arguments: &[&str]) -> (String, Run) {
    let folder = quick_folder();
    let [input, output] = ["in.relay", "out.relay"].map(|name| folder.path().join(name));
    std::fs::write(&input, model).unwrap_or_else(|error| panic!("`{}`: {error}", input.display()));
    let files = ["run".as_ref(), input.as_os_str(), "-o".as_ref(), output.as_os_str()];
    let said = relais(files.into_iter().chain(arguments.iter().map(AsRef::as_ref)));
    (std::fs::read_to_string(&output).unwrap_or_default(), said)
}

/// The names of the files in a folder, sorted.
///
/// # Panics
/// Panics if it cannot be read.
pub fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("`{}`: {error}", folder.display()));
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
