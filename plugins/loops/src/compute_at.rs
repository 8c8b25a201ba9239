//! Computes memory in the turns of the loop that reads it, so that the memory holds what one turn needs.
//!
//! ```text
//! prim @k(%x: Tensor[(10, 64), float32]) -> (%y: Tensor[(8, 64), float32]) {
//!   %a = alloc float32[10, 64];
//!   for %i in 0..10 {
//!     for %j in 0..64 { %a[%i, %j] = exp(%x[%i, %j]); }
//!   }
//!   for %i in 0..8 {
//!     for %j in 0..64 { %y[%i, %j] = %a[%i, %j] + %a[%i + 1, %j] + %a[%i + 2, %j]; }
//!   }
//! }
//! ```
//! becomes
//! ```text
//! prim @k(%x: Tensor[(10, 64), float32]) -> (%y: Tensor[(8, 64), float32]) {
//!   %a = alloc float32[3, 64];
//!   for %o in 0..8 {
//!     when (%o > 0) { … the last two rows of %a become the first two … }
//!     %from = select(%o == 0, 0, %o + 2);
//!     for %k in 0..select(%o == 0, 3, 1) {
//!       for %j in 0..64 { %a[%from + %k - %o, %j] = exp(%x[%from + %k, %j]); }
//!     }
//!     for %j in 0..64 { %y[%o, %j] = %a[0, %j] + %a[1, %j] + %a[2, %j]; }
//!   }
//! }
//! ```
//!
//! The statements of a block that fill the memory of an `alloc`, and those that read it and write one other memory, become the
//! body of one loop. Each of its turns computes a part of the result: some rows next to each other, where a row is the elements
//! that one turn of a loop touches and no other turn does. The same loops compute it, with the bounds of the part, wherever
//! they are in their nests: also within loops over the taps of a window, as for a sum that is added up in memory. From the
//! accesses follows which rows of the memory a turn reads; those that no earlier turn has computed are computed in front, in
//! the same way. Where windows overlap, the rows that are needed again move to the front of the memory.
//!
//! Each element is computed once, by the same operations in the same order: the results are the same in each bit. The loads and
//! indices around the loops over rows are computed in each turn, if they are no more than a fourth of the work, and nothing
//! else is. The pass declines with a remark where other statements use the memory, where they write memory that has to change
//! before or afterwards, where a turn reads elements that are not a part (a sum over all of them, another order of the axes),
//! where the loops are parallel or carry values, and where less than half of the memory would be saved.
//!
//! `FuseLoops` does this for loops whose turns pass elements to each other one by one, and needs no rows; `FuseKernels` does
//! both across calls. As `compute_at` of TVM's schedules, with `rolling_buffer`, but nothing is computed twice, and the pass
//! finds the loop.

use crate::{
    fuse::{Effects, Why, bytes, without_unused},
    program::{
        bindings_of, call, constant_int, is_only_accessed, is_program, n_elements, remove, remove_second_names,
        replace, try_allocs,
    },
    rows::{RowLoops, Rows, extent_of, fills, is_sliceable, lcm, leading_axis, reads, row_loops, work},
};
use relais_plugin_api::{
    ir::{BlockId, Imm, StrId, kind},
    prelude::*,
    prim::{Access, Accesses, CoreOp, LoopOps, PrimBuilder},
};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// How many multiples of the smallest part are tried.
const MOST_PARTS: i64 = 1024;

/// Options of [`compute_at`].
#[derive(PassOptions)]
pub struct Options {
    /// The most bytes of memory that stays as it is.
    #[option(default = 4096, range = 0..)]
    most_bytes: i64,
    /// The fewest elements that are computed at once.
    #[option(default = 64, range = 1..)]
    fewest: i64,
}

/// Computes memory in the turns of the loop that reads it, so that the memory holds what one turn needs.
#[prim_func_pass(name = "relais.ComputeAt", opt_level = 0, phase = "none", statistics(shrunk = "memory made smaller"))]
pub fn compute_at(edit: &mut Editor, cx: &PassCx<'_>, options: &Options) -> Result<(), PassError> {
    if is_program(edit.function()) {
        let most_bytes = u64::try_from(options.most_bytes).unwrap_or(0);
        try_allocs(edit, cx, |f, block, alloc| {
            if bytes(f, alloc) <= most_bytes {
                return Err("it is not larger than `most_bytes`");
            }
            Ok((at_reader(f, block, alloc, options.fewest)?, "shrunk"))
        });
    }
    Ok(())
}

