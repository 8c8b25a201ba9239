//! Stores whose elements are all written again before anything reads them: by another store, or by a later loop.
//!
//! Statements of a block are gone through in order. Of each, the memory that it reads is known, and of its stores, the elements
//! that they write at most, by the bounds of indices, and whether they write them all, by their form. A statement that writes
//! all that an earlier one may write overwrites it, if nothing in between reads the memory, or may end the program.

use super::Survey;
use crate::program::{Loop, are_same_values};
use relais_plugin_api::{
    ir::{BlockId, Walk, WalkStep, kind},
    prelude::*,
    prim::{CoreOp, Intervals, LoopOps, Mark, value_type},
};
use std::collections::{HashMap, HashSet};

/// The most stores of a memory that are remembered at a time: each is compared with each that follows.
const MOST_PENDING: usize = 64;

/// A store, as the statement that it is in writes memory.
#[derive(Clone)]
struct Touch {
    store: NodeId,
    /// The memory, or the view of one, that it names.
    memory: NodeId,
    /// The elements that it writes at most: by axis, the least and the greatest index.
    most: Vec<(i64, i64)>,
    /// By axis, the indices that are written, where their form is known.
    spans: Vec<Option<Span>>,
    /// Whether all of these are.
    is_whole: bool,
    /// The greatest value of a loop's variable with which it is executed.
    limits: Vec<(NodeId, i64)>,
}

/// The indices of an axis that a store writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Span {
    /// All between two numbers.
    Between(i64, i64),
    /// The value of a loop's variable plus a number.
    Of(NodeId, i64),
}

/// The accesses of a statement.
#[derive(Default)]
struct Accesses {
    /// The memory that it reads.
    reads: HashSet<NodeId>,
    /// Whether it may end the program, or not end, or access any memory.
    is_opaque: bool,
    /// Whether it is a store.
    is_store: bool,
    touches: Vec<Touch>,
}

/// An open block.
#[derive(Default)]
struct Frame {
    /// By memory: the stores that nothing has read.
    pending: HashMap<NodeId, Vec<Touch>>,
    all: Accesses,
}

/// The stores that others overwrite.
pub(super) fn overwritten(survey: &Survey, f: &Function, ops: &LoopOps, live: &[bool]) -> HashSet<NodeId> {
    let mut found = Overwritten { f, ops, known: Intervals::new(f), frames: Vec::new(), gone: HashSet::new() };
    let mut scopes: Vec<Mark> = Vec::new();
    let mut owners: Vec<(NodeId, Accesses)> = Vec::new();
    let mut walk = Walk::new(f);
    while let Some(step) = walk.next(f) {
        match step {
            WalkStep::Enter(block) => {
                scopes.push(found.known.mark());
                if let Some(&(owner, _)) = owners.last() {
                    found.known.enter(f, ops, owner, block);
                }
                found.frames.push(Frame::default());
            }
            WalkStep::Exit(block) => {
                if let Some(mark) = scopes.pop() {
                    found.known.undo(mark);
                }
                let frame = found.frames.pop().unwrap_or_default();
                if let Some((owner, accesses)) = owners.last_mut() {
                    accesses.add(found.closed(frame.all, *owner, block));
                }
            }
            WalkStep::Leave(_) => {
                if let Some((_, accesses)) = owners.pop() {
                    found.statement(accesses);
                }
            }
            WalkStep::Binding(id) if !live[id.index()] || survey.unturned.contains(&id) => walk.skip_nested(),
            WalkStep::Binding(id) if f.n_regions(id) > 0 => {
                let is_opaque = !matches!(ops.of(f, id), Some(CoreOp::For | CoreOp::When));
                owners.push((id, Accesses { is_opaque, ..Accesses::default() }));
            }
            WalkStep::Binding(id) => found.simple(id),
        }
    }
    found.gone
}

impl Accesses {
    fn add(&mut self, other: Self) {
        self.reads.extend(other.reads);
        self.is_opaque |= other.is_opaque;
        self.touches.extend(other.touches);
    }
}

struct Overwritten<'a> {
    f: &'a Function,
    ops: &'a LoopOps,
    known: Intervals,
    frames: Vec<Frame>,
    gone: HashSet<NodeId>,
}

