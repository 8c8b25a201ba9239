//! Calls of constants that are worth folding together, although each of them alone would enlarge the model.
//!
//! A group is a set of calls that are connected by constants and intermediate values, such as two slices of one weight and
//! the concatenation that joins them in another order. It is judged as a whole: the bytes of the values that it leaves
//! against those of the constants that nothing else uses.

use crate::{
    bytes::{size_of, stored_bytes},
    fold_work::Work,
};
use relais_plugin_api::{infer::Operators, prelude::*};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Constants this small do not make one group of the calls that share them: axes, sizes and the like.
const SMALL: u64 = 64;

/// How often groups are formed again because an evaluator refused a call of one.
const MAX_ATTEMPTS: usize = 16;

/// How many bytes may be added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Budget {
    /// By each group.
    pub each: u64,
    /// By all groups that add more than that.
    pub all: u64,
}

/// The values of the calls that groups leave, and, for each group that is not folded, a call and the reason.
#[derive(Default)]
pub(crate) struct Plan {
    pub values: HashMap<NodeId, Tensor>,
    pub declined: Vec<(NodeId, String)>,
}

/// Finds the groups that fit the budget, and evaluates them. `may_fold` says whether a call of constants may be folded.
pub(crate) fn plan(
    f: &Function,
    ops: &mut dyn Operators,
    budget: Budget,
    work: &mut Work<'_>,
    mut may_fold: impl FnMut(&dyn Operators, CallView<'_>) -> bool,
) -> Plan {
    let uses = f.use_counts();
    let mut evaluated = HashMap::new();
    let mut refused = HashSet::new();
    let mut plan = Plan::default();
    for _ in 0..MAX_ATTEMPTS {
        let groups = Groups::of(f, |call| !refused.contains(&call.id) && may_fold(&*ops, call));
        plan = Plan::default();
        let mut left = budget.all;
        let mut n_refused = 0;
        for members in groups.groups() {
            let group = Group::of(f, &uses, members);
            if group.added > budget.each {
                if group.added > left {
                    let (n, added) = (members.len(), group.added);
                    let reason = format!("folding {n} calls together would add {added} bytes, and {left} are left");
                    plan.declined.push((members[members.len() - 1], reason));
                    continue;
                }
                left -= group.added;
            }
            match members.iter().find(|&&id| !evaluate(f, ops, id, work, &mut evaluated)) {
                Some(&id) => {
                    n_refused += 1;
                    refused.insert(id);
                }
                None => plan.values.extend(group.kept.iter().map(|&id| (id, evaluated[&id].clone()))),
            }
        }
        if n_refused == 0 {
            break;
        }
    }
    // Groups that still have refused calls are not among the values.
    plan
}

/// Evaluates a call whose arguments are constants or were evaluated.
fn evaluate(
    f: &Function,
    ops: &mut dyn Operators,
    id: NodeId,
    work: &mut Work<'_>,
    evaluated: &mut HashMap<NodeId, Tensor>,
) -> bool {
    if evaluated.contains_key(&id) {
        return true;
    }
    let (Some(call), Some(size)) = (f.call(id), size_of(f, id)) else { return false };
    let Some(op) = call.op() else { return false };
    let value = |arg: NodeId| evaluated.get(&arg).or_else(|| f.constant(arg)).cloned();
    let inputs: Vec<Option<Tensor>> = call.args().iter().map(|&arg| value(arg)).collect();
    if work.take(call, &inputs).is_err() {
        return false;
    }
    let Some(Ok(values)) = ops.evaluate(op, f, id, &inputs, size) else { return false };
    let Ok([value]) = <[Tensor; 1]>::try_from(values) else { return false };
    evaluated.insert(id, value);
    true
}

/// The cost of a group.
struct Group {
    /// The calls whose values are used outside the group.
    kept: Vec<NodeId>,
    /// The bytes of these beyond those of the constants that nothing else uses.
    added: u64,
}

impl Group {
    fn of(f: &Function, uses: &[u32], members: &[NodeId]) -> Self {
        let mut used_here: BTreeMap<NodeId, u32> = BTreeMap::new();
        for call in members.iter().filter_map(|&id| f.call(id)) {
            for &arg in call.args().iter().filter(|arg| !arg.is_absent()) {
                *used_here.entry(arg).or_default() += 1;
            }
        }
        let is_freed = |id: NodeId| used_here.get(&id) == uses.get(id.index());
        let kept: Vec<NodeId> = members.iter().copied().filter(|&id| !is_freed(id)).collect();
        let made = kept.iter().filter_map(|&id| size_of(f, id)).fold(0, u64::saturating_add);
        let freed = used_here.keys().filter(|&&id| is_freed(id)).filter_map(|&id| f.constant(id)).map(stored_bytes);
        Self { kept, added: made.saturating_sub(freed.sum()) }
    }
}

/// The calls that can be folded, by connection.
struct Groups {
    /// Each in the order of the program.
    members: Vec<Vec<NodeId>>,
}

impl Groups {
    fn of(f: &Function, mut may_fold: impl FnMut(CallView<'_>) -> bool) -> Self {
        // An intermediate value that is larger than all constants is not worth computing.
        let most: u64 = f.all_bindings().filter_map(|id| f.constant(id)).map(stored_bytes).fold(0, u64::saturating_add);
        let mut is_member = vec![false; f.n_nodes()];
        let mut calls = Vec::new();
        let mut sets = Sets::new(f.n_nodes());
        for call in f.all_bindings().filter_map(|id| f.call(id)) {
            let is_known = |arg: &NodeId| arg.is_absent() || is_member[arg.index()] || f.constant(*arg).is_some();
            let is_candidate = call.n_results().is_none()
                && call.regions().is_empty()
                && !call.attrs().has_refs()
                && call.args().iter().any(|arg| !arg.is_absent())
                && call.args().iter().all(is_known)
                && size_of(f, call.id).is_some_and(|size| size <= most);
            if !is_candidate || !may_fold(call) {
                continue;
            }
            for &arg in call.args().iter().filter(|arg| !arg.is_absent()) {
                if is_member[arg.index()] || f.constant(arg).is_some_and(|tensor| stored_bytes(tensor) > SMALL) {
                    sets.join(call.id.index(), arg.index());
                }
            }
            is_member[call.id.index()] = true;
            calls.push(call.id);
        }
        let mut places: HashMap<usize, usize> = HashMap::new();
        let mut members: Vec<Vec<NodeId>> = Vec::new();
        for id in calls {
            let place = *places.entry(sets.find(id.index())).or_insert(members.len());
            if place == members.len() {
                members.push(Vec::new());
            }
            members[place].push(id);
        }
        Self { members }
    }

    fn groups(&self) -> impl Iterator<Item = &[NodeId]> {
        self.members.iter().map(Vec::as_slice)
    }
}

/// Disjoint sets of nodes.
struct Sets {
    parents: Vec<usize>,
}

impl Sets {
    fn new(n: usize) -> Self {
        Self { parents: (0..n).collect() }
    }

    fn find(&mut self, mut node: usize) -> usize {
        while self.parents[node] != node {
            self.parents[node] = self.parents[self.parents[node]];
            node = self.parents[node];
        }
        node
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.find(one), self.find(other));
        self.parents[one.max(other)] = one.min(other);
    }
}
