//! Lets memory of a loop program that is not needed at the same time be one.
//!
//! ```text
//! prim @k(%x: Tensor[(64), float32]) -> (%y: Tensor[(64), float32]) {
//!   %a = alloc float32[64];
//!   for %i in 0..64 { %a[%i] = %x[%i] + 1.0; }
//!   %b = alloc float32[64];
//!   for %i in 0..64 { %b[%i] = exp(%a[%i]); }
//!   %c = alloc float32[8, 8];
//!   for %i in 0..8 { for %j in 0..8 { %c[%j, %i] = %b[%i * 8 + %j]; } }
//!   …
//! }
//! ```
//! becomes
//! ```text
//! prim @k(%x: Tensor[(64), float32]) -> (%y: Tensor[(64), float32]) {
//!   %a = alloc float32[64];
//!   for %i in 0..64 { %a[%i] = %x[%i] + 1.0; }
//!   for %i in 0..64 { %a[%i] = exp(%a[%i]); }
//!   %c = alloc float32[8, 8];
//!   for %i in 0..8 { for %j in 0..8 { %c[%j, %i] = %a[%i * 8 + %j]; } }
//!   …
//! }
//! ```
//!
//! Memory of an `alloc` is needed from the first statement of its block that uses it to the last one; what a loop or a
//! conditional uses is needed by it as a whole. Memory of one scope and element type that is not needed by the same statement
//! becomes one. Two may also meet in a statement, the last one of the first and the first one of the second, if each element
//! is proven to be used before it is written there, by the order of statements and of the turns of loops: the statement then
//! works in place. Memory in the body of a serial loop, or in a branch, may be that of a block around it, which is not needed
//! while the loop runs. Memory in the body of a `parallel` or `vectorized` loop stays there, as each turn has its own, and so
//! does memory in a `while`.
//!
//! Of the places that memory may take, the one that grows least is taken, and of these the smallest. Memory of several sizes
//! becomes that of the largest, seen through views, whose first dimension may be larger than before. Memory that a call or
//! `dim` uses only becomes one with memory of as many elements.
//!
//! Results do not change, except where a program reads memory that it never wrote. A function with a plan of its memory, as
//! `PlanMemory` makes it, is left alone. With the context's option `tir.disable_storage_rewrite`, nothing is done.
//!
//! TVM's pass differs: it lets memory of different element types share a place, which a `view` cannot, and moves memory out of
//! loops.

use crate::program::{call, is_program, set_attr};
use relais_plugin_api::{
    ir::{AttrValue, BlockId, StrId, Walk, WalkStep, kind},
    prelude::*,
    prim::{ARENA, Access, Accesses, CoreOp, LoopKind, LoopOps, Need, all_memory_needs, rule},
};
use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
};

config_option! {
    "tir.disable_storage_rewrite": bool, default = false, aliases = ["tirx.disable_storage_rewrite"],
    doc = "Whether `StorageRewrite` does nothing."
}

/// The most places that are looked at for one memory, those that were made last.
const MOST_PLACES: usize = 256;

/// Lets memory of a loop program that is not needed at the same time be one.
#[prim_func_pass(
    name = "relais.StorageRewrite",
    aliases = ["tir.transform.StorageRewrite", "tirx.transform.StorageRewrite"],
    opt_level = 0,
    phase = "none",
    statistics(shared = "memory that became one with other memory", bytes = "bytes that are not needed any more"),
)]
pub fn storage_rewrite(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    let f = edit.function();
    if cx.config("tir.disable_storage_rewrite")? == Some(true)
        || !is_program(f)
        || f.attrs(f.root()).meta(ARENA).is_some()
    {
        return Ok(());
    }
    let ops = LoopOps::new(f);
    let planner = Planner::new(f, &ops);
    if planner.memory.len() < 2 {
        return Ok(());
    }
    let (memory, places) = planner.places();
    let shared: Vec<&Place> = places.iter().filter(|place| place.members.len() > 1).collect();
    if shared.is_empty() {
        return Ok(());
    }
    let n_bytes: u64 = shared.iter().map(|place| place.bytes_saved()).sum();
    cx.count("shared", shared.iter().map(|place| place.members.len() - 1).sum());
    cx.count("bytes", usize::try_from(n_bytes).unwrap_or(usize::MAX));
    write(edit.function_mut(), ops, &memory, &shared);
    Ok(())
}