/// The function in which the memory of an `alloc` of a block is computed in the turns of the loop that reads it.
///
/// # Errors
/// Returns the reason if it stays as it is.
pub fn at_reader(f: &Function, block: BlockId, alloc: NodeId, fewest: i64) -> Result<Function, Why> {
    let ops = LoopOps::new(f);
    is_only_accessed(f, &ops, alloc)?;
    let accesses = Accesses::new(f, &ops);
    let plan = Plan::new(f, &ops, &accesses, block, alloc, fewest)?;
    plan.apply(f, &accesses)
}

/// The statements that fill memory and those that read it, cut into parts.
struct Plan {
    block: BlockId,
    alloc: NodeId,
    /// The statements that fill the memory, and those that read it, in order.
    writers: Vec<NodeId>,
    readers: Vec<NodeId>,
    row_loops: [RowLoops; 2],
    /// The elements of the result that a turn computes, and the turns.
    part: i64,
    n_turns: i64,
    /// The elements of the memory that a turn reads, and from one turn to the next; the first one of the first turn.
    held: i64,
    step: i64,
    first: i64,
    /// The elements of the memory.
    n: i64,
}

impl Plan {
    fn new(
        f: &Function,
        ops: &LoopOps,
        accesses: &Accesses,
        block: BlockId,
        alloc: NodeId,
        fewest: i64,
    ) -> Result<Self, Why> {
        let (writers, readers) = users(f, accesses, block, alloc)?;
        let result = is_movable(f, ops, block, alloc, &writers, &readers)?;
        let of_alloc = row_loops(f, ops, accesses, block, alloc, &writers, Some(0))?;
        let of_result = row_loops(f, ops, accesses, block, result, &readers, None)?;
        is_sliceable(f, ops, alloc, &writers, &of_alloc)?;
        is_sliceable(f, ops, result, &readers, &of_result)?;

        // The rows of the result that a turn computes, and those of the memory that it reads then.
        let (reads, ends) = (reads(f, accesses, block, alloc, &readers, &of_result)?, &of_result);
        let unknown = "the elements that a turn reads are not a part of their own";
        let in_all = |rows: &RowLoops| rows.values().try_fold(1, |all, rows| lcm(all, rows.size)).ok_or(unknown);
        let least = in_all(ends)?;
        let mut unit = in_all(&of_alloc)?;
        for access in accesses.all().iter().filter(|access| access.root == alloc) {
            let axis = leading_axis(access).map(|at| &access.axes[at]).ok_or(unknown)?;
            if f.type_of(axis.index).elem() != Some(ElemType::INT64) {
                return Err("its indices are of different types");
            }
            unit = lcm(unit, axis.stride).ok_or(unknown)?;
        }
        let steps: BTreeSet<Option<i64>> =
            reads.iter().map(|(slice, size)| slice.stride.checked_mul(least / size)).collect();
        let Some(Some(step)) = steps.first().copied().filter(|_| steps.len() == 1) else {
            return Err("it is read in different steps");
        };
        let least_turns = lcm(step, unit).ok_or(unknown)? / step;
        let total = extent_of(f, accesses, block, result, &readers, ends).ok_or(unknown)?;
        let n = n_elements(f, alloc).and_then(|n| i64::try_from(n).ok()).ok_or(unknown)?;
        let base = least.checked_mul(least_turns).ok_or(unknown)?;
        let is_enough = |by: &i64| step.saturating_mul(least_turns).saturating_mul(*by) >= fewest;
        let mut large = (1..MOST_PARTS).filter(is_enough);
        let by = large.next().ok_or(unknown)?;
        // A number of parts that leaves no rest, if one is near.
        let is_whole = |by: &i64| base.checked_mul(*by).is_some_and(|part| total % part == 0 && part <= total / 4);
        let by = (by..=4 * by).find(is_whole).unwrap_or(by);
        let part = base.checked_mul(by).ok_or(unknown)?;
        let step = step.checked_mul(least_turns).and_then(|step| step.checked_mul(by)).ok_or(unknown)?;
        let n_turns = total / part + i64::from(total % part != 0);
        let (mut first, mut end) = (i64::MAX, i64::MIN);
        for (slice, size) in &reads {
            let more = slice.stride.checked_mul(part / size - 1).ok_or(unknown)?;
            first = first.min(slice.first);
            end = end.max(slice.last.checked_add(more).ok_or(unknown)?);
        }
        let first = first.div_euclid(unit).checked_mul(unit).ok_or(unknown)?;
        let end = end.div_euclid(unit).checked_add(1).and_then(|end| end.checked_mul(unit)).ok_or(unknown)?;
        let held = end.checked_sub(first).ok_or(unknown)?;
        if held.saturating_mul(2) > n || n_turns < 2 {
            return Err("a turn needs more than half of it");
        }
        // Sums of indices do not wrap.
        let largest = n_turns.checked_mul(step.max(part)).and_then(|all| all.checked_add(end.checked_abs()?));
        if largest.is_none_or(|largest| largest > i64::MAX / 4) || first.abs() > i64::MAX / 4 {
            return Err(unknown);
        }
        let plan = Self {
            block,
            alloc,
            writers,
            readers,
            row_loops: [of_alloc, of_result],
            part,
            n_turns,
            held,
            step,
            first,
            n,
        };
        if plan.is_rolling() && !plan.writers.iter().any(|&id| fills(f, ops, accesses, alloc, id)) {
            return Err("its elements are needed in several turns, and may not all be written");
        }
        plan.is_worth_it(f, ops)?;
        Ok(plan)
    }

