//! Indices and loops in their simplest form.

use relais_plugin_api::{
    ir::{Imm, NodeId},
    prim::PrimBuilder,
};

/// Indices and loops in their simplest form.
pub trait Terms<'b> {
    fn builder(&mut self) -> &mut PrimBuilder<'b>;

    /// The value of an index that is a number.
    fn known(&mut self, index: NodeId) -> Option<i64> {
        self.builder().function().imm(index).and_then(Imm::as_int)
    }

    /// The sum of indices, in the simplest form.
    fn plus(&mut self, x: NodeId, y: NodeId) -> NodeId {
        match (self.known(x), self.known(y)) {
            (Some(x), Some(y)) => self.builder().index(x + y),
            (Some(0), _) => y,
            (_, Some(0)) => x,
            _ => self.builder().add(x, y),
        }
    }

    /// A multiple of an index, in the simplest form.
    fn times(&mut self, x: NodeId, by: u64) -> NodeId {
        let by = by as i64;
        match self.known(x) {
            Some(x) => self.builder().index(x * by),
            None if by == 1 => x,
            None => {
                let b = self.builder();
                let by = b.index(by);
                b.mul(x, by)
            }
        }
    }

    /// `x + by`, in the simplest form.
    fn shifted(&mut self, x: NodeId, by: i64) -> NodeId {
        if by < 0 && self.known(x).is_none() {
            let b = self.builder();
            let by = b.index(-by);
            return b.sub(x, by);
        }
        let by = self.builder().index(by);
        self.plus(x, by)
    }

    /// The index of an element of a part among parts of one size.
    fn within(&mut self, part: NodeId, size: u64, at: NodeId) -> NodeId {
        let start = self.times(part, size);
        self.plus(start, at)
    }

    /// A loop from 0 to `size`; no loop for one turn.
    fn over(&mut self, size: u64, body: impl FnOnce(&mut PrimBuilder<'b>, NodeId)) {
        let b = self.builder();
        if size == 1 {
            let zero = b.index(0);
            return body(b, zero);
        }
        let extent = b.index(size as i64);
        b.each(extent, body);
    }

    /// Calls `body` for blocks of the indices from 0 to `size`: in a loop, then for those that are left over.
    fn in_blocks(&mut self, size: u64, block: u64, body: impl Fn(&mut PrimBuilder<'b>, &[NodeId])) {
        let blocks = size / block;
        if blocks > 0 {
            self.over(blocks, |b, at| {
                let first = b.times(at, block);
                let indices: Vec<NodeId> = (0..block).map(|at| b.shifted(first, at as i64)).collect();
                body(b, &indices);
            });
        }
        if !size.is_multiple_of(block) {
            let b = self.builder();
            let indices: Vec<NodeId> = (blocks * block..size).map(|at| b.index(at as i64)).collect();
            body(b, &indices);
        }
    }

    /// A loop from `min` on, of `extent` turns.
    fn from(&mut self, min: NodeId, extent: NodeId, body: impl FnOnce(&mut PrimBuilder<'b>, NodeId)) {
        self.builder().fold(min, extent, [], |b, at, []| {
            body(b, at);
            []
        });
    }
}

impl<'b> Terms<'b> for PrimBuilder<'b> {
    fn builder(&mut self) -> &mut Self {
        self
    }
}
