//! The text form of a module, and the side file of its large constants.

use super::{Destination, FileError, FileSet, Why, mapped::map_file, open_side_file, side_file, side_path};
use relais_plugin_api::{
    ir::{Blob, IRModule, Tensor, equal},
    text::{self, Large, PrintOptions, SideFile, TextError, Types},
};
use std::{
    fmt, fs,
    io::{self, Write},
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

/// The results of writing.
#[derive(Debug, Default)]
pub struct TextWritten {
    /// The side file, if there is one.
    pub side_file: Option<PathBuf>,
    /// The bytes that went into a pipe or a device, from which they cannot be read again.
    pub sent: Option<Blob>,
}

/// Writes a module in the text form, and its large constants to the file beside it, if there are any; into a pipe or a
/// device, with the constants in the text. Before anything is put in place or sent, what was written is read back and
/// compared with the module, unless `options` leave something out. The two files are replaced one after another, the text
/// last.
///
/// # Errors
/// Returns an error if a file cannot be written, or is not what was meant.
pub fn write_text_form(
    module: &IRModule,
    destination: &Destination,
    options: &PrintOptions,
) -> Result<TextWritten, FileError> {
    write_through(module, destination, options, &|_| ())
}

/// Writes a module; `written` is called with each file that is complete except for its place, before it is read back.
pub(crate) fn write_through(
    module: &IRModule,
    destination: &Destination,
    options: &PrintOptions,
    written: &dyn Fn(&Path),
) -> Result<TextWritten, FileError> {
    let failed = |error| destination.error(error);
    let path = destination.file();
    let options = PrintOptions { large: path.map_or(Large::Hex, |_| Large::SideFile), ..options.clone() };
    let read_back = |bytes: &[u8], side: Option<&Blob>| match options.types {
        Types::All => is_same(module, bytes, side)
            .map_err(|difference| FileError::new(destination.named(), Why::ReadBack(difference))),
        Types::Signatures => Ok(()),
    };
    // The text determines which constants there are, and comes after them.
    let mut bytes = Vec::new();
    let tensors = text::print_io(module, &options, &mut bytes).map_err(failed)?;
    let Some(path) = path else {
        read_back(&bytes, None)?;
        destination.write(|out| out.write_all(&bytes))?;
        return Ok(TextWritten { side_file: None, sent: Some(bytes.into()) });
    };
    let mut files = FileSet::new();
    let draft = |files: &FileSet| {
        let draft = files.path().expect("a file was added");
        written(draft);
        map_file(draft).map_err(failed)
    };
    let side = side_path(path);
    let mut side_bytes = None;
    if !tensors.is_empty() {
        files.add_side_file(&Destination::new(&side, destination.existing())?, &tensors)?;
        side_bytes = Some(draft(&files)?);
    }
    files.add(destination)?.write_all(&bytes).map_err(failed)?;
    read_back(&draft(&files)?, side_bytes.as_ref())?;
    // Some systems rename no file that is mapped.
    drop(side_bytes);
    files.commit()?;
    Ok(TextWritten { side_file: (!tensors.is_empty()).then_some(side), sent: None })
}

/// Whether a text and its side file are a module, as any reader takes them.
fn is_same(module: &IRModule, bytes: &[u8], side: Option<&Blob>) -> Result<(), String> {
    let unreadable = |why: String| format!("it cannot be read: {why}");
    let text = std::str::from_utf8(bytes).map_err(|error| unreadable(error.to_string()))?;
    let side_file = side.map_or_else(|| Ok(SideFile::default()), side_file::parse);
    let side_file = side_file.map_err(|error| unreadable(error.to_string()))?;
    let read = text::parse("output", text, &side_file)
        .map_err(|faults| unreadable(faults.first().map(ToString::to_string).unwrap_or_default()))?;
    equal(module, &read).map_err(|difference| difference.to_string())
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
