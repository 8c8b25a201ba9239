//! A function that is being edited, without an order: new nodes get their places when the edit ends.

use abi_stable::std_types::RArc;
use relais::ir::{Attr, AttrValue, BlockId, Expr, Function, IRModule, MAIN, NodeId, Tensor, TypeId, kind};
use relais_conformance::interface::output_names;
use relais_plugin_api::{
    build::{Builder, check_made},
    diagnostics::PassError,
    infer::TypeRelations,
};
use relais_session::model::{Edited, set_outputs};
use std::collections::{HashMap, HashSet};

mod edit;
mod finish;
mod graphs;

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

/// A user of a value.
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
