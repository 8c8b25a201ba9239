//! Files under another name, on their way to their own.

use super::{
    Existing, FileError, Why,
    place::{Destination, WriteTarget, folder_of},
    sweep::{sweep_once, temporary_name},
};
use std::{
    collections::BTreeSet,
    fs::{self, File, OpenOptions},
    hash::{BuildHasher, Hasher, RandomState},
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// How often another name is tried.
const MAX_TRIES: usize = 100;

/// The files and folders of this process that still have temporary names.
static PENDING: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn pending() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes incomplete files, for a process that ends: no file is renamed into place after this.
pub fn abandon() {
    #[cfg(not(windows))]
    let mut pending = pending();
    // The other threads have been stopped: one that held the lock never releases it. The next run removes the files.
    #[cfg(windows)]
    let Ok(mut pending) = PENDING.try_lock() else { return };
    std::mem::take(&mut *pending).iter().for_each(|path| remove(path));
    // Threads that are about to rename a file wait for the end.
    std::mem::forget(pending);
}

fn remove(path: &Path) {
    // A file that cannot be removed stays; the next run tries again.
    let _ = if path.is_dir() && !path.is_symlink() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
}

/// Files that appear together, each whole: first those that must not exist yet, then those that replace others, in the
/// order in which they were added.
#[derive(Debug)]
pub struct FileSet {
    /// Part of all their names, so that their remains can be matched.
    token: String,
    drafts: Vec<Draft>,
}

#[derive(Debug)]
struct Draft {
    /// Holds the lock.
    file: File,
    path: PathBuf,
    target: PathBuf,
    named: PathBuf,
    existing: Existing,
}

impl Default for FileSet {
    fn default() -> Self {
        Self::new()
    }
}

impl FileSet {
    /// No files yet.
    pub fn new() -> Self {
        // The keys of each state are random.
        Self { token: format!("{:016x}", RandomState::new().build_hasher().finish()), drafts: Vec::new() }
    }

    /// Adds a file, and returns the writer for its content.
    ///
    /// # Errors
    /// Returns an error if it is not a regular file, its folder cannot be written, or the existing file cannot be
    /// replaced by one like it.
    pub fn add(&mut self, destination: &Destination) -> Result<&mut File, FileError> {
        let fail = |why| FileError::new(destination.named(), why);
        let WriteTarget::File(target) = destination.place() else { return Err(fail(Why::Special("stream"))) };
        let io = |error| fail(Why::Io(error));
        sweep_once(folder_of(target));
        let replaced = match destination.existing() {
            Existing::Keep => None,
            Existing::Replace => fs::metadata(target).ok(),
        };
        let (path, file) = create(target, &self.token, replaced.is_some()).map_err(io)?;
        let draft = Draft {
            file,
            path,
            target: target.clone(),
            named: destination.named().to_owned(),
            existing: destination.existing(),
        };
        if let Some(replaced) = replaced {
            draft.resemble(&replaced).map_err(fail)?;
        }
        self.drafts.push(draft);
        Ok(&mut self.drafts.last_mut().expect("one was added").file)
    }

    /// Where the file that was added last is written.
    pub fn path(&self) -> Option<&Path> {
        self.drafts.last().map(|draft| draft.path.as_path())
    }

    /// Lets the files appear.
    ///
    /// # Errors
    /// Returns an error if one cannot; then no file is replaced, and none is new.
    pub fn commit(self) -> Result<(), FileError> {
        for draft in &self.drafts {
            draft.file.sync_all().map_err(|error| draft.error(error))?;
        }
        let mut pending = pending();
        let mut linked = Vec::new();
        let appeared = self.drafts.iter().filter(|draft| draft.existing == Existing::Keep).try_for_each(|draft| {
            draft.link()?;
            linked.push(&draft.target);
            Ok(())
        });
        let appeared = appeared.and_then(|()| {
            let mut replacing = self.drafts.iter().filter(|draft| draft.existing == Existing::Replace);
            replacing.try_for_each(|draft| rename(&draft.path, &draft.target).map_err(|error| draft.error(error)))
        });
        if appeared.is_err() {
            linked.into_iter().for_each(|path| remove(path));
        }
        // A file that must not exist yet has both names until all files are in place: see `sweep`.
        for draft in &self.drafts {
            remove(&draft.path);
            pending.remove(&draft.path);
        }
        drop(pending);
        let folders: BTreeSet<&Path> = self.drafts.iter().map(|draft| folder_of(&draft.target)).collect();
        folders.into_iter().for_each(sync_folder);
        appeared
    }
}

impl Draft {
    fn error(&self, error: io::Error) -> FileError {
        let why = match error.kind() {
            io::ErrorKind::AlreadyExists => Why::Exists,
            _ => Why::Io(error),
        };
        FileError::new(&self.named, why)
    }

    /// Gives it its own name, unless the name is taken.
    fn link(&self) -> Result<(), FileError> {
        match fs::hard_link(&self.path, &self.target) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(self.error(error)),
            // Some file systems have no links.
            Err(_) if self.target.symlink_metadata().is_ok() => Err(FileError::new(&self.named, Why::Exists)),
            Err(_) => rename(&self.path, &self.target).map_err(|error| self.error(error)),
        }
    }

    /// Takes over mode and owner of the file that it will replace. Until then only this user may read it.
    #[cfg(unix)]
    fn resemble(&self, replaced: &fs::Metadata) -> Result<(), Why> {
        use std::{
            fs::Permissions,
            os::unix::fs::{MetadataExt, PermissionsExt, fchown},
        };
        let own = self.file.metadata().map_err(Why::Io)?;
        let uid = (own.uid() != replaced.uid()).then_some(replaced.uid());
        let gid = (own.gid() != replaced.gid()).then_some(replaced.gid());
        if uid.or(gid).is_some() {
            fchown(&self.file, uid, gid).map_err(|_| Why::Owner)?;
        }
        self.file.set_permissions(Permissions::from_mode(replaced.mode() & 0o7777)).map_err(Why::Io)
    }

    #[cfg(not(unix))]
    fn resemble(&self, replaced: &fs::Metadata) -> Result<(), Why> {
        self.file.set_permissions(replaced.permissions()).map_err(Why::Io)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        let mut pending = pending();
        if pending.remove(&self.path) {
            remove(&self.path);
        }
    }
}

