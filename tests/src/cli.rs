//! Running the binary as a user does.

use crate::cargo_built::workspace;
use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, Output},
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// How a run ended.
#[derive(Debug)]
pub struct Run {
    /// The exit status; `None` when a signal ended it.
    pub status: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// How long it took.
    pub time: Duration,
}

impl Run {
    /// Starts a command and waits for it.
    ///
    /// # Panics
    /// Panics if it cannot be started.
    pub fn of(command: &mut Command) -> Self {
        let start = Instant::now();
        let Output { status, stdout, stderr } =
            command.output().unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self { status: status.code(), stdout: text(stdout), stderr: text(stderr), time: start.elapsed() }
    }

    /// The same run, which must have succeeded.
    ///
    /// # Panics
    /// Panics if it failed, with its output.
    #[track_caller]
    pub fn expect_success(self) -> Self {
        assert!(self.status == Some(0), "the run failed ({:?}):\n{}{}", self.status, self.stdout, self.stderr);
        self
    }

    /// The same run, which must have failed with status 1, as runs do for reasons that they can name.
    ///
    /// # Panics
    /// Panics if it ended in another way, with its output.
    #[track_caller]
    pub fn expect_failure(self) -> Self {
        assert!(self.status == Some(1), "the run did not fail ({:?}):\n{}{}", self.status, self.stdout, self.stderr);
        self
    }
}

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