    /// Whether a turn reads elements that an earlier one does.
    fn is_rolling(&self) -> bool {
        self.held > self.step
    }

    /// Compares the work of the loops before and after: what is around the loops over rows is done in each turn.
    fn is_worth_it(&self, f: &Function, ops: &LoopOps) -> Result<(), Why> {
        let n_turns = u64::try_from(self.n_turns).unwrap_or(u64::MAX);
        let (mut before, mut after) = (0_u64, 0_u64);
        for (statements, rows) in [&self.writers, &self.readers].into_iter().zip(&self.row_loops) {
            for &statement in statements {
                let (all, around) = work(f, ops, statement, rows);
                before = before.saturating_add(all);
                after = after.saturating_add(all).saturating_add(around.saturating_mul(n_turns));
            }
        }
        if after / 5 > before / 4 {
            return Err("what is around its loops would be done too often");
        }
        let n_moved = u64::try_from(self.held - self.step).unwrap_or(0).saturating_mul(n_turns);
        match n_moved <= before / 2 {
            true => Ok(()),
            false => Err("its elements would be moved too often"),
        }
    }
}

// ---- what is known ----------------------------------------------------------------------------------------------------

/// The statements of a block that fill memory, and those that read it.
fn users(f: &Function, accesses: &Accesses, block: BlockId, alloc: NodeId) -> Result<(Vec<NodeId>, Vec<NodeId>), Why> {
    let (mut writers, mut readers) = (Vec::new(), Vec::new());
    for &id in f.bindings(block) {
        let within = bindings_of(f, id).into_iter().filter_map(|id| accesses.of(id));
        let mut within = within.filter(|access| access.root == alloc).peekable();
        if within.peek().is_none() {
            continue;
        }
        match within.any(|access| access.is_write) {
            true if !readers.is_empty() => return Err("it is written after it was read"),
            true => writers.push(id),
            false => readers.push(id),
        }
    }
    match writers.is_empty() || readers.is_empty() {
        true => Err("nothing fills it, or nothing reads it afterwards"),
        false => Ok((writers, readers)),
    }
}

