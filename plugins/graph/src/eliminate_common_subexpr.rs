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
//! A value replaces another only where it is visible: in the rest of its block and what is nested there.

use crate::counted::Counted;
use relais_plugin_api::{infer::Operators, prelude::*};
use std::convert::Infallible;

/// Merges equal calls, projections, tuples and constants.
#[function_pass(
    name = "relay._transform.EliminateCommonSubexpr",
    aliases = ["relax.transform.EliminateCommonSubexpr"],
    opt_level = 3,
    required = ["InferType"],
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
    let merge = Merge {
        ops,
        latest: vec![NodeId::ABSENT; n_nodes],
        earlier: vec![NodeId::ABSENT; n_nodes],
        crowd: Crowd::new(n_nodes, edit.function().n_constants()),
        log: Vec::new(),
        marks: Vec::new(),
    };
    match Counted::rebuild(edit, merge) {
        Ok(n_merged) => n_merged,
    }
}

/// What is visible at the current place, to be found again. Equal bindings have the same last operand, which usually has
/// few users and stands near them, so they are first looked for there: a hash table of everything would miss the cache
/// at each binding of a large function.
struct Merge<'a> {
    ops: &'a dyn Operators,
    /// By node: the latest of its users that are kept in a list.
    latest: Vec<NodeId>,
    /// By binding that is in a list, of users or of a hash: the one before it.
    earlier: Vec<NodeId>,
    /// The bindings without operands, and the users beyond the first few of a node.
    crowd: Crowd,
    /// What was added, in order, so that a block's part can be taken back when it ends.
    log: Vec<Added>,
    /// Where each open block's part of the log begins.
    marks: Vec<usize>,
}

enum Added {
    Listed { operand: NodeId },
    Crowd { id: NodeId },
}

/// Bindings by hash. The lists of its slots run through [`Merge::earlier`], so that a slot takes four bytes: at this size
/// the places of a large table cost less to reach than the bindings in it.
struct Crowd {
    /// By the last bits of the hash: the latest binding.
    slots: Vec<NodeId>,
    /// By node: its hash, if it is here.
    hashes: Vec<u32>,
    /// How many are here.
    n: usize,
}

impl Crowd {
    fn new(n_nodes: usize, n_expected: usize) -> Self {
        let n_slots = n_expected.next_power_of_two();
        Self { slots: vec![NodeId::ABSENT; n_slots], hashes: vec![0; n_nodes], n: 0 }
    }

    fn slot(&mut self, hash: u32) -> &mut NodeId {
        let mask = self.slots.len() - 1;
        &mut self.slots[hash as usize & mask]
    }
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
                    *latest = self.earlier[latest.index()];
                }
                Added::Crowd { id } => {
                    *self.crowd.slot(self.crowd.hashes[id.index()]) = self.earlier[id.index()];
                    self.crowd.n -= 1;
                }
            }
        }
        Ok(())
    }

    fn binding(&mut self, cx: &mut RebuildCx<'_>, id: NodeId) -> Result<Action, Infallible> {
        let f = cx.function();
        if !self.is_mergeable(f, id) {
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
                if is_same(f, id, other) {
                    return Some(other);
                }
                n_listed += 1;
                other = self.earlier[other.index()];
            }
            if n_listed < LISTED {
                self.earlier[id.index()] = std::mem::replace(&mut self.latest[operand.index()], id);
                self.log.push(Added::Listed { operand });
                return None;
            }
        }
        let hash = hash(f, id) as u32;
        let mut other = *self.crowd.slot(hash);
        while !other.is_absent() {
            if self.crowd.hashes[other.index()] == hash && is_same(f, id, other) {
                return Some(other);
            }
            other = self.earlier[other.index()];
        }
        if self.crowd.n >= self.crowd.slots.len() {
            self.widen();
        }
        self.crowd.hashes[id.index()] = hash;
        self.earlier[id.index()] = std::mem::replace(self.crowd.slot(hash), id);
        self.crowd.n += 1;
        self.log.push(Added::Crowd { id });
        None
    }

    /// Doubles the slots of the crowd.
    fn widen(&mut self) {
        let Crowd { slots, hashes, .. } = &mut self.crowd;
        let n_slots = slots.len() * 2;
        *slots = vec![NodeId::ABSENT; n_slots];
        for added in &self.log {
            if let &Added::Crowd { id } = added {
                let slot = &mut slots[hashes[id.index()] as usize & (n_slots - 1)];
                self.earlier[id.index()] = std::mem::replace(slot, id);
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
            Expr::Constant(_) => f.node(id).flags & flag::LISTED_INPUT == 0,
            Expr::Tuple(_) | Expr::TupleGetItem { .. } => true,
            _ => false,
        }
    }
}

fn operator_attrs(f: &Function, id: NodeId) -> impl Iterator<Item = &AttrRec> {
    f.attr_recs(id).iter().filter(|rec| rec.flags & attr_flag::META == 0)
}

fn hash(f: &Function, id: NodeId) -> u64 {
    let rec = f.node(id);
    let mut hash = Hash64::new().word(u64::from(rec.kind) << 16);
    if let Some(tensor) = f.constant(id) {
        return hash.word(tensor.bucket_hash()).finish();
    }
    hash = hash.word(rec.aux.into());
    for operand in f.operands(id) {
        hash = hash.word(operand.0.into());
    }
    for attr in operator_attrs(f, id) {
        hash = hash.word(attr.name.0.into()).word(attr.kind.into());
        // Other kinds keep a place in the pools here, which two equal values need not share.
        if matches!(attr.kind, attr_kind::INT | attr_kind::FLOAT) {
            hash = hash.word(u64::from(attr.a) | u64::from(attr.b) << 32);
        }
    }
    hash.finish()
}

fn is_same(f: &Function, a: NodeId, b: NodeId) -> bool {
    if let (Some(x), Some(y)) = (f.constant(a), f.constant(b)) {
        return x == y;
    }
    let (x, y) = (f.node(a), f.node(b));
    (x.kind, x.aux) == (y.kind, y.aux)
        && f.operands(a) == f.operands(b)
        && operator_attrs(f, a).count() == operator_attrs(f, b).count()
        && operator_attrs(f, a).zip(operator_attrs(f, b)).all(|(p, q)| {
            p.name == q.name && p.kind == q.kind && is_same_value(f.attrs(a).decode(*p), f.attrs(b).decode(*q))
        })
}

/// Equality of attribute values by what they are, floats by their bits.
fn is_same_value(a: AttrValue<'_>, b: AttrValue<'_>) -> bool {
    match (a, b) {
        (AttrValue::Float(a), AttrValue::Float(b)) => a.to_bits() == b.to_bits(),
        (AttrValue::Floats(a), AttrValue::Floats(b)) | (AttrValue::Ints(a), AttrValue::Ints(b)) => a.raw() == b.raw(),
        (AttrValue::Types(a), AttrValue::Types(b)) => a.raw() == b.raw(),
        (AttrValue::Strings(a), AttrValue::Strings(b)) | (AttrValue::SparseTensors(a), AttrValue::SparseTensors(b)) => {
            a.strings().eq(b.strings())
        }
        (AttrValue::Tensors(a), AttrValue::Tensors(b)) => a.tensors().eq(b.tensors()),
        (AttrValue::Graph(_) | AttrValue::Graphs(_) | AttrValue::Other(_), _) => false,
        (a, b) => a == b,
    }
}
