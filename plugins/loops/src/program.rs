//! The questions that the passes ask of loop programs, and how they make calls.

use relais_plugin_api::{
    diagnostics::Severity,
    ir::{AttrValue, BlockId, StrId, Walk, WalkStep, element_count, kind},
    prelude::*,
    prim::{CoreOp, LoopKind, LoopOps, fold, rule, value_type},
};
use std::collections::{HashMap, HashSet};

/// Whether a function consists of the nodes that loop programs have, so that its bindings can be moved and copied.
pub fn is_program(f: &Function) -> bool {
    let is_known =
        |id| matches!(f.kind(id), kind::CALL | kind::IF | kind::CONSTANT | kind::TUPLE | kind::TUPLE_GET_ITEM);
    f.all_bindings().all(|id| is_known(id) && f.regions(id).iter().all(|&region| f.kind(region) == kind::FUNCTION))
}

/// The parts of a `for`.
pub struct Loop<'a> {
    pub min: NodeId,
    pub extent: NodeId,
    /// The loop variable, and the carried values of a turn.
    pub params: &'a [NodeId],
}

impl<'a> Loop<'a> {
    /// The parts of a node; `None` unless it is a `for` with as many carried values in each place.
    pub fn of(f: &'a Function, ops: &LoopOps, id: NodeId) -> Option<Self> {
        if ops.of(f, id) != Some(CoreOp::For) {
            return None;
        }
        let call = f.call(id)?;
        let (&[min, extent, ref carried @ ..], &[function]) = (call.args(), call.regions()) else { return None };
        if f.kind(function) != kind::FUNCTION {
            return None;
        }
        let (params, results) = (f.operands(function), f.results(f.block_of(function)));
        let n = carried.len();
        let is_whole = params.len() == 1 + n && results.len() == n && f.n_results(id) == Some(n).filter(|&n| n > 1);
        is_whole.then_some(Self { min, extent, params })
    }

    /// The number of turns, if it is known; below 1 there are none.
    pub fn turns(&self, f: &Function, ops: &LoopOps) -> Option<u64> {
        constant_int(f, ops, self.extent).map(|extent| u64::try_from(extent).unwrap_or(0))
    }
}

/// The value of an integer that is an immediate, or one operation on immediates.
pub fn constant_int(f: &Function, ops: &LoopOps, id: NodeId) -> Option<i64> {
    if let Some(imm) = f.imm(id) {
        return imm.as_int();
    }
    let op = ops.of(f, id)?;
    let args = f.call(id)?.args().iter().map(|&arg| f.imm(arg)).collect::<Option<Vec<_>>>()?;
    let elem = value_type(f.type_of(id)).filter(|ty| ty.lanes.is_none())?.elem;
    fold(op, &args, elem).ok()?.as_int()
}

/// Whether two values are the same: one node, or equal immediates.
pub fn is_same_value(f: &Function, a: NodeId, b: NodeId) -> bool {
    a == b || f.imm(a).is_some_and(|imm| f.imm(b) == Some(imm))
}

/// Whether two nodes take the same values.
pub fn are_same_values(f: &Function, a: &[NodeId], b: &[NodeId]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(&a, &b)| is_same_value(f, a, b))
}

/// Sets an attribute or metadata of a node, in the place of one of that name.
pub fn set_attr(f: &mut Function, id: NodeId, attr: &Attr) {
    let new = f.encode_attr(attr);
    let mut recs = f.attr_recs(id).to_vec();
    match recs.iter_mut().find(|rec| (rec.name, rec.flags) == (new.name, new.flags)) {
        Some(rec) => *rec = new,
        None => recs.push(new),
    }
    f.set_attr_recs(id, &recs);
}

/// Sets the kind of a loop, to one other than `serial`.
pub fn set_kind(f: &mut Function, id: NodeId, kind: LoopKind) {
    let kind = f.encode_attr(&Attr::new("kind", kind.name()));
    let others = f.attr_recs(id).iter().filter(|rec| rec.name != kind.name || rec.flags != kind.flags);
    let recs: Vec<_> = [kind].iter().chain(others).copied().collect();
    f.set_attr_recs(id, &recs);
}

/// Makes a loop a serial one.
pub fn set_serial(f: &mut Function, id: NodeId) {
    let kept: Vec<_> =
        f.attr_recs(id).iter().filter(|rec| f.bytes(rec.name) != b"kind" || rec.flags != 0).copied().collect();
    f.set_attr_recs(id, &kept);
}

