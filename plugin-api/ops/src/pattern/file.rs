//! Files of rules.

use relais_ir::diagnostics::{PassError, error_kind};
use relais_patterns::{
    MAX_BYTES, Rule,
    pairs::{self, PairFault},
    print,
};
use std::{
    fmt,
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
        let text = read_file(&path);
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

/// Reads the rules in a file as text. A file whose name ends in `.onnx` has them as [pairs] of functions.
///
/// # Errors
/// Returns an error that names the file if it cannot be read, is not a text, is empty or too large, or has functions
/// that are not rules.
pub fn read_file(path: &Path) -> Result<String, PassError> {
    let shown = path.display();
    let failed = |why: &dyn fmt::Display| {
        PassError::with_kind(error_kind::OPTIONS, format_args!("rules `{shown}` cannot be read: {why}"))
    };
    let bytes = bytes(path).map_err(|error| match error.kind() {
        io::ErrorKind::IsADirectory => failed(&"it is a folder"),
        _ => failed(&error),
    })?;
    if bytes.len() > MAX_BYTES {
        return Err(failed(&format_args!("it has more than {MAX_BYTES} bytes")));
    }
    if path.extension().is_some_and(|end| end == "onnx") {
        let rules = pairs::read(&bytes).map_err(|faults| pairs_error(&failed, faults))?;
        return Ok(print(&rules));
    }
    match String::from_utf8(bytes) {
        Ok(text) if text.trim().is_empty() => Err(failed(&"it is empty")),
        Ok(text) => Ok(text),
        Err(error) => {
            let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
            Err(failed(&format_args!("line {line} is not UTF-8")))
        }
    }
}

/// Writes rules as [pairs] of functions. `kinds` are what is known of the attributes of operators.
///
/// # Errors
/// Returns an error that names each rule that functions cannot say.
pub fn write_pairs(rules: &[Rule], kinds: &pairs::AttrKinds<'_>) -> Result<Vec<u8>, PassError> {
    pairs::write(rules, kinds).map_err(|faults| pairs_error(&|fault| PassError::new(fault), faults))
}

/// The faults of functions as one failure.
fn pairs_error(failed: &dyn Fn(&dyn fmt::Display) -> PassError, faults: Vec<PairFault>) -> PassError {
    let Some((first, others)) = faults.split_first() else { return failed(&"the rules are at fault") };
    let error = failed(first).code(PairFault::CODE).help(&first.help);
    others.iter().fold(error, |error, fault| match fault.help == first.help {
        true => error.with_note(fault),
        false => error.with_note(format_args!("{fault}; {}", fault.help)),
    })
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
