//! Computes what is computed twice only once.
//!
//! ```text
//! %0 = Relu(%x);
//! %1 = Relu(%x);
//! %2 = Add(%0, %1);
//! ```
//! becomes
//! ```text
//! %0 = Relu(%x);
//! %2 = Add(%0, %0);
//! ```
//!
//! Two calls are the same when operator, arguments and attributes are; metadata does not count. Constants are the same
//! when their bits are. Calls that are random, keep state or are not known are never merged, nor is what owns a block.
//! A value replaces another only where it is visible: in the rest of its block and what is nested there. Sequences and
//! optionals that are results stay: an output that is another one's value needs an operator that carries it over, which
//! older operator sets have for tensors only.

use crate::counted::Counted;
use relais_plugin_api::{
    infer::Operators,
    ir::{BlockId, Rebuild, Type, flag, kind},
    prelude::*,
};
use std::{collections::BTreeSet, convert::Infallible};

/// Merges equal calls, projections, tuples and constants.
#[function_pass(
    name = "relais.EliminateCommonSubexpr",
    aliases = ["relay._transform.EliminateCommonSubexpr", "relax.transform.EliminateCommonSubexpr"],
    opt_level = 3,
    required = ["relais.InferType"],
    statistics(merged = "bindings merged with an equal one"),
)]
pub fn eliminate_common_subexpr(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    let ops = cx.ops(edit.function());
    cx.count("merged", eliminate(edit, &ops));
    Ok(())
}

/// Merges equal bindings of a function, and returns how many went; linear in its size.
pub fn eliminate(edit: &mut Editor, ops: &dyn Operators) -> usize {
    let n_nodes = edit.function().n_nodes();
    let twins = Twins::of(edit.function());
    let merge = Merge {
        ops,
        carried: carried(edit.function()),
        latest: vec![NodeId::ABSENT; n_nodes],
        links: vec![Link { earlier: NodeId::ABSENT, hash: 0 }; n_nodes],
        slots: vec![NodeId::ABSENT; slots_for(twins.n)],
        twins,
        n_in_slots: 0,
        log: Vec::new(),
        marks: Vec::new(),
    };
    match Counted::rebuild(edit, merge) {
        Ok(n_merged) => n_merged,
    }
}

/// The results of blocks that are not tensors.
fn carried(f: &Function) -> BTreeSet<NodeId> {
    let results = (0..f.n_blocks() as u32).flat_map(|block| f.results(BlockId(block))).copied();
    results.filter(|&id| !id.is_absent() && matches!(f.type_of(id), Type::Sequence(_) | Type::Optional(_))).collect()
}

/// The bindings visible at the current place, for lookup. Equal bindings have the same last operand, which usually has
/// few users nearby, so they are first looked for there: a hash table of everything would miss the cache at each
/// binding of a large function.
struct Merge<'a> {
    ops: &'a dyn Operators,
    /// The results that are not tensors.
    carried: BTreeSet<NodeId>,
    /// By node: the latest of its users that are kept in a list.
    latest: Vec<NodeId>,
    /// By binding that is in a list, of users or of a slot.
    links: Vec<Link>,
    /// By the last bits of the hash: the latest of the bindings without operands, and of the users beyond the first few
    /// of a node.
    slots: Vec<NodeId>,
    /// How many bindings are in the lists of the slots.
    n_in_slots: usize,
    /// The constants that are worth looking for.
    twins: Twins,
    /// The added bindings, in order, so that a block's part can be removed when it ends.
    log: Vec<Added>,
    /// Where each open block's part of the log begins.
    marks: Vec<usize>,
}

#[derive(Clone, Copy)]
struct Link {
    /// The binding before it in its list.
    earlier: NodeId,
    /// Its hash, in the list of a slot.
    hash: u32,
}

/// The constants that have the hash of another one. Most constants of a model are weights that have no equal: sorting
/// the hashes of all costs less than to look for each in a table of all.
struct Twins {
    /// By node.
    is_twin: Vec<bool>,
    n: usize,
}

impl Twins {
    fn of(f: &Function) -> Self {
        let constants = (0..f.n_nodes() as u32).map(NodeId).filter(|&id| f.kind(id) == kind::CONSTANT);
        let mut hashes: Vec<(u32, NodeId)> = constants.map(|id| (f.structural_hash(id) as u32, id)).collect();
        hashes.sort_unstable();
        let mut is_twin = vec![false; f.n_nodes()];
        let mut n = 0;
        for same in hashes.chunk_by(|(a, _), (b, _)| a == b).filter(|same| same.len() > 1) {
            same.iter().for_each(|(_, id)| is_twin[id.index()] = true);
            n += same.len();
        }
        Self { is_twin, n }
    }
}

