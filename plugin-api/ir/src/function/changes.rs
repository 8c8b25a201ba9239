//! The differences between a function that was sent and the one that came back, and what must be forgotten because of them.

use super::*;
use crate::Tensor;

/// The types that the sender of a function states for some of its nodes.
pub(crate) type Stated = Vec<(NodeId, TypeId)>;

/// The differences between a function and an earlier state of it.
pub struct Changes {
    /// By node: whether it is new, or has another operator, other operands or other attributes.
    pub nodes: Vec<bool>,
    /// By node: whether an entry of a table is another one.
    pub entries: Vec<bool>,
}

impl Function {
    /// Whether this is a later state of `before`: what ids refer to in it begins with what they refer to there, so that an
    /// id of `before` means the same in both.
    pub fn continues(&self, before: &Self) -> bool {
        self.keeps_words(before)
            && self.ops.starts_with(&before.ops)
            && self.constants.starts_with(&before.constants)
            && self.nodes.len() >= before.nodes.len()
    }

    /// The nodes that are not those of `before` any more; `None` unless this function [continues](Self::continues) it. `tables`
    /// name the tables of which entries are compared.
    ///
    /// Most of what a pass leaves is as it was: memory is compared before nodes are.
    pub fn changes_since(&self, before: &Self, tables: &[&str]) -> Option<Changes> {
        if !self.continues(before) {
            return None;
        }
        let (n, n_before) = (self.nodes.len(), before.nodes.len());
        let mut changes = Changes { nodes: vec![false; n], entries: vec![false; n] };
        changes.nodes[n_before..].fill(true);
        let (is_same_pool, is_same_attrs) =
            (self.pool.starts_with(&before.pool), self.attrs.starts_with(&before.attrs));
        let is_same_rec = |at: usize| {
            let [old, new] = [&before.nodes[at], &self.nodes[at]];
            (old.kind, old.aux, old.a, old.b, old.c) == (new.kind, new.aux, new.a, new.b, new.c)
        };
        let mut is_other_leaf = false;
        for at in 0..n_before {
            let id = NodeId::from_index(at);
            let is_leaf = is_leaf(self.nodes[at].kind);
            let is_same = match is_same_rec(at) {
                true => is_leaf || is_same_pool || self.has_same_operands(before, id),
                false => {
                    !is_leaf
                        && (before.nodes[at].kind, before.nodes[at].aux) == (self.nodes[at].kind, self.nodes[at].aux)
                        && self.has_same_operands(before, id)
                }
            };
            let has_same_attrs = || {
                is_same_attrs && before.nodes[at].c == self.nodes[at].c || before.attr_recs(id) == self.attr_recs(id)
            };
            changes.nodes[at] = !is_same || !has_same_attrs();
            is_other_leaf |= is_leaf && changes.nodes[at];
        }
        // Operators and constants are parts of the nodes that use them.
        if is_other_leaf {
            for at in 0..n_before {
                let used = self.operands(NodeId::from_index(at)).iter();
                let is_changed = |used: &NodeId| is_leaf(self.kind(*used)) && changes.nodes[used.index()];
                changes.nodes[at] |= used.copied().any(|used| is_changed(&used));
            }
        }
        for key in tables {
            let stride =
                [before, self].map(|f| f.table(key).map_or(0, |table| table.stride as usize)).into_iter().max();
            let stride = stride.unwrap_or(0);
            let [old, new] = [before, self].map(|f| {
                let bytes = f.table(key).map_or(&[][..], |table| table.bytes.as_slice());
                &bytes[..bytes.len().min(n_before * stride)]
            });
            if old == new {
                continue;
            }
            for at in 0..n_before {
                let entry = at * stride..(at + 1) * stride;
                let is_same = match (old.get(entry.clone()), new.get(entry)) {
                    (Some(old), Some(new)) => old == new,
                    (one, None) | (None, one) => one.is_none_or(|entry| entry.iter().all(|&byte| byte == 0)),
                };
                changes.entries[at] |= !is_same;
            }
        }
        Some(changes)
    }

    /// Whether strings, types and the values of attributes have the ids that they have in `before`.
    fn keeps_words(&self, before: &Self) -> bool {
        self.strings.starts_with(&before.strings)
            && self.words.starts_with(&before.words)
            && self.types.starts_with(&before.types)
            && self.type_words.starts_with(&before.type_words)
            && self.type_dims.starts_with(&before.type_dims)
    }

