//! Brings nests of loops into an order and a shape in which a processor computes them fast.
//!
//! ```text
//! for %i in 0..64 {
//!   for %j in 0..64 {
//!     for %k in 0..32 {
//!       %y[%i, %j] = %y[%i, %j] + %a[%i, %k] * %b[%k, %j];
//!     }
//!   }
//! }
//! ```
//! becomes
//! ```text
//! for %i in 0..16 {
//!   %0 = %i * 4;
//!   …
//!   for %k in 0..32 {
//!     for %j in 0..64 {
//!       %b0 = %b[%k, %j];
//!       %y[%0, %j] = %y[%0, %j] + %a[%0, %k] * %b0;
//!       … and so for %0 + 1, %0 + 2 and %0 + 3
//!     }
//!   }
//! }
//! ```
//!
//! It knows rules and searches nothing. Each has an option:
//!
//! 1. `interchange`: of two loops of which one is all that the other one does, the one is taken inside in whose turns elements in
//!    memory follow each other, or are the same. Neither carries values.
//! 2. `rows`: several turns of a loop are computed at once, if what each adds up in an innermost loop needs elements that all of
//!    them need: sums that a loop carries are then carried side by side, and so are those in memory, of at least 16 elements, and
//!    what all need is loaded once. It is 4 turns, or fewer if none is left over then; at most one is. Where several sums are
//!    side by side already, as kernels of matrix products may have them, nothing is done. Memory of a turn becomes memory of
//!    each of them; if what they need of it at one time is more than `most_bytes` together, fewer are taken.
//! 3. `vectorize`: loops around a sum that could be computed in lanes, and whose elements are in a row, become `vectorized`, so
//!    that `VectorizeLoop` behind it makes a vector of sums. With `all`, other loops do, too, for targets whose compilers
//!    do not make vectors of them by themselves; with `none`, none does.
//! 4. `parallel`, which is off: the outermost loops whose turns do not depend on each other become `parallel`. That is for
//!    emitters that run them on several threads; `EmitC` writes them as serial loops.
//!
//! Each step is proven to keep what depends on each other in order, from the elements that each access touches, or it is not
//! taken; the terms of each sum are added in the order in which they were. So the results are the same in each bit. Only loops of the
//! kind `serial` are changed, and `parallel` ones by `rows`. Loops whose number of turns is not constant are exchanged, but not
//! tiled or vectorized, and so are none of memory whose sizes are not known.
//!
//! It comes behind the passes that fuse loops, which leave marked ones alone, and `Simplify` and `RemoveNoOp` behind it make the
//! program smaller. TVM's schedules are written or searched for each operator and target; `dlight` has rules as these.

use crate::{
    plan_memory::most_live,
    program::{Loop, are_same_values, bindings_of, is_program, remove_second_names, set_kind},
    unroll_loop::write_single_turns,
    vectorize_loop::plan::{Plan, Planner},
};
use relais_plugin_api::{
    ir::{AttrValue, BlockId, kind},
    prelude::*,
    prim::{Access, Accesses, CoreOp, Dependence, LoopKind, LoopOps, Need, all_memory_needs, remove_unused},
};
use std::collections::{HashMap, HashSet};

mod order;
mod tile;

/// As many lanes as the vectors have for which loops are checked: the most that `VectorizeLoop` makes.
const LANES: i64 = 16;

/// The most bindings of an innermost loop that is looked at: pairs of them are compared.
const MOST_BINDINGS: usize = 1 << 10;

/// The fewest elements that an innermost loop adds to, so that several rows of them at once are faster: compilers make vectors of
/// these, and what is left over takes the longer the more sums there are.
const FEWEST_ELEMENTS: i64 = 16;

/// The fewest turns of a loop that becomes `vectorized`.
const FEWEST_TURNS: i64 = 4;

/// The loops that become `vectorized`.
#[derive(PassOptions, Clone, Copy, PartialEq, Eq)]
pub enum Vectorized {
    /// None.
    None,
    /// Those around sums.
    Sums,
    /// All whose elements are in a row.
    All,
}

