//! Strings of a function, in one byte pool.

use super::*;

impl Function {
    /// The bytes of a string.
    #[inline]
    pub fn bytes(&self, id: StrId) -> &[u8] {
        let pool = &self.strings.as_slice()[id.index()..];
        let len = node::word(Some(pool)) as usize;
        &pool[4..4 + len]
    }

    /// A string; empty if its bytes are not UTF-8 (only attribute values may have other bytes).
    #[inline]
    pub fn str(&self, id: StrId) -> &str {
        std::str::from_utf8(self.bytes(id)).unwrap_or("")
    }

    /// Adds a string without looking for an equal one: for names, which are all different.
    pub fn add_string(&mut self, bytes: &[u8]) -> StrId {
        if bytes.is_empty() {
            return StrId::EMPTY;
        }
        let id = StrId(next_id(self.strings.len()));
        self.strings.extend_from_copy_slice(&next_id(bytes.len()).to_le_bytes());
        self.strings.extend_from_copy_slice(bytes);
        id
    }

    /// The id of an equal interned string, added when there is none.
    pub fn intern(&mut self, string: &str) -> StrId {
        // Comparing empty strings may take longer than everything else here: they need not be at a mapped address.
        if string.is_empty() {
            return StrId::EMPTY;
        }
        let hash = Hash64::new().bytes(string.as_bytes()).finish();
        if let Some(id) = self.find_hashed(string, hash) {
            return id;
        }
        let id = self.add_string(string.as_bytes());
        self.insert_string(id, hash);
        id
    }

    fn insert_string(&mut self, id: StrId, hash: u64) {
        let strings = &self.strings;
        self.string_index.insert(hash, id.0, |id| {
            let pool = &strings.as_slice()[id as usize..];
            let len = node::word(Some(pool)) as usize;
            Hash64::new().bytes(&pool[4..4 + len]).finish()
        });
    }

    /// The id of the string that is equal to one of the pool and interned: that one if there is none.
    pub(super) fn index_string(&mut self, id: StrId) -> StrId {
        let hash = Hash64::new().bytes(self.bytes(id)).finish();
        let bytes = self.bytes(id);
        if let Some(known) = self.string_index.find(hash, |known| self.bytes(StrId(known)) == bytes) {
            return StrId(known);
        }
        self.insert_string(id, hash);
        id
    }

    /// The id of an equal interned string.
    pub fn find_string(&self, string: &str) -> Option<StrId> {
        self.find_hashed(string, Hash64::new().bytes(string.as_bytes()).finish())
    }

    fn find_hashed(&self, string: &str, hash: u64) -> Option<StrId> {
        self.string_index.find(hash, |id| self.bytes(StrId(id)) == string.as_bytes()).map(StrId)
    }
}
