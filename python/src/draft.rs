//! A function that is being edited, without an order: new nodes get their places when the edit ends.

use abi_stable::std_types::RArc;
use relais::{
    frontend::{Edited, renew_types, set_outputs},
    ir::{
        Attr, AttrData, AttrValue, BlockId, Expr, Function, IRModule, MAIN, NodeId, Tensor, TypeId, Walk, WalkStep,
        kind, normal_domain, verify_function,
    },
};
use relais_conformance::interface::output_names;
use relais_plugin_api::{
    build::{Builder, check_made},
    diagnostics::PassError,
    infer::{Coverage, TypeRelations, contradiction, infer_function, infer_node},
    text,
};
use std::collections::{HashMap, HashSet, VecDeque};

/// Why an edit cannot be made, or cannot end: the message, and a suggestion that may be empty.
#[derive(Debug)]
pub(crate) struct Refused {
    pub message: String,
    pub help: String,
}

impl Refused {
    fn new(message: impl Into<String>, help: &str) -> Self {
        Self { message: message.into(), help: help.to_owned() }
    }
}

impl From<PassError> for Refused {
    fn from(error: PassError) -> Self {
        let rec = error.rec();
        // Of a pass, it says what the pass makes.
        let message = rec.message.strip_prefix("it makes ").unwrap_or(&rec.message);
        Self { message: message.to_owned(), help: rec.help.to_string() }
    }
}

/// What uses a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum User {
    /// A binding, or the tuple of a block's results.
    Node(NodeId),
    /// A block whose only result it is.
    Block(BlockId),
}

/// Nodes that were made together: a call and its results.
struct Made {
    first: NodeId,
    results: Vec<NodeId>,
}

/// A function that is being edited. The first edit copies it.
pub(crate) struct Draft {
    base: RArc<Function>,
    edited: Option<Box<Edit>>,
}

/// The state after the first edit.
struct Edit {
    f: Function,
    /// By node: the block that it is in, or will be in.
    home: Vec<BlockId>,
    /// By block: the one around it.
    around: Vec<BlockId>,
    /// By node.
    users: Vec<Vec<User>>,
    made: Vec<Made>,
    removed: HashSet<NodeId>,
    touched: HashMap<NodeId, Edited>,
    /// Whether the outputs were set.
    has_new_outputs: bool,
    /// The blocks of tuples of results.
    block_of_results: HashMap<NodeId, BlockId>,
    /// The bindings that functions belong to.
    owner: HashMap<NodeId, NodeId>,
    /// The functions that no binding has yet.
    loose: Vec<NodeId>,
    /// The blocks that new nodes are put into, the innermost last.
    open: Vec<BlockId>,
}

/// In no block.
const NOWHERE: BlockId = BlockId(u32::MAX);

impl Draft {
    pub fn new(base: RArc<Function>) -> Self {
        Self { base, edited: None }
    }

    /// The function in its current state; new nodes are in no block yet.
    pub fn function(&self) -> &Function {
        self.edited.as_ref().map_or(&*self.base, |edit| &edit.f)
    }

    /// Whether it is the function that is edited.
    pub fn is_base(&self, function: &RArc<Function>) -> bool {
        std::ptr::eq(&**function, &*self.base)
    }

    /// Whether a node was removed.
    pub fn is_removed(&self, id: NodeId) -> bool {
        self.edited.as_ref().is_some_and(|edit| edit.removed.contains(&id))
    }

    /// The bindings in program order, without those that were removed, and new ones at the end.
    pub fn bindings(&self) -> Vec<NodeId> {
        let f = self.function();
        let made = self.edited.iter().flat_map(|edit| &edit.made);
        let made = made.flat_map(|made| std::iter::once(made.first).chain(made.results.iter().copied()));
        f.all_bindings().chain(made).filter(|&id| !self.is_removed(id)).collect()
    }

    /// The bindings that use a node, each once.
    pub fn users(&mut self, id: NodeId) -> Vec<NodeId> {
        let edit = self.edit();
        let mut users: Vec<NodeId> = Vec::new();
        for user in edit.users.get(id.index()).into_iter().flatten() {
            if let User::Node(user) = *user
                && edit.is_placed(user)
                && users.last() != Some(&user)
            {
                users.push(user);
            }
        }
        users
    }

    fn edit(&mut self) -> &mut Edit {
        self.edited.get_or_insert_with(|| Box::new(Edit::new((*self.base).clone())))
    }