/// Options of [`schedule_cpu`].
#[derive(PassOptions)]
pub struct ScheduleCpuOptions {
    /// Whether loops are exchanged.
    #[option(default = true)]
    interchange: bool,
    /// The most turns that are computed at once; 1 keeps loops as they are.
    #[option(default = 4, range = 1..=8)]
    rows: i64,
    /// The most bytes that turns which are computed at once need at one time, together, of memory that each has for itself.
    #[option(default = 4096, range = 0..=1_048_576)]
    most_bytes: i64,
    /// The loops that become `vectorized`.
    #[option(default = "sums")]
    vectorize: Vectorized,
    /// Whether the outermost loops become `parallel`.
    #[option(default = false)]
    parallel: bool,
}

/// Brings nests of loops into an order and a shape in which a processor computes them fast.
#[prim_func_pass(
    name = "relais.ScheduleCpu",
    opt_level = 0,
    phase = "none",
    statistics(
        exchanged = "pairs of loops exchanged",
        tiled = "loops of which several turns are computed at once",
        vectorized = "loops marked as vectorized",
        parallel = "loops marked as parallel"
    )
)]
pub fn schedule_cpu(edit: &mut Editor, cx: &PassCx<'_>, options: &ScheduleCpuOptions) -> Result<(), PassError> {
    if !is_program(edit.function()) {
        return Ok(());
    }
    if options.interchange {
        order::interchange(edit, cx);
    }
    if options.rows > 1 {
        tile_loops(edit, cx, options)?;
    }
    if options.vectorize != Vectorized::None {
        mark_vectorized(edit, cx, options.vectorize);
    }
    if options.parallel {
        mark_parallel(edit, cx);
    }
    Ok(())
}

/// The loops of a function, each before those in it, with their blocks.
fn loops(f: &Function, ops: &LoopOps) -> Vec<(BlockId, NodeId)> {
    let of_block = |block: BlockId| f.bindings(block).iter().map(move |&id| (block, id));
    f.all_blocks().flat_map(of_block).filter(|&(_, id)| ops.of(f, id) == Some(CoreOp::For)).collect()
}

/// The number of turns of a loop of one of these kinds that carries nothing, if it is known.
fn turns_of(f: &Function, ops: &LoopOps, id: NodeId, kinds: &[LoopKind]) -> Option<i64> {
    let parts = Loop::of(f, ops, id).filter(|parts| parts.params.len() == 1)?;
    LoopOps::loop_kind(f, id).filter(|kind| kinds.contains(kind))?;
    i64::try_from(parts.turns(f, ops)?).ok()
}

/// The loops in a loop in which there are no others.
fn innermost(f: &Function, ops: &LoopOps, id: NodeId) -> Vec<NodeId> {
    let is_loop = |id: &NodeId| matches!(ops.of(f, *id), Some(CoreOp::For | CoreOp::While));
    let inner: Vec<NodeId> = bindings_of(f, id).into_iter().skip(1).filter(is_loop).collect();
    inner.into_iter().filter(|&id| bindings_of(f, id).iter().skip(1).all(|id| !is_loop(id))).collect()
}

/// A plan in which everything is computed for all turns in turn, each statement of a block behind the one before it.
fn plan(f: &Function, ops: &LoopOps, accesses: &Accesses, id: NodeId, turns: i64) -> Result<Plan, &'static str> {
    let plan = Planner::plan(f, ops, accesses, id, turns, false)?;
    match plan.serial.is_empty() {
        true => Ok(plan),
        false => Err("a part of it can only run turn by turn"),
    }
}

// ---- several turns at once --------------------------------------------------------------------------------------------

