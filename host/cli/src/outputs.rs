//! The outputs of a run, checked before it begins: no file that the command line names is lost.

use super::{args::PipelineArgs, terminal::CliError};
use relais::{
    files::{Destination, Existing, FileError, Place, is_same_file},
    pipeline::spec::{Literal, RunSpec},
};
use std::path::{Path, PathBuf};

/// The files that a run writes; no two have the same path.
#[derive(Default)]
pub(crate) struct Outputs {
    all: Vec<(&'static str, Destination)>,
}

impl Outputs {
    /// Adds a file, in a word and as it was named.
    pub fn add(&mut self, what: &'static str, path: &Path, existing: Existing) -> Result<Destination, CliError> {
        let new = Destination::of_argument(path, existing).map_err(|error| failed(what, &error))?;
        let rival = self.all.iter().find(|(_, other)| match (new.place(), other.place()) {
            (Place::File(a), Place::File(b)) => is_same_file(a, b),
            (Place::StandardOutput, Place::StandardOutput) => true,
            _ => false,
        });
        if let Some((other, _)) = rival {
            let message = format!("{what} and {other} are one: `{}`", path.display());
            return Err(CliError::new(message).help("name another file for one of the two"));
        }
        self.all.push((what, new.clone()));
        Ok(new)
    }

    /// Adds the files that a pipeline names for the output of its instruments.
    pub fn add_instruments(&mut self, run: &RunSpec) -> Result<(), CliError> {
        for instrument in run.instruments.iter().filter(|instrument| instrument.name.value == "trace") {
            let file = instrument.options.iter().find(|option| option.key.value == "file");
            if let Some(Literal::Str(file)) = file.map(|option| &option.value.value) {
                self.add("the trace", Path::new(file), Existing::Keep)?;
            }
        }
        Ok(())
    }

    /// Refuses to replace the inputs of the run.
    pub fn spare<'a>(&self, what: &str, inputs: impl IntoIterator<Item = &'a PathBuf>) -> Result<(), CliError> {
        for input in inputs {
            if let Some((output, _)) = self.all.iter().find(|(_, output)| output.is_file(input)) {
                let message = format!("{output} would replace {what} `{}`", input.display());
                return Err(CliError::new(message).help("name another file"));
            }
        }
        Ok(())
    }

    /// Refuses to replace what a pipeline is read from.
    pub fn spare_pipeline(&self, args: &PipelineArgs) -> Result<(), CliError> {
        self.spare("the pipeline", args.pipeline.as_ref().map(PathBuf::from).iter())?;
        self.spare("the rules", &args.rules)
    }

    /// Whether something is written to standard output.
    pub fn take_standard_output(&self) -> bool {
        self.all.iter().any(|(_, output)| *output.place() == Place::StandardOutput)
    }
}

/// Why a file cannot be written, with a word for its purpose.
pub(crate) fn failed(what: &str, error: &FileError) -> CliError {
    CliError::new(error.of(what)).help(error.help())
}