    pub fn constant(&mut self, tensor: Tensor, name: &str) -> NodeId {
        let edit = self.edit();
        let id = edit.f.add_constant(tensor, relais::ir::ConstForm::ANY);
        edit.name(id, name);
        let home = edit.innermost();
        edit.place(id, home);
        edit.made.push(Made { first: id, results: Vec::new() });
        id
    }

    /// A new parameter, after the others.
    pub fn input(&mut self, name: &str, ty: impl FnOnce(&mut Function) -> TypeId) -> Result<NodeId, Refused> {
        let edit = self.edit();
        if edit.f.params().iter().any(|&param| edit.f.name(param) == name) {
            return Err(Refused::new(format!("there is an input `{name}` already"), "give it another name"));
        }
        let ty = ty(&mut edit.f);
        let id = edit.f.add_var(name, ty);
        let (root, body) = (edit.f.root(), edit.f.body());
        let params: Vec<NodeId> = edit.f.params().iter().copied().chain([id]).collect();
        edit.f.set_params(root, &params);
        edit.f.set_type(root, TypeId::UNKNOWN);
        edit.place(id, body);
        Ok(id)
    }

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

    /// Makes a call of an operator; its results are of the innermost block that is open, or that has one of its
    /// arguments. `graphs` are attributes.
    pub fn call(
        &mut self,
        relations: &mut dyn TypeRelations,
        (domain, op): (&str, &str),
        args: &[NodeId],
        (attrs, graphs): (Vec<Attr>, &[(String, NodeId)]),
        n_results: Option<u16>,
        name: &str,
    ) -> Result<Vec<NodeId>, Refused> {
        let edit = self.edit();
        if !graphs.is_empty() {
            return edit.call_with_graphs(relations, (domain, op), args, (attrs, graphs), n_results, name);
        }
        let home = edit.home_of(args)?;
        let mut build = Builder::new(&mut edit.f, relations);
        let (first, results) = match n_results {
            None => (build.call_in(domain.to_owned(), op.to_owned(), args, attrs)?, Vec::new()),
            Some(n) => build.call_results(domain.to_owned(), op.to_owned(), args, attrs, n)?,
        };
        Ok(edit.add(first, results, home, name))
    }

    /// Makes a call of a function of the module.
    pub fn call_function(
        &mut self,
        relations: &mut dyn TypeRelations,
        function: &str,
        args: &[NodeId],
        n_results: u16,
        name: &str,
    ) -> Result<Vec<NodeId>, Refused> {
        let edit = self.edit();
        let home = edit.home_of(args)?;
        let made = Builder::new(&mut edit.f, relations).call_function(function, args, n_results)?;
        let (first, results) = match (made.first().map(|&id| edit.f.expr(id)), &made[..]) {
            (Some(Expr::TupleGetItem { tuple, .. }), _) => (tuple, made),
            (_, &[one]) => (one, Vec::new()),
            _ => return Err(Refused::new("a function without results cannot be called", "")),
        };
        Ok(edit.add(first, results, home, name))
    }

    /// Lets `new` take the place of `old` in what uses it. Uses by `new`, and by nodes made here from which it is
    /// computed, stay.
    pub fn replace_uses(&mut self, old: NodeId, new: NodeId) {
        if old != new {
            self.edit().replace_uses(old, new);
        }
    }

    /// The same for each result of a binding, which is removed unless something still uses it. A value without a name
    /// gets that of the one it replaces.
    pub fn replace(&mut self, old: NodeId, new: &[NodeId]) -> Result<(), Refused> {
        let edit = self.edit();
        let Some(n_results) = edit.f.n_results(old) else {
            let &[new] = new else {
                return Err(Refused::new(format!("{} values were given for one", new.len()), "give one node"));
            };
            if old != new {
                edit.replace_one(old, new);
            }
            return Ok(());
        };
        if n_results != new.len() {
            let message = format!("{} values were given for {n_results} results", new.len());
            return Err(Refused::new(message, "give a list with a node for each result"));
        }
        let users = edit.users[old.index()].clone();
        let is_projection = |user: &User| match *user {
            User::Node(id) => matches!(edit.f.expr(id), Expr::TupleGetItem { .. }),
            User::Block(_) => false,
        };
        if !users.iter().all(is_projection) {
            return Err(Refused::new(format!("{} is used as a tuple", edit.shown(old)), "replace what uses it first"));
        }
        let mut replaced = Vec::new();
        for user in users {
            if let User::Node(id) = user
                && let Expr::TupleGetItem { index, .. } = edit.f.expr(id)
            {
                edit.replace_one(id, new[index]);
                replaced.push((id, new[index]));
            }
        }
        // They are removed together, once the last one has no uses.
        replaced.into_iter().for_each(|(old, new)| edit.take_name(old, new));
        Ok(())
    }