fn tile_loops(edit: &mut Editor, cx: &PassCx<'_>, options: &ScheduleCpuOptions) -> Result<(), PassError> {
    let before = edit.function().clone();
    let mut ops = LoopOps::new(&before);
    let accesses = Accesses::new(&before, &ops);
    let sized = |(need, is_known): (Need, bool)| Need { bytes: if is_known { need.bytes } else { u64::MAX }, ..need };
    let needs = all_memory_needs(&before, &ops).into_iter().map(sized).map(|need| (need.alloc, need)).collect();
    let all = loops(&before, &ops);
    let (mut done, mut single, mut n_tiled) = (HashSet::new(), Vec::new(), 0);
    for (block, id) in all {
        let kinds = [LoopKind::Serial, LoopKind::Parallel];
        let Some(turns) = turns_of(&before, &ops, id, &kinds).filter(|&n| n > 1 && !done.contains(&id)) else {
            continue;
        };
        if innermost(&before, &ops, id).is_empty() {
            continue;
        }
        let planned = rows(&before, &ops, (&accesses, &needs), id, turns, options);
        let (plan, rows) = match planned {
            Ok(Some(found)) => found,
            Ok(None) => continue,
            Err(why) => {
                cx.remark(id, format_args!("its turns are computed one by one: {why}"));
                continue;
            }
        };
        done.extend(bindings_of(&before, id));
        single.extend(tile::tile(edit.function_mut(), &mut ops, &plan, (block, id), rows)?);
        n_tiled += 1;
    }
    if n_tiled > 0 {
        cx.count("tiled", n_tiled);
        write_single_turns(edit.function_mut(), single);
        remove_second_names(edit.function_mut());
        remove_unused(edit);
    }
    Ok(())
}

/// How many turns of a loop are computed at once, and how; `None` if nothing is won.
fn rows(
    f: &Function,
    ops: &LoopOps,
    (accesses, needs): (&Accesses, &HashMap<NodeId, Need>),
    id: NodeId,
    turns: i64,
    options: &ScheduleCpuOptions,
) -> Result<Option<(Plan, i64)>, &'static str> {
    // The same values differ from turn to turn, however many are taken: two are the fewest.
    let two = plan(f, ops, accesses, id, 2)?;
    // Those of several are side by side already.
    if shared_sums(f, ops, accesses, &two, id) != 1 {
        return Ok(None);
    }
    let is_if = |id: &NodeId| f.kind(*id) == kind::IF;
    if two.varying.iter().chain(two.results.iter().map(|(id, _)| id)).any(is_if) {
        return Err("an `if` in it differs from turn to turn");
    }
    let bytes = own_bytes(f, needs, id, &two);
    let room = u64::try_from(options.most_bytes).unwrap_or(0).checked_div(bytes).unwrap_or(u64::MAX);
    let most = options.rows.min(turns).min(i64::try_from(room).unwrap_or(i64::MAX));
    if most < 2 {
        return Err("the memory of its turns is too large to be there for several");
    }
    // The most that leave none over, if they are not much fewer; otherwise the most that leave one over.
    let none_over = (most.div_euclid(2).max(2)..=most).rev().find(|rows| turns % rows == 0);
    let rows = none_over.or_else(|| (2..=most).rev().find(|rows| turns % rows <= 1)).unwrap_or(2);
    Ok(Some((plan(f, ops, accesses, id, rows)?, rows)))
}

/// The most bytes that a turn of a loop needs at one time, of memory that each turn has for itself.
fn own_bytes(f: &Function, needs: &HashMap<NodeId, Need>, id: NodeId, plan: &Plan) -> u64 {
    let own = bindings_of(f, id).into_iter().filter(|id| plan.varying.contains(id)).filter_map(|id| needs.get(&id));
    let is_of_turn = |need: &&Need| f.regions(id).iter().any(|&turn| f.block_of(turn) == need.block);
    let (own, within): (Vec<&Need>, Vec<&Need>) = own.partition(is_of_turn);
    within.iter().fold(most_live(own, |need| need.bytes), |sum, need| sum.saturating_add(need.bytes))
}

