//! The text form of a module, and the side file of its large constants.

use super::{Destination, FileError, FileSet};
use relais_plugin_api::{
    ir::{IRModule, Tensor},
    text::{self, Large, PrintOptions, SideFile, side_path},
};
use std::{
    io::{self, BufWriter, Write},
    path::PathBuf,
};

impl FileSet {
    /// Adds the file of the large constants of a text.
    ///
    /// # Errors
    /// As [`add`](Self::add), or if it cannot be written.
    pub fn add_side_file(&mut self, destination: &Destination, tensors: &[(String, Tensor)]) -> Result<(), FileError> {
        let failed = |error| destination.error(io::Error::other(error));
        // On Windows a file that is locked can be written only by the handle that has the lock.
        if cfg!(windows) {
            let bytes = SideFile::to_bytes(tensors).map_err(failed)?;
            return self.add(destination)?.write_all(&bytes).map_err(|error| destination.error(error));
        }
        self.add(destination)?;
        self.path().map_or(Ok(()), |draft| SideFile::write(tensors, draft).map_err(failed))
    }
}

/// Writes a module in the text form, and its large constants to the file beside it, if there are any; into a pipe or a
/// device, with the constants in the text. The two files are replaced one after another, the text last. Returns the
/// side file.
///
/// # Errors
/// Returns an error if a file cannot be written.
pub fn write_text_form(
    module: &IRModule,
    destination: &Destination,
    options: &PrintOptions,
) -> Result<Option<PathBuf>, FileError> {
    let Some(path) = destination.file() else {
        let options = PrintOptions { large: Large::Hex, ..options.clone() };
        destination.write(|mut out| text::print_io(module, &options, &mut out).map(drop))?;
        return Ok(None);
    };
    let options = PrintOptions { large: Large::SideFile, ..options.clone() };
    let mut files = FileSet::new();
    let side = side_path(path);
    // The text determines which constants there are, and comes after them.
    let mut bytes = Vec::new();
    let tensors = text::print_io(module, &options, &mut bytes).map_err(|error| destination.error(error))?;
    if !tensors.is_empty() {
        files.add_side_file(&Destination::new(&side, destination.existing())?, &tensors)?;
    }
    let mut out = BufWriter::new(files.add(destination)?);
    out.write_all(&bytes).and_then(|()| out.flush()).map_err(|error| destination.error(error))?;
    drop(out);
    files.commit()?;
    Ok((!tensors.is_empty()).then_some(side))
}