/// A call of a core operator, typed by its rule; it is in no block yet.
pub fn call(f: &mut Function, ops: &mut LoopOps, op: CoreOp, args: &[NodeId], attrs: &[Attr]) -> NodeId {
    let op = ops.id(f, op);
    let id = f.add_call(op, args);
    if !attrs.is_empty() {
        f.set_attrs(id, attrs);
    }
    if let Ok(made) = rule(f, ops, id) {
        let ty = made.add_to(f);
        f.set_type(id, ty);
    }
    id
}

// ---- statements and memory --------------------------------------------------------------------------------------------

/// Everything in a block, and in the blocks in it.
fn nested(f: &Function, block: BlockId) -> impl Iterator<Item = WalkStep> + '_ {
    let mut walk = Walk::block(block);
    std::iter::from_fn(move || walk.next(f))
}

/// A statement, and the bindings in its functions.
pub fn bindings_of(f: &Function, statement: NodeId) -> Vec<NodeId> {
    let inner = f.regions(statement).iter().flat_map(|&region| nested(f, f.block_of(region)));
    let inner = inner.filter_map(|step| if let WalkStep::Binding(id) = step { Some(id) } else { None });
    std::iter::once(statement).chain(inner).collect()
}

/// Copies a function of a binding, with the names in it; returns the copy and what stands for each of its nodes.
pub fn copy_function(f: &mut Function, function: NodeId) -> (NodeId, HashMap<NodeId, NodeId>) {
    let steps: Vec<WalkStep> = nested(f, f.block_of(function)).collect();
    let mut copies: HashMap<NodeId, NodeId> = HashMap::new();
    let (mut bindings, mut blocks) = (Vec::new(), Vec::new());
    for step in steps {
        match step {
            WalkStep::Enter(block) => {
                let function = f.block(block).owner;
                let params = f.operands(function).to_vec();
                let made: Vec<NodeId> = params.iter().map(|&param| f.add_var("", f.type_id(param))).collect();
                for (&param, &copy) in params.iter().zip(&made) {
                    f.set_name_id(copy, f.name_id(param));
                    copies.insert(param, copy);
                }
                let copy = f.add_function(&made);
                let attrs = f.attr_recs(function).to_vec();
                f.set_attr_recs(copy, &attrs);
                copies.insert(function, copy);
                blocks.push((block, f.block_of(copy)));
            }
            WalkStep::Binding(id) => {
                let copy = f.add_copy(id);
                f.set_name_id(copy, f.name_id(id));
                copies.insert(id, copy);
                bindings.push(copy);
            }
            WalkStep::Exit(_) | WalkStep::Leave(_) => {}
        }
    }
    let now = |id: NodeId| copies.get(&id).copied().unwrap_or(id);
    for id in bindings {
        f.map_operands(id, now);
    }
    for (block, copy) in blocks {
        let [list, results] = [f.bindings(block), f.results(block)].map(|ids| ids.iter().copied().map(now).collect());
        let (list, results): (Vec<NodeId>, Vec<NodeId>) = (list, results);
        f.set_bindings(copy, &list);
        f.set_results(copy, &results);
    }
    (now(function), copies)
}

/// Removes the names of bindings and parameters that another one has which is visible there: copies that came into one block.
pub fn remove_second_names(f: &mut Function) {
    let steps: Vec<WalkStep> = nested(f, f.body()).collect();
    // Equal names may be different strings.
    let mut visible: HashSet<String> = f.params().iter().map(|&param| f.name(param).to_owned()).collect();
    let mut scopes: Vec<Vec<String>> = Vec::new();
    let see = |f: &mut Function, id: NodeId, scope: &mut Vec<String>, visible: &mut HashSet<String>| {
        let name = f.name(id);
        if name.is_empty() {
            return;
        }
        match visible.insert(name.to_owned()) {
            true => scope.push(name.to_owned()),
            false => f.set_name_id(id, StrId::EMPTY),
        }
    };
    for step in steps {
        match step {
            WalkStep::Enter(block) => {
                let mut scope = Vec::new();
                if block != f.body() {
                    let params = f.operands(f.block(block).owner).to_vec();
                    params.into_iter().for_each(|param| see(f, param, &mut scope, &mut visible));
                }
                scopes.push(scope);
            }
            WalkStep::Binding(id) => {
                if let Some(scope) = scopes.last_mut() {
                    see(f, id, scope, &mut visible);
                }
            }
            WalkStep::Exit(_) => {
                for name in scopes.pop().unwrap_or_default() {
                    visible.remove(&name);
                }
            }
            WalkStep::Leave(_) => {}
        }
    }
}

