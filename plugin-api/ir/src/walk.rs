//! Program order without recursion.

use super::*;
use std::collections::{BTreeSet, HashSet};

/// A step of a [`Walk`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WalkStep {
    /// A block begins.
    Enter(BlockId),
    /// A binding of the innermost open block. The blocks of functions that belong to it follow.
    Binding(NodeId),
    /// A block ends.
    Exit(BlockId),
    /// The blocks that belong to this binding have ended. Bindings without any have no such step.
    Leave(NodeId),
}

/// Visits a block and everything nested in it in program order, on the heap instead of the stack.
///
/// The walk holds no borrow, so the function may change between steps; a block's list is read in its current state at
/// each step.
pub struct Walk {
    /// The innermost open block, unless the next step is a pending one, and where in its list the walk is.
    open: Option<(BlockId, usize)>,
    pending: Vec<Pending>,
}

enum Pending {
    Block { block: BlockId, at: usize },
    Enter(BlockId),
    Leave(NodeId),
}

/// Which results of nodes something uses.
#[derive(Default)]
pub struct UsedResults {
    /// By node: whether something uses it other than through a projection.
    whole: Vec<bool>,
    projected: HashSet<(NodeId, usize)>,
}

impl UsedResults {
    /// Notes that something uses a node of `f`.
    pub fn add(&mut self, f: &Function, id: NodeId) {
        if let Some(whole) = self.whole.get_mut(id.index()) {
            *whole = true;
        }
        if let Expr::TupleGetItem { tuple, index } = f.expr(id) {
            self.projected.insert((tuple, index));
        }
    }

    /// Whether something uses the node other than through a projection, or may.
    pub fn has_whole(&self, id: NodeId) -> bool {
        self.whole.get(id.index()) != Some(&false)
    }

    /// Whether something uses a projection of the node.
    pub fn has_result(&self, id: NodeId, index: usize) -> bool {
        self.projected.contains(&(id, index))
    }
}

impl Walk {
    /// A walk over the whole function.
    pub fn new(function: &Function) -> Self {
        Self::block(function.body())
    }

    /// A walk over one block.
    pub fn block(block: BlockId) -> Self {
        Self { open: None, pending: vec![Pending::Enter(block)] }
    }

    /// The next step.
    #[inline]
    pub fn next(&mut self, function: &Function) -> Option<WalkStep> {
        let Some((block, at)) = &mut self.open else { return self.resume(function) };
        let Some(&binding) = function.bindings(*block).get(*at) else {
            let block = *block;
            self.open = None;
            return Some(WalkStep::Exit(block));
        };
        *at += 1;
        if function.kind(binding) == kind::FUNCTION || function.n_regions(binding) > 0 {
            self.push_nested(function, binding);
        }
        Some(WalkStep::Binding(binding))
    }

    /// Takes a pending step.
    fn resume(&mut self, function: &Function) -> Option<WalkStep> {
        match self.pending.pop()? {
            Pending::Leave(binding) => Some(WalkStep::Leave(binding)),
            Pending::Enter(block) => {
                self.open = Some((block, 0));
                Some(WalkStep::Enter(block))
            }
            Pending::Block { block, at } => {
                self.open = Some((block, at));
                self.next(function)
            }
        }
    }

    /// Skips the blocks that belong to the binding of the last step.
    pub fn skip_nested(&mut self) {
        if self.open.is_some() {
            return;
        }
        while matches!(self.pending.last(), Some(Pending::Enter(_) | Pending::Leave(_))) {
            if let Some(Pending::Leave(_)) = self.pending.pop() {
                break;
            }
        }
    }

    #[cold]
    fn push_nested(&mut self, function: &Function, binding: NodeId) {
        self.pending.extend(self.open.take().map(|(block, at)| Pending::Block { block, at }));
        self.pending.push(Pending::Leave(binding));
        match function.kind(binding) {
            kind::FUNCTION => self.pending.push(Pending::Enter(function.block_of(binding))),
            _ => {
                for &region in function.regions(binding).iter().rev() {
                    if function.kind(region) == kind::FUNCTION {
                        self.pending.push(Pending::Enter(function.block_of(region)));
                    }
                }
            }
        }
    }
}

/// The bindings of a function that does not change: what a [`Walk`] visits, without its steps.
struct AllBindings<'a> {
    function: &'a Function,
    /// The rest of the innermost block.
    open: std::slice::Iter<'a, NodeId>,
    /// The rest of the blocks around it, and blocks that follow.
    outer: Vec<std::slice::Iter<'a, NodeId>>,
}