impl Destination {
    /// The destination that an argument of a command line names; `-` is standard output.
    ///
    /// # Errors
    /// As for [`new`](Self::new); also when a file of that name cannot be made in its folder.
    pub fn of_argument(path: &Path, existing: Existing) -> Result<Self, FileError> {
        if path.as_os_str() == "-" {
            return Ok(Self::standard_output(existing));
        }
        let destination = Self::new(path, existing)?;
        if let WriteTarget::File(_) = destination.place() {
            // Better now than after an hour's work. It is removed at once.
            FileSet::new().add(&destination)?;
        }
        Ok(destination)
    }
}

/// A folder that appears whole, with all that is in it.
#[derive(Debug)]
pub struct NewFolder {
    path: PathBuf,
    target: PathBuf,
    /// Holds the lock, where folders can have one.
    _lock: Option<File>,
}

impl NewFolder {
    /// Makes a folder under another name.
    ///
    /// # Errors
    /// Returns an error if it cannot be made, or `target` is there.
    pub fn new(target: &Path) -> io::Result<Self> {
        if target.symlink_metadata().is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        sweep_once(folder_of(target));
        let set = FileSet::new();
        let path = temporary_name(target, &set.token);
        let mut pending = pending();
        fs::create_dir(&path)?;
        pending.insert(path.clone());
        drop(pending);
        let lock = File::open(&path).ok().filter(|folder| folder.try_lock().is_ok());
        Ok(Self { path, target: target.to_owned(), _lock: lock })
    }

    /// Where its files are written.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lets the folder appear.
    ///
    /// # Errors
    /// Returns an error if it cannot.
    pub fn commit(self) -> io::Result<()> {
        let mut pending = pending();
        if self.target.symlink_metadata().is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        rename(&self.path, &self.target)?;
        pending.remove(&self.path);
        drop(pending);
        sync_folder(folder_of(&self.target));
        Ok(())
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        let mut pending = pending();
        if pending.remove(&self.path) {
            remove(&self.path);
        }
    }
}

/// Creates a file for this process alone, and locks it.
fn create(target: &Path, token: &str, is_replacement: bool) -> io::Result<(PathBuf, File)> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // A replacement gets the mode of the file that it replaces; any other file the one that the user's mask leaves.
        options.mode(if is_replacement { 0o600 } else { 0o666 });
    }
    #[cfg(not(unix))]
    let _ = is_replacement;
    for number in 0..MAX_TRIES {
        let path = match number {
            0 => temporary_name(target, token),
            _ => temporary_name(target, &FileSet::new().token),
        };
        let mut pending = pending();
        let file = match options.open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            file => file?,
        };
        // A sweep of another process may have come in between: it saw a file without a lock.
        let is_swept = matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock)) || !path.exists();
        if is_swept {
            continue;
        }
        pending.insert(path.clone());
        return Ok((path, file));
    }
    Err(io::Error::other("no name is free"))
}

#[cfg(not(windows))]
use fs::rename;

/// Renames a file or a folder. Others may have it open for a moment, such as programs that look for viruses, or another
/// run that reads it: until then the system denies it.
#[cfg(windows)]
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    use std::{
        thread::sleep,
        time::{Duration, Instant},
    };
    /// How long to try, and how long to wait in between.
    const PATIENCE: Duration = Duration::from_secs(1);
    const PAUSE: Duration = Duration::from_millis(10);
    const SHARING_VIOLATION: i32 = 32;
    let began = Instant::now();
    loop {
        match fs::rename(from, to) {
            Err(error)
                if (error.kind() == io::ErrorKind::PermissionDenied
                    || error.raw_os_error() == Some(SHARING_VIOLATION))
                    && began.elapsed() < PATIENCE =>
            {
                sleep(PAUSE);
            }
            result => return result,
        }
    }
}

/// Makes sure that names in a folder are on the disk. Not every system can.
fn sync_folder(folder: &Path) {
    if let Err(error) = File::open(folder).and_then(|folder| folder.sync_all()) {
        log::debug!("the folder `{}` cannot be synced: {error}", folder.display());
    }
}
