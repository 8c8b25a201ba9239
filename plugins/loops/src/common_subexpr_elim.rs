//! Computes what a loop program computes twice only once.
//!
//! ```text
//! when (%c) {
//!   %y[0] = %n + %m;
//! } else {
//!   %y[1] = (%m + %n) * 2;
//! }
//! ```
//! becomes
//! ```text
//! %t = %n + %m;
//! when (%c) {
//!   %y[0] = %t;
//! } else {
//!   %y[1] = %t * 2;
//! }
//! ```
//!
//! Two operations are the same when operator, operands and type are. The operands of sums, products and the like of integers may be
//! exchanged, and `a < b` is `b > a`; those of floats may not, as the bits of a NaN may differ, and nothing is reassociated. A
//! load is the same as one before it where nothing can have written that memory between them.
//!
//! If none of equal operations is before the other ones, as in two branches, the first is moved to the innermost block
//! around them, before the statement that contains it. There it may be computed where the program did not. So loads stay,
//! and what may end the program, such as a division by what may be zero; functions such as `exp` move only if
//! one of the places is always reached.
//!
//! TVM's pass never merges loads, nor `m + n` with `n + m` unless asked for. Its arguments are not taken.

use crate::{
    motion::{Motion, is_conditional, is_costly, is_loop, may_stop, pure_op},
    program::is_program,
};
use relais_plugin_api::{
    ir::{AttrValue, BlockId, Imm, TypeId, Walk, WalkStep, kind},
    prelude::*,
    prim::{CoreOp, LoopOps, value_type},
};
use std::{cmp::Ordering, collections::HashMap};

config_option! {
    "tir.disable_cse_tir": bool, default = false, aliases = ["tirx.disable_cse_tir"],
    doc = "Whether `CommonSubexprElim` does nothing."
}

/// Computes what a loop program computes twice only once.
#[prim_func_pass(
    name = "relais.CommonSubexprElim",
    aliases = ["tir.transform.CommonSubexprElimTIR", "tirx.transform.CommonSubexprElim"],
    opt_level = 0,
    phase = "none",
    statistics(merged = "operations merged with an equal one"),
)]
pub fn common_subexpr_elim(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    let f = edit.function();
    if cx.config("tir.disable_cse_tir")? == Some(true) || !is_program(f) {
        return Ok(());
    }
    let ops = LoopOps::new(f);
    let mut motion = Motion::new(f, &ops);
    let groups = Numbers::new(f, &ops).groups(&mut motion);
    for group in &groups {
        merge_apart(f, &ops, &mut motion, group);
    }
    if motion.n_changes() > 0 {
        cx.count("merged", motion.n_merged());
        motion.apply(edit.function_mut());
    }
    Ok(())
}

/// How many equal operations are merged from the innermost blocks on. More are only merged in the block around all, so that the
/// time stays linear.
const MOST_APART: usize = 1024;

/// Equal operands: of one number, or equal immediates.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Arg {
    Value(u32),
    Number(Imm),
}

/// Equal keys give equal values.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    op: CoreOp,
    ty: TypeId,
    args: Vec<Arg>,
    /// The axis of a `dim`; the state of the memory of a load.
    more: (i64, u32),
}

/// Numbers the values of a function: equal numbers are equal values.
struct Numbers<'a> {
    f: &'a Function,
    ops: &'a LoopOps,
    by_key: HashMap<Key, u32>,
    /// By node; 0 if it has no number yet.
    numbers: Vec<u32>,
    n_numbers: u32,
    /// How often each memory was written so far, and the count of what may have written any.
    writes: HashMap<NodeId, u32>,
    n_unknown: u32,
}

impl<'a> Numbers<'a> {
    fn new(f: &'a Function, ops: &'a LoopOps) -> Self {
        let numbers = vec![0; f.n_nodes()];
        Self { f, ops, by_key: HashMap::new(), numbers, n_numbers: 0, writes: HashMap::new(), n_unknown: 0 }
    }

    /// Merges each operation with an equal one that is visible at it. The others that are equal are returned, in program
    /// order, operands before what uses them.
    fn groups(mut self, motion: &mut Motion) -> Vec<Vec<NodeId>> {
        let f = self.f;
        // By number: the value that is visible here.
        let mut visible: HashMap<u32, NodeId> = HashMap::new();
        let mut firsts: Vec<(u32, NodeId)> = Vec::new();
        let (mut scopes, mut log): (Vec<usize>, Vec<u32>) = (Vec::new(), Vec::new());
        let mut walk = Walk::new(f);
        while let Some(step) = walk.next(f) {
            match step {
                WalkStep::Enter(_) => scopes.push(log.len()),
                WalkStep::Exit(_) => {
                    let start = scopes.pop().unwrap_or(0);
                    for number in log.drain(start..) {
                        visible.remove(&number);
                    }
                }
                WalkStep::Leave(_) => {}
                WalkStep::Binding(id) => {
                    let Some(number) = self.number(id) else { continue };
                    match visible.get(&number) {
                        Some(&first) => motion.merge(id, first),
                        None => {
                            visible.insert(number, id);
                            log.push(number);
                            firsts.push((number, id));
                        }
                    }
                }
            }
        }
        // The sort is stable.
        firsts.sort_by_key(|&(number, _)| number);
        let groups = firsts.chunk_by(|a, b| a.0 == b.0).filter(|group| group.len() > 1);
        let apart = groups.filter(|group| pure_op(f, self.ops, group[0].1).is_some());
        apart.map(|group| group.iter().map(|&(_, id)| id).collect()).collect()
    }