    /// Forgets everything about nodes that are not those of `before` any more: where they were read from, and data computed
    /// from them and from what they use. Only declared types, those of parameters, are believed; the types that were stated
    /// for other nodes are returned. The arena was checked.
    pub(crate) fn forget_changed(&mut self, before: &Self) -> Stated {
        let changed = self.changed_nodes(before);
        for at in (0..changed.len()).filter(|&at| changed[at]) {
            self.touch(NodeId::from_index(at));
        }
        let stale = self.downstream(&changed, before);
        let is_declared = |f: &Self, id: NodeId| f.kind(id) == kind::VAR;
        let mut stated = Stated::new();
        for at in 0..self.tables.len() {
            let table = &self.tables[at];
            let old = before.tables.iter().find(|old| old.key == table.key);
            if let Some(old) = old {
                self.tables[at].policy = old.policy;
            }
            if self.tables[at].policy != table_policy::DERIVED {
                continue;
            }
            let is_types = at == table::TYPES;
            for id in (0..self.nodes.len()).map(NodeId::from_index) {
                if is_types && is_declared(self, id) {
                    continue;
                }
                let entry = self.tables[at].get(id);
                let is_same = old.is_some_and(|old| old.get(id).unwrap_or(&[]) == entry.unwrap_or(&[]));
                if is_same && !stale[id.index()] || entry.is_none_or(|entry| entry.iter().all(|&byte| byte == 0)) {
                    continue;
                }
                if is_types {
                    stated.push((id, self.type_id(id)));
                }
                self.tables[at].clear(id);
            }
        }
        if changed.contains(&true) {
            for list in self.lists.iter_mut().filter(|list| list.policy == list_policy::DERIVED) {
                list.bytes.clear();
            }
        }
        stated
    }

    /// Forgets where every node was read from: there is nothing to compare the function with.
    pub(crate) fn forget_origin(&mut self) {
        (0..self.nodes.len()).map(NodeId::from_index).for_each(|id| self.touch(id));
    }

    /// For each node, whether it is new or another one, uses another operator, name or constant, or has a function in which
    /// this is so.
    fn changed_nodes(&self, before: &Self) -> Vec<bool> {
        // Then equal records mean equal values.
        let is_kept = self.keeps_words(before);
        let is_same = |id: NodeId| {
            let [old, new] = [before.node(id), self.node(id)];
            (old.kind, old.flags, old.aux) == (new.kind, new.flags, new.aux)
                && if is_leaf(new.kind) { self.is_same_leaf(before, id) } else { self.has_same_operands(before, id) }
                && self.has_same_attrs_as(before, id, is_kept)
        };
        let n_before = before.nodes.len();
        let ids = || (0..self.nodes.len()).map(NodeId::from_index);
        let mut changed: Vec<bool> = ids().map(|id| id.index() >= n_before || !is_same(id)).collect();
        // Operators, names and constants have no bytes of their own.
        for id in ids().filter(|&id| !is_leaf(self.kind(id))) {
            let uses = self.operands(id).iter().any(|&used| is_leaf(self.kind(used)) && changed[used.index()]);
            changed[id.index()] |= uses;
        }
        // Upwards from each change: the function whose block it is in, and the call that this function belongs to.
        let above = self.nodes_above();
        let is_other_block = |at: usize| {
            let id = BlockId::from_index(at);
            let is_same = |f: &Self| at < f.blocks.len();
            !is_same(before) || before.bindings(id) != self.bindings(id) || before.result(id) != self.result(id)
        };
        let mut open: Vec<NodeId> =
            (0..self.blocks.len()).filter(|&at| is_other_block(at)).map(|at| self.blocks[at].owner).collect();
        open.extend(ids().filter(|id| changed[id.index()]).map(|id| above[id.index()]));
        let mut is_open = vec![false; self.nodes.len()];
        while let Some(id) = open.pop() {
            if !id.is_absent() && !std::mem::replace(&mut is_open[id.index()], true) {
                changed[id.index()] = true;
                open.push(above[id.index()]);
            }
        }
        changed
    }