/// Whether the statements can stand together, those that fill the memory in front of those that read it, turn by turn; returns
/// the memory that the latter write.
fn is_movable(
    f: &Function,
    ops: &LoopOps,
    block: BlockId,
    alloc: NodeId,
    writers: &[NodeId],
    readers: &[NodeId],
) -> Result<NodeId, Why> {
    if writers.iter().chain(readers).any(|&id| f.kind(id) == kind::IF) {
        return Err("a conditional that uses it has a value");
    }
    let of = |ids: &[NodeId]| {
        let mut all = Effects::default();
        for &id in ids {
            let inner: HashSet<NodeId> = bindings_of(f, id).into_iter().collect();
            let effects = Effects::of(f, ops, id);
            all.is_fixed |= effects.is_fixed;
            // Memory of its own is in no other statement.
            all.reads.extend(effects.reads.iter().filter(|memory| !inner.contains(memory)));
            all.writes.extend(effects.writes.iter().filter(|memory| !inner.contains(memory)));
        }
        all
    };
    let (mut first, second) = (of(writers), of(readers));
    if first.is_fixed || second.is_fixed {
        return Err("a loop that uses it calls something, or may end the program");
    }
    if first.writes.len() != 1 {
        return Err("what fills it writes other memory, too");
    }
    let mut results = second.writes.iter().copied();
    let (Some(result), None) = (results.next(), results.next()) else {
        return Err("what reads it does not write one other memory");
    };
    first.writes.remove(&alloc);
    first.reads.remove(&alloc);
    if first.is_bound_to(&second) {
        return Err("what fills it and what reads it use other memory");
    }
    let is_ours = |id: &NodeId| writers.contains(id) || readers.contains(id);
    let Some(&last) = readers.last() else { return Err("nothing reads it") };
    let mut moved = Vec::new();
    for &id in f.bindings(block).iter().take_while(|&&id| id != last) {
        if is_ours(&id) {
            moved.push(id);
        } else if !moved.is_empty() && of(&moved).is_bound_to(&Effects::of(f, ops, id)) {
            return Err("what is between its loops has to stay there");
        }
    }
    Ok(result)
}

// ---- the new loop -----------------------------------------------------------------------------------------------------

/// The turns of a loop over rows in one turn of the new loop.
#[derive(Clone, Copy)]
struct Range {
    from: NodeId,
    end: NodeId,
    count: NodeId,
    /// The least first turn, and the largest end.
    least: i64,
    most: i64,
}

/// The sum of a number and a variable with a factor.
fn affine(b: &mut PrimBuilder<'_>, variable: NodeId, factor: i64, constant: i64) -> NodeId {
    let number = b.index(factor);
    let product = if factor == 1 { variable } else { b.op(CoreOp::Mul, &[variable, number]) };
    if constant == 0 {
        return product;
    }
    let number = b.index(constant);
    b.op(CoreOp::Add, &[product, number])
}

/// The memory that is left, in the shapes in which it is seen.
struct Held {
    flat: NodeId,
    alloc: NodeId,
    /// By what it was seen as.
    views: BTreeMap<NodeId, NodeId>,
}

impl Plan {
    fn apply(&self, f: &Function, accesses: &Accesses) -> Result<Function, Why> {
        const FAULT: Why = "the new loop cannot be made";
        let mut f = f.clone();
        let ops = LoopOps::new(&f);
        let used: Vec<&Access> = accesses.all().iter().filter(|access| access.root == self.alloc).collect();
        let is_old = |id: NodeId| ops.is_memory(&f, id) && ops.memory_of(&f, id) == self.alloc;
        let old: HashSet<NodeId> = f.all_bindings().filter(|&id| is_old(id)).collect();
        let name = f.name_id(self.alloc);

        // The new loop, with what comes first in each of its turns.
        let statements = f.bindings(self.block).to_vec();
        f.set_bindings(self.block, &[]);
        let mut b = PrimBuilder::at(&mut f, self.block);
        let mut held = if self.is_rolling() { Some(self.hold(&mut b, &used)?) } else { None };
        let mut fault = None;
        let mut starts: BTreeMap<i64, NodeId> = BTreeMap::new();
        let mut ranges: [BTreeMap<Rows, Range>; 2] = Default::default();
        let n_turns = b.index(self.n_turns);
        let made = b.each(n_turns, |b, turn| {
            match &held {
                Some(held) => self.roll(b, turn, held.flat),
                None => match self.hold(b, &used) {
                    Ok(made) => held = Some(made),
                    Err(why) => fault = Some(why),
                },
            }
            for stride in used.iter().filter_map(|access| Some(access.axes[leading_axis(access)?].stride)) {
                starts.entry(stride).or_insert_with(|| affine(b, turn, self.step / stride, self.first / stride));
            }
            for &rows in self.row_loops[0].values() {
                ranges[0].entry(rows).or_insert_with(|| self.range_of_memory(b, turn, rows));
            }
            for &rows in self.row_loops[1].values() {
                let all = [self.part, 0, self.part];
                ranges[1].entry(rows).or_insert_with(|| self.range(b, turn, rows, all));
            }
        });
        b.finish().map_err(|_| FAULT)?;
        let held = held.ok_or(fault.unwrap_or(FAULT))?;

        // The statements become its body.
        let is_ours = |id: &NodeId| self.writers.contains(id) || self.readers.contains(id);
        let body = f.block_of(f.regions(made)[0]);
        let all: Vec<NodeId> = f.bindings(body).iter().chain(&self.writers).chain(&self.readers).copied().collect();
        f.set_bindings(body, &all);
        let new = f.bindings(self.block).to_vec();
        let last = self.readers.last();
        let list = statements.iter().flat_map(|id| match Some(id) == last {
            true => new.clone(),
            false if is_ours(id) => vec![],
            false => vec![*id],
        });
        let list: Vec<NodeId> = list.collect();
        f.set_bindings(self.block, &list);
        let mut homes: HashMap<NodeId, BlockId> = HashMap::new();
        for block in f.all_blocks().collect::<Vec<_>>() {
            homes.extend(f.bindings(block).iter().map(|&id| (id, block)));
        }
        let mut ops = LoopOps::new(&f);
        for access in used {
            let at = leading_axis(access).ok_or(FAULT)?;
            let axis = &access.axes[at];
            let index = call(&mut f, &mut ops, CoreOp::Sub, &[axis.index, starts[&axis.stride]], &[]);
            let first = ops.of(&f, access.id).and_then(CoreOp::first_index).ok_or(FAULT)?;
            f.set_operand(access.id, 1, held.views[&access.memory]);
            f.set_operand(access.id, 1 + first + at, index);
            insert_before(&mut f, access.block, access.id, &[index]);
        }
        for (rows, ranges) in self.row_loops.iter().zip(&ranges) {
            for (&id, rows) in rows {
                restrict(&mut f, &mut ops, homes[&id], id, ranges[rows]);
            }
        }
        remove(&mut f, &old);
        f.set_name_id(held.alloc, name);
        remove_second_names(&mut f);
        Ok(without_unused(f))
    }

