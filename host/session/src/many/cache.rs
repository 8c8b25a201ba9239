//! Results by what they depend on.

use relais::{
    files::{Destination, Existing, write},
    plugin::sha256_of,
};
use serde_json::{Value, json};
use std::{
    ffi::OsStr,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

/// Where the files of a cache are, by names such as `ab/abcd….json`.
pub trait Store: Sync {
    /// Its place, for messages.
    fn place(&self) -> String;

    /// Copies a file of the store to a new one, which is on the disk then.
    ///
    /// # Errors
    /// Returns an error if it cannot be read or written; `NotFound` if the store does not have it.
    fn fetch(&self, name: &str, target: &Path) -> io::Result<()>;

    /// Copies a file into the store: whole or not at all.
    ///
    /// # Errors
    /// Returns an error if it cannot be read or written.
    fn keep(&self, source: &Path, name: &str) -> io::Result<()>;
}

/// A folder.
#[derive(Clone, Debug)]
pub struct FolderStore(pub PathBuf);

impl Store for FolderStore {
    fn place(&self) -> String {
        self.0.display().to_string()
    }

    fn fetch(&self, name: &str, target: &Path) -> io::Result<()> {
        copy(&self.0.join(name), target)
    }

    fn keep(&self, source: &Path, name: &str) -> io::Result<()> {
        copy(source, &self.0.join(name))
    }
}

/// Copies a file: whole, or not at all.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut from = File::open(from)?;
    to.parent().map_or(Ok(()), fs::create_dir_all)?;
    let destination = Destination::new(to, Existing::Replace);
    let written = destination.and_then(|destination| destination.write(|out| io::copy(&mut from, out).map(drop)));
    written.map_err(|error| io::Error::other(error.of("an entry")))
}

/// Entries in a store. An entry is its files and a note about them, which is written last and has their hashes: what was torn
/// or changed is not an entry. Where the store fails, work goes on without it.
pub(super) struct Cache<'a>(pub &'a dyn Store);

impl Cache<'_> {
    /// Writes the files of an entry into an empty folder, and returns its calls before and after; `None` if the cache has no
    /// such entry. One without the file `model` is not used, nor is one with a file that is not `own`: it would replace
    /// something else.
    pub fn get(&self, key: &str, folder: &Path, model: &OsStr, own: impl Fn(&str) -> bool) -> Option<[u64; 2]> {
        let note = folder.join(".note");
        match self.0.fetch(&name(key, "json"), &note) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            fetched => {
                let fetched =
                    fetched.and_then(|()| fs::read(&note)).and_then(|note| self.fetch(key, &note, folder, own));
                let whole = fetched.and_then(|calls| match folder.join(model).is_file() {
                    true => Ok(calls),
                    false => Err(io::Error::other(format!("`{}` is not in it", model.display()))),
                });
                let _ = fs::remove_file(&note);
                match whole {
                    Ok(calls) => return Some(calls),
                    Err(error) => {
                        log::warn!("entry `{key}` of the cache `{}` is not used: {error}", self.0.place());
                    }
                }
            }
        }
        // The files that were fetched before the error are not a result.
        let _ = fs::remove_dir_all(folder);
        let _ = fs::create_dir_all(folder);
        None
    }

    fn fetch(&self, key: &str, note: &[u8], folder: &Path, own: impl Fn(&str) -> bool) -> io::Result<[u64; 2]> {
        let note: Value = serde_json::from_slice(note)?;
        let files = note["files"].as_array().map_or(&[][..], Vec::as_slice);
        let calls: Option<Vec<u64>> = note["calls"].as_array().and_then(|it| it.iter().map(Value::as_u64).collect());
        let calls = calls.and_then(|calls| calls.try_into().ok());
        let calls = calls.ok_or_else(|| io::Error::other("its note does not say what it is"))?;
        for (at, file) in files.iter().enumerate() {
            let file_name = file[0].as_str().unwrap_or_default();
            if !own(file_name) || file_name.contains(['/', '\\']) {
                return Err(io::Error::other(format!("`{file_name}` is not the name of a file of this model")));
            }
            let target = folder.join(file_name);
            self.0.fetch(&name(key, &at.to_string()), &target)?;
            if file[1].as_str() != Some(&*sha256_of(&target)?) {
                return Err(io::Error::other(format!("`{file_name}` is not what was put in")));
            }
        }
        Ok(calls)
    }

    /// Keeps the files of a folder; `scratch` is one for the note.
    pub fn put(&self, key: &str, folder: &Path, calls: [u64; 2], scratch: &Path) {
        if let Err(error) = self.keep(key, folder, calls, scratch) {
            log::warn!("nothing is kept in the cache `{}`: {error}", self.0.place());
        }
    }

    fn keep(&self, key: &str, folder: &Path, calls: [u64; 2], scratch: &Path) -> io::Result<()> {
        let names: io::Result<Vec<_>> = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect();
        let mut names = names?;
        names.sort();
        let mut files = Vec::new();
        for (at, file) in names.iter().enumerate() {
            let from = folder.join(file);
            let file = file.to_str().ok_or_else(|| io::Error::other("a name is not Unicode"))?;
            self.0.keep(&from, &name(key, &at.to_string()))?;
            files.push((file, sha256_of(&from)?));
        }
        let note = scratch.join("note");
        let text = json!({ "calls": calls, "files": files }).to_string();
        write(&note, Existing::Replace, text.as_bytes()).map_err(|error| io::Error::other(error.of("a note")))?;
        self.0.keep(&note, &name(key, "json"))
    }
}

/// The name of a file of an entry.
fn name(key: &str, ending: &str) -> String {
    format!("{}/{key}.{ending}", &key[..2])
}