/// The number of elements of memory whose sizes are known.
pub fn n_elements(f: &Function, memory: NodeId) -> Option<u64> {
    element_count(&f.type_of(memory).static_shape()?)
}

/// Whether the memory of an `alloc` is on the stack, its sizes are known, and only accesses and views use it.
///
/// # Errors
/// Returns the reason if not.
pub fn is_only_accessed(f: &Function, ops: &LoopOps, alloc: NodeId) -> Result<(), &'static str> {
    if !matches!(f.attrs(alloc).get("scope"), None | Some(AttrValue::String(b"stack"))) {
        return Err("it is not on the stack");
    }
    if n_elements(f, alloc).is_none_or(|n| n == 0) {
        return Err("its sizes are not known, or it is empty");
    }
    for id in f.all_bindings() {
        let is_used = |&operand: &NodeId| ops.memory_of(f, operand) == alloc;
        let is_access = ops.of(f, id).is_some_and(|op| op.first_index().is_some() || op == CoreOp::View);
        if !is_access && f.operands(id).iter().any(is_used) {
            return Err("something other than loads and stores uses it");
        }
    }
    Ok(())
}

/// Puts others in the place of nodes, in a block and the blocks in it.
pub fn replace(f: &mut Function, block: BlockId, by: impl Fn(NodeId) -> NodeId) {
    let steps: Vec<WalkStep> = nested(f, block).collect();
    for step in steps {
        match step {
            WalkStep::Binding(id) => drop(f.map_operands(id, &by)),
            WalkStep::Enter(block) => {
                let results = f.results(block).to_vec();
                let new: Vec<NodeId> = results.iter().map(|&id| by(id)).collect();
                if new != results {
                    f.set_results(block, &new);
                }
            }
            WalkStep::Exit(_) | WalkStep::Leave(_) => {}
        }
    }
}

/// Removes bindings, wherever they are.
pub fn remove(f: &mut Function, gone: &HashSet<NodeId>) {
    let blocks: Vec<BlockId> = f.all_blocks().collect();
    blocks.into_iter().for_each(|block| remove_from(f, block, gone));
}

/// Removes bindings of a block.
pub fn remove_from(f: &mut Function, block: BlockId, gone: &HashSet<NodeId>) {
    let all = f.bindings(block);
    if all.iter().any(|id| gone.contains(id)) {
        let kept: Vec<NodeId> = all.iter().copied().filter(|id| !gone.contains(id)).collect();
        f.set_bindings(block, &kept);
    }
}

/// Tries to make the memory of each `alloc` smaller, or to do without, until none changes. `change` gives the new function and
/// the statistic that counts it, or the reason for which the memory stays.
pub fn try_allocs(
    edit: &mut Editor,
    cx: &PassCx<'_>,
    change: impl Fn(&Function, BlockId, NodeId) -> Result<(Function, &'static str), &'static str>,
) {
    // Memory that stays may change after other memory has.
    let mut declined: Vec<(NodeId, &'static str)> = Vec::new();
    let next = |f: &Function, declined: &[(NodeId, &'static str)]| {
        let ops = LoopOps::new(f);
        let is_open =
            |id: &NodeId| ops.of(f, *id) == Some(CoreOp::Alloc) && !declined.iter().any(|(alloc, _)| alloc == id);
        f.all_blocks().find_map(|block| Some((block, f.bindings(block).iter().copied().find(is_open)?)))
    };
    while let Some((block, alloc)) = next(edit.function(), &declined) {
        match change(edit.function(), block, alloc) {
            Ok((changed, statistic)) => {
                cx.count(statistic, 1);
                *edit.function_mut() = changed;
                declined.clear();
            }
            Err(why) => declined.push((alloc, why)),
        }
    }
    if cx.wants_remarks() {
        for (alloc, why) in declined {
            cx.diagnostic(Diagnostic::new(Severity::REMARK, format!("memory stays: {why}")).at(alloc));
        }
    }
}
