//! Moving values to earlier places, and the values that may be.

use crate::program;
use relais_plugin_api::{
    ir::{BlockId, Imm, StrId, Walk, WalkStep, kind},
    op::Effects,
    prelude::*,
    prim::{Class, CoreOp, Intervals, LoopOps, value_type},
};
use std::collections::HashMap;

/// How many blocks out of which a value is moved at once, so that deeply nested ones do not take quadratic time.
const MOST_BLOCKS: usize = 64;

/// Before a statement of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    pub block: BlockId,
    /// The position of the statement in the block, as the function was.
    before: u32,
}

/// Where a node is: of a block, the parameters come first, then each binding behind those that were moved before it.
#[derive(Clone, Copy)]
struct Home {
    block: BlockId,
    depth: u32,
    at: u32,
}

/// A block, and the statement that it belongs to.
struct Nest {
    depth: u32,
    owner: Option<(NodeId, BlockId)>,
}

/// The places of a function's values, and the moves and merges that were decided.
pub struct Motion {
    homes: Vec<Option<Home>>,
    nests: HashMap<BlockId, Nest>,
    /// The facts that hold wherever a value is visible: none of the conditions around a place is among them.
    pub known: Intervals,
    moved: Vec<NodeId>,
    by: HashMap<NodeId, NodeId>,
    merged: Vec<NodeId>,
}

impl Motion {
    /// Reads a function.
    pub fn new(f: &Function, ops: &LoopOps) -> Self {
        let mut motion = Self {
            homes: vec![None; f.n_nodes()],
            nests: HashMap::new(),
            known: Intervals::new(f),
            moved: Vec::new(),
            by: HashMap::new(),
            merged: Vec::new(),
        };
        // The open blocks, each with the number of its bindings so far; and the bindings with open blocks.
        let (mut blocks, mut owners): (Vec<(BlockId, u32)>, Vec<NodeId>) = (Vec::new(), Vec::new());
        let mut walk = Walk::new(f);
        while let Some(step) = walk.next(f) {
            match step {
                WalkStep::Enter(block) => {
                    let owner = owners.last().copied().zip(blocks.last().map(|&(block, _)| block));
                    blocks.push((block, 0));
                    let depth = blocks.len() as u32;
                    motion.nests.insert(block, Nest { depth, owner });
                    for &param in f.operands(f.block(block).owner) {
                        motion.homes[param.index()] = Some(Home { block, depth, at: 0 });
                    }
                    // Where the number of turns is a number, the bounds of the variable need none of the conditions.
                    if let Some((owner, _)) = owner
                        && ops.of(f, owner) == Some(CoreOp::For)
                        && f.operands(owner).get(2).is_some_and(|&extent| f.imm(extent).is_some())
                    {
                        motion.known.enter(f, ops, owner, block);
                    }
                }
                WalkStep::Exit(_) => drop(blocks.pop()),
                WalkStep::Leave(_) => drop(owners.pop()),
                WalkStep::Binding(id) => {
                    let depth = blocks.len() as u32;
                    if let Some((block, n)) = blocks.last_mut() {
                        motion.homes[id.index()] = Some(Home { block: *block, depth, at: 2 * *n + 2 });
                        *n += 1;
                    }
                    match f.n_regions(id) {
                        0 => motion.known.bind(f, ops, id),
                        _ => owners.push(id),
                    }
                }
            }
        }
        motion
    }

    /// The block that a binding is in, or was moved to.
    pub fn block_of(&self, id: NodeId) -> Option<BlockId> {
        self.homes[id.index()].map(|home| home.block)
    }

    /// The binding that a block belongs to, and the block of that.
    pub fn owner(&self, block: BlockId) -> Option<(NodeId, BlockId)> {
        self.nests.get(&block)?.owner
    }

    /// How many blocks a block is in, with itself.
    pub fn depth(&self, block: BlockId) -> u32 {
        self.nests.get(&block).map_or(0, |nest| nest.depth)
    }

    /// The innermost block around two; `None` if that is too far away.
    pub fn common(&self, mut a: BlockId, mut b: BlockId) -> Option<BlockId> {
        for _ in 0..MOST_BLOCKS {
            if a == b {
                return Some(a);
            }
            match self.depth(a) >= self.depth(b) {
                true => a = self.owner(a)?.1,
                false => b = self.owner(b)?.1,
            }
        }
        None
    }

    /// The place in a block before the statement that is, or contains, a node of a block within.
    pub fn before(&self, block: BlockId, mut id: NodeId) -> Option<Place> {
        for _ in 0..MOST_BLOCKS {
            let home = self.homes[id.index()]?;
            if home.block == block {
                return Some(Place { block, before: (home.at - 1) / 2 });
            }
            id = self.owner(home.block)?.0;
        }
        None
    }

    /// The node that stands for another one.
    pub fn now(&self, mut id: NodeId) -> NodeId {
        while let Some(&by) = self.by.get(&id) {
            id = by;
        }
        id
    }

