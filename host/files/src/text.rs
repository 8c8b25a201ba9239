//! The text form of a module, and the side file of its large constants.

use super::{Destination, FileError, FileSet};
use relais_plugin_api::{
    ir::IRModule,
    text::{self, Large, PrintOptions, SideFile, side_path},
};
use std::{
    io::{self, BufWriter, Write},
    path::PathBuf,
};

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
        let side = Destination::new(&side, destination.existing())?;
        files.add(&side)?;
        if let Some(draft) = files.path() {
            SideFile::write(&tensors, draft).map_err(|error| side.error(io::Error::other(error)))?;
        }
    }
    let mut out = BufWriter::new(files.add(destination)?);
    out.write_all(&bytes).and_then(|()| out.flush()).map_err(|error| destination.error(error))?;
    drop(out);
    files.commit()?;
    Ok((!tensors.is_empty()).then_some(side))
}
