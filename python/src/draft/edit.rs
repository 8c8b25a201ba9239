//! What uses what, and where, while a function is edited.

use super::{Edit, Made, NOWHERE, Refused, User};
use relais::ir::{BlockId, Expr, Function, NodeId, Walk, WalkStep, kind};
use relais_plugin_api::{infer::contradiction, text};
use relais_session::model::Edited;
use std::collections::{HashMap, HashSet};

impl Edit {
    pub(super) fn new(f: Function) -> Self {
        let mut edit = Self {
            home: vec![NOWHERE; f.n_nodes()],
            around: vec![NOWHERE; f.n_blocks()],
            users: vec![Vec::new(); f.n_nodes()],
            made: Vec::new(),
            removed: HashSet::new(),
            touched: HashMap::new(),
            has_new_outputs: false,
            block_of_results: HashMap::new(),
            owner: HashMap::new(),
            loose: Vec::new(),
            open: vec![f.body()],
            f,
        };
        let mut open: Vec<BlockId> = Vec::new();
        let mut walk = Walk::new(&edit.f);
        while let Some(step) = walk.next(&edit.f) {
            match step {
                WalkStep::Enter(block) => {
                    edit.around[block.index()] = open.last().copied().unwrap_or(NOWHERE);
                    open.push(block);
                    for &param in edit.f.operands(edit.f.block(block).owner) {
                        edit.home[param.index()] = block;
                    }
                }
                WalkStep::Binding(id) => {
                    edit.home[id.index()] = open.last().copied().unwrap_or(NOWHERE);
                    let functions = edit.f.regions(id).iter();
                    edit.owner.extend(functions.map(|&function| (function, id)));
                    if edit.f.kind(id) != kind::FUNCTION {
                        for &operand in edit.f.operands(id) {
                            edit.users[operand.index()].push(User::Node(id));
                        }
                    }
                }
                WalkStep::Exit(block) => {
                    open.pop();
                    edit.note_results(block);
                }
                WalkStep::Leave(_) => {}
            }
        }
        edit
    }

    /// How a block uses the values that are its results.
    pub(super) fn result_uses(&self, block: BlockId) -> Vec<(NodeId, User)> {
        let (result, values) = (self.f.result(block), self.f.results(block));
        match values {
            &[one] if one == result => vec![(one, User::Block(block))],
            values => values.iter().map(|&value| (value, User::Node(result))).collect(),
        }
    }

    /// Makes room for nodes that were added.
    pub(super) fn grow(&mut self) {
        self.home.resize(self.f.n_nodes(), NOWHERE);
        self.users.resize(self.f.n_nodes(), Vec::new());
    }

    /// Whether a node is, or will be, in a block.
    pub(super) fn is_placed(&self, id: NodeId) -> bool {
        self.home.get(id.index()).is_some_and(|&home| home != NOWHERE)
    }

    pub(super) fn place(&mut self, id: NodeId, home: BlockId) {
        self.grow();
        self.home[id.index()] = home;
        for operand in self.f.operands(id).to_vec() {
            self.note(operand, User::Node(id));
        }
    }

    pub(super) fn add(&mut self, first: NodeId, results: Vec<NodeId>, home: BlockId, name: &str) -> Vec<NodeId> {
        self.name(first, name);
        self.place(first, home);
        results.iter().for_each(|&id| self.place(id, home));
        let all = if results.is_empty() { vec![first] } else { results.clone() };
        self.made.push(Made { first, results });
        all
    }

    pub(super) fn name(&mut self, id: NodeId, name: &str) {
        if !name.is_empty() {
            self.f.set_name(id, name);
        }
    }

    pub(super) fn note(&mut self, value: NodeId, user: User) {
        if let Some(users) = self.users.get_mut(value.index()).filter(|_| !value.is_absent()) {
            users.push(user);
        }
    }

    pub(super) fn release(&mut self, value: NodeId, user: User) {
        if let Some(users) = self.users.get_mut(value.index())
            && let Some(at) = users.iter().position(|&other| other == user)
        {
            users.swap_remove(at);
        }
    }

    pub(super) fn shown(&self, id: NodeId) -> String {
        let text = text::display(&self.f, id).to_string();
        match text.char_indices().nth(120) {
            None => format!("`{text}`"),
            Some((end, _)) => format!("`{}…`", &text[..end]),
        }
    }

    /// Notes how a block uses its results.
    pub(super) fn note_results(&mut self, block: BlockId) {
        for (value, user) in self.result_uses(block) {
            self.note(value, user);
            if let User::Node(tuple) = user {
                self.block_of_results.insert(tuple, block);
            }
        }
    }

