//! Removes what has no effect from loop programs.
//!
//! ```text
//! for %i in 0..8 {
//!   %t = %x[%i] + 1.0;
//! }
//! when (%c) { } else { %y[0] = 0.0; }
//! ```
//! becomes
//! ```text
//! when (!%c) { %y[0] = 0.0; }
//! ```
//!
//! The pass removes:
//! - loops, conditionals and functions of them in which nothing is left; the condition of a `when` whose first branch is
//!   empty is negated;
//! - loops that certainly have no turns, by the bounds of their extents;
//! - values that nothing uses, and memory that nothing reads, with the stores to it;
//! - stores of what is in that place: what was loaded from it, and not written since;
//! - stores to places that are all written again, by a store or a loop, before anything reads them or may end the program:
//!   places are compared as far as indices are numbers, variables of loops with a known number of turns, or sums of both.
//!
//! It leaves: calls, `assert`, and `while`, which may not end. Loads and divisions that nothing uses go: to end the
//! program, by an index out of bounds or a division by zero, is a fault of it and not an effect.
//!
//! It does so until nothing more goes. TVM's pass keeps values that nothing uses, memory that nothing reads, and stores that
//! are overwritten, unless `use_dataflow_analysis` is set. The options are those of the context's option `tir.RemoveNoOp`.

mod overwritten;

use crate::program::{are_same_values, call, is_program};
use overwritten::overwritten;
use relais_plugin_api::{
    ir::{AttrData, AttrRec, Walk, WalkStep, attr_flag, kind},
    prelude::*,
    prim::{CoreOp, Intervals, LoopOps, Mark, value_type},
};
use std::collections::{HashMap, HashSet};

/// Options of [`remove_no_op`], those of TVM's `RemoveNoOpConfig`.
#[derive(PassOptions)]
pub struct RemoveNoOpConfig {
    /// Whether stores are removed that are overwritten before anything reads them. TVM's default is `false`.
    #[option(default = true)]
    use_dataflow_analysis: bool,
    /// How often a loop program is gone through; 0 is until nothing more goes.
    #[option(default = 0, range = 0..)]
    max_simplification_steps: i64,
}

config_option! {
    "tir.RemoveNoOp": RemoveNoOpConfig, aliases = ["tirx.RemoveNoOp"],
    doc = "What has no effect, and how long it is looked for."
}

/// Removes what has no effect from loop programs.
#[prim_func_pass(
    name = "relais.RemoveNoOp",
    aliases = ["tir.transform.RemoveNoOp", "tirx.transform.RemoveNoOp"],
    opt_level = 0,
    phase = "none",
    statistics(removed = "bindings removed"),
)]
pub fn remove_no_op(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    let config: RemoveNoOpConfig = cx.config("tir.RemoveNoOp")?.ok_or("nobody registered `tir.RemoveNoOp`")?;
    if !is_program(edit.function()) {
        return Ok(());
    }
    // Without a store, others may be overwritten at once, or write what is there.
    let mut n_steps = 0;
    while remove(edit, cx, config.use_dataflow_analysis)? {
        cx.check_cancelled()?;
        n_steps += 1;
        if n_steps == config.max_simplification_steps {
            break;
        }
    }
    Ok(())
}

/// Removes what has no effect as the program is; returns whether there is anything.
fn remove(edit: &mut Editor, cx: &PassCx<'_>, drops_overwritten: bool) -> Result<bool, PassError> {
    let f = edit.function();
    let ops = LoopOps::new(f);
    let survey = Survey::new(f, &ops);
    let mut live = survey.live(f, &ops, &HashSet::new());
    let overwritten = if drops_overwritten { overwritten(&survey, f, &ops, &live) } else { HashSet::new() };
    if !overwritten.is_empty() {
        live = survey.live(f, &ops, &overwritten);
    }
    let fixes = fixes(f, &ops, &survey, &mut live);
    let is_unturned = |id: &NodeId| live[id.index()] && survey.unturned.contains(id);
    let n_removed = survey.order.iter().filter(|id| !live[id.index()] || is_unturned(id)).count();
    if n_removed == 0 && fixes.is_empty() {
        return Ok(false);
    }
    cx.count("removed", n_removed);
    let mut ops = ops;
    let rebuilt: Result<(), PassError> =
        edit.rebuild(&mut |cx: &mut RebuildCx<'_>, id: NodeId| -> Result<Action, PassError> {
            Ok(match (live.get(id.index()), fixes.get(&id)) {
                // Made here.
                (None, _) => Action::Keep,
                (Some(false), _) => Action::Drop,
                (Some(true), Some(fix)) => fix.apply(cx, &mut ops, id),
                _ if survey.unturned.contains(&id) => first_values(cx, id),
                _ => Action::Keep,
            })
        });
    rebuilt.map(|()| true)
}