    /// Whether all operands of a binding are visible at a place of a block around it.
    pub fn is_ready(&self, f: &Function, id: NodeId, place: Place) -> bool {
        let depth = self.depth(place.block);
        f.operands(id).iter().all(|&operand| match self.homes.get(self.now(operand).index()).copied().flatten() {
            // It is in no block, so it is visible everywhere.
            None => true,
            Some(home) => home.depth < depth || home.block == place.block && home.at <= 2 * place.before + 1,
        })
    }

    /// Moves a binding to a place at which its operands are visible.
    pub fn move_to(&mut self, id: NodeId, place: Place) {
        let depth = self.depth(place.block);
        self.homes[id.index()] = Some(Home { block: place.block, depth, at: 2 * place.before + 1 });
        self.moved.push(id);
    }

    /// Lets a value that is visible wherever another one is stand for that, which goes.
    pub fn merge(&mut self, id: NodeId, by: NodeId) {
        self.by.insert(id, by);
        self.merged.push(id);
    }

    /// How many were merged.
    pub fn n_merged(&self) -> usize {
        self.merged.len()
    }

    /// How many were moved and merged.
    pub fn n_changes(&self) -> usize {
        self.moved.len() + self.merged.len()
    }

    /// Writes what was decided.
    pub fn apply(self, f: &mut Function) {
        if self.n_changes() == 0 {
            return;
        }
        for &id in &self.merged {
            let by = self.now(id);
            if f.name_id(by) == StrId::EMPTY && f.name_id(id) != StrId::EMPTY {
                f.inherit_value(by, id);
            }
        }
        program::replace(f, f.body(), |id| self.now(id));
        // The last move of each counts, and comes after those of its operands.
        let last: HashMap<NodeId, usize> = self.moved.iter().enumerate().map(|(at, &id)| (id, at)).collect();
        let mut inserted: HashMap<(BlockId, u32), Vec<NodeId>> = HashMap::new();
        for (at, &id) in self.moved.iter().enumerate() {
            if let Some(home) = self.homes[id.index()]
                && last[&id] == at
                && !self.by.contains_key(&id)
            {
                inserted.entry((home.block, (home.at - 1) / 2)).or_default().push(id);
            }
        }
        let blocks: Vec<BlockId> = f.all_blocks().collect();
        for block in blocks {
            let old = f.bindings(block);
            let mut new = Vec::with_capacity(old.len());
            for (&id, at) in old.iter().zip(0..) {
                new.extend(inserted.get(&(block, at)).into_iter().flatten());
                if !last.contains_key(&id) && !self.by.contains_key(&id) {
                    new.push(id);
                }
            }
            if new != old {
                f.set_bindings(block, &new);
            }
        }
        program::remove_second_names(f);
    }
}

/// The operator of a binding that computes a value from values alone.
pub fn pure_op(f: &Function, ops: &LoopOps, id: NodeId) -> Option<CoreOp> {
    let op = ops.of(f, id)?;
    let is_value = !op.is_statement() && !op.gives_memory() && (op == CoreOp::Dim || !op.takes_memory());
    (is_value && value_type(f.type_of(id)).is_some()).then_some(op)
}

/// Whether an operation on values may end the program, or has no defined result, for some of them.
pub fn may_stop(f: &Function, known: &Intervals, op: CoreOp, id: NodeId) -> bool {
    let args = &f.operands(id)[1..];
    let is_float = |id: NodeId| value_type(f.type_of(id)).is_some_and(|ty| ty.elem.is_float());
    match (op, args) {
        (CoreOp::Div | CoreOp::Mod | CoreOp::FloorDiv | CoreOp::FloorMod, &[a, by]) => {
            let bounds = known.of(f, by);
            !is_float(a) && bounds.min <= 0 && bounds.max >= 0
        }
        (CoreOp::Cast, &[a]) => is_float(a) && !is_float(id) && !is_bool(f, id),
        _ => op.info().effects.contains(Effects::TRAPS),
    }
}

fn is_bool(f: &Function, id: NodeId) -> bool {
    value_type(f.type_of(id)).is_some_and(|ty| ty.elem == ElemType::BOOL)
}

/// Whether an operation takes long, as functions of the C library do.
pub fn is_costly(op: CoreOp) -> bool {
    op.info().class == Class::Math
}

/// Whether a binding is a loop.
pub fn is_loop(f: &Function, ops: &LoopOps, id: NodeId) -> bool {
    matches!(ops.of(f, id), Some(CoreOp::For | CoreOp::While))
}

/// Whether a binding runs one of its two functions, if that.
pub fn is_conditional(f: &Function, ops: &LoopOps, id: NodeId) -> bool {
    f.kind(id) == kind::IF || ops.of(f, id) == Some(CoreOp::When)
}

/// The number that a node is.
pub fn number(f: &Function, id: NodeId) -> Option<i64> {
    f.imm(id).and_then(Imm::as_int)
}
