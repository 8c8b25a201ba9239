//! Golden tests of the command line: its output and status, in a file for each case.
//!
//! `RELAIS_BLESS=1` writes the current output.

use crate::{
    cargo_built::workspace,
    cli::{no_home, quick_folder},
};
use std::{
    collections::BTreeMap,
    env, fs,
    os::unix::{
        fs::{MetadataExt, PermissionsExt},
        process::{CommandExt, ExitStatusExt},
    },
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// The contents of `out.onnx` before a run that must leave it alone.
const PRECIOUS: &[u8] = b"the work of last week";

/// A folder with files in which the program runs.
pub struct Workshop {
    folder: tempfile::TempDir,
    /// The parts of the output that differ between machines, and their replacements in golden files.
    normal: Vec<(String, String)>,
}

/// The output of the program.
#[derive(Debug, Clone)]
pub struct Transcript {
    /// How it ended.
    pub status: String,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Transcript {
    /// The text of a golden file.
    pub fn golden(&self) -> String {
        let mut text = format!("{}\n", self.status);
        for (name, said) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !said.is_empty() {
                text.push_str(&format!("--- {name}\n{said}"));
            }
        }
        text
    }
}

impl Workshop {
    /// An empty folder that is removed when this value is dropped.
    ///
    /// # Panics
    /// Panics if it cannot be made.
    pub fn new() -> Self {
        let folder = quick_folder();
        let path = folder.path().canonicalize().expect("it is there").display().to_string();
        let beside = workspace().relais.parent().expect("the program is in a folder").display().to_string();
        let normal = vec![(path, "<HERE>".to_owned()), (beside, "<BIN>".to_owned())];
        Self { folder, normal }
    }

    /// The path of a file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file.
    ///
    /// # Panics
    /// Panics if that fails.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).expect("the folder can be written");
        path
    }

    /// Runs the program in the folder.
    ///
    /// # Panics
    /// Panics if it cannot be started.
    pub fn run(&self, arguments: &[&str]) -> Transcript {
        self.said(self.program(arguments).output().expect("the program can be started"))
    }

    /// As [`fails`](Self::fails), as a user who may not read everything: root runs it as the user `nobody`.
    ///
    /// # Errors
    /// Returns the reason why this is not possible here.
    ///
    /// # Panics
    /// Panics if the command does something that it must not do.
    pub fn fails_unprivileged(&self, arguments: &[&str]) -> Result<Transcript, String> {
        const NOBODY: u32 = 65_534;
        let owner = self.folder.path().metadata().map_err(|error| error.to_string())?.uid();
        if owner != 0 {
            return Ok(self.fails(arguments));
        }
        let everybody = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.folder.path(), everybody).map_err(|error| error.to_string())?;
        let before = self.files();
        let mut program = self.program(arguments);
        let output = program.uid(NOBODY).gid(NOBODY).output();
        let output = output.map_err(|error| format!("the program cannot be started as another user: {error}"))?;
        let said = self.said(output);
        assert_ne!(said.status, "status 0", "{arguments:?}: {}", said.golden());
        assert_eq!(self.files(), before, "{arguments:?} changed files");
        Ok(said)
    }

    fn program(&self, arguments: &[&str]) -> Command {
        let mut program = Command::new(&workspace().relais);
        program.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        for name in ["RELAIS_LOG", "RELAIS_PLUGIN_PATH", "RUST_BACKTRACE", "RUST_LOG", "NO_COLOR", "CLICOLOR_FORCE"] {
            program.env_remove(name);
        }
        program.env("RELAIS_HOME", no_home());
        program
    }

    fn said(&self, output: Output) -> Transcript {
        let status = match (output.status.code(), output.status.signal()) {
            (Some(code), _) => format!("status {code}"),
            (None, signal) => format!("signal {}", signal.unwrap_or(0)),
        };
        let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| self.normalise(&bytes));
        Transcript { status, stdout, stderr }
    }

    fn normalise(&self, bytes: &[u8]) -> String {
        let mut text = String::from_utf8_lossy(bytes).into_owned();
        for (from, to) in &self.normal {
            text = text.replace(from, to);
        }
        text
    }

    /// Runs a command that must fail, and must neither make `out.onnx` nor change an existing one, nor change or leave
    /// any other file.
    ///
    /// # Panics
    /// Panics if it does.
    pub fn fails(&self, arguments: &[&str]) -> Transcript {
        self.fails_with(&[], arguments)
    }

    /// The same in an environment with these variables.
    ///
    /// # Panics
    /// As [`fails`](Self::fails).
    pub fn fails_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Transcript {
        let run = || {
            let mut program = self.program(arguments);
            self.said(program.envs(variables.iter().copied()).output().expect("the program can be started"))
        };
        let before = self.files();
        let said = run();
        assert_ne!(said.status, "status 0", "{arguments:?}: {}", said.golden());
        assert_ne!(said.status, "status 101", "{arguments:?}: {}", said.golden());
        assert_eq!(self.files(), before, "{arguments:?} changed files");
        self.write("out.onnx", PRECIOUS);
        let again = run();
        assert_eq!(fs::read(self.path("out.onnx")).expect("it was written"), PRECIOUS, "{arguments:?}");
        assert_eq!(again.status, said.status, "{arguments:?} with an output that is there");
        fs::remove_file(self.path("out.onnx")).expect("it was written");
        assert_eq!(self.files(), before, "{arguments:?} changed files");
        said
    }

    /// The names of all files, folders and links, and the bytes of files.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("it can be read") {
                let path = entry.expect("it can be read").path();
                let kind = path.symlink_metadata().expect("it is there").file_type();
                if kind.is_dir() {
                    folders.push(path.clone());
                }
                let bytes = if kind.is_file() { fs::read(&path).unwrap_or_default() } else { Vec::new() };
                files.insert(path, bytes);
            }
        }
        files
    }
}

