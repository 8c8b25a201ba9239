//! An open-addressing index over entries that live elsewhere.

use abi_stable::{StableAbi, std_types::RVec};

/// Maps hashes to ids of entries that the owner stores; holds ids only, so that a function's strings, types and
/// operators can be found again without a second copy of them.
#[repr(C)]
#[derive(StableAbi, Clone, Default)]
pub struct InternTable {
    /// 0 is free, otherwise the id plus one. The length is a power of two, or zero.
    slots: RVec<u32>,
    len: u32,
}

impl InternTable {
    /// The id of the entry with this hash for which `is_equal` holds.
    #[inline]
    pub fn find(&self, hash: u64, mut is_equal: impl FnMut(u32) -> bool) -> Option<u32> {
        let mask = self.slots.len().checked_sub(1)?;
        let slots = self.slots.as_slice();
        let mut at = hash as usize & mask;
        loop {
            match slots[at] {
                0 => return None,
                id if is_equal(id - 1) => return Some(id - 1),
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// Adds `id` under `hash`; `hash_of` returns the hash of an id that is already in the table.
    pub fn insert(&mut self, hash: u64, id: u32, hash_of: impl Fn(u32) -> u64) {
        if (self.len as usize + 1) * 4 > self.slots.len() * 3 {
            let capacity = (self.slots.len() * 2).max(16);
            let old = std::mem::replace(&mut self.slots, vec![0; capacity].into());
            for slot in old.into_iter().filter(|&slot| slot != 0) {
                self.place(hash_of(slot - 1), slot);
            }
        }
        self.place(hash, id + 1);
        self.len += 1;
    }

    /// Whether look-ups end and return only ids for which `is_id` holds.
    pub(super) fn is_sound(&self, is_id: impl Fn(u32) -> bool) -> bool {
        let slots = self.slots.as_slice();
        let (mut n_used, mut n_bad) = (0, 0);
        for &slot in slots.iter().filter(|&&slot| slot != 0) {
            n_used += 1;
            n_bad += usize::from(!is_id(slot - 1));
        }
        // A table whose stored number of entries is too low would be filled up before it grows.
        let is_counted = self.len as usize == n_used;
        let has_room = n_used * 4 <= slots.len() * 3;
        n_bad == 0 && is_counted && has_room && (slots.is_empty() || slots.len().is_power_of_two())
    }

    fn place(&mut self, hash: u64, slot: u32) {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at] != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = slot;
    }
}

/// A fast hash for table keys. The same on every machine and in every build, because tables travel between
/// libraries.
#[derive(Clone, Copy)]
pub struct Hash64(u64);

impl Hash64 {
    /// The hash of nothing.
    #[inline]
    pub const fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }

    /// Mixes one word in. Both halves of the product count: names that differ in a few digits are common, and a
    /// difference in the highest bits of a word would otherwise reach few bits of the hash.
    #[inline]
    pub const fn word(self, word: u64) -> Self {
        let product = (self.0 ^ word) as u128 * 0xf135_7aea_2e62_a9c5;
        Self((product as u64 ^ (product >> 64) as u64).wrapping_add(0x9e37_79b9_7f4a_7c15))
    }

    /// Mixes bytes in.
    #[inline]
    pub fn bytes(self, bytes: &[u8]) -> Self {
        let mut hash = self.word(bytes.len() as u64);
        let (chunks, rest) = bytes.as_chunks::<8>();
        for &chunk in chunks {
            hash = hash.word(u64::from_le_bytes(chunk));
        }
        hash.word(padded(rest))
    }

    /// The finished hash.
    #[inline]
    pub const fn finish(self) -> u64 {
        let h = (self.0 ^ (self.0 >> 32)).wrapping_mul(0x9fb2_1c65_1e98_df25);
        h ^ (h >> 29)
    }
}

/// The little-endian word of up to seven bytes, without a copy of a length that is not known.
#[inline]
fn padded(bytes: &[u8]) -> u64 {
    let n = bytes.len();
    match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        // The two parts agree on the bytes that they share.
        (Some(&low), Some(&high)) => {
            u64::from(u32::from_le_bytes(low)) | u64::from(u32::from_le_bytes(high)) << (8 * (n - 4))
        }
        _ => bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    }
}

impl Default for Hash64 {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dim, ElemType, Function, Type};

    fn table(slots: &[u32], len: u32) -> InternTable {
        InternTable { slots: slots.to_vec().into(), len }
    }

    #[test]
    fn a_table_that_would_fill_up_is_not_sound() {
        let mut grown = InternTable::default();
        assert!(grown.is_sound(|_| true));
        for id in 0..100 {
            grown.insert(u64::from(id) * 7, id, |id| u64::from(id) * 7);
            assert!(grown.is_sound(|known| known <= id) && !grown.is_sound(|known| known < id));
        }
        assert!(table(&[1, 2, 3, 0], 3).is_sound(|_| true));
        // No free slot, a wrong number, and a number of slots that is not a power of two.
        for (slots, len) in [(&[1, 2, 3, 4][..], 4), (&[1, 2, 3, 0], 0), (&[1, 2, 3, 0], 4), (&[1, 0, 0], 1), (&[], 1)]
        {
            assert!(!table(slots, len).is_sound(|_| true), "{slots:?} {len}");
        }
    }

    #[test]
    fn names_that_differ_in_digits_have_different_hashes() {
        let names = (0..200_000).flat_map(|n| [format!("c1_{n}"), format!("layer_{n}/out"), format!("block{n}_a{n}")]);
        let mut hashes: Vec<u64> = names.map(|name| Hash64::new().bytes(name.as_bytes()).finish()).collect();
        hashes.sort_unstable();
        assert!(hashes.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn the_word_of_few_bytes_is_that_of_their_copy() {
        let bytes = [0x81, 0x02, 0xf3, 0x04, 0x95, 0x06, 0xa7];
        for n in 0..=bytes.len() {
            let mut copy = [0; 8];
            copy[..n].copy_from_slice(&bytes[..n]);
            assert_eq!(padded(&bytes[..n]), u64::from_le_bytes(copy), "{n} bytes");
        }
    }

    /// Plugins look up strings, types and operators in tables that a host of another version made, and vice versa.
    #[test]
    fn where_entries_stand_in_a_table_is_part_of_the_boundary() {
        let mut f = Function::new();
        for name in ["Relu", "Conv", "com.acme", "a name that is longer than two words"] {
            f.intern(name);
        }
        for elem in [ElemType::FLOAT, ElemType::INT64, ElemType::BOOL] {
            let tensor = f.tensor_type(elem, &[Dim::Static(2), Dim::Unknown, Dim::Static(1 << 40)]);
            f.add_type(Type::Tuple(&[tensor, tensor]));
            f.add_type(Type::Sequence(tensor));
        }
        for (domain, name, version) in [("", "Relu", 0), ("com.acme", "Fused", 0), ("", "Conv", 11)] {
            f.add_op(domain, name, "", version);
        }
        let slots = f.parts().indices.map(|index| index.slots.to_vec());
        let strings = [0, 0, 0, 1, 5, 0, 0, 73, 0, 21, 0, 0, 0, 0, 13, 33];
        let types = [10, 0, 5, 7, 0, 0, 0, 1, 9, 8, 4, 6, 3, 0, 2, 0];
        let ops = [0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 3, 1];
        assert_eq!(slots, [strings, types, ops]);
    }
}
