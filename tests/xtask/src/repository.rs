//! The repository, and the programs that are run in it.

use crate::failure::Failure;
use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

/// The settings by which `.ci/run` builds, so that both build once.
pub const SETTINGS: [(&str, &str); 3] = [
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1"),
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "none"),
];

/// A folder of this repository, as it was checked out or copied.
pub struct Repository {
    pub root: PathBuf,
}

impl Repository {
    /// The one around the current folder.
    pub fn around() -> Result<Self, Failure> {
        let here = env::current_dir().unwrap_or_default();
        let root = here.ancestors().find(|folder| folder.join(".ci/run").is_file());
        let help = "run `cargo xtask` in a folder of the repository";
        root.map(|root| Self { root: root.to_owned() })
            .ok_or_else(|| Failure::new(&format!("`{}` is in no folder with the file `.ci/run`", here.display()), help))
    }

    /// Cargo, with the settings by which `.ci/run` builds.
    pub fn cargo(&self, arguments: &[&str]) -> Command {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.current_dir(&self.root).args(arguments).envs(SETTINGS);
        cargo
    }

    pub fn git(&self, arguments: &[&str]) -> Command {
        let mut git = Command::new("git");
        git.current_dir(&self.root).args(arguments);
        git
    }

    pub fn read(&self, path: &Path) -> Result<String, Failure> {
        let path = self.root.join(path);
        fs::read_to_string(&path).map_err(|error| of_file(&path, &error))
    }

    /// Writes a file, and says so.
    pub fn write(&self, path: &Path, text: &str) -> Result<(), Failure> {
        let full = self.root.join(path);
        let folder = full.parent().unwrap_or(&self.root);
        fs::create_dir_all(folder).and_then(|()| fs::write(&full, text)).map_err(|error| of_file(&full, &error))?;
        println!("wrote {}", path.display());
        Ok(())
    }
}

fn of_file(path: &Path, error: &io::Error) -> Failure {
    Failure::new(&format!("`{}`: {error}", path.display()), "`git status` shows whether the repository is whole")
}

/// Runs a command before the user's eyes, and says how long it took.
pub fn show(command: &mut Command) -> Result<(), Failure> {
    let line = line(command);
    println!("$ {line}");
    let began = Instant::now();
    let status = command.status().map_err(|error| not_started(&line, &error))?;
    println!("  {:.1} s", began.elapsed().as_secs_f64());
    if status.success() { Ok(()) } else { Err(failed(&line)) }
}

/// Runs a command and returns what it prints; its messages are shown.
pub fn output(command: &mut Command) -> Result<String, Failure> {
    let line = line(command);
    let output = command.stderr(Stdio::inherit()).output().map_err(|error| not_started(&line, &error))?;
    if output.status.success() { Ok(String::from_utf8_lossy(&output.stdout).into_owned()) } else { Err(failed(&line)) }
}

fn line(command: &Command) -> String {
    let words = [command.get_program()].into_iter().chain(command.get_args());
    let name = |word: &std::ffi::OsStr| {
        let path = Path::new(word);
        // The whole path of cargo or of a test program says nothing.
        let is_program = path.is_absolute() && word == command.get_program();
        if is_program { path.file_name().unwrap_or(word) } else { word }.to_string_lossy().into_owned()
    };
    words.map(name).collect::<Vec<_>>().join(" ")
}

fn not_started(line: &str, error: &io::Error) -> Failure {
    Failure::new(&format!("`{line}` cannot be started: {error}"), "install it, or put it on the path")
}

fn failed(line: &str) -> Failure {
    Failure::new(&format!("`{line}` failed"), "its messages are above")
}
