//! Views of id pools as the ids they hold.
#![expect(unsafe_code, reason = "a word and an id are the same in memory")]

use crate::{NodeId, TypeId};

/// Words as type ids.
pub(crate) fn type_ids(words: &[u32]) -> &[TypeId] {
    // SAFETY: `TypeId` is `repr(transparent)` over `u32`, every value of which is valid for it.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len()) }
}

/// Words as node ids.
pub(crate) fn node_ids(words: &[u32]) -> &[NodeId] {
    // SAFETY: `NodeId` is `repr(transparent)` over `u32`, every value of which is valid for it.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len()) }
}