    /// The function whose block a binding is in, and the node that a function belongs to.
    fn nodes_above(&self) -> Vec<NodeId> {
        let mut above = vec![NodeId::ABSENT; self.nodes.len()];
        for id in (0..self.nodes.len()).map(NodeId::from_index) {
            for &region in self.regions(id) {
                above[region.index()] = id;
            }
        }
        for block in (0..self.blocks.len()).map(BlockId::from_index) {
            let owner = self.block(block).owner;
            self.bindings(block).iter().for_each(|binding| above[binding.index()] = owner);
        }
        above
    }

    /// The changed nodes, parameters of other types, and everything that uses one of them.
    fn downstream(&self, changed: &[bool], before: &Self) -> Vec<bool> {
        let mut stale = changed.to_vec();
        for id in (0..before.nodes.len().min(stale.len())).map(NodeId::from_index) {
            stale[id.index()] |= self.kind(id) == kind::VAR && self.type_id(id) != before.type_id(id);
        }
        if !stale.contains(&true) {
            return stale;
        }
        // The users of each node: those of node `i` are `users[starts[i]..starts[i + 1]]`.
        let above = self.nodes_above();
        let ids = || (0..self.nodes.len()).map(NodeId::from_index);
        let mut starts = vec![0u32; self.nodes.len() + 1];
        ids().flat_map(|id| self.operands(id)).for_each(|used| starts[used.index() + 1] += 1);
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let (mut users, mut next) = (vec![NodeId::ABSENT; starts[self.nodes.len()] as usize], starts.clone());
        for id in ids() {
            for used in self.operands(id) {
                users[next[used.index()] as usize] = id;
                next[used.index()] += 1;
            }
        }
        let mut open: Vec<NodeId> = ids().filter(|id| stale[id.index()]).collect();
        while let Some(id) = open.pop() {
            let own = &users[starts[id.index()] as usize..starts[id.index() + 1] as usize];
            for &user in own.iter().chain(&[above[id.index()]]).filter(|user| !user.is_absent()) {
                if !std::mem::replace(&mut stale[user.index()], true) {
                    open.push(user);
                }
            }
        }
        stale
    }

    fn has_same_operands(&self, before: &Self, id: NodeId) -> bool {
        before.operands(id) == self.operands(id) && before.extra(id) == self.extra(id)
    }

    fn is_same_leaf(&self, before: &Self, id: NodeId) -> bool {
        let [old, new] = [before.node(id), self.node(id)];
        let is_same_tensor = |old: u32, new: u32| {
            let [old, new]: [&Tensor; 2] = [before.constants.get(old), self.constants.get(new)];
            old.is_same(new) || (old.elem(), old.dims()) == (new.elem(), new.dims()) && old == new
        };
        match new.kind {
            kind::ABSENT => true,
            kind::VAR => match (old.a.checked_sub(1), new.a.checked_sub(1)) {
                (Some(old), Some(new)) => is_same_tensor(old, new),
                (old, new) => old == new,
            },
            kind::GLOBAL_VAR => before.bytes(StrId(old.a)) == self.bytes(StrId(new.a)),
            kind::OP => {
                let names = |f: &Self, op: u32| {
                    let OpRec { domain, name, overload, version, .. } = f.ops[op as usize];
                    (version, [domain, name, overload].map(|id| f.bytes(id).to_vec()))
                };
                names(before, old.a) == names(self, new.a)
            }
            kind::CONSTANT => is_same_tensor(old.a, new.a),
            _ => (old.a, old.b) == (new.a, new.b),
        }
    }

    fn has_same_attrs_as(&self, before: &Self, id: NodeId, is_kept: bool) -> bool {
        let [old, new] = [before.attr_recs(id), self.attr_recs(id)];
        let holds_tensors = |rec: &AttrRec| matches!(rec.kind, attr_kind::TENSOR | attr_kind::TENSORS);
        let is_same = |(old, new): (&AttrRec, &AttrRec)| {
            if is_kept && old == new && !holds_tensors(new) {
                return true;
            }
            if (old.kind, old.flags) != (new.kind, new.flags) || before.bytes(old.name) != self.bytes(new.name) {
                return false;
            }
            match (before.attrs(id).decode(*old).to_data(), self.attrs(id).decode(*new).to_data()) {
                // Types are compared by their ids.
                (Some(old), Some(new)) => {
                    old == new && (is_kept || !matches!(new, AttrData::Type(_) | AttrData::Types(_)))
                }
                _ => (old.a, old.b) == (new.a, new.b),
            }
        };
        old.len() == new.len() && old.iter().zip(new).all(is_same)
    }
}
