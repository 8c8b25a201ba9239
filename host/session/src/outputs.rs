//! The outputs of a request, checked before anything is done: no file that it names is lost.

use crate::{error::Error, model::NotWritten};
use relais::{
    files::{Destination, Existing, WriteTarget, is_same_file},
    pipeline::spec::{RunSpec, SpecValue},
};
use std::path::Path;

/// The files that are written; no two have the same path.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    all: Vec<(&'static str, Destination)>,
}

impl Outputs {
    /// Adds a file, in a word and as it was named.
    ///
    /// # Errors
    /// Returns an error if it cannot be written, or is one of the others.
    pub fn add(&mut self, what: &'static str, path: &Path, existing: Existing) -> Result<Destination, NotWritten> {
        let new = Destination::of_argument(path, existing).map_err(|error| NotWritten::File(what, error))?;
        let rival = self.all.iter().find(|(_, other)| match (new.place(), other.place()) {
            (WriteTarget::File(a), WriteTarget::File(b)) => is_same_file(a, b),
            (WriteTarget::StandardOutput, WriteTarget::StandardOutput) => true,
            _ => false,
        });
        if let Some((other, _)) = rival {
            let message = format!("{what} and {other} are one: `{}`", path.display());
            return Err(Error::new(message).with_help("name another file for one of the two").into());
        }
        self.all.push((what, new.clone()));
        Ok(new)
    }

    /// Adds the files that a pipeline names for the output of its instruments.
    ///
    /// # Errors
    /// As for [`add`](Self::add).
    pub fn add_instruments(&mut self, run: &RunSpec) -> Result<(), NotWritten> {
        for instrument in run.instruments.iter().filter(|instrument| instrument.name.value == "trace") {
            let file = instrument.options.iter().find(|option| option.key.value == "file");
            if let Some(SpecValue::Str(file)) = file.map(|option| &option.value.value) {
                self.add("the trace", Path::new(file), Existing::Keep)?;
            }
        }
        Ok(())
    }

    /// Refuses to replace what is read.
    ///
    /// # Errors
    /// Returns an error if one of the outputs is one of these files.
    pub fn spare<'a>(&self, what: &str, inputs: impl IntoIterator<Item = &'a Path>) -> Result<(), NotWritten> {
        for input in inputs {
            if let Some((output, _)) = self.all.iter().find(|(_, output)| output.is_file(input)) {
                let message = format!("{output} would replace {what} `{}`", input.display());
                return Err(Error::new(message).with_help("name another file").into());
            }
        }
        Ok(())
    }
}