impl Default for Workshop {
    fn default() -> Self {
        Self::new()
    }
}

/// The golden files of one topic that differ from the current output.
pub struct Golden {
    folder: PathBuf,
    seen: Vec<String>,
    wrong: Vec<String>,
}

impl Golden {
    /// The files in `golden/<topic>`.
    pub fn new(topic: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(topic);
        Self { folder, seen: Vec::new(), wrong: Vec::new() }
    }

    /// Compares with the file of a case, or writes it.
    ///
    /// # Panics
    /// Panics if two cases have one name, or the file cannot be written.
    pub fn check(&mut self, case: &str, text: &str) {
        assert!(!self.seen.iter().any(|seen| seen == case), "`{case}` is there twice");
        self.seen.push(case.to_owned());
        let path = self.folder.join(format!("{case}.txt"));
        let expected = fs::read_to_string(&path).unwrap_or_default();
        if expected == text {
            return;
        }
        if env::var_os("RELAIS_BLESS").is_some() {
            fs::create_dir_all(&self.folder).expect("the folder can be made");
            fs::write(&path, text).expect("the file can be written");
            return;
        }
        let diff = similar::TextDiff::from_lines(expected.as_str(), text);
        self.wrong.push(format!("{}\n{}", path.display(), diff.unified_diff().header("expected", "said")));
    }

    /// Leaves out a case that is not possible here.
    pub fn leave_out(&mut self, case: &str) {
        self.seen.push(case.to_owned());
    }

    /// Ends the comparison.
    ///
    /// # Panics
    /// Panics if something differed, or a golden file has no case.
    pub fn finish(mut self) {
        for entry in fs::read_dir(&self.folder).expect("there are golden files") {
            let path = entry.expect("it can be read").path();
            let case = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if self.seen.contains(&case) {
                continue;
            }
            match env::var_os("RELAIS_BLESS") {
                Some(_) => fs::remove_file(&path).expect("it can be removed"),
                None => self.wrong.push(format!("{}: no such case", path.display())),
            }
        }
        assert!(self.wrong.is_empty(), "{}\nbless with RELAIS_BLESS=1 when this is right", self.wrong.join("\n"));
    }
}
