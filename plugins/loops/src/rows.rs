//! Loops over rows: of the statements that compute memory, those whose turns touch elements next to each other that no other
//! turn does, so that any part of the memory can be computed alone.

use crate::{
    fuse::Why,
    program::{Loop, bindings_of, constant_int},
};
use relais_plugin_api::{
    ir::{BlockId, Walk, WalkStep, kind},
    prelude::*,
    prim::{Access, Accesses, CoreOp, Intervals, LoopKind, LoopOps, Slice},
};
use std::collections::{BTreeMap, HashMap};

/// The cost of beginning a loop, in operations.
const LOOP_COST: u64 = 4;

/// The loop whose turns touch the rows of memory, as one access says.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rows {
    /// The elements of a row.
    pub size: i64,
    /// The number of the row less that of the turn.
    pub shift: i64,
}

/// Loops over rows, by their node.
pub type RowLoops = BTreeMap<NodeId, Rows>;

/// The loops of statements over rows of memory: around each access to it, the outermost one whose turns touch a row of their own.
pub fn row_loops(
    f: &Function,
    ops: &LoopOps,
    accesses: &Accesses,
    block: BlockId,
    memory: NodeId,
    statements: &[NodeId],
    start: Option<i64>,
) -> Result<RowLoops, Why> {
    const NO_ROWS: Why = "its elements are not computed in rows";
    let mut found = RowLoops::new();
    let mut place: Option<Vec<(NodeId, i64)>> = None;
    let all = accesses_in(f, accesses, statements, memory);
    // Rows are counted from the first element that is touched, unless from another one.
    let mut least = i64::MAX;
    let mut slices: Vec<Vec<(NodeId, Slice)>> = Vec::new();
    for access in &all {
        let mut of_access = Vec::new();
        for id in loops_of(f, ops, accesses, block, access) {
            let Some(parts) = Loop::of(f, ops, id).filter(|parts| parts.params.len() == 1) else { continue };
            let Some(slice) = accesses.slice_in(access, parts.params[0], block) else { continue };
            let is_index = f.type_of(parts.params[0]).elem() == Some(ElemType::INT64);
            if is_index && slice.stride > 0 && slice.last.saturating_sub(slice.first) < slice.stride {
                of_access.push((id, slice));
            }
        }
        let (_, slice) = of_access.first().ok_or(NO_ROWS)?;
        least = least.min(slice.first);
        slices.push(of_access);
    }
    let (start, is_fixed) = (start.unwrap_or(least), start.is_some());
    for of_access in slices {
        let rows = |slice: &Slice| {
            let shift = slice.first.checked_sub(start)?.div_euclid(slice.stride);
            let end = shift.checked_add(1)?.checked_mul(slice.stride)?.checked_add(start)?;
            (slice.last < end).then_some(Rows { size: slice.stride, shift })
        };
        let (id, slice, rows) =
            of_access.iter().find_map(|(id, slice)| Some((*id, slice, rows(slice)?))).ok_or(NO_ROWS)?;
        // From a given element on, rows are those of the memory itself.
        let is_elsewhere = is_fixed && !slice.base.is_empty();
        if is_elsewhere || *place.get_or_insert_with(|| slice.base.to_vec()) != slice.base.to_vec() {
            return Err(NO_ROWS);
        }
        if *found.entry(id).or_insert(rows) != rows {
            return Err(NO_ROWS);
        }
    }
    for access in &all {
        if loops_of(f, ops, accesses, block, access).iter().filter(|id| found.contains_key(id)).count() != 1 {
            return Err(NO_ROWS);
        }
    }
    Ok(found)
}

/// The accesses to memory in statements.
fn accesses_in<'a>(f: &Function, accesses: &'a Accesses, statements: &[NodeId], memory: NodeId) -> Vec<&'a Access> {
    let within = statements.iter().flat_map(|&id| bindings_of(f, id)).filter_map(|id| accesses.of(id));
    within.filter(|access| access.root == memory).collect()
}

/// The loops around an access, in a block, the innermost one last.
fn loops_of(f: &Function, ops: &LoopOps, accesses: &Accesses, block: BlockId, access: &Access) -> Vec<NodeId> {
    let inner = accesses.path(access).into_iter().skip_while(|&(outer, _)| outer != block);
    inner.map(|(_, id)| id).filter(|&id| ops.of(f, id) == Some(CoreOp::For)).collect()
}