/// The most sums that an innermost loop adds to for each turn, among those in which all turns need the same elements.
fn shared_sums(f: &Function, ops: &LoopOps, accesses: &Accesses, plan: &Plan, id: NodeId) -> i64 {
    let mut most = 0;
    for inner in innermost(f, ops, id) {
        let Some(parts) = Loop::of(f, ops, inner) else { continue };
        let all = bindings_of(f, inner);
        if all.len() > MOST_BINDINGS {
            continue;
        }
        let loads = || all.iter().copied().filter(|&id| ops.of(f, id) == Some(CoreOp::Load));
        if !loads().any(|id| !plan.varying.contains(&id) && depends_on(f, &all, parts.params[0], id)) {
            continue;
        }
        let is_added = |&&id: &&NodeId| {
            ops.of(f, id) == Some(CoreOp::Store)
                && loads().any(|load| {
                    let (load, store) = (&f.operands(load)[1..], &f.operands(id)[1..]);
                    load[0] == store[0]
                        && are_same_values(f, &load[1..], &store[2..])
                        && [&store[..1], &store[2..]].concat().iter().any(|at| plan.varying.contains(at))
                })
        };
        let is_long = most_turns(f, accesses, &all, parts.params[0]) >= FEWEST_ELEMENTS;
        let n_carried = parts.params[1..].iter().filter(|param| plan.varying.contains(param)).count();
        let n_added = if is_long { all.iter().filter(is_added).count() } else { 0 };
        most = most.max((n_carried + n_added) as i64);
    }
    most
}

/// The most turns of a loop, as far as the accesses in it say which values its variable has.
fn most_turns(f: &Function, accesses: &Accesses, list: &[NodeId], variable: NodeId) -> i64 {
    let turns = |id: NodeId| f.imm(f.operands(id)[2]).and_then(|extent| extent.as_int());
    let terms =
        list.iter().filter_map(|&id| accesses.of(id)).flat_map(|access| &access.axes).flat_map(|axis| &axis.terms);
    let bounds = terms.filter(|term| term.value == variable).map(|term| term.bounds);
    let by_bounds = bounds.map(|bounds| bounds.max.saturating_sub(bounds.min).saturating_add(1)).min();
    turns(list[0]).or(by_bounds).unwrap_or(i64::MAX)
}

/// Whether a binding depends on a value by others of the same list.
fn depends_on(f: &Function, list: &[NodeId], value: NodeId, id: NodeId) -> bool {
    let (mut open, mut seen) = (vec![id], HashSet::new());
    while let Some(id) = open.pop() {
        if id == value {
            return true;
        }
        if list.contains(&id) && seen.insert(id) {
            open.extend_from_slice(f.operands(id));
        }
    }
    false
}

// ---- marks ------------------------------------------------------------------------------------------------------------

fn mark_vectorized(edit: &mut Editor, cx: &PassCx<'_>, which: Vectorized) {
    let f = edit.function();
    let ops = LoopOps::new(f);
    let accesses = Accesses::new(f, &ops);
    let (mut done, mut marked) = (HashSet::new(), Vec::new());
    for (_, id) in loops(f, &ops) {
        let inner = bindings_of(f, id);
        if LoopOps::loop_kind(f, id) == Some(LoopKind::Vectorized) {
            done.extend(inner);
            continue;
        }
        let turns = turns_of(f, &ops, id, &[LoopKind::Serial]);
        let Some(turns) = turns.filter(|&turns| turns >= FEWEST_TURNS && !done.contains(&id)) else { continue };
        let is_marked = |id: &NodeId| LoopOps::loop_kind(f, *id) == Some(LoopKind::Vectorized);
        if inner.iter().any(|id| ops.of(f, *id) == Some(CoreOp::For) && is_marked(id)) {
            continue;
        }
        let Ok(plan) = plan(f, &ops, &accesses, id, turns.min(LANES)) else { continue };
        if (which == Vectorized::All || carries_sums(f, &ops, &plan, &inner))
            && is_in_a_row(f, &ops, &accesses, &plan, id, &inner)
        {
            done.extend(inner);
            marked.push(id);
        }
    }
    if !marked.is_empty() {
        cx.count("vectorized", marked.len());
        let f = edit.function_mut();
        marked.into_iter().for_each(|id| set_kind(f, id, LoopKind::Vectorized));
    }
}

/// Whether a loop in a list carries values that differ.
fn carries_sums(f: &Function, ops: &LoopOps, plan: &Plan, list: &[NodeId]) -> bool {
    let loops = list[1..].iter().filter_map(|&id| Loop::of(f, ops, id));
    loops.flat_map(|parts| &parts.params[1..]).any(|param| plan.varying.contains(param))
}