    /// Makes the memory that is left.
    fn hold(&self, b: &mut PrimBuilder<'_>, used: &[&Access]) -> Result<Held, Why> {
        const FAULT: Why = "the smaller memory cannot be made";
        let f = b.function();
        let elem = f.type_of(self.alloc).elem().ok_or(FAULT)?;
        // The rows that are held of a shape; `None` if they do not fill them.
        let held_of = |memory: NodeId| -> Option<Vec<i64>> {
            let shape = f.type_of(memory).static_shape()?;
            let mut shape = shape.iter().map(|&size| i64::try_from(size).ok()).collect::<Option<Vec<i64>>>()?;
            let at = shape.iter().position(|&size| size != 1)?;
            let row: i64 = shape[at + 1..].iter().product();
            shape[at] = self.held / row;
            (self.held % row == 0).then_some(shape)
        };
        let shape = held_of(self.alloc).unwrap_or_else(|| vec![self.held]);
        let mut shapes: BTreeMap<NodeId, Vec<i64>> = BTreeMap::new();
        for access in used {
            shapes.insert(access.memory, held_of(access.memory).ok_or(FAULT)?);
        }
        let sizes: Vec<u64> = shape.iter().map(|&size| size.unsigned_abs()).collect();
        let alloc = b.alloc(elem, &sizes);
        let mut view = |seen: &[i64]| match seen == shape {
            true => alloc,
            false => b.op_with(CoreOp::View, &[alloc], &[Attr::new("shape", seen.to_vec())]),
        };
        let views = shapes.iter().map(|(&memory, seen)| (memory, view(seen))).collect();
        let flat = if self.is_rolling() { view(&[self.held]) } else { alloc };
        Ok(Held { flat, alloc, views })
    }

    /// Moves the elements that a turn needs again to the front.
    fn roll(&self, b: &mut PrimBuilder<'_>, turn: NodeId, flat: NodeId) {
        let kept = self.held - self.step;
        let zero = b.index(0);
        let is_later = b.op(CoreOp::Gt, &[turn, zero]);
        b.when(is_later, |b| {
            // Only elements of the memory, as the others were not written.
            let start = affine(b, turn, self.step, self.first);
            let from = match self.step + self.first >= 0 {
                true => zero,
                false => {
                    let before = b.op(CoreOp::Sub, &[zero, start]);
                    b.op(CoreOp::Max, &[before, zero])
                }
            };
            let mut end = b.index(kept);
            if (self.n_turns - 1) * self.step + self.first + kept > self.n {
                let n = b.index(self.n);
                let left = b.op(CoreOp::Sub, &[n, start]);
                end = b.op(CoreOp::Min, &[end, left]);
            }
            let count = if from == zero { end } else { b.op(CoreOp::Sub, &[end, from]) };
            b.each(count, |b, at| {
                let to = if from == zero { at } else { b.op(CoreOp::Add, &[from, at]) };
                let step = b.index(self.step);
                let from = b.op(CoreOp::Add, &[to, step]);
                let value = b.load(flat, &[from]);
                b.store(flat, value, &[to]);
            });
        });
    }

