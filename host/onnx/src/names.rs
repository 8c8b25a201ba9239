//! Names by number: each is hashed once, and compared by number from then on.

use hashbrown::{HashTable, hash_table::Entry};
use rapidhash::quality::RandomState;
use std::{
    collections::{HashMap, HashSet},
    hash::{BuildHasher, Hasher},
};

/// A map whose keys come from a model. Its seed is random, so that no model can be crafted whose names all collide;
/// therefore output must not depend on its order.
pub(crate) type FastMap<K, V> = HashMap<K, V, RandomState>;

/// A set of items from a model; see [`FastMap`].
pub(crate) type FastSet<T> = HashSet<T, RandomState>;

/// The number of a name in its table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct NameId(u32);

impl NameId {
    /// The index of the name's entry in a list by number.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Names, each once.
#[derive(Default)]
pub(crate) struct NameTable<'a> {
    state: RandomState,
    numbers: HashTable<u32>,
    names: Vec<&'a str>,
}

impl<'a> NameTable<'a> {
    /// Makes room for further names.
    pub fn reserve(&mut self, n_names: usize) {
        let Self { state, numbers, names } = self;
        numbers.reserve(n_names, |&number| hash(state, names[number as usize]));
        names.reserve(n_names);
    }

    /// The number of a name, which gets one if it has none.
    pub fn intern(&mut self, name: &'a str) -> NameId {
        let Self { state, numbers, names } = self;
        let is_equal = |&number: &u32| names[number as usize] == name;
        match numbers.entry(hash(state, name), is_equal, |&number| hash(state, names[number as usize])) {
            Entry::Occupied(entry) => NameId(*entry.get()),
            Entry::Vacant(entry) => {
                let number = names.len() as u32;
                entry.insert(number);
                names.push(name);
                NameId(number)
            }
        }
    }

    /// The number of a name, if it has one.
    pub fn find(&self, name: &str) -> Option<NameId> {
        let is_equal = |&number: &u32| self.names[number as usize] == name;
        self.numbers.find(hash(&self.state, name), is_equal).map(|&number| NameId(number))
    }

    /// The name with a number.
    pub fn name(&self, id: NameId) -> &'a str {
        self.names[id.index()]
    }
}

fn hash(state: &RandomState, name: &str) -> u64 {
    let mut hasher = state.build_hasher();
    hasher.write(name.as_bytes());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_have_one_number() {
        let texts: Vec<String> = (0..1000).map(|n| format!("v{n}")).collect();
        let mut table = NameTable::default();
        table.reserve(10);
        let ids: Vec<NameId> = texts.iter().map(|text| table.intern(text)).collect();
        for (index, (text, &id)) in texts.iter().zip(&ids).enumerate() {
            assert_eq!((table.intern(&text.clone().leak()[..]), table.find(text), id.index()), (id, Some(id), index));
            assert_eq!(table.name(id), text);
        }
        assert_eq!(table.find("v1000"), None);
        assert_eq!(table.find(""), None);
    }
}
