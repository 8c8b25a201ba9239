//! Immutable bytes that cross the boundary without a copy: owned, or a view of something that the host keeps alive.
#![expect(unsafe_code, non_local_definitions, reason = "the trait object's generated code")]

use abi_stable::{
    StableAbi, sabi_trait,
    std_types::{RArc, RBox, ROption, RSlice, RStr, RVec},
};
use std::{fmt, ops::Deref};

/// The owner of the bytes of a [`Blob`]: a vector, or a mapped file.
#[sabi_trait]
pub trait ByteSource: Send + Sync + 'static {
    /// All bytes. The same slice at every call.
    fn bytes(&self) -> RSlice<'_, u8>;

    /// The path of the file that the bytes are a mapping of, so that a writer can copy from file to file.
    fn path(&self) -> ROption<RStr<'_>>;

    /// Returns a value that distinguishes the state of that file at the time of mapping from any other file under the
    /// path; 0 if there is no file, or if it was changed after it was mapped, so that the bytes may be others.
    #[sabi(last_prefix_field)]
    fn stamp(&self) -> u64;
}

/// A slice of a mapped file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileSlice<'a> {
    /// The file's path.
    pub path: &'a str,
    /// Its state when it was mapped: a writer that opens the path again compares. 0 if it was changed after that.
    pub stamp: u64,
    /// Where in the file the slice starts.
    pub start: u64,
}

impl ByteSource for RVec<u8> {
    fn bytes(&self) -> RSlice<'_, u8> {
        self.as_rslice()
    }

    fn path(&self) -> ROption<RStr<'_>> {
        ROption::RNone
    }

    fn stamp(&self) -> u64 {
        0
    }
}

/// The maximum number of bytes stored in a blob itself: a shape of four dimensions, a scalar, a few channels. Most
/// constants of a model are no larger, and finding one in memory takes longer than comparing or copying it.
const INLINE: usize = 32;

/// A slice of reference-counted immutable bytes. Cloning and slicing copy nothing except the few bytes stored inline.
#[repr(C)]
#[derive(StableAbi, Clone)]
pub struct Blob {
    source: ROption<RArc<ByteSource_TO<RBox<()>>>>,
    start: u64,
    len: u64,
    /// The bytes, if there is no source.
    inline: [u8; INLINE],
}

impl Blob {
    /// A hash of the layout, for the boundary's fingerprint.
    pub const LAYOUT_HASH: u64 = crate::__layout_hash!(Blob { source, start, len, inline });

    /// All bytes of a source.
    pub fn from_source(source: impl ByteSource) -> Self {
        let source = ByteSource_TO::from_value(source, sabi_trait::TD_Opaque);
        let len = source.bytes().len() as u64;
        Self { source: ROption::RSome(RArc::new(source)), start: 0, len, inline: [0; INLINE] }
    }

    /// The bytes `start..start + len` of this blob, which stay shared; `None` if the range is out of bounds.
    pub fn slice(&self, start: u64, len: u64) -> Option<Self> {
        let end = start.checked_add(len).filter(|&end| end <= self.len)?;
        let mut inline = [0; INLINE];
        if self.source.is_rnone() {
            inline[..len as usize].copy_from_slice(&self[start as usize..end as usize]);
        }
        Some(Self { source: self.source.clone(), start: self.start + start, len, inline })
    }

    /// The file these bytes are a mapping of, and where in it they start.
    pub fn file(&self) -> Option<FileSlice<'_>> {
        let source = self.source.as_ref().into_option()?;
        let path = source.path().into_option()?;
        Some(FileSlice { path: path.as_str(), stamp: source.stamp(), start: self.start })
    }

    /// All bytes of its source, with a number that only this source has while it is alive; `None` if it has none.
    pub(crate) fn whole(&self) -> Option<(usize, Self)> {
        let source = self.source.as_ref().into_option()?;
        let len = source.bytes().len() as u64;
        let whole = Self { source: ROption::RSome(source.clone()), start: 0, len, inline: [0; INLINE] };
        Some((std::ptr::from_ref(&**source) as usize, whole))
    }

    /// Where in its source this slice starts.
    pub fn start(&self) -> u64 {
        self.start
    }
}

impl Default for Blob {
    fn default() -> Self {
        Self { source: ROption::RNone, start: 0, len: 0, inline: [0; INLINE] }
    }
}

impl Deref for Blob {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.source {
            ROption::RSome(source) => &source.bytes().as_slice()[self.start as usize..(self.start + self.len) as usize],
            ROption::RNone => &self.inline[..self.len as usize],
        }
    }
}

impl From<Vec<u8>> for Blob {
    fn from(bytes: Vec<u8>) -> Self {
        match bytes.len() {
            0..=INLINE => Self::from(bytes.as_slice()),
            _ => Self::from_source(RVec::from(bytes)),
        }
    }
}

impl From<&[u8]> for Blob {
    fn from(bytes: &[u8]) -> Self {
        if bytes.len() > INLINE {
            return Self::from_source(RVec::from(bytes));
        }
        let mut inline = [0; INLINE];
        inline[..bytes.len()].copy_from_slice(bytes);
        Self { source: ROption::RNone, start: 0, len: bytes.len() as u64, inline }
    }
}

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Blob({} bytes)", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_slices_are_the_same_whether_they_stand_inline() {
        for len in [0, 1, INLINE - 1, INLINE, INLINE + 1, 3 * INLINE] {
            let bytes: Vec<u8> = (0..len as u8).collect();
            for blob in [Blob::from(bytes.clone()), Blob::from(bytes.as_slice())] {
                assert_eq!(*blob, *bytes);
                assert!(blob.file().is_none());
                assert_eq!(blob.source.is_rnone(), len <= INLINE);
                for start in 0..=len {
                    for end in start..=len {
                        let slice = blob.slice(start as u64, (end - start) as u64).unwrap();
                        assert_eq!((&*slice, slice.start()), (&bytes[start..end], start as u64));
                        if end > start {
                            let rest = slice.slice(1, (end - start - 1) as u64).unwrap();
                            assert_eq!((&*rest, rest.start()), (&bytes[start + 1..end], start as u64 + 1));
                        }
                    }
                }
                assert!(blob.slice(0, len as u64 + 1).is_none());
                assert!(blob.slice(u64::MAX, 2).is_none());
            }
        }
    }
}