    /// Takes a binding or a parameter out. That nothing uses it is checked at the end.
    pub fn remove(&mut self, id: NodeId) -> Result<(), Refused> {
        let edit = self.edit();
        if edit.f.kind(id) == kind::VAR {
            let (root, params) = (edit.f.root(), edit.f.params());
            if !params.contains(&id) {
                let help = "only the parameters of the function itself can be removed";
                return Err(Refused::new(format!("{} belongs to a nested function", edit.shown(id)), help));
            }
            let params: Vec<NodeId> = params.iter().copied().filter(|&param| param != id).collect();
            edit.f.set_params(root, &params);
            edit.f.set_type(root, TypeId::UNKNOWN);
        }
        if edit.f.n_results(id).is_some() {
            let projections = edit.users[id.index()].clone();
            for user in projections {
                if let User::Node(user) = user
                    && matches!(edit.f.expr(user), Expr::TupleGetItem { .. })
                {
                    edit.remove(user);
                }
            }
        }
        edit.remove(id);
        Ok(())
    }

    /// Sets the arguments of a call.
    pub fn set_args(&mut self, relations: &mut dyn TypeRelations, id: NodeId, args: &[NodeId]) -> Result<(), Refused> {
        let edit = self.edit();
        let Some(call) = edit.f.call(id) else {
            return Err(Refused::new(format!("{} is not a call", edit.shown(id)), "make a new node and replace it"));
        };
        let (op, old) = (call.op(), call.args().to_vec());
        if old.len() != args.len() {
            let message = format!("{} has {} arguments, and {} were given", edit.shown(id), old.len(), args.len());
            return Err(Refused::new(message, "make a new call and replace it"));
        }
        for (at, (&old, &new)) in old.iter().zip(args).enumerate() {
            if old != new {
                edit.release(old, User::Node(id));
                edit.f.set_operand(id, at + 1, new);
                edit.note(new, User::Node(id));
            }
        }
        edit.touched.insert(id, Edited::Contents);
        match op {
            Some(op) => check_made(&edit.f, relations, id, op).map_err(|fault| Refused::new(&*fault.message, "")),
            None => Ok(()),
        }
    }

    /// Sets an attribute of a call, or takes it out.
    pub fn set_attr(
        &mut self,
        relations: &mut dyn TypeRelations,
        id: NodeId,
        name: &str,
        value: Option<Attr>,
    ) -> Result<(), Refused> {
        let edit = self.edit();
        let Some(op) = edit.f.call(id).map(|call| call.op()) else {
            return Err(Refused::new(format!("{} is not a call", edit.shown(id)), "only calls have attributes"));
        };
        let is_it = |f: &Function, rec: &relais::ir::AttrRec| {
            f.str(rec.name) == name && rec.flags & relais::ir::attr_flag::META == 0
        };
        if matches!(edit.f.attrs(id).get(name), Some(AttrValue::Graph(_) | AttrValue::Graphs(_))) {
            return Err(Refused::new(
                format!("the attribute `{name}` is a function"),
                "make a new call and replace it",
            ));
        }
        let new = value.map(|value| edit.f.encode_attr(&value));
        let mut recs = edit.f.attr_recs(id).to_vec();
        let at = recs.iter().position(|rec| is_it(&edit.f, rec));
        match (at, new) {
            (Some(at), Some(new)) => recs[at] = new,
            (Some(at), None) => drop(recs.remove(at)),
            (None, Some(new)) => recs.push(new),
            (None, None) => {
                return Err(Refused::new(format!("{} has no attribute `{name}`", edit.shown(id)), ""));
            }
        }
        edit.f.set_attr_recs(id, &recs);
        edit.touched.insert(id, Edited::Contents);
        match op {
            Some(op) => check_made(&edit.f, relations, id, op).map_err(|fault| Refused::new(&*fault.message, "")),
            None => Ok(()),
        }
    }

    pub fn rename(&mut self, id: NodeId, name: &str) {
        let edit = self.edit();
        edit.f.set_name(id, name);
        edit.f.touch(id);
    }

    /// Imports the operator set of a domain.
    pub fn import(&mut self, domain: &str, version: i64) -> Result<(), Refused> {
        let edit = self.edit();
        let imports = edit.f.opset_imports();
        if let Some(old) = edit.f.opset_version(domain) {
            if old == version {
                return Ok(());
            }
            let message = format!("the function imports version {old} of the domain `{domain}`, not {version}");
            return Err(Refused::new(message, "its calls are written for that version"));
        }
        let mut imports: Vec<(String, i64)> =
            imports.iter().map(|&(domain, version)| (domain.into(), version)).collect();
        imports.push((domain.to_owned(), version));
        let imports: Vec<(&str, i64)> = imports.iter().map(|(domain, version)| (domain.as_str(), *version)).collect();
        edit.f.set_opset_imports(&imports);
        Ok(())
    }