/// Replaces a loop without turns by the first values of what it carries.
fn first_values(cx: &mut RebuildCx<'_>, id: NodeId) -> Action {
    match carried(cx.function(), id) {
        [] => Action::Drop,
        &[value] => Action::Replace(value),
        values => {
            let values = values.to_vec();
            cx.replace_results(id, values);
            Action::Drop
        }
    }
}

/// The first values of what a `for` carries.
fn carried(f: &Function, id: NodeId) -> &[NodeId] {
    f.call(id).and_then(|call| call.args().get(2..)).unwrap_or_default()
}

/// The operands of a binding except its functions.
fn values(f: &Function, id: NodeId) -> &[NodeId] {
    let operands = f.operands(id);
    &operands[..operands.len() - f.n_regions(id)]
}

// ---- what is needed ---------------------------------------------------------------------------------------------------

/// The facts about a program before anything is decided.
struct Survey {
    /// The bindings in program order, without those in loops that have no turns.
    order: Vec<NodeId>,
    /// By node: the binding whose functions contain it.
    parent: Vec<NodeId>,
    /// Loops that have no turns.
    unturned: HashSet<NodeId>,
    /// Bindings that have an effect.
    effects: Vec<NodeId>,
    /// The stores to memory that an `alloc` gives. They have an effect if something reads it.
    stores: HashMap<NodeId, Vec<NodeId>>,
}

/// The writes so far, with their steps of the walk.
#[derive(Default)]
struct Writes {
    now: usize,
    /// When any memory was last written: a loop begins.
    any: usize,
    each: HashMap<NodeId, usize>,
    /// When values were loaded.
    loads: HashMap<NodeId, usize>,
}

impl Writes {
    fn is_unwritten_since(&self, load: NodeId, memory: NodeId) -> bool {
        let written = self.each.get(&memory).copied().unwrap_or(0).max(self.any);
        self.loads.get(&load).is_some_and(|&loaded| loaded > written)
    }
}

impl Survey {
    fn new(f: &Function, ops: &LoopOps) -> Self {
        let parent = vec![NodeId::ABSENT; f.n_nodes()];
        let mut survey =
            Self { order: Vec::new(), parent, unturned: HashSet::new(), effects: Vec::new(), stores: HashMap::new() };
        let (mut known, mut writes) = (Intervals::new(f), Writes::default());
        let mut scopes: Vec<Mark> = Vec::new();
        let mut owners: Vec<NodeId> = Vec::new();
        let mut walk = Walk::new(f);
        while let Some(step) = walk.next(f) {
            match step {
                WalkStep::Enter(block) => {
                    scopes.push(known.mark());
                    if let Some(&owner) = owners.last() {
                        known.enter(f, ops, owner, block);
                    }
                }
                WalkStep::Exit(_) => {
                    if let Some(mark) = scopes.pop() {
                        known.undo(mark);
                    }
                }
                WalkStep::Leave(_) => drop(owners.pop()),
                WalkStep::Binding(id) => {
                    survey.order.push(id);
                    survey.parent[id.index()] = owners.last().copied().unwrap_or(NodeId::ABSENT);
                    writes.now += 1;
                    let op = ops.of(f, id);
                    if f.n_regions(id) == 0 {
                        survey.simple(f, ops, &mut known, &mut writes, id);
                    } else if op == Some(CoreOp::For)
                        && f.operands(id).get(2).is_some_and(|&extent| known.of(f, extent).max <= 0)
                    {
                        survey.unturned.insert(id);
                        walk.skip_nested();
                    } else {
                        owners.push(id);
                        if matches!(op, Some(CoreOp::For | CoreOp::While)) {
                            writes.any = writes.now;
                        }
                        if op == Some(CoreOp::While) {
                            survey.effects.push(id);
                        }
                    }
                }
            }
        }
        survey
    }