    /// The number of an operation that may be merged.
    fn number(&mut self, id: NodeId) -> Option<u32> {
        let Some(key) = self.key(id) else {
            self.note_writes(id);
            return None;
        };
        let number = match self.by_key.get(&key) {
            Some(&number) => number,
            None => {
                self.n_numbers += 1;
                self.by_key.insert(key, self.n_numbers);
                self.n_numbers
            }
        };
        self.numbers[id.index()] = number;
        Some(number)
    }

    fn note_writes(&mut self, id: NodeId) {
        let (f, ops) = (self.f, self.ops);
        match ops.of(f, id) {
            Some(CoreOp::Store | CoreOp::Scatter | CoreOp::StoreMasked) => {
                if let Some(&memory) = f.operands(id).get(1) {
                    *self.writes.entry(ops.memory_of(f, memory)).or_default() += 1;
                }
            }
            // A later turn of a loop may write before an earlier load of it comes again.
            _ if is_loop(f, ops, id) => self.n_unknown += 1,
            None if f.kind(id) == kind::CALL => self.n_unknown += 1,
            _ => {}
        }
    }

    fn key(&mut self, id: NodeId) -> Option<Key> {
        let (f, ops) = (self.f, self.ops);
        let ty = f.type_id(id);
        let (op, more) = match pure_op(f, ops, id) {
            Some(CoreOp::Dim) => match f.attrs(id).get("axis")? {
                AttrValue::Int(axis) => (CoreOp::Dim, (axis, 0)),
                _ => return None,
            },
            Some(op) => (op, (0, 0)),
            None => {
                let op = ops.of(f, id).filter(|op| matches!(op, CoreOp::Load | CoreOp::Gather | CoreOp::LoadMasked))?;
                let memory = ops.memory_of(f, *f.operands(id).get(1)?);
                match ops.is_writable(f, memory) {
                    true => (op, (self.writes.get(&memory).copied().unwrap_or(0).into(), self.n_unknown)),
                    false => (op, (0, 0)),
                }
            }
        };
        if ty == TypeId::UNKNOWN {
            return None;
        }
        let mut args: Vec<Arg> = f.operands(id)[1..].iter().map(|&arg| self.arg(arg)).collect();
        let is_integer = || {
            let ty = f.operands(id).get(1).and_then(|&a| value_type(f.type_of(a)));
            ty.is_some_and(|ty| !ty.elem.is_float())
        };
        let op = match op {
            CoreOp::Gt | CoreOp::Ge => {
                args.reverse();
                op.swapped()?
            }
            // The bits of a NaN may be those of the first operand.
            _ if op.is_commutative() && (matches!(op, CoreOp::Eq | CoreOp::Ne) || is_integer()) => {
                args.sort_by(|a, b| match (a, b) {
                    (Arg::Value(a), Arg::Value(b)) => a.cmp(b),
                    (Arg::Value(_), Arg::Number(_)) => Ordering::Less,
                    (Arg::Number(_), Arg::Value(_)) => Ordering::Greater,
                    (Arg::Number(_), Arg::Number(_)) => Ordering::Equal,
                });
                op
            }
            _ => op,
        };
        Some(Key { op, ty, args, more })
    }

    fn arg(&mut self, id: NodeId) -> Arg {
        if let Some(imm) = self.f.imm(id) {
            return Arg::Number(imm);
        }
        let number = &mut self.numbers[id.index()];
        if *number == 0 {
            self.n_numbers += 1;
            *number = self.n_numbers;
        }
        Arg::Value(*number)
    }
}

/// Merges equal operations of which none is visible at another one, from the innermost blocks that contain several on.
fn merge_apart(f: &Function, ops: &LoopOps, motion: &mut Motion, group: &[NodeId]) {
    let Some(op) = pure_op(f, ops, group[0]) else { return };
    let mut left = group.to_vec();
    let blocks: Vec<BlockId> = left.iter().filter_map(|&id| motion.block_of(id)).collect();
    let mut around: Vec<BlockId> = blocks.windows(2).filter_map(|pair| motion.common(pair[0], pair[1])).collect();
    around.sort_by_key(|&block| std::cmp::Reverse(motion.depth(block)));
    around.dedup();
    if group.len() > MOST_APART {
        around.drain(..around.len().saturating_sub(1));
    }
    for block in around {
        let places: Vec<_> = left.iter().map(|&id| motion.before(block, id)).collect();
        let inner: Vec<NodeId> =
            left.iter().zip(&places).filter(|(_, place)| place.is_some()).map(|(&id, _)| id).collect();
        let Some(place) = places.into_iter().flatten().next().filter(|_| inner.len() > 1) else { continue };
        let first = inner[0];
        // One that was moved into the block is where it is needed.
        let is_there = motion.block_of(first) == Some(block);
        let may_move = !may_stop(f, &motion.known, op, first)
            && (!is_costly(op) || is_reached(f, ops, motion, block, &inner))
            && motion.is_ready(f, first, place);
        if !is_there && !may_move {
            continue;
        }
        if !is_there {
            motion.move_to(first, place);
        }
        inner[1..].iter().for_each(|&id| motion.merge(id, first));
        left.retain(|id| *id == first || !inner.contains(id));
    }
}

/// Whether one of some bindings is computed whenever a block runs to its end: one is in it, or in both branches of a
/// conditional of it.
fn is_reached(f: &Function, ops: &LoopOps, motion: &Motion, block: BlockId, inner: &[NodeId]) -> bool {
    let blocks: Vec<BlockId> = inner.iter().filter_map(|&id| motion.block_of(id)).collect();
    blocks.iter().any(|&inside| {
        inside == block
            || motion.owner(inside).is_some_and(|(owner, outer)| {
                let regions = f.regions(owner);
                outer == block
                    && is_conditional(f, ops, owner)
                    && regions.len() == 2
                    && regions.iter().all(|&region| blocks.contains(&f.block_of(region)))
            })
    })
}