    /// The names and values of the outputs.
    pub fn outputs(&self) -> Vec<(String, NodeId)> {
        let f = self.function();
        let names = output_names(f);
        let name = |(at, &id): (usize, &NodeId)| (names.get(at).cloned().unwrap_or_default(), id);
        f.results(f.body()).iter().enumerate().map(name).collect()
    }

    /// Sets the outputs: names and values.
    pub fn set_outputs(&mut self, outputs: &[(String, NodeId)]) -> Result<(), Refused> {
        let edit = self.edit();
        let body = edit.f.body();
        for (at, (name, id)) in outputs.iter().enumerate() {
            if outputs[..at].iter().any(|(other, _)| other == name) {
                return Err(Refused::new(format!("two outputs are named `{name}`"), "give them different names"));
            }
            if edit.home[id.index()] != body {
                let help = "an output is a value of the function itself, not of a nested function";
                return Err(Refused::new(format!("{} cannot be an output", edit.shown(*id)), help));
            }
            if edit.f.n_results(*id).is_some() {
                return Err(Refused::new(format!("{} has several results", edit.shown(*id)), "name one of them"));
            }
        }
        for (value, user) in edit.result_uses(body) {
            edit.release(value, user);
        }
        let (names, values): (Vec<String>, Vec<NodeId>) = outputs.iter().cloned().unzip();
        set_outputs(&mut edit.f, &names, &values);
        edit.grow();
        edit.has_new_outputs = true;
        edit.note_results(body);
        Ok(())
    }

    /// Ends the edit: puts the new nodes into their places, infers types, and checks the result. The same object if
    /// nothing was edited.
    pub fn finish(&mut self, relations: &mut dyn TypeRelations) -> Result<RArc<Function>, Refused> {
        let Some(edit) = self.edited.take() else { return Ok(self.base.clone()) };
        let f = edit.finish(relations)?;
        let mut module = IRModule::new();
        // Lets copies share its constants.
        module.set_function(MAIN, RArc::new(f));
        match module.main() {
            Some(main) => Ok(main.clone()),
            None => Ok(self.base.clone()),
        }
    }
}