impl Iterator for AllBindings<'_> {
    type Item = NodeId;

    #[inline]
    fn next(&mut self) -> Option<NodeId> {
        loop {
            let Some(&id) = self.open.next() else {
                self.open = self.outer.pop()?;
                continue;
            };
            if self.function.kind(id) == kind::FUNCTION || self.function.n_regions(id) > 0 {
                self.enter(id);
            }
            return Some(id);
        }
    }
}

impl AllBindings<'_> {
    #[cold]
    fn enter(&mut self, binding: NodeId) {
        let f = self.function;
        let rest = std::mem::take(&mut self.open);
        self.outer.push(rest);
        let itself = (f.kind(binding) == kind::FUNCTION).then_some(binding);
        let functions = f.regions(binding).iter().rev().chain(&itself);
        let blocks = functions.filter(|&&function| f.kind(function) == kind::FUNCTION);
        self.outer.extend(blocks.map(|&function| f.bindings(f.block_of(function)).iter()));
    }
}

impl Function {
    /// All blocks that are reachable, each before those in it.
    pub fn all_blocks(&self) -> impl Iterator<Item = BlockId> + '_ {
        let mut walk = Walk::new(self);
        std::iter::from_fn(move || {
            loop {
                if let WalkStep::Enter(block) = walk.next(self)? {
                    return Some(block);
                }
            }
        })
    }

    /// All bindings in program order, those of nested functions included.
    pub fn all_bindings(&self) -> impl Iterator<Item = NodeId> + '_ {
        AllBindings { function: self, open: self.bindings(self.body()).iter(), outer: Vec::new() }
    }

    /// Returns which results of nodes something uses. A projection is itself no use of its result, but what uses it is.
    #[doc(hidden)]
    pub fn used_results(&self) -> UsedResults {
        let mut used = UsedResults { whole: vec![false; self.n_nodes()], ..UsedResults::default() };
        let mut walk = Walk::new(self);
        while let Some(step) = walk.next(self) {
            let operands = match step {
                WalkStep::Binding(id) if !matches!(self.kind(id), kind::FUNCTION | kind::TUPLE_GET_ITEM) => {
                    self.operands(id)
                }
                WalkStep::Exit(block) => self.results(block),
                _ => &[],
            };
            operands.iter().filter(|id| !id.is_absent()).for_each(|&id| used.add(self, id));
        }
        used
    }

    /// How often each node is used, by id: as an operand of a binding or of a floating tuple that is a block's
    /// result, or as a block's result.
    pub fn use_counts(&self) -> Vec<u32> {
        let mut counts = vec![0u32; self.n_nodes()];
        let mut blocks = vec![self.body()];
        while let Some(block) = blocks.pop() {
            self.results(block).iter().for_each(|result| counts[result.index()] += 1);
            for &id in self.bindings(block) {
                let (functions, operands) = match self.kind(id) {
                    kind::FUNCTION => (std::slice::from_ref(&id), &[][..]),
                    _ => (self.regions(id), self.operands(id)),
                };
                operands.iter().for_each(|operand| counts[operand.index()] += 1);
                let functions = functions.iter().filter(|&&function| self.kind(function) == kind::FUNCTION);
                blocks.extend(functions.map(|&function| self.block_of(function)));
            }
        }
        counts
    }
}

/// Calls `visit` with each value that a binding, or something in its functions, uses and that is defined outside of it.
pub(crate) fn each_used(f: &Function, id: NodeId, mut visit: impl FnMut(NodeId)) {
    let is_value = |id: NodeId| !matches!(f.kind(id), kind::ABSENT | kind::OP | kind::GLOBAL_VAR | kind::FUNCTION);
    let n_own = if f.kind(id) == kind::FUNCTION { 0 } else { f.operands(id).len() - f.n_regions(id) };
    f.operands(id)[..n_own].iter().copied().filter(|&id| is_value(id)).for_each(&mut visit);
    let functions = if f.kind(id) == kind::FUNCTION { std::slice::from_ref(&id) } else { f.regions(id) };
    for &function in functions {
        let mut defined: BTreeSet<NodeId> = BTreeSet::new();
        let mut walk = Walk::block(f.block_of(function));
        while let Some(step) = walk.next(f) {
            let used = match step {
                WalkStep::Enter(block) => {
                    defined.extend(f.operands(f.block(block).owner));
                    continue;
                }
                WalkStep::Binding(id) => {
                    defined.insert(id);
                    if f.kind(id) == kind::FUNCTION { &[] } else { f.operands(id) }
                }
                WalkStep::Exit(block) => f.results(block),
                WalkStep::Leave(_) => continue,
            };
            used.iter().copied().filter(|id| is_value(*id) && !defined.contains(id)).for_each(&mut visit);
        }
    }
}
