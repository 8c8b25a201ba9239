//! The end of an edit: what nothing uses is left out, the rest is put in order, and the result is checked.

use super::{Edit, Made, NOWHERE, Refused, User};
use relais::ir::{BlockId, Function, NodeId, TypeId, Walk, WalkStep, kind, verify_function};
use relais_conformance::interface::output_names;
use relais_plugin_api::infer::{Coverage, TypeRelations, infer_function};
use relais_session::model::{renew_types, set_outputs};
use std::collections::{HashMap, VecDeque};

impl Edit {
    pub(super) fn finish(mut self, relations: &mut dyn TypeRelations) -> Result<Function, Refused> {
        if !self.loose.is_empty() {
            let help = "give it to a call as an attribute, as in `editor.If(cond, then_branch=…, else_branch=…)`";
            return Err(Refused::new("a graph was begun that no call has", help));
        }
        self.check_removed()?;
        self.leave_out_unused();
        self.order()?;
        self.touched.retain(|id, _| !self.removed.contains(id));
        if let Err((id, why)) = renew_types(&mut self.f, &self.touched, relations) {
            let message = format!("{} is invalid after the edit: {why}", self.shown(id));
            return Err(Refused::new(message, "replace the call, or change its arguments or attributes"));
        }
        if self.has_new_outputs {
            self.declare_outputs(relations);
        }
        match verify_function(&self.f, None).into_iter().next() {
            None => Ok(self.f),
            Some(fault) => Err(Refused::new(fault.to_string(), "")),
        }
    }

    /// Declares new outputs with their types.
    pub(super) fn declare_outputs(&mut self, relations: &mut dyn TypeRelations) {
        let values = self.f.results(self.f.body()).to_vec();
        if values.iter().any(|&id| self.f.type_id(id) == TypeId::UNKNOWN) {
            infer_function(&mut self.f, relations, Coverage::Missing);
        }
        let names = output_names(&self.f);
        set_outputs(&mut self.f, &names, &values);
    }

    pub(super) fn check_removed(&self) -> Result<(), Refused> {
        let is_inside = |id: &NodeId| self.is_inside_removed(*id);
        for &id in &self.removed {
            for user in &self.users[id.index()] {
                let user = match user {
                    User::Node(user) if self.removed.contains(user) || is_inside(user) => continue,
                    User::Node(user) if self.is_placed(*user) => self.shown(*user),
                    _ => "a result".to_owned(),
                };
                let message = format!("{} is removed, but {user} uses it", self.shown(id));
                return Err(Refused::new(message, "replace its uses first"));
            }
        }
        Ok(())
    }

    /// Whether a node is in a function of one that is removed.
    pub(super) fn is_inside_removed(&self, id: NodeId) -> bool {
        let mut block = self.home.get(id.index()).copied().unwrap_or(NOWHERE);
        while block != NOWHERE && self.around[block.index()] != NOWHERE {
            let owner = self.f.block(block).owner;
            if self.removed.iter().any(|&id| id == owner || self.f.regions(id).contains(&owner)) {
                return true;
            }
            block = self.around[block.index()];
        }
        false
    }

    /// Removes new nodes that nothing uses.
    pub(super) fn leave_out_unused(&mut self) {
        let made = std::mem::take(&mut self.made);
        for Made { first, results } in made.iter().rev() {
            let is_used = |id: NodeId| self.users[id.index()].iter().any(|user| *user != User::Node(id));
            let is_needed = match results.as_slice() {
                _ if self.is_left_out(*first) => false,
                [] => is_used(*first),
                results => results.iter().any(|&id| is_used(id)) || self.users[first.index()].len() > results.len(),
            };
            if !is_needed {
                results.iter().for_each(|&id| self.remove(id));
                self.remove(*first);
            }
        }
        self.made = made;
    }

    /// Whether a node is in a function of a new binding that is left out.
    pub(super) fn is_left_out(&self, id: NodeId) -> bool {
        let mut block = self.home[id.index()];
        while block != NOWHERE {
            if self.owner.get(&self.f.block(block).owner).is_some_and(|owner| self.removed.contains(owner)) {
                return true;
            }
            block = self.around[block.index()];
        }
        false
    }