/// Whether all elements that differ in the turns of a loop follow each other.
fn is_in_a_row(f: &Function, ops: &LoopOps, accesses: &Accesses, plan: &Plan, id: NodeId, list: &[NodeId]) -> bool {
    let variable = f.operands(f.regions(id)[0])[0];
    let differs = |id: NodeId| plan.varying.contains(&id) || f.operands(id).iter().any(|it| plan.varying.contains(it));
    let mut all = list.iter().filter_map(|&id| accesses.of(id)).filter(|access| differs(access.id));
    all.all(|access| {
        let is_own = ops.of(f, access.root) == Some(CoreOp::Alloc) && plan.varying.contains(&access.root);
        is_own || accesses.slice(access, variable, 1).is_some_and(|slice| slice.stride == 1)
    })
}

fn mark_parallel(edit: &mut Editor, cx: &PassCx<'_>) {
    let f = edit.function();
    let ops = LoopOps::new(f);
    let accesses = Accesses::new(f, &ops);
    let mut marked = Vec::new();
    for &id in f.bindings(f.body()) {
        if ops.of(f, id) != Some(CoreOp::For) || LoopOps::loop_kind(f, id) != Some(LoopKind::Serial) {
            continue;
        }
        match is_parallel(f, &ops, &accesses, id) {
            Ok(()) => marked.push(id),
            Err(why) => cx.remark(id, format_args!("the loop stays serial: {why}")),
        }
    }
    if !marked.is_empty() {
        cx.count("parallel", marked.len());
        let f = edit.function_mut();
        marked.into_iter().for_each(|id| set_kind(f, id, LoopKind::Parallel));
    }
}

/// Whether the turns of a loop may run in any order.
fn is_parallel(f: &Function, ops: &LoopOps, accesses: &Accesses, id: NodeId) -> Result<(), &'static str> {
    let Some(parts) = Loop::of(f, ops, id) else { return Err("it breaks a rule") };
    if parts.params.len() > 1 {
        return Err("it carries values");
    }
    let all = bindings_of(f, id);
    if all.iter().any(|&id| is_fixed(f, ops, id)) {
        return Err("it calls something, or may end the program");
    }
    let is_static = |&id: &NodeId| matches!(f.attrs(id).get("scope"), Some(AttrValue::String(b"static")));
    if all.iter().any(is_static) {
        return Err("its turns share static memory");
    }
    let inside: HashSet<NodeId> = all.iter().copied().collect();
    let shared: Vec<&Access> =
        all.iter().filter_map(|&id| accesses.of(id)).filter(|access| !inside.contains(&access.root)).collect();
    let turns = parts.turns(f, ops).and_then(|turns| i64::try_from(turns).ok()).unwrap_or(i64::MAX);
    let is_kept = |a: &Access, b: &Access| match accesses.meets(a, b, parts.params[0]) {
        Dependence::Within { min, max } => min == 0 && max == 0 || min >= turns || max <= -turns,
        dependence => dependence == Dependence::Never,
    };
    match are_pairs(&shared, is_kept) {
        true => Ok(()),
        false => Err("a turn may use what another one writes"),
    }
}

/// Whether a binding calls something, or is there to end the program.
fn is_fixed(f: &Function, ops: &LoopOps, id: NodeId) -> bool {
    match ops.of(f, id) {
        Some(op) => matches!(op, CoreOp::Assert | CoreOp::While),
        None => f.kind(id) == kind::CALL,
    }
}

/// The most pairs of accesses that are compared.
const MOST_PAIRS: usize = 1 << 16;

/// Whether something holds for each pair of accesses to one memory of which one writes.
fn are_pairs(all: &[&Access], holds: impl Fn(&Access, &Access) -> bool) -> bool {
    let n_writes = all.iter().filter(|access| access.is_write).count();
    if n_writes.saturating_mul(all.len()) > MOST_PAIRS {
        return false;
    }
    let writes = all.iter().filter(|access| access.is_write);
    writes.into_iter().all(|a| all.iter().filter(|b| a.root == b.root).all(|b| holds(a, b)))
}
