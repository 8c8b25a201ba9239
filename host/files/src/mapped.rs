//! Files as immutable bytes: small ones are read, large ones mapped into memory.
#![expect(unsafe_code, reason = "mapping a file is unsafe: another process may change it")]

#[cfg(target_os = "linux")]
use crate::leave;
use abi_stable::std_types::{ROption, RSlice, RStr, RString};
use memmap2::{Mmap, MmapOptions};
use relais_plugin_api::{
    boundary::bytes::ByteSource,
    ir::{Blob, Hash64},
};
use std::{
    fs::{File, Metadata, OpenOptions},
    io::{self, Read},
    ops::Deref,
    path::Path,
    time::UNIX_EPOCH,
};

/// Files below this many bytes are read: later changes by other processes do not matter.
const LARGE: u64 = 1 << 20;

/// The most that is read from a pipe: protobuf does not allow a larger model.
const MAX_STREAM: u64 = i32::MAX as u64;

/// The bytes of a file, and which file that was.
struct FileBytes<B> {
    bytes: B,
    path: Option<RString>,
    stamp: u64,
    /// The file, if the bytes are a mapping of it: it has to stay as it was.
    mapped: Option<File>,
}

impl<B: Deref<Target = [u8]> + Send + Sync + 'static> ByteSource for FileBytes<B> {
    fn bytes(&self) -> RSlice<'_, u8> {
        RSlice::from_slice(&self.bytes)
    }

    fn path(&self) -> ROption<RStr<'_>> {
        self.path.as_ref().map(|path| path.as_rstr()).into()
    }

    fn stamp(&self) -> u64 {
        let is_as_before = |file: &File| open_state(file).is_ok_and(|(_, stamp)| stamp == self.stamp);
        if self.mapped.as_ref().is_none_or(is_as_before) { self.stamp } else { 0 }
    }
}

/// The bytes of a regular file, read or mapped. Slices of them know the file.
///
/// # Errors
/// Returns an error if it cannot be opened or read, or is not a regular file.
pub fn map_file(path: &Path) -> io::Result<Blob> {
    file_bytes(path, LARGE)
}

/// The bytes of a regular file; those of a file with at least `large` bytes are mapped.
fn file_bytes(path: &Path, large: u64) -> io::Result<Blob> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    // A pipe without a writer would block this forever.
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    let mut file = options.open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if metadata.len() == 0 {
        return Ok(Blob::default());
    }
    // A path that is not text cannot be passed on; writers then copy from memory instead.
    let path = std::path::absolute(path)?.to_str().map(RString::from);
    let stamp = file_stamp(&metadata);
    if metadata.len() < large {
        let mut bytes = Vec::with_capacity(metadata.len() as usize);
        file.read_to_end(&mut bytes)?;
        if file_stamp(&file.metadata()?) != stamp || bytes.len() as u64 != metadata.len() {
            return Err(io::Error::other("it was changed while it was read"));
        }
        return Ok(Blob::from_source(FileBytes { bytes, path, stamp, mapped: None }));
    }
    // SAFETY: the bytes are read only. A change of the file while it is mapped cannot be ruled out by any reader of
    // mapped files: the stamp tells of it afterwards. This host itself only ever renames new files into place.
    let bytes = unsafe { Mmap::map(&file)? };
    Ok(Blob::from_source(FileBytes { bytes, path, stamp, mapped: Some(file) }))
}

/// The bytes of a regular file that was opened elsewhere, mapped. Slices of them know no path.
///
/// # Errors
/// Returns an error if it cannot be mapped.
pub fn map_descriptor(file: File) -> io::Result<Blob> {
    let (len, stamp) = open_state(&file)?;
    if len == 0 {
        return Ok(Blob::default());
    }
    let len = usize::try_from(len).map_err(|_| io::ErrorKind::FileTooLarge)?;
    // SAFETY: as for files that are opened here; it has that length.
    let bytes = unsafe { MmapOptions::new().len(len).map(&file)? };
    Ok(Blob::from_source(FileBytes { bytes, path: None, stamp, mapped: Some(file) }))
}

/// The bytes of a file that a user names: a regular one, or a pipe, which is read to its end. On Windows it is never
/// mapped: the output may replace it, which the system denies for a mapped file.
///
/// # Errors
/// Returns an error if it cannot be opened or read, or is a device or a folder.
pub fn read_input(path: &Path) -> io::Result<Blob> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = path.metadata()?.file_type();
        if kind.is_fifo() {
            return read_stream(File::open(path)?);
        }
        if kind.is_char_device() || kind.is_block_device() {
            return Err(io::Error::other("it is a device"));
        }
    }
    file_bytes(path, if cfg!(windows) { u64::MAX } else { LARGE })
}

/// Everything that comes from a stream.
///
/// # Errors
/// Returns an error if it cannot be read, or does not end.
pub fn read_stream(stream: impl Read) -> io::Result<Blob> {
    let mut bytes = Vec::new();
    stream.take(MAX_STREAM + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_STREAM {
        return Err(io::Error::other("it has more than 2 GiB"));
    }
    Ok(bytes.into())
}

/// From now on, if another process shortens a mapped file, this process ends with an error message instead of a mere
/// signal. Incomplete files are removed by the next run.
#[cfg(target_os = "linux")]
pub fn explain_shortened_files() {
    extern "C" fn explain(_: libc::c_int) {
        const MESSAGE: &[u8] = b"error: a file was shortened by another process while it was in use\n  \
            help: run again, and leave the model and its data alone meanwhile\n";
        // SAFETY: it may be called in a signal handler, and the message is never freed.
        unsafe {
            libc::write(libc::STDERR_FILENO, MESSAGE.as_ptr().cast(), MESSAGE.len());
        }
        leave(1);
    }
    // SAFETY: an empty action is valid, and the handler calls only functions that handlers may call.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = explain as extern "C" fn(libc::c_int) as usize;
        libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut());
    }
}

/// Other systems report stack overflows by the same signal.
#[cfg(not(target_os = "linux"))]
pub fn explain_shortened_files() {}

/// Returns a value that distinguishes this state of a file from other files and other states; never 0.
pub fn file_stamp(metadata: &Metadata) -> u64 {
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified = modified.map_or(0, |time| time.as_nanos() as u64);
    #[cfg(unix)]
    let place = {
        use std::os::unix::fs::MetadataExt;
        [metadata.dev(), metadata.ino()]
    };
    #[cfg(not(unix))]
    let place = [];
    stamp(metadata.len(), modified, &place)
}

fn stamp(len: u64, modified: u64, place: &[u64]) -> u64 {
    place.iter().fold(Hash64::new().word(len).word(modified), |hash, &word| hash.word(word)).finish().max(1)
}

/// The length of an open file, and its stamp. It asks for nothing by a path, as a process in a sandbox cannot.
#[cfg(target_os = "linux")]
fn open_state(file: &File) -> io::Result<(u64, u64)> {
    let state = rustix::fs::fstat(file)?;
    let len = u64::try_from(state.st_size).unwrap_or(0);
    let seconds = u64::try_from(state.st_mtime).unwrap_or(0);
    let modified = seconds.wrapping_mul(1_000_000_000).wrapping_add(state.st_mtime_nsec as u64);
    Ok((len, stamp(len, modified, &[state.st_dev, state.st_ino])))
}

#[cfg(not(target_os = "linux"))]
fn open_state(file: &File) -> io::Result<(u64, u64)> {
    let metadata = file.metadata()?;
    Ok((metadata.len(), file_stamp(&metadata)))
}