    /// The innermost of the blocks that values are in, and that nodes are put into.
    pub(super) fn home_of(&mut self, args: &[NodeId]) -> Result<BlockId, Refused> {
        let mut inner = self.innermost();
        for &arg in args.iter().filter(|arg| !arg.is_absent()) {
            let home = self.home[arg.index()];
            self.reach(home, inner);
            if !self.is_around(home, inner) {
                if !self.is_around(inner, home) {
                    let message = format!("{} is not visible where the other arguments are", self.shown(arg));
                    return Err(Refused::new(message, "they are in different branches, or in different loops"));
                }
                inner = home;
            }
        }
        Ok(inner)
    }

    /// Whether a block is another one, or contains it.
    pub(super) fn is_around(&self, outer: BlockId, mut inner: BlockId) -> bool {
        while inner != outer && inner != NOWHERE {
            inner = self.around[inner.index()];
        }
        inner == outer && inner != NOWHERE
    }

    pub(super) fn replace_uses(&mut self, old: NodeId, new: NodeId) {
        let users = std::mem::take(&mut self.users[old.index()]);
        let stays = self.made_for(new, &users);
        let (kept, moved): (Vec<User>, Vec<User>) =
            users.into_iter().partition(|user| matches!(user, User::Node(id) if stays.contains(id)));
        let is_same_type = self.f.type_id(old) == self.f.type_id(new)
            && contradiction(self.f.type_of(old), self.f.type_of(new)).is_none();
        let edited = if is_same_type { Edited::Operands } else { Edited::Contents };
        for &user in &moved {
            match user {
                User::Node(id) => {
                    self.f.map_operands(id, |operand| if operand == old { new } else { operand });
                    match self.block_of_results.get(&id) {
                        None => self.touch(id, edited),
                        Some(&block) => self.touch_result(block, new, edited),
                    }
                }
                User::Block(block) => {
                    self.f.set_result(block, new);
                    self.touch_result(block, new, edited);
                }
            }
        }
        self.users[old.index()] = kept;
        self.users[new.index()].extend(moved);
    }

    pub(super) fn touch(&mut self, id: NodeId, edited: Edited) {
        let entry = self.touched.entry(id).or_insert(edited);
        if edited == Edited::Contents {
            *entry = edited;
        }
    }

    /// Notes that a block has another result: what owns it, or an output.
    pub(super) fn touch_result(&mut self, block: BlockId, new: NodeId, edited: Edited) {
        let id = self.owner.get(&self.f.block(block).owner).copied().unwrap_or(new);
        self.touch(id, edited);
    }

    /// Those among some users that were made here and from which a node is computed, or that are it.
    pub(super) fn made_for(&self, new: NodeId, users: &[User]) -> HashSet<NodeId> {
        let n_old = self.made.first().map_or(usize::MAX, |made| made.first.index());
        let is_made = |id: NodeId| id.index() >= n_old;
        let wanted: HashSet<NodeId> =
            users.iter().filter_map(|user| if let User::Node(id) = *user { Some(id) } else { None }).collect();
        let Some(first) = wanted.iter().filter(|id| is_made(**id)).min() else {
            return wanted.into_iter().filter(|&id| id == new).collect();
        };
        let (mut open, mut seen, mut found) = (vec![new], HashSet::new(), HashSet::new());
        while let Some(id) = open.pop() {
            if wanted.contains(&id) {
                found.insert(id);
            }
            // A node that was made before the first of them does not use them.
            let inside = self.functions(id).flat_map(|function| self.f.results(self.f.block_of(function)));
            let uses = self.f.operands(id).iter().chain(inside).copied();
            open.extend(uses.filter(|id| id >= first && seen.insert(*id)));
        }
        found
    }

    /// As [`Draft::replace`], of one value.
    pub(super) fn replace_one(&mut self, old: NodeId, new: NodeId) {
        self.replace_uses(old, new);
        if !self.users[old.index()].is_empty() || self.f.kind(old) == kind::VAR {
            return;
        }
        let (call, removed) = match self.f.expr(old) {
            // A call has all of its results, or is removed with them.
            Expr::TupleGetItem { tuple, .. } => {
                let users = self.users[tuple.index()].iter();
                let all: Option<Vec<NodeId>> = users
                    .map(|user| match *user {
                        User::Node(id) if self.f.kind(id) == kind::TUPLE_GET_ITEM => {
                            self.users[id.index()].is_empty().then_some(id)
                        }
                        _ => None,
                    })
                    .collect();
                let Some(all) = all else { return };
                (Some(tuple), all)
            }
            _ => (None, vec![old]),
        };
        removed.into_iter().chain(call).for_each(|id| self.remove(id));
        self.take_name(old, new);
    }

    /// Gives a value without a name that of one that was removed.
    pub(super) fn take_name(&mut self, old: NodeId, new: NodeId) {
        if self.removed.contains(&old) && !self.f.name(old).is_empty() && self.f.name(new).is_empty() {
            self.f.inherit_value(new, old);
        }
    }

    pub(super) fn remove(&mut self, id: NodeId) {
        if self.removed.insert(id) && self.f.kind(id) != kind::FUNCTION {
            for operand in self.f.operands(id).to_vec() {
                self.release(operand, User::Node(id));
            }
        }
    }
}
