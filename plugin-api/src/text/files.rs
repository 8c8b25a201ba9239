//! A text and its side file.

use super::{SideFile, SideFileError, TextError, parse};
use crate::ir::{Blob, IRModule};
use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
};

/// Why a text and its side file cannot be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum FileError {
    /// A file cannot be read.
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The side file is at fault.
    SideFile {
        /// The file.
        path: PathBuf,
        /// The error.
        error: SideFileError,
    },
    /// The text is at fault.
    Text(Vec<TextError>),
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, error } => write!(f, "`{}`: {error}", path.display()),
            Self::SideFile { path, error } => write!(f, "`{}`: {error}", path.display()),
            Self::Text(errors) => {
                for (at, error) in errors.iter().enumerate() {
                    write!(f, "{}{error}", if at > 0 { "\n" } else { "" })?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for FileError {}

/// The side file that belongs to a text.
pub fn side_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".safetensors");
    name.into()
}

/// Reads a module from `path`. `open` returns the bytes of the side file, mapped or read; it is called if the text has
/// one beside it.
///
/// # Errors
/// Returns an error if a file cannot be read or is at fault.
pub fn read_files(path: &Path, open: impl FnOnce(&Path) -> io::Result<Blob>) -> Result<IRModule, FileError> {
    let text = fs::read_to_string(path).map_err(|error| FileError::Io { path: path.to_owned(), error })?;
    let side = side_path(path);
    let side_file = if side.exists() {
        let bytes = open(&side).map_err(|error| FileError::Io { path: side.clone(), error })?;
        SideFile::open(&bytes).map_err(|error| FileError::SideFile { path: side, error })?
    } else {
        SideFile::default()
    };
    parse(&path.to_string_lossy(), &text, &side_file).map_err(FileError::Text)
}