    /// The turns of a loop over rows of elements from `first`, as many as `held`, on, and `step` more in each turn.
    fn range(&self, b: &mut PrimBuilder<'_>, turn: NodeId, rows: Rows, [step, first, held]: [i64; 3]) -> Range {
        let [step, first, held] = [step, first, held].map(|n| n / rows.size);
        let from = affine(b, turn, step, first - rows.shift);
        let end = affine(b, turn, step, first + held - rows.shift);
        let most = (self.n_turns - 1) * step + first + held - rows.shift;
        Range { from, end, count: b.index(held), least: first - rows.shift, most }
    }

    /// The turns of a loop over rows of the memory that this turn computes.
    fn range_of_memory(&self, b: &mut PrimBuilder<'_>, turn: NodeId, rows: Rows) -> Range {
        if !self.is_rolling() {
            return self.range(b, turn, rows, [self.step, self.first, self.held]);
        }
        let later = self.range(b, turn, rows, [self.step, self.first + self.held - self.step, self.step]);
        let zero = b.index(0);
        let least = self.first / rows.size - rows.shift;
        let (start, all) = (b.index(least), b.index(self.held / rows.size));
        let is_first = b.op(CoreOp::Eq, &[turn, zero]);
        let from = b.op(CoreOp::Select, &[is_first, start, later.from]);
        let count = b.op(CoreOp::Select, &[is_first, all, later.count]);
        Range { from, count, least, ..later }
    }
}

/// Lets a loop have only the turns of a range.
fn restrict(f: &mut Function, ops: &mut LoopOps, home: BlockId, id: NodeId, range: Range) {
    let (function, min, extent) = (f.regions(id)[0], f.operands(id)[1], f.operands(id)[2]);
    let bounds = [min, extent].map(|bound| constant_int(f, ops, bound));
    let is_behind = bounds[0].is_some_and(|min| range.least >= min);
    let ends = bounds[0].zip(bounds[1]).and_then(|(min, extent)| min.checked_add(extent));
    let is_before = ends.is_some_and(|end| range.most <= end);
    let mut made = Vec::new();
    let mut op = |f: &mut Function, op: CoreOp, args: [NodeId; 2]| {
        let id = call(f, ops, op, &args, &[]);
        made.push(id);
        id
    };
    let from = if is_behind { range.from } else { op(f, CoreOp::Max, [min, range.from]) };
    let mut count = range.count;
    if !is_behind || !is_before {
        let mut end = range.end;
        if !is_before {
            let all = match ends {
                Some(end) => f.add_imm(Imm::index(end)),
                None => op(f, CoreOp::Add, [min, extent]),
            };
            end = op(f, CoreOp::Min, [all, end]);
        }
        count = op(f, CoreOp::Sub, [end, from]);
    }
    // From 0 on, so that what the new loop adds to the variable is seen.
    let zero = f.add_imm(Imm::index(0));
    f.set_operand(id, 1, if is_behind { zero } else { from });
    f.set_operand(id, 2, count);
    insert_before(f, home, id, &made);
    if is_behind {
        let (block, variable) = (f.block_of(function), f.operands(function)[0]);
        let turn = f.add_var("", f.type_id(variable));
        f.set_name_id(turn, f.name_id(variable));
        f.set_name_id(variable, StrId::EMPTY);
        f.set_params(function, &[turn]);
        let index = call(f, ops, CoreOp::Add, &[from, turn], &[]);
        replace(f, block, |id| if id == variable { index } else { id });
        let list: Vec<NodeId> = std::iter::once(index).chain(f.bindings(block).iter().copied()).collect();
        f.set_bindings(block, &list);
    }
}

fn insert_before(f: &mut Function, block: BlockId, id: NodeId, made: &[NodeId]) {
    let mut list = f.bindings(block).to_vec();
    if let Some(place) = list.iter().position(|&binding| binding == id) {
        list.splice(place..place, made.iter().copied());
        f.set_bindings(block, &list);
    }
}
