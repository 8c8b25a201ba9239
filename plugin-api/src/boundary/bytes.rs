//! Immutable bytes that cross the boundary without a copy: owned, or a view of something that the host keeps alive.
#![expect(unsafe_code, non_local_definitions, reason = "the trait object's generated code")]

use abi_stable::{
    StableAbi, sabi_trait,
    std_types::{RArc, RBox, ROption, RSlice, RStr, RVec},
};
use std::{fmt, ops::Deref};

/// What keeps the bytes of a [`Blob`] alive: a vector, or a mapped file.
#[sabi_trait]
pub trait ByteSource: Send + Sync + 'static {
    /// All bytes. The same slice at every call.
    fn bytes(&self) -> RSlice<'_, u8>;

    /// The path of the file that the bytes are a mapping of, so that a writer can copy from file to file.
    fn path(&self) -> ROption<RStr<'_>>;

    /// What tells the state of that file at the time of mapping from any other file under the path; 0 where there is
    /// no file.
    #[sabi(last_prefix_field)]
    fn stamp(&self) -> u64;
}

/// A slice of a mapped file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileSlice<'a> {
    /// The file's path.
    pub path: &'a str,
    /// Its state when it was mapped: a writer that opens the path again compares.
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

/// A slice of reference-counted immutable bytes. Cloning and slicing copy nothing.
#[repr(C)]
#[derive(StableAbi, Clone)]
pub struct Blob {
    source: ROption<RArc<ByteSource_TO<RBox<()>>>>,
    start: u64,
    len: u64,
}

impl Blob {
    /// A hash of the layout, for the boundary's fingerprint.
    pub(crate) const LAYOUT_HASH: u64 = crate::__layout_hash!(Blob { source, start, len });

    /// All bytes of a source.
    pub fn from_source(source: impl ByteSource) -> Self {
        let source = ByteSource_TO::from_value(source, sabi_trait::TD_Opaque);
        let len = source.bytes().len() as u64;
        Self { source: ROption::RSome(RArc::new(source)), start: 0, len }
    }

    /// The bytes `start..start + len` of this blob, which stay shared; `None` when they are not within it.
    pub fn slice(&self, start: u64, len: u64) -> Option<Self> {
        (start.checked_add(len)? <= self.len).then(|| Self {
            source: self.source.clone(),
            start: self.start + start,
            len,
        })
    }

    /// The file these bytes are a mapping of, and where in it they start.
    pub fn file(&self) -> Option<FileSlice<'_>> {
        let source = self.source.as_ref().into_option()?;
        let path = source.path().into_option()?;
        Some(FileSlice { path: path.as_str(), stamp: source.stamp(), start: self.start })
    }

    /// Where in its source this slice starts.
    pub fn start(&self) -> u64 {
        self.start
    }
}

impl Default for Blob {
    fn default() -> Self {
        Self { source: ROption::RNone, start: 0, len: 0 }
    }
}

impl Deref for Blob {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.source {
            ROption::RSome(source) => &source.bytes().as_slice()[self.start as usize..(self.start + self.len) as usize],
            ROption::RNone => &[],
        }
    }
}

impl From<Vec<u8>> for Blob {
    fn from(bytes: Vec<u8>) -> Self {
        if bytes.is_empty() {
            return Self::default();
        }
        Self::from_source(RVec::from(bytes))
    }
}

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Blob({} bytes)", self.len)
    }
}