impl Overwritten<'_> {
    /// A binding without functions of its own.
    fn simple(&mut self, id: NodeId) {
        let (f, ops) = (self.f, self.ops);
        let mut accesses = Accesses::default();
        let Some(op) = ops.of(f, id) else {
            accesses.is_opaque = !matches!(f.kind(id), kind::CONSTANT | kind::TUPLE_GET_ITEM);
            return self.statement(accesses);
        };
        let memory = f.operands(id).get(1).map(|&memory| ops.memory_of(f, memory));
        match (op, memory) {
            (CoreOp::Store, _) => {
                accesses.is_store = true;
                accesses.touches.extend(self.touch(id));
            }
            // They read nothing; what they write is not known.
            (CoreOp::Scatter | CoreOp::StoreMasked, _) => {}
            (CoreOp::Load | CoreOp::Gather | CoreOp::LoadMasked, Some(memory)) => drop(accesses.reads.insert(memory)),
            _ if op.is_statement() && op != CoreOp::Alloc => accesses.is_opaque = true,
            // A trap is a fault of the program, and not an effect.
            _ => self.known.bind(f, ops, id),
        }
        self.statement(accesses);
        if let (CoreOp::Assert, Some(&condition)) = (op, f.operands(id).get(1)) {
            self.known.assume(f, ops, condition, true);
        }
    }

    /// The access of a store.
    fn touch(&self, id: NodeId) -> Option<Touch> {
        let f = self.f;
        let [_, memory, value, ref indices @ ..] = *f.operands(id) else { return None };
        let bounds = |&index: &NodeId| {
            let bounds = self.known.of(f, index);
            (bounds.min, bounds.max)
        };
        let is_one = value_type(f.type_of(value)).is_some_and(|ty| ty.lanes.is_none());
        // A vector's elements are those that follow.
        let (most, spans) = match is_one {
            true => (indices.iter().map(bounds).collect(), indices.iter().map(|&index| self.span(index)).collect()),
            false => (vec![(i64::MIN, i64::MAX); indices.len()], vec![None; indices.len()]),
        };
        Some(Touch { store: id, memory, most, spans, is_whole: is_one, limits: Vec::new() })
    }

    fn span(&self, index: NodeId) -> Option<Span> {
        let f = self.f;
        let one = |id: NodeId| f.imm(id).and_then(|imm| imm.as_int());
        if let Some(value) = one(index) {
            return Some(Span::Between(value, value));
        }
        if f.kind(index) == kind::VAR {
            return Some(Span::Of(index, 0));
        }
        match (self.ops.of(f, index), f.operands(index)) {
            (Some(CoreOp::Add), &[_, a, b]) if f.kind(a) == kind::VAR => Some(Span::Of(a, one(b)?)),
            (Some(CoreOp::Add), &[_, a, b]) if f.kind(b) == kind::VAR => Some(Span::Of(b, one(a)?)),
            (Some(CoreOp::Sub), &[_, a, b]) if f.kind(a) == kind::VAR => Some(Span::Of(a, one(b)?.checked_neg()?)),
            _ => None,
        }
    }

    /// The accesses of a block, as those of the binding that has it.
    fn closed(&self, mut accesses: Accesses, owner: NodeId, block: BlockId) -> Accesses {
        if let Some(parts) = Loop::of(self.f, self.ops, owner) {
            let turns = self.turns(&parts);
            accesses.touches.iter_mut().for_each(|touch| touch.over(parts.params, turns));
        } else {
            let limit = self.limit(owner, block);
            for touch in &mut accesses.touches {
                match limit {
                    Some(limit) => touch.limits.push(limit),
                    None => touch.is_whole = false,
                }
            }
        }
        accesses
    }

    /// The variable of a loop, and its first and last value, if they are known and there are turns.
    fn turns(&self, parts: &Loop<'_>) -> Option<(NodeId, i64, i64)> {
        let one = |id: NodeId| {
            let bounds = self.known.of(self.f, id);
            (bounds.min == bounds.max).then_some(bounds.min)
        };
        let (&variable, start, count) = (parts.params.first()?, one(parts.min)?, one(parts.extent)?);
        let last = start.checked_add(count)?.checked_sub(1)?;
        (count > 0).then_some((variable, start, last))
    }

    /// The variable, and its greatest value, of a conditional whose block is executed for all values up to that.
    fn limit(&self, owner: NodeId, block: BlockId) -> Option<(NodeId, i64)> {
        let f = self.f;
        let is_first = f.regions(owner).first().is_some_and(|&region| f.block_of(region) == block);
        let &[_, condition, ..] = f.operands(owner) else { return None };
        let (Some(op), &[_, a, b]) = (self.ops.of(f, condition), f.operands(condition)) else { return None };
        let bound = f.imm(b).and_then(|imm| imm.as_int()).filter(|_| is_first && f.kind(a) == kind::VAR)?;
        match op {
            CoreOp::Lt => Some((a, bound.checked_sub(1)?)),
            CoreOp::Le => Some((a, bound)),
            _ => None,
        }
    }

    /// A statement of the innermost block.
    fn statement(&mut self, accesses: Accesses) {
        let Some(frame) = self.frames.last_mut() else { return };
        if accesses.is_opaque {
            frame.pending.clear();
        }
        accesses.reads.iter().for_each(|memory| drop(frame.pending.remove(memory)));
        if !accesses.is_opaque {
            for touch in &accesses.touches {
                let memory = self.ops.memory_of(self.f, touch.memory);
                if accesses.reads.contains(&memory) {
                    continue;
                }
                let pending = frame.pending.entry(memory).or_default();
                pending.retain(|earlier| {
                    let is_gone =
                        touch.covers(earlier) || accesses.is_store && is_same_place(self.f, earlier.store, touch.store);
                    if is_gone {
                        self.gone.insert(earlier.store);
                    }
                    !is_gone
                });
            }
            for touch in &accesses.touches {
                let memory = self.ops.memory_of(self.f, touch.memory);
                if !accesses.reads.contains(&memory) {
                    let pending = frame.pending.entry(memory).or_default();
                    if pending.len() == MOST_PENDING {
                        pending.remove(0);
                    }
                    pending.push(touch.clone());
                }
            }
        }
        frame.all.add(accesses);
    }
}