// ---- memory and its places --------------------------------------------------------------------------------------------

/// The memory of an `alloc`, in all shapes in which it is seen.
struct Memory {
    need: Need,
    elem: ElemType,
    is_static: bool,
    n: u64,
    /// The number of elements has to be a multiple of this, so that each shape is one with another first dimension.
    step: u64,
    /// Whether the number of elements is fixed.
    is_exact: bool,
    /// Whether only accesses and views use it.
    is_only_accessed: bool,
    /// Its shape, and where it is in the list of its block.
    shape: Vec<u64>,
    at: usize,
}

/// Memory that several take.
struct Place {
    elem: ElemType,
    is_static: bool,
    /// The number of elements, at last.
    n: u64,
    step: u64,
    is_exact: bool,
    /// The block that it is in, and the statement in front of which it has to be.
    block: BlockId,
    at: usize,
    /// The `alloc`s that become this memory, with their numbers of elements.
    members: Vec<(NodeId, u64)>,
}

impl Place {
    fn of(memory: &Memory) -> Self {
        Self {
            elem: memory.elem,
            is_static: memory.is_static,
            n: memory.n,
            step: memory.step,
            is_exact: memory.is_exact,
            block: memory.need.block,
            at: usize::MAX,
            members: Vec::new(),
        }
    }

    /// The number of elements and their step with another member; `None` if that cannot be, or needs no less than two places.
    fn with(&self, memory: &Memory) -> Option<(u64, u64)> {
        if self.elem != memory.elem || self.is_static != memory.is_static {
            return None;
        }
        let step = lcm(self.step, memory.step)?;
        let n = self.n.max(memory.n).checked_next_multiple_of(step)?;
        let is_exact = self.is_exact || memory.is_exact;
        let fits = if is_exact { self.n == memory.n && n == memory.n } else { n < self.n.checked_add(memory.n)? };
        fits.then_some((n, step))
    }

    fn bytes_saved(&self) -> u64 {
        let all = self.members.iter().fold(0_u64, |sum, member| sum.saturating_add(member.1));
        all.saturating_sub(self.n).saturating_mul(u64::from(self.elem.bits().div_ceil(8)))
    }
}

fn lcm(a: u64, b: u64) -> Option<u64> {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x.max(1)).checked_mul(b)
}

/// The elements of a shape, and those of one index of its first dimension; `None` for the latter without a dimension.
fn counts(shape: &[u64]) -> Option<(u64, Option<u64>)> {
    let count = |sizes: &[u64]| sizes.iter().try_fold(1_u64, |n, &size| n.checked_mul(size));
    let inner = shape.split_first().map(|(_, inner)| inner);
    Some((count(shape)?, inner.map(count).map_or(Some(None), |inner| inner.map(Some))?))
}

/// By `alloc`, in program order: the memory that may take the place of others.
fn all_memory(f: &Function, ops: &LoopOps) -> BTreeMap<NodeId, Memory> {
    let mut all: BTreeMap<NodeId, Memory> = BTreeMap::new();
    for (need, is_known) in all_memory_needs(f, ops) {
        let is_static = match f.attrs(need.alloc).get("scope") {
            None | Some(AttrValue::String(b"stack")) => false,
            Some(AttrValue::String(b"static")) => true,
            Some(_) => continue,
        };
        let ty = f.type_of(need.alloc);
        let (Some(elem), Some(shape)) = (ty.elem(), ty.static_shape()) else { continue };
        let Some((n @ 1.., inner)) = counts(&shape).filter(|_| is_known) else { continue };
        let (step, is_exact) = (inner.unwrap_or(1), inner.is_none());
        let memory = Memory { need, elem, is_static, n, step, is_exact, is_only_accessed: true, shape, at: 0 };
        all.insert(memory.need.alloc, memory);
    }
    for id in f.all_bindings() {
        let op = ops.of(f, id);
        let is_access = op.is_some_and(|op| op.first_index().is_some());
        for (at, &operand) in f.operands(id).iter().enumerate() {
            let Some(memory) = all.get_mut(&ops.memory_of(f, operand)) else { continue };
            if op == Some(CoreOp::View) {
                let view = f.type_of(id).static_shape().and_then(|shape| counts(&shape)?.1);
                match view.and_then(|step| lcm(memory.step, step)) {
                    Some(step) => memory.step = step,
                    None => memory.is_exact = true,
                }
            } else if !is_access || at != 1 {
                (memory.is_exact, memory.is_only_accessed) = (true, false);
            }
        }
    }
    all
}