    /// Puts every binding behind what it uses, and otherwise leaves the order as it is.
    pub(super) fn order(&mut self) -> Result<(), Refused> {
        let mut new: HashMap<BlockId, Vec<NodeId>> = HashMap::new();
        for made in &self.made {
            let all = std::iter::once(made.first).chain(made.results.iter().copied());
            new.entry(self.home[made.first.index()]).or_default().extend(all);
        }
        let mut blocks = VecDeque::new();
        let mut walk = Walk::new(&self.f);
        while let Some(step) = walk.next(&self.f) {
            if let WalkStep::Enter(block) = step {
                blocks.push_back(block);
            }
        }
        // By node: 1 while what it uses is put into place, 2 once it is in its own.
        let mut state = vec![0u8; self.f.n_nodes()];
        while let Some(block) = blocks.pop_front() {
            let old = self.f.bindings(block);
            let roots: Vec<NodeId> = old.iter().chain(new.get(&block).into_iter().flatten()).copied().collect();
            let mut ordered = Vec::with_capacity(roots.len());
            // Each node with the ones it uses that are still to be placed.
            let mut open: Vec<(NodeId, Vec<NodeId>)> = Vec::new();
            for root in roots {
                open.push((root, Vec::new()));
                while let Some((id, uses)) = open.last_mut() {
                    let id = *id;
                    if state[id.index()] == 0 {
                        if self.removed.contains(&id) {
                            open.pop();
                            continue;
                        }
                        state[id.index()] = 1;
                        *uses = self.uses_within(id, block, &new);
                        uses.reverse();
                    } else if state[id.index()] == 2 {
                        open.pop();
                        continue;
                    }
                    match uses.pop() {
                        Some(next) if state[next.index()] == 1 => {
                            let message = format!("{} would be computed from itself", self.shown(next));
                            return Err(Refused::new(message, "replace other uses, or make a copy first"));
                        }
                        Some(next) => open.push((next, Vec::new())),
                        None => {
                            state[id.index()] = 2;
                            ordered.push(id);
                            open.pop();
                        }
                    }
                }
            }
            // The walk did not come into the functions of new bindings.
            for &id in new.get(&block).into_iter().flatten().filter(|id| !self.removed.contains(id)) {
                blocks.extend(self.functions(id).map(|function| self.f.block_of(function)));
            }
            if ordered != self.f.bindings(block) {
                self.f.set_bindings(block, &ordered);
            }
        }
        Ok(())
    }

    /// The bindings of a block that a binding of it uses, directly or from within its functions.
    pub(super) fn uses_within(&self, id: NodeId, block: BlockId, new: &HashMap<BlockId, Vec<NodeId>>) -> Vec<NodeId> {
        let is_here = |id: &NodeId| {
            self.home.get(id.index()) == Some(&block) && !matches!(self.f.kind(*id), kind::VAR | kind::ABSENT)
        };
        let mut uses: Vec<NodeId> = Vec::new();
        if self.f.kind(id) != kind::FUNCTION {
            uses.extend(self.f.operands(id).iter().copied().filter(is_here));
        }
        let mut functions = if self.f.kind(id) == kind::FUNCTION { vec![id] } else { self.functions(id).collect() };
        while let Some(function) = functions.pop() {
            let mut walk = Walk::block(self.f.block_of(function));
            while let Some(step) = walk.next(&self.f) {
                match step {
                    WalkStep::Binding(id) if self.f.kind(id) != kind::FUNCTION => {
                        uses.extend(self.f.operands(id).iter().copied().filter(is_here));
                    }
                    WalkStep::Exit(inner) => {
                        uses.extend(self.f.results(inner).iter().copied().filter(is_here));
                        // New nodes are not in their blocks yet.
                        let new = new.get(&inner).into_iter().flatten();
                        for &id in new.filter(|id| !self.removed.contains(id)) {
                            uses.extend(self.f.operands(id).iter().copied().filter(is_here));
                            functions.extend(self.functions(id));
                        }
                    }
                    _ => {}
                }
            }
        }
        uses
    }

    /// The functions of a binding.
    pub(super) fn functions(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        self.f.regions(id).iter().copied().filter(|&region| self.f.kind(region) == kind::FUNCTION)
    }
}