    /// A binding without functions of its own.
    fn simple(&mut self, f: &Function, ops: &LoopOps, known: &mut Intervals, writes: &mut Writes, id: NodeId) {
        let Some(op) = ops.of(f, id) else {
            if f.kind(id) == kind::CALL {
                self.effects.push(id);
                let memory = values(f, id).iter().skip(1).map(|&arg| ops.memory_of(f, arg));
                writes.each.extend(memory.map(|memory| (memory, writes.now)));
            }
            return;
        };
        let memory = f.operands(id).get(1).map(|&memory| ops.memory_of(f, memory));
        match (op, memory) {
            (CoreOp::Store | CoreOp::Scatter | CoreOp::StoreMasked, Some(memory)) => {
                if op == CoreOp::Store && is_in_place(f, ops, known, id, |load| writes.is_unwritten_since(load, memory))
                {
                    return;
                }
                writes.each.insert(memory, writes.now);
                match ops.of(f, memory) {
                    Some(CoreOp::Alloc) => self.stores.entry(memory).or_default().push(id),
                    _ => self.effects.push(id),
                }
            }
            (CoreOp::Assert, Some(_)) => {
                self.effects.push(id);
                known.assume(f, ops, f.operands(id)[1], true);
            }
            (CoreOp::Load, Some(_)) => drop(writes.loads.insert(id, writes.now)),
            _ if op.is_statement() => self.effects.push(id),
            _ => known.bind(f, ops, id),
        }
    }

    /// By node: whether an effect needs it. Stores of `gone` have none.
    fn live(&self, f: &Function, ops: &LoopOps, gone: &HashSet<NodeId>) -> Vec<bool> {
        let mut live = vec![false; f.n_nodes()];
        let mut read: HashSet<NodeId> = HashSet::new();
        let mut open: Vec<NodeId> = self.effects.iter().filter(|id| !gone.contains(id)).copied().collect();
        while let Some(id) = open.pop() {
            if std::mem::replace(&mut live[id.index()], true) {
                continue;
            }
            open.push(self.parent[id.index()]);
            if self.unturned.contains(&id) {
                open.extend_from_slice(carried(f, id));
                continue;
            }
            open.extend_from_slice(values(f, id));
            f.regions(id).iter().for_each(|&region| open.extend_from_slice(f.results(f.block_of(region))));
            let reads = match ops.of(f, id) {
                Some(CoreOp::Load | CoreOp::Gather | CoreOp::LoadMasked) => values(f, id).get(1..2),
                None if f.kind(id) == kind::CALL => values(f, id).get(1..),
                _ => None,
            };
            for &memory in reads.unwrap_or_default() {
                let memory = ops.memory_of(f, memory);
                if read.insert(memory) {
                    let stores = self.stores.get(&memory).into_iter().flatten();
                    open.extend(stores.filter(|id| !gone.contains(id)));
                }
            }
        }
        live
    }
}

/// Whether a store writes what was loaded from the same place.
fn is_in_place(
    f: &Function,
    ops: &LoopOps,
    known: &Intervals,
    id: NodeId,
    is_unwritten_since: impl FnOnce(NodeId) -> bool,
) -> bool {
    let [_, memory, value, ref indices @ ..] = *f.operands(id) else { return false };
    if ops.of(f, value) != Some(CoreOp::Load) {
        return false;
    }
    let [_, from, ref others @ ..] = *f.operands(value) else { return false };
    let is_same = |(&a, &b): (&NodeId, &NodeId)| known.compare(f, ops, CoreOp::Eq, a, b) == Some(true);
    from == memory
        && is_unwritten_since(value)
        && (are_same_values(f, indices, others)
            || indices.len() == others.len() && indices.iter().zip(others).all(is_same))
}

// ---- conditionals -----------------------------------------------------------------------------------------------------

/// How a `when` with an empty branch is written with one branch.
enum Fix {
    /// Without the second branch.
    First,
    /// The second branch, under a condition.
    Second(Condition),
}

