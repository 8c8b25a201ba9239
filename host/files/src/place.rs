//! The destination of a file, and whether it may be written.

use super::{Existing, standard_output};
use std::{
    ffi::OsStr,
    fmt,
    fs::{self, FileType, OpenOptions},
    io,
    path::{Path, PathBuf},
};

/// As many links as systems follow.
const MAX_LINKS: usize = 40;

/// Where something is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WriteTarget {
    /// A regular file, or none yet, links followed.
    File(PathBuf),
    /// A pipe or a character device.
    Stream(PathBuf),
    /// Standard output.
    StandardOutput,
}

/// Where something is written, looked at before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Destination {
    named: PathBuf,
    place: WriteTarget,
    existing: Existing,
}

/// Why a file cannot be written.
#[derive(Debug)]
pub struct FileError {
    /// The file, as it was named.
    pub path: PathBuf,
    /// Why.
    pub why: Why,
}

/// Why a file cannot be written.
#[derive(Debug)]
#[non_exhaustive]
pub enum Why {
    /// It is a folder.
    Folder,
    /// Its folder does not exist.
    NoFolder(PathBuf),
    /// It is there, and is not to be replaced.
    Exists,
    /// It may not be written.
    ReadOnly,
    /// A new file cannot be given its owner or its group.
    Owner,
    /// It is an object that files do not replace and that is never written into.
    Special(&'static str),
    /// It would not be what was meant: a fault of this program.
    ReadBack(String),
    /// An error of the system.
    Io(io::Error),
}

impl FileError {
    pub(super) fn new(path: &Path, why: Why) -> Self {
        Self { path: path.to_owned(), why }
    }

    /// Returns the error, with a word for the purpose of the file.
    pub fn of(&self, what: &str) -> String {
        let path = self.path.display();
        match &self.why {
            Why::Folder => format!("{what} `{path}` is a folder"),
            Why::NoFolder(_) => format!("the folder of {what} `{path}` does not exist"),
            Why::Exists => format!("{what} `{path}` is there already"),
            Why::ReadOnly => format!("{what} `{path}` is write-protected"),
            Why::Owner => format!("{what} `{path}` belongs to somebody whom a new file cannot be given"),
            Why::Special(kind) => format!("{what} `{path}` is a {kind}"),
            Why::ReadBack(how) => {
                format!("{what} `{path}`: internal error: what was written is not the module that was meant: {how}")
            }
            Why::Io(error) => format!("{what} `{path}` cannot be written: {error}"),
        }
    }

    /// Returns a suggestion.
    pub fn help(&self) -> String {
        match &self.why {
            Why::Folder => "name a file in it".into(),
            Why::NoFolder(folder) => format!("create `{}` first", folder.display()),
            Why::Exists => "remove it, or name another file: only `-o` replaces files".into(),
            Why::ReadOnly => {
                let command = if cfg!(windows) { "attrib -r" } else { "chmod u+w" };
                format!("`{command} {}`, or name another file", self.path.display())
            }
            Why::Owner => "remove it, or name another file".into(),
            Why::Special(_) => "name a file, a pipe, or `-` for standard output".into(),
            Why::ReadBack(_) => {
                "this is a fault of Relais, not of the model; nothing was put in place. Please report it with the model"
                    .into()
            }
            Why::Io(error) if error.kind() == io::ErrorKind::StorageFull => "free some space on that disk".into(),
            Why::Io(_) => "check the path and the permissions".into(),
        }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.of("file"))
    }
}

impl std::error::Error for FileError {}

impl Destination {
    /// A path to write to: follows links, and examines an existing file.
    ///
    /// # Errors
    /// Returns an error if it cannot or may not be written, as far as this can be determined without writing.
    pub fn new(path: &Path, existing: Existing) -> Result<Self, FileError> {
        let fail = |why| FileError::new(path, why);
        let place = resolve(path).map_err(|error| fail(Why::Io(error)))?;
        let WriteTarget::File(file) = &place else { return Ok(Self { named: path.to_owned(), place, existing }) };
        let folder = folder_of(file);
        if !folder.is_dir() {
            return Err(fail(Why::NoFolder(folder_of(path).to_owned())));
        }
        let metadata = match fs::symlink_metadata(file) {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(fail(Why::Io(error))),
        };
        let place = match metadata {
            None if file.file_name().is_none() => return Err(fail(Why::Folder)),
            None => place,
            Some(metadata) if metadata.is_file() => {
                if existing == Existing::Keep {
                    return Err(fail(Why::Exists));
                }
                // The administrator may write everything; a protected file is protected anyway.
                if metadata.permissions().readonly() {
                    return Err(fail(Why::ReadOnly));
                }
                match OpenOptions::new().write(true).open(file) {
                    Ok(_) => place,
                    Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(fail(Why::ReadOnly)),
                    Err(error) => return Err(fail(Why::Io(error))),
                }
            }
            Some(metadata) if metadata.is_dir() => return Err(fail(Why::Folder)),
            Some(metadata) => match special(metadata.file_type()) {
                None => WriteTarget::Stream(file.clone()),
                Some(kind) => return Err(fail(Why::Special(kind))),
            },
        };
        Ok(Self { named: path.to_owned(), place, existing })
    }

