//! Names by number: each is hashed once, and compared by number from then on.

use rapidhash::quality::RandomState;
use relais_plugin_api::ir::{Function, StrId};
use std::{
    collections::{HashMap, HashSet},
    hash::{BuildHasher, Hasher},
    num::NonZeroU32,
};

/// A map whose keys come from a model. Its seed is random, so that no model can be crafted whose names all collide;
/// therefore output must not depend on its order.
pub(crate) type FastMap<K, V> = HashMap<K, V, RandomState>;

/// A set of items from a model; see [`FastMap`].
pub(crate) type FastSet<T> = HashSet<T, RandomState>;

/// The number of a name in its table, plus one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct NameId(NonZeroU32);

impl NameId {
    fn new(number: usize) -> Self {
        let number = u32::try_from(number + 1).ok().and_then(NonZeroU32::new);
        Self(number.expect("a function holds fewer than 2^32 strings"))
    }

    /// The index of the name's entry in a list by number.
    pub fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// The names in a function, each once. All methods expect the same function.
///
/// Names that differ only in their last character have neighbouring slots. Such names are often near each other in a
/// model, and then share the cache line that the first of them brings in. No more than 256 names can have one start, so
/// that this adds at most a constant to a look-up.
#[derive(Default)]
pub(crate) struct NameTable {
    state: RandomState,
    /// A power of two of slots, or none: the hash in the upper half and the number plus one in the lower half; 0 is
    /// free. The hash says where the slot belongs, whatever the number of slots, so that growing reads no name.
    slots: Vec<u64>,
    names: Vec<StrId>,
}

impl NameTable {
    /// Makes room for further names.
    pub fn reserve(&mut self, n_names: usize) {
        self.names.reserve(n_names);
        let wanted = (self.names.len() + n_names) * 2;
        if wanted > self.slots.len() {
            let slots = vec![0; wanted.next_power_of_two().max(16)];
            for slot in std::mem::replace(&mut self.slots, slots).into_iter().filter(|&slot| slot != 0) {
                let at = probe(&self.slots, (slot >> 32) as u32, |_| false).unwrap_or_else(|free| free);
                self.slots[at] = slot;
            }
        }
    }

    /// The number of a name, which gets one if it has none.
    #[inline]
    pub fn intern(&mut self, f: &Function, name: StrId) -> NameId {
        if (self.names.len() + 1) * 2 > self.slots.len() {
            self.reserve(self.names.len().max(8));
        }
        let text = f.bytes(name);
        let hash = hash(&self.state, text);
        match self.look_up(f, text, hash) {
            Ok(id) => id,
            Err(free) => {
                let id = NameId::new(self.names.len());
                self.slots[free] = u64::from(hash) << 32 | u64::from(id.0.get());
                self.names.push(name);
                id
            }
        }
    }

    /// The number of a name, if it has one.
    #[inline]
    pub fn find(&self, f: &Function, name: &[u8]) -> Option<NameId> {
        if self.slots.is_empty() {
            return None;
        }
        self.look_up(f, name, hash(&self.state, name)).ok()
    }

    /// The number of a name, or the slot for it.
    #[inline]
    fn look_up(&self, f: &Function, name: &[u8], hash: u32) -> Result<NameId, usize> {
        let is_equal = |slot: u64| f.bytes(self.names[id_in(slot).index()]) == name;
        probe(&self.slots, hash, is_equal).map(|at| id_in(self.slots[at]))
    }

    /// The name with a number.
    #[inline]
    pub fn name(&self, id: NameId) -> StrId {
        self.names[id.index()]
    }
}

/// The number in an occupied slot.
#[inline]
fn id_in(slot: u64) -> NameId {
    NameId(NonZeroU32::new(slot as u32).expect("an occupied slot has a number"))
}

/// The slot with this hash for which `is_equal` holds, or the free slot at the end of the search.
#[inline]
fn probe(slots: &[u64], hash: u32, is_equal: impl Fn(u64) -> bool) -> Result<usize, usize> {
    let mask = slots.len() - 1;
    let mut at = hash as usize & mask;
    loop {
        match slots[at] {
            0 => return Err(at),
            slot if (slot >> 32) as u32 == hash && is_equal(slot) => return Ok(at),
            _ => at = (at + 1) & mask,
        }
    }
}

#[inline]
fn hash(state: &RandomState, name: &[u8]) -> u32 {
    let (start, last) = match name {
        [start @ .., last] => (start, *last),
        [] => (name, 0),
    };
    let mut hasher = state.build_hasher();
    hasher.write(start);
    (hasher.finish() as u32).wrapping_add(last.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_have_one_number() {
        let texts: Vec<String> = (0..1000).map(|n| format!("v{n}")).collect();
        let mut f = Function::new();
        let mut table = NameTable::default();
        table.reserve(10);
        for (index, text) in texts.iter().enumerate() {
            let (name, equal) = (f.add_string(text.as_bytes()), f.add_string(text.as_bytes()));
            let id = table.intern(&f, name);
            assert_eq!((id.index(), table.name(id)), (index, name));
            assert_eq!(table.intern(&f, equal), id);
        }
        for (index, text) in texts.iter().enumerate() {
            assert_eq!(table.find(&f, text.as_bytes()).map(NameId::index), Some(index));
        }
        assert_eq!(table.find(&f, b"v1000"), None);
        assert_eq!(table.find(&f, b""), None);
    }
}