impl Edit {
    fn new(f: Function) -> Self {
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
    fn result_uses(&self, block: BlockId) -> Vec<(NodeId, User)> {
        let (result, values) = (self.f.result(block), self.f.results(block));
        match values {
            &[one] if one == result => vec![(one, User::Block(block))],
            values => values.iter().map(|&value| (value, User::Node(result))).collect(),
        }
    }

    /// Makes room for nodes that were added.
    fn grow(&mut self) {
        self.home.resize(self.f.n_nodes(), NOWHERE);
        self.users.resize(self.f.n_nodes(), Vec::new());
    }

    /// Whether a node is, or will be, in a block.
    fn is_placed(&self, id: NodeId) -> bool {
        self.home.get(id.index()).is_some_and(|&home| home != NOWHERE)
    }

    fn place(&mut self, id: NodeId, home: BlockId) {
        self.grow();
        self.home[id.index()] = home;
        for operand in self.f.operands(id).to_vec() {
            self.note(operand, User::Node(id));
        }
    }

    fn add(&mut self, first: NodeId, results: Vec<NodeId>, home: BlockId, name: &str) -> Vec<NodeId> {
        self.name(first, name);
        self.place(first, home);
        results.iter().for_each(|&id| self.place(id, home));
        let all = if results.is_empty() { vec![first] } else { results.clone() };
        self.made.push(Made { first, results });
        all
    }

    fn name(&mut self, id: NodeId, name: &str) {
        if !name.is_empty() {
            self.f.set_name(id, name);
        }
    }

    fn note(&mut self, value: NodeId, user: User) {
        if let Some(users) = self.users.get_mut(value.index()).filter(|_| !value.is_absent()) {
            users.push(user);
        }
    }

    fn release(&mut self, value: NodeId, user: User) {
        if let Some(users) = self.users.get_mut(value.index())
            && let Some(at) = users.iter().position(|&other| other == user)
        {
            users.swap_remove(at);
        }
    }

    fn shown(&self, id: NodeId) -> String {
        let text = text::display(&self.f, id).to_string();
        match text.char_indices().nth(120) {
            None => format!("`{text}`"),
            Some((end, _)) => format!("`{}…`", &text[..end]),
        }
    }

    /// The block that new nodes are put into.
    fn innermost(&self) -> BlockId {
        self.open.last().copied().unwrap_or(self.f.body())
    }

    /// The block of a nested function that no binding has yet.
    fn loose_block(&self, graph: NodeId) -> Result<BlockId, Refused> {
        match self.loose.contains(&graph) {
            true => Ok(self.f.block_of(graph)),
            false => Err(Refused::new("the graph was given to a call", "make another one")),
        }
    }

    /// Lets a nested function that no binding has yet begin in a block that `inner`, which is it or is in it, needs.
    fn reach(&mut self, home: BlockId, inner: BlockId) {
        let mut block = inner;
        // What is in a function cannot be around it.
        while block != NOWHERE && home != NOWHERE && !self.is_around(home, inner) && !self.is_around(block, home) {
            let around = self.around[block.index()];
            if self.loose.contains(&self.f.block(block).owner) && self.is_around(around, home) {
                self.around[block.index()] = home;
            }
            block = around;
        }
    }

    fn call_with_graphs(
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

    /// Notes how a block uses its results.
    fn note_results(&mut self, block: BlockId) {
        for (value, user) in self.result_uses(block) {
            self.note(value, user);
            if let User::Node(tuple) = user {
                self.block_of_results.insert(tuple, block);
            }
        }
    }

    /// The innermost of the blocks that values are in, and that nodes are put into.
    fn home_of(&mut self, args: &[NodeId]) -> Result<BlockId, Refused> {
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
    fn is_around(&self, outer: BlockId, mut inner: BlockId) -> bool {
        while inner != outer && inner != NOWHERE {
            inner = self.around[inner.index()];
        }
        inner == outer && inner != NOWHERE
    }

    fn replace_uses(&mut self, old: NodeId, new: NodeId) {
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

    fn touch(&mut self, id: NodeId, edited: Edited) {
        let entry = self.touched.entry(id).or_insert(edited);
        if edited == Edited::Contents {
            *entry = edited;
        }
    }

    /// Notes that a block has another result: what owns it, or an output.
    fn touch_result(&mut self, block: BlockId, new: NodeId, edited: Edited) {
        let id = self.owner.get(&self.f.block(block).owner).copied().unwrap_or(new);
        self.touch(id, edited);
    }

    /// Those among some users that were made here and from which a node is computed, or that are it.
    fn made_for(&self, new: NodeId, users: &[User]) -> HashSet<NodeId> {
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
            // What was made before the first of them does not use them.
            let inside = self.functions(id).flat_map(|function| self.f.results(self.f.block_of(function)));
            let uses = self.f.operands(id).iter().chain(inside).copied();
            open.extend(uses.filter(|id| id >= first && seen.insert(*id)));
        }
        found
    }

    /// As [`Draft::replace`], of one value.
    fn replace_one(&mut self, old: NodeId, new: NodeId) {
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
    fn take_name(&mut self, old: NodeId, new: NodeId) {
        if self.removed.contains(&old) && !self.f.name(old).is_empty() && self.f.name(new).is_empty() {
            self.f.inherit_value(new, old);
        }
    }

    fn remove(&mut self, id: NodeId) {
        if self.removed.insert(id) && self.f.kind(id) != kind::FUNCTION {
            for operand in self.f.operands(id).to_vec() {
                self.release(operand, User::Node(id));
            }
        }
    }

    fn finish(mut self, relations: &mut dyn TypeRelations) -> Result<Function, Refused> {
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
    fn declare_outputs(&mut self, relations: &mut dyn TypeRelations) {
        let values = self.f.results(self.f.body()).to_vec();
        if values.iter().any(|&id| self.f.type_id(id) == TypeId::UNKNOWN) {
            infer_function(&mut self.f, relations, Coverage::Missing);
        }
        let names = output_names(&self.f);
        set_outputs(&mut self.f, &names, &values);
    }

    fn check_removed(&self) -> Result<(), Refused> {
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
    fn is_inside_removed(&self, id: NodeId) -> bool {
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
    fn leave_out_unused(&mut self) {
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
    fn is_left_out(&self, id: NodeId) -> bool {
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
    fn order(&mut self) -> Result<(), Refused> {
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
            // What a node uses, and how much of it was looked at.
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
    fn uses_within(&self, id: NodeId, block: BlockId, new: &HashMap<BlockId, Vec<NodeId>>) -> Vec<NodeId> {
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
    fn functions(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        self.f.regions(id).iter().copied().filter(|&region| self.f.kind(region) == kind::FUNCTION)
    }
}
