//! Files as immutable bytes, mapped into memory.
#![expect(unsafe_code, reason = "mapping a file is unsafe: another process may change it")]

use abi_stable::std_types::{ROption, RSlice, RStr, RString};
use memmap2::Mmap;
use relais_plugin_api::{
    boundary::bytes::ByteSource,
    ir::{Blob, Hash64},
};
use std::{
    fs::{File, Metadata},
    io,
    path::Path,
    time::UNIX_EPOCH,
};

/// A mapped file.
struct MappedFile {
    map: Mmap,
    path: Option<RString>,
    stamp: u64,
}

impl ByteSource for MappedFile {
    fn bytes(&self) -> RSlice<'_, u8> {
        RSlice::from_slice(&self.map)
    }

    fn path(&self) -> ROption<RStr<'_>> {
        self.path.as_ref().map(|path| path.as_rstr()).into()
    }

    fn stamp(&self) -> u64 {
        self.stamp
    }
}

/// Maps a file. Slices of the bytes keep the mapping alive and know the file.
///
/// # Errors
/// When the file cannot be opened or mapped.
pub fn map_file(path: &Path) -> io::Result<Blob> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if metadata.len() == 0 {
        return Ok(Blob::default());
    }
    // SAFETY: the bytes are read only. What cannot be ruled out is that somebody shortens or overwrites the file while
    // it is mapped, which no reader of mapped files can; this host itself only ever renames new files into place.
    let map = unsafe { Mmap::map(&file)? };
    // A path that is not text cannot be handed on; writers then copy from the mapping instead.
    let path = std::path::absolute(path)?.to_str().map(RString::from);
    Ok(Blob::from_source(MappedFile { map, path, stamp: file_stamp(&metadata) }))
}

/// What tells this state of a file from other files and other states; never 0.
pub fn file_stamp(metadata: &Metadata) -> u64 {
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let hash = Hash64::new().word(metadata.len()).word(modified.map_or(0, |time| time.as_nanos() as u64));
    #[cfg(unix)]
    let hash = {
        use std::os::unix::fs::MetadataExt;
        hash.word(metadata.dev()).word(metadata.ino())
    };
    hash.finish().max(1)
}
