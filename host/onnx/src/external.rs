//! Tensors in other files: where they are, and that they stay in the model's folder.

use super::error::{ErrorKind, ExternalFault, OnnxError, Result};
use relais_files::mapped;
use relais_plugin_api::ir::Blob;
use std::{
    collections::BTreeMap,
    path::{Component, Path, PathBuf},
};

/// The contents of a tensor's `external_data`.
#[derive(Default, Clone, Debug)]
pub(crate) struct Location<'a> {
    pub location: &'a str,
    pub offset: Option<&'a [u8]>,
    pub length: Option<&'a [u8]>,
}

/// The folder of a model, and the data files that were opened in it.
pub(crate) struct DataFolder {
    folder: Option<PathBuf>,
    /// Files that it will have, by their paths from it.
    coming: BTreeMap<PathBuf, Blob>,
    files: BTreeMap<String, Blob>,
}

impl DataFolder {
    pub fn new(folder: Option<PathBuf>) -> Self {
        Self::with_files(folder, BTreeMap::new())
    }

    /// A folder that will have some files, by their paths from it.
    pub fn with_files(folder: Option<PathBuf>, files: BTreeMap<String, Blob>) -> Self {
        let coming = files.into_iter().map(|(location, bytes)| (normal(&location), bytes)).collect();
        Self { folder, coming, files: BTreeMap::new() }
    }

    /// The bytes of a tensor of `expected` bytes, as a slice of its file.
    pub fn slice(&mut self, at: &Location<'_>, expected: u64) -> Result<Blob> {
        let fail = |cause| OnnxError::new(ErrorKind::External { location: at.location.into(), cause });
        let number = |key, text: Option<&[u8]>| {
            let parse = |text| std::str::from_utf8(text).ok()?.parse::<u64>().ok();
            text.map(|text| parse(text).ok_or_else(|| fail(ExternalFault::Number { key }))).transpose()
        };
        let offset = number("offset", at.offset)?.unwrap_or(0);
        let len = number("length", at.length)?.unwrap_or(expected);
        if !self.files.contains_key(at.location) {
            let file = self.open(at.location).map_err(fail)?;
            self.files.insert(at.location.into(), file);
        }
        let file = &self.files[at.location];
        file.slice(offset, len).ok_or_else(|| fail(ExternalFault::Short { offset, len, file: file.len() as u64 }))
    }

    fn open(&self, location: &str) -> Result<Blob, ExternalFault> {
        if let Some(bytes) = self.coming.get(&normal(location)) {
            return Ok(bytes.clone());
        }
        let path = checked_path(self.folder.as_deref(), location)?;
        mapped::map_file(&path).map_err(ExternalFault::Io)
    }
}

/// A path without `.` in it.
fn normal(location: &str) -> PathBuf {
    Path::new(location).components().filter(|part| *part != Component::CurDir).collect()
}

/// The path of a data file, if it stays in the model's folder.
fn checked_path(folder: Option<&Path>, location: &str) -> Result<PathBuf, ExternalFault> {
    if location.is_empty() {
        return Err(ExternalFault::NoLocation);
    }
    // A backslash separates folders on some systems and not on others: neither interpretation may lead out.
    let is_inside =
        |path: &str| Path::new(path).components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
    if !is_inside(location) || !is_inside(&location.replace('\\', "/")) {
        return Err(ExternalFault::Escapes);
    }
    let folder = folder.ok_or(ExternalFault::NoFolder)?;
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let folder = folder.canonicalize().map_err(ExternalFault::Io)?;
    let path = folder.join(location).canonicalize().map_err(ExternalFault::Io)?;
    if !path.starts_with(&folder) {
        return Err(ExternalFault::LeavesFolder);
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_in_the_folder() {
        let folder = std::env::temp_dir();
        for location in ["/etc/passwd", "../x", "a/../../x", "..\\x", ""] {
            let error = checked_path(Some(&folder), location).unwrap_err();
            let expected = matches!(error, ExternalFault::Escapes) || location.is_empty();
            assert!(expected, "{location}: {error}");
        }
        assert!(matches!(checked_path(None, "x"), Err(ExternalFault::NoFolder)));
        assert!(matches!(checked_path(Some(&folder), "no-such-data-file"), Err(ExternalFault::Io(_))));
    }
}