/// Whether the loops over rows can have fewer turns, and the statements be run for other rows later: nothing else depends on
/// the turns before, and what is around the loops computes nothing but indices.
pub fn is_sliceable(
    f: &Function,
    ops: &LoopOps,
    memory: NodeId,
    statements: &[NodeId],
    rows: &RowLoops,
) -> Result<(), Why> {
    // By `alloc` in the statements: the loop over rows that it is in.
    let mut within: HashMap<NodeId, Option<NodeId>> = HashMap::new();
    for &statement in statements {
        let mut owners: Vec<NodeId> = Vec::new();
        let mut row: Option<NodeId> = None;
        visit(f, statement, |id, is_open| {
            let op = ops.of(f, id);
            if !is_open {
                if f.n_regions(id) > 0 && owners.last() == Some(&id) {
                    owners.pop();
                    row = row.filter(|&row| row != id);
                }
                return Ok(());
            }
            if f.n_regions(id) > 0 {
                owners.push(id);
            }
            if row.is_none() || rows.contains_key(&id) {
                match op {
                    Some(CoreOp::For) => {
                        let is_serial = LoopOps::loop_kind(f, id) == Some(LoopKind::Serial);
                        let carries = Loop::of(f, ops, id).is_none_or(|parts| parts.params.len() > 1);
                        if !is_serial || carries {
                            return Err("its loops are not serial, or carry values");
                        }
                    }
                    Some(CoreOp::While) => return Err("what is around its loops is not only loops"),
                    _ => {}
                }
            }
            if rows.contains_key(&id) {
                row = Some(id);
            }
            if op == Some(CoreOp::Alloc) {
                within.insert(id, row);
            }
            if matches!(op, Some(CoreOp::Store | CoreOp::Scatter | CoreOp::StoreMasked)) {
                let root = ops.memory_of(f, f.operands(id)[1]);
                if root != memory && within.get(&root) != Some(&row) {
                    return Err("its rows are computed with memory that others use");
                }
            }
            let is_float = f.type_of(id).elem().is_some_and(ElemType::is_float);
            let is_light = f.n_regions(id) == 0
                && (f.kind(id) == kind::CONSTANT
                    || op.is_some_and(|op| op.is_statement() || op.gives_memory() || op.takes_memory()));
            if row.is_none() && is_float && !is_light {
                return Err("a part of its values is computed once for many elements");
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Calls `see` for a statement and the bindings in its functions: with `true`, and with `false` when all in it was seen.
fn visit(f: &Function, statement: NodeId, mut see: impl FnMut(NodeId, bool) -> Result<(), Why>) -> Result<(), Why> {
    see(statement, true)?;
    for &region in f.regions(statement) {
        let mut walk = Walk::block(f.block_of(region));
        while let Some(step) = walk.next(f) {
            match step {
                WalkStep::Binding(id) => {
                    see(id, true)?;
                    if f.n_regions(id) == 0 {
                        see(id, false)?;
                    }
                }
                WalkStep::Leave(id) => see(id, false)?,
                WalkStep::Enter(_) | WalkStep::Exit(_) => {}
            }
        }
    }
    see(statement, false)
}

/// The elements of memory that the turns of the loops over rows of the result read, each with the size of a row.
pub fn reads(
    f: &Function,
    accesses: &Accesses,
    block: BlockId,
    alloc: NodeId,
    readers: &[NodeId],
    rows: &RowLoops,
) -> Result<Vec<(Slice, i64)>, Why> {
    let ops = LoopOps::new(f);
    let mut all = Vec::new();
    for access in accesses_in(f, accesses, readers, alloc) {
        let around = loops_of(f, &ops, accesses, block, access);
        let mut of_rows = around.iter().filter_map(|id| Some((*id, *rows.get(id)?)));
        let (Some((id, rows)), None) = (of_rows.next(), of_rows.next()) else {
            return Err("it is read around the loops over the rows of the result");
        };
        let variable = Loop::of(f, &ops, id).map(|parts| parts.params[0]);
        let slice = variable.and_then(|variable| accesses.slice_in(access, variable, block));
        let slice =
            slice.filter(|slice| slice.base.is_empty()).ok_or("it is not known which elements its loops use")?;
        if slice.stride <= 0 {
            return Err("each turn reads all of it, or its rows in reverse");
        }
        // By the number of the row, not of the turn.
        let back = slice.stride.checked_mul(-rows.shift).ok_or("it is not known which elements its loops use")?;
        let by_row = |at: i64| at.checked_add(back).ok_or("it is not known which elements its loops use");
        all.push((Slice { first: by_row(slice.first)?, last: by_row(slice.last)?, ..slice }, rows.size));
    }
    Ok(all)
}

/// The elements of the rows of the result, from the first one on.
pub fn extent_of(
    f: &Function,
    accesses: &Accesses,
    block: BlockId,
    result: NodeId,
    readers: &[NodeId],
    rows: &RowLoops,
) -> Option<i64> {
    let ops = LoopOps::new(f);
    let mut end = 0;
    for access in accesses_in(f, accesses, readers, result) {
        let id = loops_of(f, &ops, accesses, block, access).into_iter().find(|id| rows.contains_key(id))?;
        let (variable, rows) = (Loop::of(f, &ops, id)?.params[0], rows[&id]);
        let mut terms = access.axes.iter().flat_map(|axis| axis.terms.iter().map(move |term| (axis, term)));
        let (axis, term) = terms.find(|(_, term)| term.value == variable)?;
        let mut bounds = term.bounds;
        if let ([_], 1..) = (&axis.terms[..], term.factor) {
            // The index is within its axis.
            bounds.max = bounds.max.min((axis.size - 1).checked_sub(axis.constant)?.div_euclid(term.factor));
        }
        if bounds.min.checked_add(rows.shift)? < 0 {
            return None;
        }
        end = end.max(bounds.max.checked_add(rows.shift)?.checked_add(1)?.checked_mul(rows.size)?);
    }
    (end > 0).then_some(end)
}

/// The least common multiple of two positive numbers.
pub fn lcm(a: i64, b: i64) -> Option<i64> {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x.max(1)).checked_mul(b)
}

/// The first axis of more than one element, along which the memory is cut.
pub fn leading_axis(access: &Access) -> Option<usize> {
    access.axes.iter().position(|axis| axis.size != 1)
}

/// Whether a statement is loops around stores, of which one sets each element.
pub fn fills(f: &Function, ops: &LoopOps, accesses: &Accesses, memory: NodeId, statement: NodeId) -> bool {
    accesses_in(f, accesses, &[statement], memory).into_iter().any(|store| {
        let path = accesses.path(store).into_iter().skip_while(|&(_, id)| id != statement);
        let mut turns: HashMap<NodeId, i64> = HashMap::new();
        for (_, id) in path.take_while(|&(_, id)| id != store.id) {
            let Some(parts) = Loop::of(f, ops, id) else { return false };
            let n = parts.turns(f, ops).and_then(|n| i64::try_from(n).ok()).filter(|&n| n > 0);
            let (Some(n), Some(0)) = (n, constant_int(f, ops, parts.min)) else { return false };
            turns.insert(parts.params[0], n);
        }
        ops.of(f, store.id) == Some(CoreOp::Store)
            && store.lanes == 1
            && store.axes.iter().all(|axis| {
                // Digits of the index.
                let mut terms = axis.terms.to_vec();
                terms.sort_by_key(|term| term.factor);
                let n = terms.iter().try_fold(1_i64, |n, term| {
                    let turns = turns.remove(&term.value).filter(|_| term.factor == n)?;
                    n.checked_mul(turns)
                });
                axis.constant == 0 && n == Some(axis.size)
            })
    })
}

/// The operations of a statement, and those of them that are around loops over rows, with what it costs to begin the latter.
pub fn work(f: &Function, ops: &LoopOps, statement: NodeId, rows: &RowLoops) -> (u64, u64) {
    let mut known = Intervals::new(f);
    let (mut all, mut around, mut n) = (0_u64, 0_u64, 1_u64);
    let mut outer: Vec<(NodeId, u64)> = Vec::new();
    let mut row = None;
    let seen = visit(f, statement, |id, is_open| {
        if !is_open {
            if outer.last().is_some_and(|&(open, _)| open == id) {
                n = outer.pop().map_or(1, |(_, n)| n);
                row = row.filter(|&row| row != id);
            }
            return Ok(());
        }
        let cost = if ops.of(f, id) == Some(CoreOp::For) { LOOP_COST } else { 1 }.saturating_mul(n);
        all = all.saturating_add(cost);
        if row.is_none() {
            around = around.saturating_add(cost);
        }
        if f.n_regions(id) == 0 {
            known.bind(f, ops, id);
            return Ok(());
        }
        outer.push((id, n));
        if rows.contains_key(&id) {
            row = Some(id);
        }
        if let Some(parts) = Loop::of(f, ops, id) {
            let most = constant_int(f, ops, parts.extent).unwrap_or_else(|| known.of(f, parts.extent).max);
            n = n.saturating_mul(u64::try_from(most).unwrap_or(0).min(1 << 32));
        }
        Ok(())
    });
    if seen.is_err() { (0, u64::MAX) } else { (all, around) }
}
