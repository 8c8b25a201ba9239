//! Nested functions: they are begun, filled, and given to a call.

use super::{Draft, Edit, NOWHERE, Refused};
use relais::ir::{Attr, AttrData, BlockId, Function, NodeId, TypeId, normal_domain};
use relais_plugin_api::{
    build::Builder,
    infer::{TypeRelations, infer_node},
};

impl Draft {
    /// Begins a nested function. It belongs to the binding that it is given to.
    pub fn graph(&mut self) -> NodeId {
        let edit = self.edit();
        let function = edit.f.add_function(&[]);
        let block = edit.f.block_of(function);
        edit.around.resize(edit.f.n_blocks(), NOWHERE);
        edit.around[block.index()] = edit.innermost();
        edit.f.set_results(block, &[]);
        edit.grow();
        edit.loose.push(function);
        function
    }

    /// Puts new nodes into a nested function, until it is left.
    pub fn enter(&mut self, graph: NodeId) -> Result<(), Refused> {
        let edit = self.edit();
        let block = edit.loose_block(graph)?;
        if edit.open.contains(&block) {
            return Err(Refused::new("the graph was entered already", "leave it first"));
        }
        if !edit.is_around(edit.innermost(), block) {
            return Err(Refused::new("the graph was begun elsewhere", "leave the graphs around first"));
        }
        edit.open.push(block);
        Ok(())
    }

    /// Ends what `enter` began, and what was entered after it.
    pub fn leave(&mut self, graph: NodeId) {
        let edit = self.edit();
        let block = edit.f.block_of(graph);
        if let Some(at) = edit.open.iter().position(|&open| open == block) {
            edit.open.truncate(at);
        }
    }

    /// A new parameter of a nested function, after the others.
    pub fn graph_input(
        &mut self,
        graph: NodeId,
        name: &str,
        ty: impl FnOnce(&mut Function) -> TypeId,
    ) -> Result<NodeId, Refused> {
        let edit = self.edit();
        let block = edit.loose_block(graph)?;
        if edit.f.operands(graph).iter().any(|&param| edit.f.name(param) == name) {
            return Err(Refused::new(format!("the graph has an input `{name}` already"), "give it another name"));
        }
        let ty = ty(&mut edit.f);
        let id = edit.f.add_var(name, ty);
        let params: Vec<NodeId> = edit.f.operands(graph).iter().copied().chain([id]).collect();
        edit.f.set_params(graph, &params);
        edit.place(id, block);
        Ok(id)
    }

    /// A new result of a nested function, after the others.
    pub fn graph_output(&mut self, graph: NodeId, id: NodeId) -> Result<(), Refused> {
        let edit = self.edit();
        let block = edit.loose_block(graph)?;
        if edit.f.n_results(id).is_some() {
            return Err(Refused::new(format!("{} has several results", edit.shown(id)), "give one of them"));
        }
        edit.reach(edit.home[id.index()], block);
        if !edit.is_around(edit.home[id.index()], block) {
            let help = "an output is a value of the graph, or of one around it";
            return Err(Refused::new(format!("{} is not visible in the graph", edit.shown(id)), help));
        }
        let results: Vec<NodeId> = edit.f.results(block).iter().copied().chain([id]).collect();
        for (value, user) in edit.result_uses(block) {
            edit.release(value, user);
        }
        edit.f.set_results(block, &results);
        edit.grow();
        edit.note_results(block);
        Ok(())
    }
}

impl Edit {
    /// The block that new nodes are put into.
    pub(super) fn innermost(&self) -> BlockId {
        self.open.last().copied().unwrap_or(self.f.body())
    }

    /// The block of a nested function that no binding has yet.
    pub(super) fn loose_block(&self, graph: NodeId) -> Result<BlockId, Refused> {
        match self.loose.contains(&graph) {
            true => Ok(self.f.block_of(graph)),
            false => Err(Refused::new("the graph was given to a call", "make another one")),
        }
    }

    /// Lets a nested function that no binding has yet begin in a block that `inner`, which is it or is in it, needs.
    pub(super) fn reach(&mut self, home: BlockId, inner: BlockId) {
        let mut block = inner;
        // A block within a function cannot be around it.
        while block != NOWHERE && home != NOWHERE && !self.is_around(home, inner) && !self.is_around(block, home) {
            let around = self.around[block.index()];
            if self.loose.contains(&self.f.block(block).owner) && self.is_around(around, home) {
                self.around[block.index()] = home;
            }
            block = around;
        }
    }

    pub(super) fn call_with_graphs(
        &mut self,
        relations: &mut dyn TypeRelations,
        (domain, op): (&str, &str),
        args: &[NodeId],
        (mut attrs, graphs): (Vec<Attr>, &[(String, NodeId)]),
        n_results: Option<u16>,
        name: &str,
    ) -> Result<Vec<NodeId>, Refused> {
        let mut home = self.home_of(args)?;
        for (at, (attr, graph)) in graphs.iter().enumerate() {
            let block = self.loose_block(*graph)?;
            if self.open.contains(&block) || graphs[..at].iter().any(|(_, other)| other == graph) {
                let help = "leave the graph first, and give each attribute one of its own";
                return Err(Refused::new(format!("`{attr}` is a graph that is open, or given twice"), help));
            }
            let around = self.around[block.index()];
            if self.is_around(home, around) {
                home = around;
            } else if !self.is_around(around, home) {
                let message = format!("the graph `{attr}` uses values that are not visible where the arguments are");
                return Err(Refused::new(message, "they are in different branches, or in different loops"));
            }
        }
        let functions: Vec<NodeId> = graphs.iter().map(|&(_, graph)| graph).collect();
        if functions.iter().any(|&function| self.is_around(self.f.block_of(function), home)) {
            let help = "an argument is a value from outside of the graphs";
            return Err(Refused::new(format!("the call of `{op}` would be in a graph of its own"), help));
        }
        for &function in &functions {
            let _ = infer_node(&mut self.f, relations, function);
        }
        let branch = |name: &str| graphs.iter().find(|(attr, _)| attr == name).map(|&(_, graph)| graph);
        let is_if = normal_domain(domain).is_empty() && op == "If" && attrs.is_empty();
        let mut build = Builder::new(&mut self.f, relations);
        let first = match (args, branch("then_branch"), branch("else_branch")) {
            (&[cond], Some(then), Some(otherwise)) if is_if && graphs.len() == 2 && !cond.is_absent() => {
                build.if_else(cond, then, otherwise, n_results)?
            }
            _ => {
                let graph =
                    |(at, (name, _)): (usize, &(String, NodeId))| Attr::new(name.clone(), AttrData::Graph(at as u32));
                attrs.extend(graphs.iter().enumerate().map(graph));
                build.call_with_regions((domain, op), args, &functions, &attrs, n_results)?
            }
        };
        let results: Vec<NodeId> =
            (0..n_results.unwrap_or(0)).map(|index| self.f.add_tuple_get_item(first, index)).collect();
        for &result in &results {
            let _ = infer_node(&mut self.f, relations, result);
        }
        self.loose.retain(|graph| !functions.contains(graph));
        for &function in &functions {
            let block = self.f.block_of(function);
            self.around[block.index()] = home;
            self.owner.insert(function, first);
        }
        Ok(self.add(first, results, home, name))
    }
}
