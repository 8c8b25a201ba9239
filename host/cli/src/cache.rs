//! Results of `relais run` by what they depend on, in a folder.

use relais::{
    files::{Destination, Existing},
    plugin::sha256_of,
};
use serde_json::{Value, json};
use std::{
    ffi::OsStr,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

/// A folder of entries, as `relais_onnx.zoo` has them. An entry is its files and a note about them, which is written last and
/// has their hashes: what was torn or changed is not an entry. Where the cache fails, work goes on without it.
pub(super) struct Cache(PathBuf);

impl Cache {
    pub fn new(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    /// Writes the files of an entry into a new folder, and returns its calls before and after; `None` if the cache has no such
    /// entry. One without the file `model` is not used, nor is one with a file that is not `own`: it would replace something
    /// else.
    pub fn get(&self, key: &str, folder: &Path, model: &OsStr, own: impl Fn(&str) -> bool) -> Option<Value> {
        let note = self.path(key, "json");
        if !note.exists() {
            return None;
        }
        let fetched = fetch(&note, |at| self.path(key, &at.to_string()), folder, own).and_then(|calls| {
            match folder.join(model).is_file() {
                true => Ok(calls),
                false => Err(io::Error::other(format!("`{}` is not in it", model.display()))),
            }
        });
        match fetched {
            Ok(calls) => Some(calls),
            Err(error) => {
                log::warn!("entry `{key}` of the cache `{}` is not used: {error}", self.0.display());
                let _ = fs::remove_dir_all(folder);
                None
            }
        }
    }

    /// Keeps the files of a folder.
    pub fn put(&self, key: &str, folder: &Path, calls: &Value) {
        if let Err(error) = self.store(key, folder, calls) {
            log::warn!("nothing is kept in the cache `{}`: {error}", self.0.display());
        }
    }

    fn store(&self, key: &str, folder: &Path, calls: &Value) -> io::Result<()> {
        let names: io::Result<Vec<_>> = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect();
        let mut names = names?;
        names.sort();
        let mut files = Vec::new();
        for (at, name) in names.iter().enumerate() {
            let (name, from) =
                (name.to_str().ok_or_else(|| io::Error::other("a name is not Unicode"))?, folder.join(name));
            copy(&from, &self.path(key, &at.to_string()))?;
            files.push((name, sha256_of(&from)?));
        }
        write(&self.path(key, "json"), json!({ "calls": calls, "files": files }).to_string().as_bytes())
    }

    fn path(&self, key: &str, ending: &str) -> PathBuf {
        self.0.join(&key[..2]).join(format!("{key}.{ending}"))
    }
}

fn fetch(
    note: &Path,
    stored: impl Fn(usize) -> PathBuf,
    folder: &Path,
    own: impl Fn(&str) -> bool,
) -> io::Result<Value> {
    let note: Value = serde_json::from_slice(&fs::read(note)?)?;
    let files = note["files"].as_array().map_or(&[][..], Vec::as_slice);
    let calls = note["calls"].as_array().filter(|calls| calls.len() == 2 && calls.iter().all(Value::is_u64));
    let Some(calls) = calls else {
        return Err(io::Error::other("its note does not say what it is"));
    };
    fs::create_dir_all(folder)?;
    for (at, file) in files.iter().enumerate() {
        let name = file[0].as_str().unwrap_or_default();
        if !own(name) || name.contains(['/', '\\']) {
            return Err(io::Error::other(format!("`{name}` is not the name of a file of this model")));
        }
        let target = folder.join(name);
        copy(&stored(at), &target)?;
        if file[1].as_str() != Some(&*sha256_of(&target)?) {
            return Err(io::Error::other(format!("`{name}` is not what was put in")));
        }
    }
    Ok(calls.clone().into())
}

/// Copies a file: whole, or not at all.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    whole(to, |out| io::copy(&mut File::open(from)?, out).map(drop))
}

fn write(to: &Path, bytes: &[u8]) -> io::Result<()> {
    whole(to, |out| out.write_all(bytes))
}

fn whole(to: &Path, fill: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> io::Result<()> {
    to.parent().map_or(Ok(()), fs::create_dir_all)?;
    let destination = Destination::of_argument(to, Existing::Replace);
    destination.and_then(|destination| destination.write(fill)).map_err(|error| io::Error::other(error.of("an entry")))
}