    /// Standard output, as a command line names it.
    pub(super) fn standard_output(existing: Existing) -> Self {
        Self { named: PathBuf::from("-"), place: WriteTarget::StandardOutput, existing }
    }

    /// Where it is.
    pub fn place(&self) -> &WriteTarget {
        &self.place
    }

    /// As it was named.
    pub fn named(&self) -> &Path {
        &self.named
    }

    /// Whether an existing file is replaced.
    pub fn existing(&self) -> Existing {
        self.existing
    }

    /// The regular file that it is.
    pub fn file(&self) -> Option<&Path> {
        match &self.place {
            WriteTarget::File(file) => Some(file),
            _ => None,
        }
    }

    /// Whether it is that file, whatever the two are called.
    pub fn is_file(&self, other: &Path) -> bool {
        self.file().is_some_and(|file| is_same_file(file, other))
    }

    /// Whether it is a terminal.
    pub fn is_terminal(&self) -> bool {
        match &self.place {
            WriteTarget::File(_) => false,
            WriteTarget::StandardOutput => standard_output::is_terminal(),
            WriteTarget::Stream(path) => is_terminal(path),
        }
    }

    /// Turns the system's error into an error about it.
    pub fn error(&self, error: io::Error) -> FileError {
        FileError::new(&self.named, Why::Io(error))
    }
}

/// Whether two paths lead to one file, or would if there were one.
pub fn is_same_file(a: &Path, b: &Path) -> bool {
    let whole = |path: &Path| {
        let at_end = path.canonicalize();
        at_end.ok().or_else(|| Some(folder_of(path).canonicalize().ok()?.join(path.file_name()?)))
    };
    if whole(a).zip(whole(b)).is_some_and(|(a, b)| a == b) {
        return true;
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let id = |path: &Path| path.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()));
        id(a).is_some_and(|a| id(b) == Some(a))
    }
    #[cfg(not(unix))]
    false
}

/// Follows links to their end, which need not be there.
fn resolve(path: &Path) -> io::Result<WriteTarget> {
    #[cfg(windows)]
    if is_device(path) {
        return Ok(WriteTarget::Stream(path.to_owned()));
    }
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match path.symlink_metadata() {
            Ok(metadata) if metadata.is_symlink() => {}
            _ => return Ok(WriteTarget::File(path)),
        }
        let folder = folder_of(&path).canonicalize()?;
        // These are open files of this process: links in name only.
        if folder.starts_with("/proc") && folder.ends_with("fd") {
            let is_output = path.file_name() == Some(OsStr::new("1"));
            return Ok(if is_output { WriteTarget::StandardOutput } else { WriteTarget::Stream(path) });
        }
        path = folder.join(path.read_link()?);
    }
    Err(io::Error::other("there are too many links on the way"))
}

pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether a path is the null device or the console, which have names in every folder.
#[cfg(windows)]
fn is_device(path: &Path) -> bool {
    use std::path::{Component, Prefix};
    let Ok(whole) = std::path::absolute(path) else { return false };
    let Some(Component::Prefix(prefix)) = whole.components().next() else { return false };
    let Prefix::DeviceNS(device) = prefix.kind() else { return false };
    let is_alone = whole.components().all(|part| !matches!(part, Component::Normal(_)));
    is_alone && ["NUL", "CON"].iter().any(|name| device.eq_ignore_ascii_case(name))
}

/// Whether a pipe or a device is a terminal.
#[cfg(unix)]
fn is_terminal(path: &Path) -> bool {
    use std::{io::IsTerminal, os::unix::fs::FileTypeExt};
    // Opening a pipe waits for its reader.
    let is_device = path.metadata().is_ok_and(|metadata| metadata.file_type().is_char_device());
    is_device && OpenOptions::new().write(true).open(path).is_ok_and(|device| device.is_terminal())
}

#[cfg(not(unix))]
fn is_terminal(_: &Path) -> bool {
    false
}

/// A word for a kind of file that is never written into; none for pipes and character devices.
#[cfg(unix)]
fn special(kind: FileType) -> Option<&'static str> {
    use std::os::unix::fs::FileTypeExt;
    match () {
        () if kind.is_fifo() || kind.is_char_device() => None,
        () if kind.is_block_device() => Some("block device"),
        () if kind.is_socket() => Some("socket"),
        () => Some("special file"),
    }
}

#[cfg(not(unix))]
fn special(_: FileType) -> Option<&'static str> {
    None
}
