//! The calls that the driver has not come to yet, for rewrites of several calls at once.

use relais_ir::*;
use std::collections::HashSet;

/// A function as it was when a round first asked for what comes later in it. Operands of later bindings may since have
/// been replaced; the next round sees them.
pub(super) struct Ahead {
    users: Users,
    /// By node: the block that contains it, and its number among all bindings in program order.
    place: Vec<(BlockId, u32)>,
    /// Bindings that were dropped or moved since.
    pub gone: HashSet<NodeId>,
}

/// No block: for what is not a binding.
const NOWHERE: BlockId = BlockId(u32::MAX);

impl Ahead {
    pub fn of(f: &Function) -> Self {
        let mut place = vec![(NOWHERE, 0); f.n_nodes()];
        let (mut open, mut number) = (Vec::new(), 0);
        let mut walk = Walk::new(f);
        while let Some(step) = walk.next(f) {
            match step {
                WalkStep::Enter(block) => open.push(block),
                WalkStep::Exit(_) => {
                    open.pop();
                }
                WalkStep::Binding(id) => {
                    number += 1;
                    place[id.index()] = (open.last().copied().unwrap_or(NOWHERE), number);
                }
                WalkStep::Leave(_) => {}
            }
        }
        Self { users: Users::compute(f), place, gone: HashSet::new() }
    }

    fn place(&self, id: NodeId) -> (BlockId, u32) {
        self.place.get(id.index()).copied().unwrap_or((NOWHERE, 0))
    }

    /// The number of a binding in program order.
    pub fn number(&self, id: NodeId) -> u32 {
        self.place(id).1
    }

    /// Whether a binding comes after another one in the same block, and is still there.
    pub fn is_after(&self, id: NodeId, at: NodeId) -> bool {
        let ((block, number), (here, from)) = (self.place(id), self.place(at));
        block != NOWHERE && block == here && number > from && !self.gone.contains(&id)
    }

    /// The bindings that use a node, in program order, once for each use.
    pub fn users(&self, id: NodeId) -> &[NodeId] {
        if id.index() < self.place.len() { self.users.of(id) } else { &[] }
    }
}
