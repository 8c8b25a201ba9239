//! Moves what is the same in all turns of a loop out of it.
//!
//! ```text
//! for %i in 0..8 {
//!   for %j in 0..16 {
//!     %y[%i, %j] = %x[%i, %j] * (%bias[%i] + %s);
//!   }
//! }
//! ```
//! becomes
//! ```text
//! for %i in 0..8 {
//!   %b = %bias[%i];
//!   %t = %b + %s;
//!   for %j in 0..16 {
//!     %y[%i, %j] = %x[%i, %j] * %t;
//!   }
//! }
//! ```
//!
//! A value is moved out of all loops that its operands do not depend on, and out of conditionals on the way; where the loop has
//! no turns, or the condition does not hold, it is computed in vain. So these stay:
//! - operations that may end the program, such as a division by what may be zero;
//! - functions such as `exp` in a conditional;
//! - loads whose indices are not proven to be in range by the bounds of loops alone;
//! - loads of memory that the loop may write;
//! - loads of memory that is not an input, in a conditional or where the loop may have no turns.
//!
//! Nothing is computed in another way. TVM's `HoistExpression` also moves conditionals, and its options, which are not taken, say
//! what moves.

use crate::{
    motion::{Motion, Place, is_costly, is_loop, may_stop, number, pure_op},
    program::is_program,
};
use relais_plugin_api::{
    ir::{Walk, WalkStep, kind},
    prelude::*,
    prim::{CoreOp, LoopOps, value_type},
};
use std::collections::HashMap;

/// Moves what is the same in all turns of a loop out of it.
#[prim_func_pass(
    name = "relais.Hoist",
    opt_level = 0,
    phase = "none",
    statistics(hoisted = "values moved out of loops")
)]
pub fn hoist(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    let f = edit.function();
    if !is_program(f) {
        return Ok(());
    }
    let ops = LoopOps::new(f);
    let mut motion = Motion::new(f, &ops);
    let writes = Writes::new(f, &ops);
    for id in f.all_bindings() {
        if let Some(place) = outermost(f, &ops, &motion, &writes, id) {
            motion.move_to(id, place);
        }
    }
    if motion.n_changes() > 0 {
        cx.count("hoisted", motion.n_changes());
        motion.apply(edit.function_mut());
    }
    Ok(())
}

/// The place before the outermost loop that a value may be moved out of.
fn outermost(f: &Function, ops: &LoopOps, motion: &Motion, writes: &Writes, id: NodeId) -> Option<Place> {
    let (op, memory) = match pure_op(f, ops, id) {
        Some(op) if may_stop(f, &motion.known, op, id) => return None,
        Some(op) => (op, None),
        None => (CoreOp::Load, Some(loaded_in_range(f, ops, motion, id)?)),
    };
    let mut best = None;
    let mut block = motion.block_of(id)?;
    while let Some((owner, outer)) = motion.owner(block) {
        let place = motion.before(outer, owner)?;
        let may_cross = match is_loop(f, ops, owner) {
            true => memory.is_none_or(|memory| {
                !writes.may_be_in(owner, memory) && (!ops.is_writable(f, memory) || has_turns(f, ops, owner))
            }),
            false => !is_costly(op) && memory.is_none_or(|memory| !ops.is_writable(f, memory)),
        };
        if !may_cross || !motion.is_ready(f, id, place) {
            break;
        }
        if is_loop(f, ops, owner) {
            best = Some(place);
        }
        block = outer;
    }
    best
}

/// Whether a loop certainly has a turn.
fn has_turns(f: &Function, ops: &LoopOps, id: NodeId) -> bool {
    ops.of(f, id) == Some(CoreOp::For)
        && f.operands(id).get(2).and_then(|&extent| number(f, extent)).is_some_and(|extent| extent > 0)
}

/// The memory of a load that is in range wherever its indices are visible.
fn loaded_in_range(f: &Function, ops: &LoopOps, motion: &Motion, id: NodeId) -> Option<NodeId> {
    if ops.of(f, id) != Some(CoreOp::Load) {
        return None;
    }
    let [_, memory, indices @ ..] = f.operands(id) else { return None };
    let sizes = f.type_of(*memory).static_shape()?;
    let lanes = value_type(f.type_of(id))?.lanes.unwrap_or(1);
    let is_in_range = |(at, (&index, &size)): (usize, (&NodeId, &u64))| {
        let bounds = motion.known.of(f, index);
        let more = if at + 1 == sizes.len() { lanes - 1 } else { 0 };
        bounds.min >= 0 && u64::try_from(bounds.max).is_ok_and(|max| max.saturating_add(more) < size)
    };
    let is_inside = indices.len() == sizes.len() && indices.iter().zip(&sizes).enumerate().all(is_in_range);
    is_inside.then(|| ops.memory_of(f, *memory))
}

/// The bindings that write memory, and those of each loop.
struct Writes {
    /// By memory: the positions of the bindings that write it, in program order.
    of: HashMap<NodeId, Vec<usize>>,
    /// The positions of those that may write any memory.
    unknown: Vec<usize>,
    /// By loop: the positions of its bindings.
    within: HashMap<NodeId, (usize, usize)>,
}

impl Writes {
    fn new(f: &Function, ops: &LoopOps) -> Self {
        let mut writes = Self { of: HashMap::new(), unknown: Vec::new(), within: HashMap::new() };
        let mut at = 0;
        let mut walk = Walk::new(f);
        while let Some(step) = walk.next(f) {
            match step {
                WalkStep::Binding(id) => {
                    at += 1;
                    match ops.of(f, id) {
                        Some(CoreOp::Store | CoreOp::Scatter | CoreOp::StoreMasked) => {
                            let memory = ops.memory_of(f, f.operands(id)[1]);
                            writes.of.entry(memory).or_default().push(at);
                        }
                        Some(CoreOp::For | CoreOp::While) => drop(writes.within.insert(id, (at, at))),
                        None if f.kind(id) == kind::CALL => writes.unknown.push(at),
                        _ => {}
                    }
                }
                WalkStep::Leave(id) => {
                    if let Some(within) = writes.within.get_mut(&id) {
                        within.1 = at;
                    }
                }
                WalkStep::Enter(_) | WalkStep::Exit(_) => {}
            }
        }
        writes
    }

    /// Whether a loop may write memory.
    fn may_be_in(&self, id: NodeId, memory: NodeId) -> bool {
        let Some(&(first, last)) = self.within.get(&id) else { return true };
        let has_any = |all: &[usize]| all.get(all.partition_point(|&at| at < first)).is_some_and(|&at| at <= last);
        has_any(&self.unknown) || self.of.get(&memory).is_some_and(|all| has_any(all))
    }
}