/// A block that is visited.
struct Open {
    block: BlockId,
    /// The statement that is visited.
    statement: usize,
    /// The places that memory in the block may take, with those that were last in them.
    places: Vec<(usize, Vec<NodeId>)>,
}

/// Gives each memory its place, block by block from the outside in.
struct Planner<'a> {
    f: &'a Function,
    ops: &'a LoopOps,
    /// Read when they are needed.
    accesses: OnceCell<Accesses>,
    memory: BTreeMap<NodeId, Memory>,
    /// By block: its memory, in the order in which it is needed.
    of_block: HashMap<BlockId, Vec<NodeId>>,
    /// Blocks with memory, in them or in blocks in them.
    with_memory: HashSet<BlockId>,
    open: Vec<Open>,
    places: Vec<Place>,
}

impl<'a> Planner<'a> {
    fn new(f: &'a Function, ops: &'a LoopOps) -> Self {
        let mut memory = all_memory(f, ops);
        let mut of_block: HashMap<BlockId, Vec<NodeId>> = HashMap::new();
        let mut with_memory: HashSet<BlockId> = HashSet::new();
        let mut open: Vec<(BlockId, usize)> = Vec::new();
        let mut walk = Walk::new(f);
        while let Some(step) = walk.next(f) {
            match (step, open.last_mut()) {
                (WalkStep::Enter(block), _) => open.push((block, 0)),
                (WalkStep::Exit(block), _) => {
                    open.pop();
                    if of_block.contains_key(&block) || with_memory.contains(&block) {
                        with_memory.extend([block].into_iter().chain(open.last().map(|outer| outer.0)));
                    }
                }
                (WalkStep::Binding(id), Some((block, at))) => {
                    if let Some(memory) = memory.get_mut(&id) {
                        memory.at = *at;
                        of_block.entry(*block).or_default().push(id);
                    }
                    *at += 1;
                }
                _ => {}
            }
        }
        for all in of_block.values_mut() {
            all.sort_by_key(|alloc| (memory[alloc].need.first, memory[alloc].need.last, memory[alloc].at));
        }
        let (open, places) = (Vec::new(), Vec::new());
        Self { f, ops, accesses: OnceCell::new(), memory, of_block, with_memory, open, places }
    }

    fn places(mut self) -> (BTreeMap<NodeId, Memory>, Vec<Place>) {
        let f = self.f;
        let mut owners: Vec<NodeId> = Vec::new();
        let mut walk = Walk::new(f);
        while let Some(step) = walk.next(f) {
            match step {
                WalkStep::Enter(block) => {
                    let places = owners.last().map_or_else(Vec::new, |&owner| self.free_in(owner, block));
                    self.open.push(Open { block, statement: 0, places });
                    for alloc in self.of_block.remove(&block).unwrap_or_default() {
                        self.put(alloc);
                    }
                }
                WalkStep::Exit(_) => drop(self.open.pop()),
                WalkStep::Leave(_) => drop(owners.pop()),
                WalkStep::Binding(id) => {
                    if let Some(open) = self.open.last_mut() {
                        open.statement += 1;
                    }
                    if f.n_regions(id) > 0 {
                        owners.push(id);
                    }
                }
            }
        }
        (self.memory, self.places)
    }

