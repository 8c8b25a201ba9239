//! A text and its side file.

use super::{Large, PrintOptions, SideFile, SideFileError, TextError, parse, print_io};
use crate::ir::{Blob, IRModule};
use std::{
    fmt, fs, io,
    io::Write,
    path::{Path, PathBuf},
};

/// Why a text and its side file cannot be read or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum FileError {
    /// A file cannot be read or written.
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The side file is at fault.
    SideFile {
        /// The file.
        path: PathBuf,
        /// What is wrong.
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
    with_suffix(path, ".safetensors")
}

/// Writes a module to `path`, and its large constants to the file beside it, if there are any. Each file appears whole
/// under its name, the text last.
///
/// # Errors
/// When a file cannot be written.
pub fn write_files(module: &IRModule, path: &Path, options: &PrintOptions) -> Result<(), FileError> {
    let options = PrintOptions { large: Large::SideFile, ..options.clone() };
    let text = Temporary::beside(path);
    let mut file = fs::File::create(&text.path).map(io::BufWriter::new).map_err(|error| text.io(error))?;
    let tensors = print_io(module, &options, &mut file).map_err(|error| text.io(error))?;
    file.flush().map_err(|error| text.io(error))?;
    drop(file);
    if !tensors.is_empty() {
        let side = Temporary::beside(&side_path(path));
        let written = SideFile::write(&tensors, &side.path);
        written.map_err(|error| FileError::SideFile { path: side.path.clone(), error })?;
        side.keep()?;
    }
    text.keep()
}

/// Reads a module from `path`. `open` gives the bytes of the side file, mapped or read; it is called when the text has
/// one beside it.
///
/// # Errors
/// When a file cannot be read or is at fault.
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

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// A file that is written under another name first, and goes when it is not kept.
struct Temporary {
    path: PathBuf,
    target: PathBuf,
}

impl Temporary {
    fn beside(target: &Path) -> Self {
        Self { path: with_suffix(target, &format!(".{}.tmp", std::process::id())), target: target.to_owned() }
    }

    fn io(&self, error: io::Error) -> FileError {
        FileError::Io { path: self.target.clone(), error }
    }

    fn keep(self) -> Result<(), FileError> {
        fs::rename(&self.path, &self.target).map_err(|error| self.io(error))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Behind `keep` there is nothing to remove.
        let _ = fs::remove_file(&self.path);
    }
}
