//! The constant table: a part that clones share, and later additions.

use crate::Tensor;
use abi_stable::{
    StableAbi,
    std_types::{RArc, RVec},
};

/// Tensors by id. Every pass that changes a function clones it, and a large model has a tensor for every few nodes:
/// counting one reference for all of them keeps clones cheap.
#[repr(C)]
#[derive(StableAbi, Clone)]
pub(crate) struct ConstantTable {
    shared: RArc<RVec<Tensor>>,
    added: RVec<Tensor>,
}

impl Default for ConstantTable {
    fn default() -> Self {
        Self { shared: RArc::new(RVec::new()), added: RVec::new() }
    }
}

impl ConstantTable {
    /// A hash of the layout, for the boundary's fingerprint.
    pub const LAYOUT_HASH: u64 = crate::__layout_hash!(ConstantTable { shared, added });

    pub(super) fn len(&self) -> usize {
        self.shared.len() + self.added.len()
    }

    #[inline]
    pub(super) fn get(&self, id: u32) -> &Tensor {
        let (shared, id) = (self.shared.as_slice(), id as usize);
        match shared.get(id) {
            Some(tensor) => tensor,
            None => &self.added.as_slice()[id - shared.len()],
        }
    }

    /// Whether the tensors of `other` come first, each the same object.
    pub(super) fn starts_with(&self, other: &Self) -> bool {
        let n_shared = if std::ptr::eq(&*self.shared, &*other.shared) { self.shared.len() } else { 0 };
        let is_same = |id: u32| self.get(id).is_same(other.get(id));
        self.len() >= other.len() && (n_shared as u32..other.len() as u32).all(is_same)
    }

    pub(super) fn push(&mut self, tensor: Tensor) {
        self.added.push(tensor);
    }

    /// Makes clones share the additions, once this is worth copying the rest.
    pub(super) fn share(&mut self) {
        if self.added.len() * 4 <= self.shared.len() {
            return;
        }
        let added = std::mem::take(&mut self.added);
        match RArc::get_mut(&mut self.shared) {
            Some(shared) => shared.extend(added),
            None => self.shared = RArc::new(self.shared.iter().cloned().chain(added).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_stay_whether_shared_or_added() {
        let mut table = ConstantTable::default();
        let mut clones = Vec::new();
        for value in 0..100 {
            table.push(Tensor::from_i64(&[], &[value]));
            if value % 3 == 0 {
                table.share();
            }
            if value % 10 == 0 {
                clones.push(table.clone());
            }
        }
        for (n, table) in clones.iter().enumerate().map(|(i, clone)| (i * 10 + 1, clone)).chain([(100, &table)]) {
            assert_eq!(table.len(), n);
            assert!((0..n).all(|id| table.get(id as u32).to_i64s() == Some(vec![id as i64])));
        }
        table.share();
        assert!(table.added.len() * 4 <= table.shared.len(), "most of a large table is shared");
    }
}
