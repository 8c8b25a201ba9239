//! Lists of numbers that cross the boundary without a copy: how analyses are seen by those who know only their names.

use abi_stable::{
    StableAbi,
    std_types::{RArc, ROption, RString, RVec},
};
use std::ops::Deref;

/// Numbers that several holders share: 32 bits without a sign (`narrow`), or 64 bits with one (`wide`).
#[repr(transparent)]
#[derive(StableAbi, Clone, PartialEq, Debug)]
pub struct Numbers<T>(RArc<RVec<T>>);

impl<T> Deref for Numbers<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> From<Vec<T>> for Numbers<T> {
    fn from(numbers: Vec<T>) -> Self {
        Self(RArc::new(numbers.into()))
    }
}

/// A list and its name: narrow or wide.
#[repr(C)]
#[derive(StableAbi, Clone, PartialEq, Debug)]
pub struct List {
    name: RString,
    narrow: ROption<Numbers<u32>>,
    wide: ROption<Numbers<i64>>,
    /// Tagged fields of later versions (see `docs/abi.md`); empty.
    more: RVec<u8>,
}

/// Lists of numbers by name, in an order. Cloning copies no numbers.
#[repr(transparent)]
#[derive(StableAbi, Clone, PartialEq, Debug, Default)]
pub struct Lists(RVec<List>);

/// The list that a type of numbers is.
pub trait AnyNumbers: Clone {
    /// Adds it under a name.
    #[doc(hidden)]
    fn add(self, name: &str, lists: &mut Lists);
}

impl AnyNumbers for Numbers<u32> {
    fn add(self, name: &str, lists: &mut Lists) {
        lists.push(name, ROption::RSome(self), ROption::RNone);
    }
}

impl AnyNumbers for Numbers<i64> {
    fn add(self, name: &str, lists: &mut Lists) {
        lists.push(name, ROption::RNone, ROption::RSome(self));
    }
}

impl Lists {
    /// A hash of the layout, for the boundary's fingerprint.
    pub const LAYOUT_HASH: u64 = crate::__layout_hash!(List { name, narrow, wide, more });

    /// No lists.
    pub fn new() -> Self {
        Self::default()
    }

    fn push(&mut self, name: &str, narrow: ROption<Numbers<u32>>, wide: ROption<Numbers<i64>>) {
        self.0.push(List { name: name.into(), narrow, wide, more: RVec::new() });
    }

    /// The same with another list, at the end.
    pub fn with(mut self, name: &str, numbers: &impl AnyNumbers) -> Self {
        numbers.clone().add(name, &mut self);
        self
    }

    /// Returns a list of narrow numbers.
    pub fn narrow(&self, name: &str) -> Option<&Numbers<u32>> {
        self.find(name)?.narrow.as_ref().into_option()
    }

    /// Returns a list of wide numbers.
    pub fn wide(&self, name: &str) -> Option<&Numbers<i64>> {
        self.find(name)?.wide.as_ref().into_option()
    }

    fn find(&self, name: &str) -> Option<&List> {
        self.0.iter().find(|list| list.name == name)
    }

    /// The names of the lists, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|list| list.name.as_str())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_found_by_name_and_by_type() {
        let numbers = Numbers::from(vec![1u32, 2]);
        let lists = Lists::new().with("small", &numbers).with("large", &Numbers::from(vec![-1i64]));
        assert_eq!(lists.narrow("small").map(|list| list.to_vec()), Some(vec![1, 2]));
        assert_eq!(lists.wide("large").map(|list| list.to_vec()), Some(vec![-1]));
        assert!(lists.narrow("large").is_none() && lists.wide("medium").is_none());
        assert_eq!(lists.names().collect::<Vec<_>>(), ["small", "large"]);
        assert!(!lists.is_empty() && Lists::new().is_empty());
        // Nothing was copied.
        assert!(std::ptr::eq(lists.narrow("small").unwrap().as_ptr(), numbers.as_ptr()));
    }
}
