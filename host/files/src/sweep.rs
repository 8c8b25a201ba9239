//! Files left behind by killed processes.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

/// The end of the name of each incomplete file.
const SUFFIX: &str = ".relais-tmp";

/// The digits of the random part of a name.
const TOKEN: usize = 16;

/// As many letters of a name as leave room for the rest.
const MAX_NAME: usize = 200;

/// The folders that were examined. Leftovers are rare, and folders may be large.
static SWEPT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// The temporary name of a file: `.NAME.TOKEN.relais-tmp` beside it.
pub(super) fn temporary_name(target: &Path, token: &str) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let end = (0..=MAX_NAME.min(name.len())).rev().find(|&end| name.is_char_boundary(end)).unwrap_or(0);
    target.with_file_name(format!(".{}.{token}{SUFFIX}", &name[..end]))
}

/// The name of an incomplete file, and its token.
fn parts(name: &OsStr) -> Option<(&str, &str)> {
    let name = name.to_str()?.strip_prefix('.')?.strip_suffix(SUFFIX)?;
    let (name, token) = name.rsplit_once('.')?;
    let is_token = token.len() == TOKEN && token.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_token.then_some((name, token))
}

/// Removes the files that dead processes left in a folder, unless this process already did so.
pub(super) fn sweep_once(folder: &Path) {
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    if SWEPT.lock().unwrap_or_else(PoisonError::into_inner).insert(whole) {
        sweep(folder);
    }
}

/// Removes files that dead processes left in a folder: unlocked files and folders under their temporary names.
pub fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    let left: Vec<(&OsStr, &str, &str)> = names
        .iter()
        .filter_map(|name| {
            let (target, token) = parts(name)?;
            Some((name.as_os_str(), target, token))
        })
        .collect();
    let is_linked = |name: &OsStr, target: &str| is_same_file(&folder.join(name), &folder.join(target));
    // New files get their own names first, and keep the others until all files that belong to them are in place.
    let halves: BTreeSet<&str> =
        left.iter().filter(|(name, target, _)| !is_linked(name, target)).map(|&(_, _, token)| token).collect();
    for &(name, target, token) in &left {
        let path = folder.join(name);
        let Some(_lock) = dead(&path) else { continue };
        if halves.contains(token) && is_linked(name, target) {
            remove(&folder.join(target));
        }
        remove(&path);
    }
}

fn remove(path: &Path) {
    let removed = match path.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Ok(()) => log::info!("`{}` was left over, and is removed", path.display()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => log::debug!("`{}` is left over, and stays: {error}", path.display()),
    }
}

/// Returns the lock of a file that was left behind; nothing if it is locked, or locks are not supported.
fn dead(path: &Path) -> Option<File> {
    let metadata = path.symlink_metadata().ok()?;
    if !metadata.is_file() && !metadata.is_dir() {
        return None;
    }
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // A pipe or a link may appear there in the meantime.
        options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    }
    let file = options.open(path).ok()?;
    file.try_lock().ok()?;
    Some(file)
}

#[cfg(unix)]
fn is_same_file(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |path: &Path| path.symlink_metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()));
    id(a).is_some_and(|a| id(b) == Some(a))
}

#[cfg(not(unix))]
fn is_same_file(_: &Path, _: &Path) -> bool {
    false
}