impl Touch {
    /// The same after all turns of a loop, of which the parameters and, if they are known, the variable and its first and last
    /// value are given.
    fn over(&mut self, params: &[NodeId], turns: Option<(NodeId, i64, i64)>) {
        let of_loop = |span: &Option<Span>| matches!(span, Some(Span::Of(of, _)) if params.contains(of));
        // A diagonal is not all of its square.
        self.is_whole &= self.spans.iter().filter(|span| of_loop(span)).count() <= 1;
        // The values that a turn carries are not known: one may never be below its limit.
        let carried = params.get(1..).unwrap_or_default();
        self.is_whole &= !self.limits.iter().any(|(of, _)| carried.contains(of));
        let limits = self.limits.iter().filter(|(of, _)| params.first() == Some(of)).map(|&(_, limit)| limit);
        let limit = limits.min().unwrap_or(i64::MAX);
        self.limits.retain(|(of, _)| !params.contains(of));
        let turns = turns.map(|(variable, first, last)| (variable, first, last.min(limit)));
        // Without a turn, nothing is written.
        self.is_whole &= turns.is_some_and(|(_, first, last)| first <= last);
        for span in self.spans.iter_mut().filter(|span| of_loop(span)) {
            *span = match (*span, turns) {
                (Some(Span::Of(of, offset)), Some((variable, first, last))) if of == variable => {
                    let ends = first.checked_add(offset).zip(last.checked_add(offset));
                    ends.map(|(first, last)| Span::Between(first, last))
                }
                _ => None,
            };
        }
    }

    /// Whether it certainly writes every element that another one may write.
    fn covers(&self, other: &Self) -> bool {
        let is_within = |axis: usize| match (self.spans[axis], other.most[axis]) {
            (Some(Span::Between(first, last)), (min, max)) => first <= min && max <= last,
            // The variable of a loop around both.
            (span @ Some(Span::Of(..)), _) => span == other.spans[axis],
            (None, _) => false,
        };
        self.is_whole
            && self.limits.is_empty()
            && self.memory == other.memory
            && self.spans.len() == other.spans.len()
            && (0..self.spans.len()).all(is_within)
    }
}

/// Whether two stores of a block write the same elements.
fn is_same_place(f: &Function, a: NodeId, b: NodeId) -> bool {
    match (f.operands(a), f.operands(b)) {
        (&[_, memory, value, ref indices @ ..], &[_, other, other_value, ref others @ ..]) => {
            memory == other
                && value_type(f.type_of(value)) == value_type(f.type_of(other_value))
                && are_same_values(f, indices, others)
        }
        _ => false,
    }
}
