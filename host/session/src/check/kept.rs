//! Outputs that failed a check.

use super::CheckFailed;
use crate::npz;
use relais::{
    files::{Destination, Existing, NewFolder},
    ir::Tensor,
    manager::free_folder,
};
use std::path::{Path, PathBuf};

impl CheckFailed {
    /// Keeps the output, which differs, with the inputs for which it does, in a new folder beside its place. Adds to the error
    /// where that is, or that nothing is kept.
    pub fn keep(self, output: Option<&Path>, write: impl FnOnce(&Destination) -> Result<(), String>) -> Self {
        let place = output.and_then(|output| Some((output, output.file_name()?)));
        let (Some((output, name)), Some(inputs)) = (place, &self.inputs) else { return self.discard() };
        let made = || -> Result<PathBuf, String> {
            let folder = free_folder(output, "failed").ok_or("there are a hundred already: remove some")?;
            let new = NewFolder::new(&folder).map_err(|error| error.to_string())?;
            let to = Destination::new(&new.path().join(name), Existing::Keep).map_err(|error| error.of("output"))?;
            write(&to)?;
            let arrays: Vec<(&str, &Tensor)> = inputs.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
            npz::write(&new.path().join("inputs.npz"), &arrays)?;
            new.commit().map_err(|error| error.to_string())?;
            Ok(folder)
        };
        let shown = output.display();
        let line = match made() {
            Ok(folder) => {
                let folder = folder.display();
                format!("`{shown}` was not written; what failed is in `{folder}`, with the inputs")
            }
            Err(why) => format!("`{shown}` was not written; what failed is not kept: {why}"),
        };
        Self { error: self.error.with_line(line), ..self }
    }

    /// Adds to the error that nothing is kept.
    pub fn discard(self) -> Self {
        Self { error: self.error.with_line("nothing was written"), ..self }
    }
}