/// The negative of a condition.
enum Condition {
    Value(NodeId),
    Comparison(CoreOp),
    Not,
}

/// The conditionals that are written in another way. Conditions that only they need are not live any more.
fn fixes(f: &Function, ops: &LoopOps, survey: &Survey, live: &mut [bool]) -> HashMap<NodeId, Fix> {
    let mut fixes = HashMap::new();
    // How often a condition is negated.
    let mut n_negated: HashMap<NodeId, u32> = HashMap::new();
    for &id in &survey.order {
        let &[then, otherwise] = f.regions(id) else { continue };
        if !live[id.index()] || ops.of(f, id) != Some(CoreOp::When) {
            continue;
        }
        let is_empty = |region| !f.bindings(f.block_of(region)).iter().any(|id| live[id.index()]);
        if is_empty(otherwise) {
            fixes.insert(id, Fix::First);
        } else if is_empty(then)
            && let Some(&condition) = f.operands(id).get(1)
        {
            let negative = negative(f, ops, condition);
            if !matches!(negative, Condition::Not) {
                *n_negated.entry(condition).or_default() += 1;
            }
            fixes.insert(id, Fix::Second(negative));
        }
    }
    if n_negated.is_empty() {
        return fixes;
    }
    let mut n_uses: HashMap<NodeId, u32> = n_negated.keys().map(|&id| (id, 0)).collect();
    let mut used = |id: &NodeId| {
        if let Some(n) = n_uses.get_mut(id) {
            *n += 1;
        }
    };
    let is_live = |id: &&NodeId| live[id.index()];
    for &id in survey.order.iter().filter(is_live) {
        let is_unturned = survey.unturned.contains(&id);
        let operands = if is_unturned { carried(f, id) } else { values(f, id) };
        operands.iter().for_each(&mut used);
        let regions = if is_unturned { &[] } else { f.regions(id) };
        regions.iter().flat_map(|&region| f.results(f.block_of(region))).for_each(&mut used);
    }
    for (condition, n_negated) in n_negated {
        if n_uses.get(&condition) == Some(&n_negated) {
            live[condition.index()] = false;
        }
    }
    fixes
}

fn negative(f: &Function, ops: &LoopOps, condition: NodeId) -> Condition {
    match (ops.of(f, condition), values(f, condition)) {
        (Some(CoreOp::Not), &[_, value]) => Condition::Value(value),
        (Some(op), &[_, a, _]) => {
            let is_float = value_type(f.type_of(a)).is_none_or(|ty| ty.elem.is_float());
            let negated = op.negated().filter(|op| !is_float || matches!(op, CoreOp::Eq | CoreOp::Ne));
            negated.map_or(Condition::Not, Condition::Comparison)
        }
        _ => Condition::Not,
    }
}

impl Fix {
    fn apply(&self, cx: &mut RebuildCx<'_>, ops: &mut LoopOps, id: NodeId) -> Action {
        let f = cx.function_mut();
        let (&[callee, condition, ..], &[then, otherwise]) = (f.operands(id), f.regions(id)) else {
            return Action::Keep;
        };
        let holder = f.add_function(&[]);
        let block = f.block_of(holder);
        let (region, condition) = match self {
            Self::First => (then, condition),
            Self::Second(Condition::Value(value)) => (otherwise, *value),
            Self::Second(negative) => {
                let negated = match negative {
                    Condition::Comparison(op) => {
                        let args = values(f, condition)[1..].to_vec();
                        call(f, ops, *op, &args, &[])
                    }
                    _ => call(f, ops, CoreOp::Not, &[condition], &[]),
                };
                f.append(block, negated);
                (otherwise, negated)
            }
        };
        let when = f.add_call_with(callee, &[condition], &[region], None);
        let branch = f.encode_attr(&Attr::new("then", AttrData::Graph(0)));
        let metadata = f.attr_recs(id).iter().filter(|rec| rec.flags & attr_flag::META != 0);
        let recs: Vec<AttrRec> = [branch].iter().chain(metadata).copied().collect();
        f.set_attr_recs(when, &recs);
        f.set_type(when, f.type_id(id));
        f.append(block, when);
        f.set_results(block, &[]);
        Action::Inline(block)
    }
}
