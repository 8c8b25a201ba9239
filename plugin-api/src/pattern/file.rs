//! Files of rules.

use crate::{
    boundary::abi::error_kind,
    diagnostics::PassError,
    options::{Check, OptionKind, OptionType, Value},
};
use relais_patterns::MAX_BYTES;
use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

/// A file of rules, as an option of a pass: it is read once, when the pass is made.
#[derive(Clone, PartialEq, Debug)]
pub struct RuleFile {
    path: PathBuf,
    /// The text, or why there is none.
    text: Result<String, PassError>,
}

impl RuleFile {
    /// Reads a file. The pass is not made if that fails.
    pub fn new(path: PathBuf) -> Self {
        let text = read_file(&path).map_err(|why| PassError::with_kind(error_kind::OPTIONS, why));
        Self { path, text }
    }

    /// The path, as errors name it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The text.
    ///
    /// # Errors
    /// Returns why the file cannot be read.
    pub fn text(&self) -> Result<&str, PassError> {
        self.text.as_deref().map_err(PassError::clone)
    }
}

impl OptionType for RuleFile {
    const KIND: OptionKind = OptionKind::Path;
    const CHECK: Option<Check<Self>> = Some(|file| file.text().map(drop));

    fn from_value(value: &Value) -> Option<Self> {
        PathBuf::from_value(value).map(Self::new)
    }
}

/// Reads the text of a file of rules.
///
/// # Errors
/// Returns an error that names the file if it cannot be read, is not a text, or is empty or too large.
pub fn read_file(path: &Path) -> Result<String, String> {
    let failed = |why: &str| Err(format!("rules `{}` cannot be read: {why}", path.display()));
    match bytes(path) {
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => failed("it is a folder"),
        Err(error) => failed(&error.to_string()),
        Ok(bytes) if bytes.len() > MAX_BYTES => failed(&format!("it has more than {MAX_BYTES} bytes")),
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) if text.trim().is_empty() => failed("it is empty"),
            Ok(text) => Ok(text),
            Err(error) => {
                let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
                let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
                failed(&format!("line {line} is not UTF-8"))
            }
        },
    }
}

/// Returns the bytes of a file, at most one more than a text may have.
fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    // Systems differ in whether a folder can be opened, and in what they say otherwise.
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