    /// The places of the block around that are free while a statement with functions is run.
    fn free_in(&self, owner: NodeId, block: BlockId) -> Vec<(usize, Vec<NodeId>)> {
        let Some(open) = self.open.last().filter(|_| self.with_memory.contains(&block)) else { return Vec::new() };
        let in_order = match self.ops.of(self.f, owner) {
            Some(CoreOp::For) => {
                matches!(LoopOps::loop_kind(self.f, owner), Some(LoopKind::Serial | LoopKind::Unrolled))
            }
            Some(CoreOp::When) => true,
            _ => self.f.kind(owner) == kind::IF,
        };
        if !in_order {
            return Vec::new();
        }
        let statement = open.statement - 1;
        let is_needed = |alloc: &(NodeId, u64)| {
            let need = &self.memory[&alloc.0].need;
            need.block == open.block && need.first <= statement && statement <= need.last
        };
        let is_free = |&&(place, _): &&(usize, Vec<NodeId>)| !self.places[place].members.iter().any(is_needed);
        open.places.iter().filter(is_free).map(|&(place, _)| (place, Vec::new())).collect()
    }

    /// Gives memory of the block that was entered last a place.
    fn put(&mut self, alloc: NodeId) {
        let (Some(here), memory) = (self.open.last(), &self.memory[&alloc]) else { return };
        // The one that grows least, the smallest of these, the first of these.
        let mut best: Option<(u64, u64, usize)> = None;
        let mut taken = (here.places.len(), (memory.n, memory.step));
        for (at, (id, last)) in here.places.iter().enumerate().rev().take(MOST_PLACES) {
            let place = &self.places[*id];
            let Some((n, step)) = place.with(memory) else { continue };
            let key = (n - place.n, n, *id);
            let is_better = best.is_none_or(|best| key < best);
            if is_better && last.iter().all(|other| self.can_follow(&self.memory[other], memory)) {
                (best, taken) = (Some(key), (at, (n, step)));
            }
        }
        let (at, (n, step)) = taken;
        let Some(here) = self.open.last_mut() else { return };
        if at == here.places.len() {
            here.places.push((self.places.len(), Vec::new()));
            self.places.push(Place::of(memory));
        }
        let (id, last) = &mut here.places[at];
        // Memory that is not needed any more when this begins does not matter from here on.
        last.retain(|other| self.memory[other].need.last >= memory.need.first);
        last.push(alloc);
        let place = &mut self.places[*id];
        (place.n, place.step) = (n, step);
        place.is_exact |= memory.is_exact;
        place.members.push((alloc, memory.n));
        let outer = self.open.iter().rev().skip(1).find(|open| open.block == place.block);
        place.at = place.at.min(outer.map_or(memory.at, |open| open.statement - 1));
    }

    /// Whether memory may take the place of other memory of the block that was there before.
    fn can_follow(&self, old: &Memory, new: &Memory) -> bool {
        if old.need.last != new.need.first {
            return old.need.last < new.need.first;
        }
        old.is_only_accessed && new.is_only_accessed && self.is_in_place(old, new)
    }

    /// Whether the last statement that uses one memory uses each element before it writes that of the other one, whose first
    /// statement it is.
    fn is_in_place(&self, old: &Memory, new: &Memory) -> bool {
        let (f, block) = (self.f, new.need.block);
        let Some(&statement) = f.bindings(block).get(new.need.first) else { return false };
        let accesses = self.accesses.get_or_init(|| Accesses::new(f, self.ops));
        let of = |memory: &Memory| -> Vec<&Access> {
            let is_here = |access: &&Access| accesses.path(access).contains(&(block, statement));
            let of_it = accesses.all().iter().filter(|access| access.root == memory.need.alloc);
            of_it.filter(is_here).collect()
        };
        let (before, after) = (of(old), of(new));
        let mut stores = after.iter().filter(|access| access.is_write);
        stores.all(|store| before.iter().all(|access| accesses.is_read_first(f, self.ops, block, access, store)))
    }
}

// ---- writing ----------------------------------------------------------------------------------------------------------

