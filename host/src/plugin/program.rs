//! Plugins that are files of Python. A file of records beside one, or its process, describes it.

use super::{
    describe::{DescriptionError, describe_program},
    file::unreadable,
    hash::sha256_of,
    record::{Records, read_records},
    verdict::{Refusal, judge},
};
use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

/// The extension of a program's file.
const EXTENSION: &str = "py";
/// The extension of the file of records beside it.
const RECORDS: &str = "passrec";
/// The most bytes of a description.
pub(crate) const MOST_DESCRIBED: u64 = 4 << 20;

/// The contents of a plugin that is a program.
#[derive(Clone, PartialEq, Debug)]
pub struct Described {
    /// Its records.
    pub records: Records,
    /// Their bytes.
    pub section: Arc<[u8]>,
    /// The SHA-256 of the file that they are of.
    pub sha256: String,
}

/// A program as its process says.
#[derive(Clone, PartialEq, Debug)]
pub struct ProgramReport {
    /// The description.
    pub text: String,
    /// Its contents.
    pub described: Described,
    /// The version of its interpreter, such as `Python 3.11.7`.
    pub interpreter: String,
    /// Where that is.
    pub program: String,
    /// The folders that the process can read in a sandbox, beside the libraries of the system.
    pub reads: Vec<PathBuf>,
}

impl Described {
    /// Reads a description.
    ///
    /// # Errors
    /// Returns an error if it is not one of a program, or this host cannot use the plugin.
    pub fn read(text: &str) -> Result<Self, Refusal> {
        let wrong = |error: &DescriptionError| {
            let place = error.place(text).map_or_else(String::new, |(line, column)| format!("{line}:{column}: "));
            Refusal::Description { why: format!("{place}{error}") }
        };
        let (section, sha256) = describe_program(text).map_err(|error| wrong(&error))?;
        let section: Arc<[u8]> = section.into();
        let records = read_records(&section).map_err(Refusal::Record)?;
        judge(&records.plugin)?;
        Ok(Self { records, section, sha256 })
    }
}

/// Whether a file is a program: it has the extension `.py`.
pub fn is_program(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == EXTENSION)
}

/// The file of records beside a program: `passes.passrec` beside `passes.py`.
pub fn records_beside(program: &Path) -> PathBuf {
    program.with_extension(RECORDS)
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    fs::File::open(path)?.take(MOST_DESCRIBED).read_to_string(&mut text)?;
    Ok(text)
}

/// The contents of a program according to the file beside it; `None` without that file.
///
/// # Errors
/// Returns an error if the program or the file beside it cannot be used, or do not fit.
pub(crate) fn described(program: &Path) -> Result<Option<Described>, Refusal> {
    if !program.metadata().map_err(|error| unreadable(&error))?.is_file() {
        return Err(Refusal::NotAFile);
    }
    let beside = records_beside(program);
    let text = match beside.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(&error)),
        Ok(metadata) if !metadata.is_file() || metadata.len() > MOST_DESCRIBED => {
            let why = format!("`{}` is not a file, or is too large", beside.display());
            return Err(Refusal::Description { why });
        }
        Ok(_) => read(&beside)
            .map_err(|error| Refusal::Description { why: format!("`{}` cannot be read: {error}", beside.display()) })?,
    };
    let described = Described::read(&text).map_err(|refusal| match refusal {
        Refusal::Description { why } => Refusal::Description { why: format!("`{}`:{why}", beside.display()) },
        refusal => refusal,
    })?;
    match sha256_of(program).map_err(|error| unreadable(&error))? == described.sha256 {
        true => Ok(Some(described)),
        false => Err(Refusal::OtherProgram { records: beside }),
    }
}
