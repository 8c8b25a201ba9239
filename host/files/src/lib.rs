//! Writing files: every file of the host is written through this module.
//!
//! - A file appears whole or not at all: it is written under another name in its folder, synced, and renamed. That name
//!   is unpredictable, and an existing file of that name is neither opened nor followed.
//! - A file that is replaced keeps its mode and its owner. One that may not be written is not replaced. Through a link,
//!   the file that it leads to is written.
//! - Pipes and character devices are never replaced: they are written into.
//! - A process that writes a file holds a lock on it. Files left by a killed process have no lock, and are removed by
//!   the next run that writes into the folder. Unlike process ids, locks are not reused by another process.
//! - Files that belong together, as a model and its weights, appear under one lock of this process: an interrupt comes
//!   before all of them or after.
//!
//! # Modules
//!
//! Each uses only those listed before it; one that is not listed is used by no other.
//!
//! 1. `standard_output`: standard output, which results may have for themselves
//! 2. `place`: the destination of a file, and whether it may be written
//! 3. `sweep`: files left behind by killed processes
//! 4. `draft`: files under another name, on their way to their own
//! 5. `leave`: the end of the process, at once
//! 6. `mapped`: files as immutable bytes: small ones are read, large ones mapped into memory
//! 7. `side_file`: the side file of a text: large constants, in the safetensors format
//! 8. `text`: the text form of a module, and the side file of its large constants

mod draft;
mod leave;
pub mod mapped;
mod place;
mod side_file;
mod standard_output;
mod sweep;
mod text;

pub use draft::{FileSet, NewFolder, abandon};
pub use leave::leave;
pub use place::{Destination, FileError, Why, WriteTarget, is_same_file};
pub use side_file::{SideFileError, open_side_file, side_path};
pub use standard_output::reserve_standard_output;
pub use sweep::sweep;
pub use text::{TextFormError, TextWritten, read_text_form, write_text_form};

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    path::Path,
};

/// The treatment of an existing file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Existing {
    /// It is replaced by the whole result.
    Replace,
    /// It stays, and nothing is written.
    Keep,
}

/// Writes a whole file, or into a pipe or device.
///
/// # Errors
/// Returns an error if it cannot be written. The existing file then stays.
pub fn write(path: &Path, existing: Existing, bytes: &[u8]) -> Result<(), FileError> {
    Destination::new(path, existing)?.write(|out| out.write_all(bytes))
}

/// Makes a file that grows line by line while the program runs. It must not exist yet.
///
/// # Errors
/// Returns an error if it is there, or cannot be made.
pub fn new_log(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create_new(true).open(path)
}

impl Destination {
    /// Writes the output of `fill`: a whole file, or into a pipe, a device or standard output.
    ///
    /// # Errors
    /// Returns an error if it cannot be written. The existing file then stays.
    pub fn write(&self, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), FileError> {
        let into = |out: &mut dyn Write| fill(out).and_then(|()| out.flush());
        let written = match self.place() {
            WriteTarget::File(_) => {
                let mut set = FileSet::new();
                let mut out = io::BufWriter::new(set.add(self)?);
                into(&mut out).map_err(|error| self.error(error))?;
                drop(out);
                return set.commit();
            }
            WriteTarget::StandardOutput => standard_output::write(into),
            WriteTarget::Stream(path) => {
                OpenOptions::new().write(true).open(path).and_then(|out| into(&mut io::BufWriter::new(out)))
            }
        };
        written.map_err(|error| self.error(error))
    }
}

#[cfg(all(test, unix))]
mod tests;