/// A shape whose first dimension is as large as `n` elements need.
fn stretched(shape: &[u64], n: u64) -> Vec<i64> {
    let inner: u64 = shape.iter().skip(1).product();
    let first = n.checked_div(inner).unwrap_or(0);
    let sizes = shape.iter().enumerate().map(|(at, &size)| if at == 0 { first } else { size });
    sizes.map(|size| i64::try_from(size).unwrap_or(i64::MAX)).collect()
}

/// Makes one memory of all members of each place.
fn write(f: &mut Function, mut ops: LoopOps, memory: &BTreeMap<NodeId, Memory>, places: &[&Place]) {
    let views: Vec<(NodeId, NodeId)> = f
        .all_bindings()
        .filter(|&id| ops.of(f, id) == Some(CoreOp::View))
        .map(|id| (id, ops.memory_of(f, id)))
        .collect();
    // By member: what it is now. By block: memory that comes in front of statements.
    let mut now: HashMap<NodeId, NodeId> = HashMap::new();
    let mut fronts: BTreeMap<BlockId, Vec<(usize, NodeId)>> = BTreeMap::new();
    let mut blocks: BTreeSet<BlockId> = BTreeSet::new();
    let mut sizes: HashMap<NodeId, u64> = HashMap::new();
    for place in places {
        let members = place.members.iter().map(|(alloc, _)| &memory[alloc]);
        let kept = members.clone().find(|memory| memory.n == place.n);
        let (id, shape) = match kept {
            Some(memory) => {
                let id = memory.need.alloc;
                if memory.need.block != place.block {
                    f.set_name_id(id, StrId::EMPTY);
                }
                (id, stretched(&memory.shape, place.n))
            }
            None => {
                let scope = if place.is_static { "static" } else { "stack" };
                let elem = place.elem.name().unwrap_or_default();
                let shape = stretched(&[place.n], place.n);
                let attrs = [Attr::new("shape", shape.clone()), Attr::new("elem", elem), Attr::new("scope", scope)];
                let n_attrs = if place.is_static { 3 } else { 2 };
                (call(f, &mut ops, CoreOp::Alloc, &[], &attrs[..n_attrs]), shape)
            }
        };
        fronts.entry(place.block).or_default().push((place.at, id));
        blocks.insert(place.block);
        for member in members {
            let alloc = member.need.alloc;
            blocks.insert(member.need.block);
            if member.n != place.n {
                sizes.insert(alloc, place.n);
            }
            let mut new = id;
            let seen = stretched(&member.shape, place.n);
            if alloc != id && seen != shape {
                new = call(f, &mut ops, CoreOp::View, &[id], &[Attr::new("shape", seen)]);
                f.set_name_id(new, f.name_id(alloc));
            }
            now.insert(alloc, new);
        }
    }
    for id in f.all_bindings().collect::<Vec<_>>() {
        f.map_operands(id, |operand| now.get(&operand).copied().unwrap_or(operand));
    }
    for (view, root) in views {
        let Some(&n) = sizes.get(&root) else { continue };
        let shape = stretched(&f.type_of(view).static_shape().unwrap_or_default(), n);
        set_attr(f, view, &Attr::new("shape", shape));
        if let Ok(made) = rule(f, &ops, view) {
            let ty = made.add_to(f);
            f.set_type(view, ty);
        }
    }
    let kept: HashSet<NodeId> = fronts.values().flatten().map(|front| front.1).collect();
    for block in blocks {
        let mut list = Vec::new();
        let mut fronts = fronts.remove(&block).unwrap_or_default();
        fronts.sort_by_key(|front| front.0);
        let mut fronts = fronts.into_iter().peekable();
        for (at, &id) in f.bindings(block).iter().enumerate() {
            while let Some((_, front)) = fronts.next_if(|front| front.0 <= at) {
                list.push(front);
            }
            match now.get(&id) {
                None => list.push(id),
                Some(new) if !kept.contains(new) => list.push(*new),
                Some(_) => {}
            }
        }
        f.set_bindings(block, &list);
    }
}
