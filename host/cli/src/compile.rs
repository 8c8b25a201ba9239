//! Compiling the C of a build.

use super::terminal::CliError;
use relais::{
    files::{Existing, NewFolder, write as write_file},
    manager::free_folder,
};
use relais_conformance::program;
use std::{collections::BTreeMap, env, fs, io, path::Path};

/// The arguments for the C compiler: C99 without changes to the results, and fast.
const FLAGS: &[&str] = &["-std=c99", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"];

/// A library that is compiled from the source.
pub(crate) struct Library {
    /// Its file.
    pub file: String,
    /// Whether it is a static one.
    pub is_static: bool,
}

impl Library {
    /// Compiles it in a folder of its own, beside the output; returns it. The folder stays if that fails, so that what the
    /// compiler says can be looked up there.
    pub fn compile(&self, files: &BTreeMap<String, Vec<u8>>, output: &Path) -> Result<Vec<u8>, CliError> {
        let cc = Tool::of("CC", "C compiler", "cc", "set `CC` to a compiler of C99, or compile the source yourself");
        let failed = |error: io::Error| cc.failed(&format!("has no folder to work in: {error}"));
        let failures = free_folder(output, "failed").ok_or_else(|| {
            CliError::new(format!("there are a hundred failed builds beside `{}` already", output.display()))
                .help("remove some")
        })?;
        let folder = NewFolder::new(&failures).map_err(failed)?;
        for (name, bytes) in files {
            write_file(&folder.path().join(name), Existing::Keep, bytes)
                .map_err(|error| cc.failed(&format!("gets no source: {}", error.of("source"))))?;
        }
        match self.run(&cc, folder.path(), &output.file_name().unwrap_or_default().to_string_lossy()) {
            Ok(library) => Ok(library),
            Err(error) => {
                folder.commit().map_err(failed)?;
                Err(error.line(format_args!("nothing was replaced; the source is in `{}`", failures.display())))
            }
        }
    }

    fn run(&self, cc: &Tool, folder: &Path, source: &str) -> Result<Vec<u8>, CliError> {
        let Self { file, is_static } = self;
        if *is_static {
            cc.run(folder, &[FLAGS, &["-c", "-o", "model.o", source]].concat())?;
            let ar = Tool::of("AR", "archiver", "ar", "set `AR` to an archiver, or compile the source yourself");
            ar.run(folder, &["rcs", file, "model.o"])?;
        } else {
            cc.run(folder, &[FLAGS, &["-fPIC", "-shared", "-o", file, source, "-lm"]].concat())?;
        }
        fs::read(folder.join(file)).map_err(|error| cc.failed(&format!("made no library: {error}")))
    }
}

/// A program that a variable of the environment names, with arguments, as `make` takes it.
struct Tool {
    words: String,
    kind: &'static str,
    help: &'static str,
}

impl Tool {
    fn of(variable: &str, kind: &'static str, default: &str, help: &'static str) -> Self {
        let words = env::var(variable).ok().filter(|words| !words.trim().is_empty());
        Self { words: words.unwrap_or_else(|| default.to_owned()), kind, help }
    }

    fn failed(&self, why: &str) -> CliError {
        let Self { words, kind, help } = self;
        CliError::new(format!("the {kind} `{words}` {why}")).help(help)
    }

    fn run(&self, folder: &Path, args: &[&str]) -> Result<(), CliError> {
        let mut words = self.words.split_whitespace();
        let started = program::command(Path::new(words.next().unwrap_or_default()))
            .and_then(|mut tool| tool.current_dir(folder).args(words).args(args).output());
        let output = started.map_err(|error| self.failed(&format!("cannot be started: {error}")))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(self.failed(&format!("failed: {}\n{}", output.status, said.trim_end())));
        }
        Ok(())
    }
}
