//! The text form of a module, and the side file of its large constants.

use super::{Destination, FileError, FileSet, open_side_file, side_file, side_path};
use relais_plugin_api::{
    ir::{IRModule, Tensor},
    text::{self, Large, PrintOptions, TextError},
};
use std::{
    fmt, fs,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
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
            let bytes = side_file::to_bytes(tensors).map_err(failed)?;
            return self.add(destination)?.write_all(&bytes).map_err(|error| destination.error(error));
        }
        self.add(destination)?;
        self.path().map_or(Ok(()), |draft| side_file::write(tensors, draft).map_err(failed))
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

/// Why a text and its side file cannot be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum TextFormError {
    /// A file cannot be read.
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error, or why it is not a side file.
        error: io::Error,
    },
    /// The text is at fault.
    Text(Vec<TextError>),
}

impl fmt::Display for TextFormError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, error } => write!(f, "`{}`: {error}", path.display()),
            Self::Text(errors) => {
                let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
                f.write_str(&errors.join("\n"))
            }
        }
    }
}

impl std::error::Error for TextFormError {}

/// Reads a module in the text form, with the large constants of the file beside it, if there is one.
///
/// # Errors
/// Returns an error if a file cannot be read or is at fault.
pub fn read_text_form(path: &Path) -> Result<IRModule, TextFormError> {
    let failed = |path: PathBuf| move |error| TextFormError::Io { path, error };
    let text = fs::read_to_string(path).map_err(failed(path.to_owned()))?;
    let side_file = open_side_file(path).map_err(failed(side_path(path)))?;
    text::parse(&path.to_string_lossy(), &text, &side_file).map_err(TextFormError::Text)
}