enum Added {
    Listed { operand: NodeId },
    InSlot { id: NodeId },
}

fn slots_for(n: usize) -> usize {
    (2 * n).next_power_of_two()
}

fn slot(slots: &mut [NodeId], hash: u32) -> &mut NodeId {
    let mask = slots.len() - 1;
    &mut slots[hash as usize & mask]
}

/// How many users of a node are kept in a list.
const LISTED: usize = 8;

impl Rebuild for Merge<'_> {
    type Error = Infallible;

    fn enter(&mut self, _: &mut Editor, _: BlockId) -> Result<(), Infallible> {
        self.marks.push(self.log.len());
        Ok(())
    }

    fn exit(&mut self, _: &mut Editor, _: BlockId) -> Result<(), Infallible> {
        let mark = self.marks.pop().unwrap_or(0);
        // After the outermost block nothing is looked for.
        if self.marks.is_empty() {
            return Ok(());
        }
        for added in self.log.drain(mark..).rev() {
            match added {
                Added::Listed { operand } => {
                    let latest = &mut self.latest[operand.index()];
                    *latest = self.links[latest.index()].earlier;
                }
                Added::InSlot { id } => {
                    let Link { earlier, hash } = self.links[id.index()];
                    *slot(&mut self.slots, hash) = earlier;
                    self.n_in_slots -= 1;
                }
            }
        }
        Ok(())
    }

    fn binding(&mut self, cx: &mut RebuildCx<'_>, id: NodeId) -> Result<Action, Infallible> {
        let f = cx.function();
        if !self.is_mergeable(f, id) || self.carried.contains(&id) {
            return Ok(Action::Keep);
        }
        Ok(match self.find_or_add(f, id) {
            Some(same) => Action::Replace(same),
            None => Action::Keep,
        })
    }
}

impl Merge<'_> {
    fn find_or_add(&mut self, f: &Function, id: NodeId) -> Option<NodeId> {
        let last = f.operands(id).iter().copied().max().filter(|last| !last.is_absent());
        if let Some(operand) = last {
            let mut other = self.latest[operand.index()];
            let mut n_listed = 0;
            while !other.is_absent() {
                if f.is_same(id, other) {
                    return Some(other);
                }
                n_listed += 1;
                other = self.links[other.index()].earlier;
            }
            if n_listed < LISTED {
                self.links[id.index()].earlier = std::mem::replace(&mut self.latest[operand.index()], id);
                self.log.push(Added::Listed { operand });
                return None;
            }
        }
        let hash = f.structural_hash(id) as u32;
        let mut other = *slot(&mut self.slots, hash);
        while !other.is_absent() {
            let link = self.links[other.index()];
            if link.hash == hash && f.is_same(id, other) {
                return Some(other);
            }
            other = link.earlier;
        }
        self.n_in_slots += 1;
        if slots_for(self.n_in_slots) > self.slots.len() {
            self.widen();
        }
        let earlier = std::mem::replace(slot(&mut self.slots, hash), id);
        self.links[id.index()] = Link { earlier, hash };
        self.log.push(Added::InSlot { id });
        None
    }

    /// Makes room for as many again.
    fn widen(&mut self) {
        self.slots = vec![NodeId::ABSENT; slots_for(self.n_in_slots)];
        for added in &self.log {
            if let &Added::InSlot { id } = added {
                let link = &mut self.links[id.index()];
                link.earlier = std::mem::replace(slot(&mut self.slots, link.hash), id);
            }
        }
    }
}

impl Merge<'_> {
    fn is_mergeable(&self, f: &Function, id: NodeId) -> bool {
        match f.expr(id) {
            Expr::Call(call) => {
                call.regions().is_empty() && call.op().is_some_and(|op| self.ops.effects(op).is_mergeable())
            }
            // An initializer that is also an input belongs to the interface.
            Expr::Constant(_) => self.twins.is_twin[id.index()] && f.node(id).flags & flag::LISTED_INPUT == 0,
            Expr::Tuple(_) | Expr::TupleGetItem { .. } => true,
            _ => false,
        }
    }
}
