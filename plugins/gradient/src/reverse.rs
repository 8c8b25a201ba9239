//! Reverse-mode differentiation: the bindings of a function in reverse order, each with the gradients of its results.

use crate::{
    activity::{self, captured},
    expand::Expanded,
};
use relais_plugin_api::{
    infer::Coverage,
    ir::{BlockId, ConstForm, Copier, Declined, Type, Walk, WalkStep, is_same_domain, kind, normal_domain},
    op::Bodies,
    pass::{OpFactsTable, PassCx},
    prelude::*,
};
use std::collections::{BTreeMap, HashMap, HashSet};

/// A call that is in the way of a gradient, and why.
pub struct Obstacle {
    /// The call; absent if it is in a body that was not there before.
    pub call: NodeId,
    /// The call, as messages name it.
    pub name: String,
    /// The reason.
    pub why: String,
}

/// The gradients of a function's values.
pub struct Gradients {
    /// The function, with the bindings that compute the gradients.
    pub function: Function,
    /// The gradients of the values that were asked for.
    pub gradients: Vec<NodeId>,
}

/// A block whose bindings are visited in reverse order.
struct Frame {
    /// The function that the block belongs to, in which gradients are placed.
    function: NodeId,
    /// The bindings that are not visited yet.
    todo: Vec<NodeId>,
    /// The gradients so far, of values with one result and of single results of others.
    of_values: HashMap<NodeId, NodeId>,
    of_results: HashMap<(NodeId, usize), NodeId>,
    /// The conditional whose branches are being differentiated.
    conditional: Option<Conditional>,
}

struct Conditional {
    id: NodeId,
    /// The gradients of its results.
    seeds: Vec<Option<NodeId>>,
    /// The values around it that get gradients.
    captured: Vec<NodeId>,
    /// The branches that compute these.
    branches: Vec<NodeId>,
}

struct Reverse<'a, 'c> {
    f: Function,
    cx: &'c PassCx<'a>,
    ops: OpFactsTable<'a>,
    declined: Vec<(String, Declined)>,
    active: Vec<bool>,
    frames: Vec<Frame>,
    /// The projections that were met, and those that were made.
    projections: HashMap<(NodeId, usize), NodeId>,
    n_original: usize,
    obstacles: Vec<Obstacle>,
    /// Values of unknown types, which may be so because of an obstacle.
    untyped: Vec<Obstacle>,
}

/// Whether results were named, rather than taken because they have gradients.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// They were.
    Yes,
    /// They were not.
    No,
}

/// Differentiates the sum of all elements of some results of a function.
///
/// # Errors
/// Returns everything that is in the way, or the failure of a plugin whose gradient is at fault.
pub fn gradients(
    expanded: Expanded,
    n_original: usize,
    (of, is_named): (&[usize], Named),
    wrt: &[NodeId],
    cx: &PassCx<'_>,
) -> Result<Result<Gradients, Vec<Obstacle>>, PassError> {
    let Expanded { function: f, declined } = expanded;
    let (active, ops) = (activity::active(&f, wrt), cx.ops(&f));
    let todo = f.bindings(f.body()).to_vec();
    let root = Frame::new(f.root(), todo);
    let mut reverse = Reverse {
        f,
        cx,
        ops,
        declined,
        active,
        frames: vec![root],
        projections: HashMap::new(),
        n_original,
        obstacles: Vec::new(),
        untyped: Vec::new(),
    };
    for &index in of {
        let result = reverse.f.results(reverse.f.body())[index];
        if is_named == Named::Yes && !activity::may_have_gradient(&reverse.f, result) {
            reverse.obstruct(result, "its elements are not floats");
        } else if reverse.is_active(result) {
            let seed = reverse.filled(result, 1.0);
            reverse.add(result, seed);
        }
    }
    reverse.run()?;
    let gradients: Vec<NodeId> = wrt.iter().map(|&id| reverse.gradient_or_zeros(id)).collect();
    let Reverse { mut f, mut ops, obstacles, untyped, .. } = reverse;
    let obstacles = if obstacles.is_empty() { untyped } else { obstacles };
    if !obstacles.is_empty() {
        return Ok(Err(obstacles));
    }
    ops.infer_types(&mut f, Coverage::Everything);
    Ok(Ok(Gradients { function: f, gradients }))
}

impl Frame {
    fn new(function: NodeId, todo: Vec<NodeId>) -> Self {
        Self { function, todo, of_values: HashMap::new(), of_results: HashMap::new(), conditional: None }
    }

    /// Takes the gradients of the results of a binding; `None` if none has one.
    fn take(&self, f: &Function, id: NodeId) -> Option<Vec<Option<NodeId>>> {
        let n = match f.expr(id) {
            Expr::Tuple(fields) => Some(fields.len()),
            _ => f.n_results(id),
        };
        let seeds: Vec<Option<NodeId>> = match n {
            None => vec![self.of_values.get(&id).copied()],
            Some(n) => (0..n).map(|index| self.of_results.get(&(id, index)).copied()).collect(),
        };
        seeds.iter().any(Option::is_some).then_some(seeds)
    }
}

impl<'a> Reverse<'a, '_> {
    fn frame(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("the frame of the function itself stays")
    }

    fn is_active(&self, id: NodeId) -> bool {
        self.active.get(id.index()) == Some(&true)
    }

    /// Places a node at the end of the innermost block.
    fn place(&mut self, id: NodeId) -> NodeId {
        let function = self.frame().function;
        let block = self.f.block_of(function);
        self.f.append(block, id);
        id
    }

    fn call_op(&mut self, name: &str, args: &[NodeId]) -> NodeId {
        let op = self.f.add_op("", name, "", 0);
        let call = self.f.add_call(op, args);
        self.place(call)
    }

    /// A tensor of the shape of a value, with one number everywhere.
    fn filled(&mut self, like: NodeId, value: f64) -> NodeId {
        let (elem, rank) = (self.f.type_of(like).elem(), self.f.type_of(like).shape().map(<[_]>::len));
        let Some(scalar) = elem.and_then(|elem| Tensor::from_f64s(elem, &[], &[value])) else {
            let why = "its type is not known to be one whose elements have gradients".to_owned();
            let obstacle = self.obstacle(like, why);
            self.untyped.push(obstacle);
            return like;
        };
        let scalar = self.f.add_constant(scalar, ConstForm::ANY);
        let scalar = self.place(scalar);
        if rank == Some(0) {
            return scalar;
        }
        let shape = self.call_op("Shape", &[like]);
        self.call_op("Expand", &[scalar, shape])
    }

    fn gradient_or_zeros(&mut self, id: NodeId) -> NodeId {
        match self.frame().of_values.get(&id) {
            Some(&gradient) => gradient,
            None => self.filled(id, 0.0),
        }
    }

    /// Adds to the gradient of a value.
    fn add(&mut self, id: NodeId, gradient: NodeId) {
        if !self.is_active(id) {
            return;
        }
        let sum = match self.frame().of_values.get(&id).copied() {
            Some(other) => self.call_op("Add", &[other, gradient]),
            None => gradient,
        };
        self.frame().of_values.insert(id, sum);
    }

    /// Adds to the gradient of one of several results.
    fn add_to_result(&mut self, of: (NodeId, usize), gradient: NodeId) {
        let sum = match self.frame().of_results.get(&of).copied() {
            Some(other) => self.call_op("Add", &[other, gradient]),
            None => gradient,
        };
        self.frame().of_results.insert(of, sum);
    }

    /// Notes that a call has no gradient. The calls before it are visited nevertheless, to find all that have none.
    fn obstruct(&mut self, id: NodeId, why: impl ToString) {
        let obstacle = self.obstacle(id, why.to_string());
        self.obstacles.push(obstacle);
        let mut args = self.f.call(id).map_or(&[][..], CallView::args).to_vec();
        args.retain(|&arg| self.is_active(arg));
        for arg in args {
            self.frame().of_values.entry(arg).or_insert(arg);
        }
    }

    fn obstacle(&self, id: NodeId, why: String) -> Obstacle {
        let call = if id.index() < self.n_original { id } else { NodeId::ABSENT };
        let op = self.f.call(id).and_then(CallView::op).map(|op| self.f.op(op));
        let what = match op.map(|op| (normal_domain(self.f.str(op.domain)), self.f.str(op.name))) {
            Some(("", name)) => name.to_owned(),
            Some((domain, name)) => format!("{domain}::{name}"),
            None => match self.f.call(id).map(|call| self.f.expr(call.callee())) {
                Some(Expr::GlobalVar(name)) => format!("@{name}"),
                _ => format!("%{}", self.f.name(id)),
            },
        };
        Obstacle { call, name: what, why }
    }

    fn run(&mut self) -> Result<(), PassError> {
        loop {
            self.cx.check_cancelled()?;
            match self.frame().todo.pop() {
                Some(id) => self.binding(id)?,
                None if self.frames.len() == 1 => return Ok(()),
                None => self.close_branch()?,
            }
        }
    }

    fn binding(&mut self, id: NodeId) -> Result<(), PassError> {
        if let Expr::TupleGetItem { tuple, index } = self.f.expr(id) {
            self.projections.insert((tuple, index), id);
            if let Some(&gradient) = self.frame().of_values.get(&id) {
                self.add_to_result((tuple, index), gradient);
            }
            return Ok(());
        }
        let f = &self.f;
        let Some(seeds) = self.frames.last().and_then(|frame| frame.take(f, id)) else { return Ok(()) };
        match self.f.expr(id) {
            Expr::Tuple(fields) => {
                let fields = fields.to_vec();
                for (field, seed) in fields.into_iter().zip(seeds) {
                    seed.into_iter().for_each(|seed| self.add(field, seed));
                }
            }
            Expr::If(_) => self.open_conditional(id, seeds)?,
            Expr::Call(_) => self.call(id, &seeds)?,
            _ => {}
        }
        Ok(())
    }

    // ---- calls -----------------------------------------------------------------------------------------------------

    fn call(&mut self, id: NodeId, seeds: &[Option<NodeId>]) -> Result<(), PassError> {
        let Some(call) = self.f.call(id) else { return Ok(()) };
        let Some(op) = call.op() else {
            let why = match self.f.expr(call.callee()) {
                Expr::GlobalVar(name) => match self.declined.iter().find(|(callee, _)| callee == name) {
                    Some((_, why)) => why.to_string(),
                    None => "the module has no such function".to_owned(),
                },
                _ => "it calls a closure".to_owned(),
            };
            self.obstruct(id, why);
            return Ok(());
        };
        if !call.regions().is_empty() {
            self.obstruct(id, "operators with functions of their own have no gradient");
            return Ok(());
        }
        match self.ops.gradient(&self.f, id) {
            Some(Ok(gradient)) => self.apply(id, &gradient, seeds)?,
            Some(Err(error)) if error.is_broken() => return Err(PassError::new(error).at(id)),
            Some(Err(error)) => self.obstruct(id, error),
            None => {
                let why = match self.ops.get(op).has_body().then(|| self.ops.body_of(&self.f, id)) {
                    Some(Err(error)) => {
                        format!("no plugin describes its gradient, and its body cannot be made: {error}")
                    }
                    _ => "no plugin describes its gradient".to_owned(),
                };
                self.obstruct(id, why);
            }
        }
        Ok(())
    }

    /// Places what the gradients of a call's arguments need of the function that computes them all.
    fn apply(&mut self, id: NodeId, gradient: &Function, seeds: &[Option<NodeId>]) -> Result<(), PassError> {
        let args = self.f.call(id).map_or(&[][..], CallView::args).to_vec();
        let present: Vec<NodeId> = args.iter().copied().filter(|arg| !arg.is_absent()).collect();
        let results = gradient.results(gradient.body());
        let wanted: Vec<(NodeId, NodeId)> = args
            .into_iter()
            .zip(results.iter().copied())
            .filter(|&(arg, result)| self.is_active(arg) && !result.is_absent())
            .collect();
        let needed = needed(gradient, gradient.body(), wanted.iter().map(|&(_, result)| result));
        let mut copier = Copier::new(gradient).keep_symbols().without_names();
        let n = present.len();
        for (index, &param) in gradient.params().iter().enumerate() {
            let value = match index.checked_sub(n) {
                None => present[index],
                Some(_) if !needed.contains(&param) => continue,
                Some(index) if index < seeds.len() => self.result_of(id, index),
                Some(index) => match seeds.get(index - seeds.len()).copied().flatten() {
                    Some(seed) => seed,
                    None => {
                        let result = self.result_of(id, index - seeds.len());
                        self.filled(result, 0.0)
                    }
                },
            };
            copier.set(param, value);
        }
        self.import(gradient);
        for &binding in gradient.bindings(gradient.body()).iter().filter(|binding| needed.contains(binding)) {
            let copy = copier.copy(&mut self.f, binding)?;
            self.place(copy);
        }
        for (arg, result) in wanted {
            if let Some(gradient) = copier.get(result) {
                self.add(arg, gradient);
            }
        }
        Ok(())
    }

    /// Imports the operator sets that a gradient uses and the function does not import.
    fn import(&mut self, gradient: &Function) {
        let own = self.f.opset_imports();
        let is_new = |domain: &str| !own.iter().any(|(other, _)| is_same_domain(other, domain));
        let new: Vec<(&str, i64)> = gradient.opset_imports().into_iter().filter(|(domain, _)| is_new(domain)).collect();
        if !new.is_empty() {
            let all: Vec<(String, i64)> =
                own.iter().chain(&new).map(|(domain, n)| ((*domain).to_owned(), *n)).collect();
            let all: Vec<(&str, i64)> = all.iter().map(|(domain, version)| (domain.as_str(), *version)).collect();
            self.f.set_opset_imports(&all);
        }
    }

    /// A result of a call or a conditional.
    fn result_of(&mut self, id: NodeId, index: usize) -> NodeId {
        if self.f.n_results(id).is_none() {
            return id;
        }
        if let Some(&projection) = self.projections.get(&(id, index)) {
            return projection;
        }
        let projection = self.f.add_tuple_get_item(id, index as u16);
        let fields = match self.f.type_of(id) {
            Type::Tuple(fields) => fields.get(index).copied(),
            _ => None,
        };
        fields.into_iter().for_each(|ty| self.f.set_type(projection, ty));
        self.place(projection)
    }

    // ---- conditionals ----------------------------------------------------------------------------------------------

    fn open_conditional(&mut self, id: NodeId, seeds: Vec<Option<NodeId>>) -> Result<(), PassError> {
        if self.frames.len() > MAX_DEPTH {
            self.obstruct(id, format_args!("conditionals are nested more than {MAX_DEPTH} deep"));
            return Ok(());
        }
        let branches = self.f.regions(id).to_vec();
        let mut seen = HashSet::new();
        let captured: Vec<NodeId> = branches
            .iter()
            .flat_map(|&branch| captured(&self.f, branch))
            .filter(|&value| self.is_active(value) && seen.insert(value))
            .collect();
        self.frame().conditional = Some(Conditional { id, seeds, captured, branches: Vec::new() });
        self.open_branch(id, 0)
    }

    /// Begins a branch that computes the branch of a conditional again, and the gradients of what it captures.
    fn open_branch(&mut self, id: NodeId, index: usize) -> Result<(), PassError> {
        let from = self.f.clone();
        let branch = from.regions(id)[index];
        let mut copier = Copier::new(&from).keep_symbols().without_names();
        captured(&from, branch).into_iter().for_each(|value| copier.set(value, value));
        let function = self.f.add_function(&[]);
        let block = self.f.block_of(function);
        for &binding in from.bindings(from.block_of(branch)) {
            let copy = copier.copy(&mut self.f, binding)?;
            self.f.append(block, copy);
        }
        self.active.resize(self.f.n_nodes(), false);
        let mut walk = Walk::block(from.block_of(branch));
        while let Some(step) = walk.next(&from) {
            if let WalkStep::Binding(id) = step
                && let Some(copy) = copier.get(id)
            {
                self.active[copy.index()] = self.is_active(id);
            }
        }
        let todo = self.f.bindings(block).to_vec();
        self.frames.push(Frame::new(function, todo));
        let seeds = self.conditional().map_or_else(Vec::new, |conditional| conditional.seeds.clone());
        for (&result, seed) in from.results(from.block_of(branch)).iter().zip(seeds) {
            if let (Some(result), Some(seed)) = (copier.get(result), seed) {
                self.add(result, seed);
            }
        }
        Ok(())
    }

    /// The conditional whose branch the innermost frame is.
    fn conditional(&self) -> Option<&Conditional> {
        self.frames.iter().rev().nth(1)?.conditional.as_ref()
    }

    fn close_branch(&mut self) -> Result<(), PassError> {
        let captured = self.conditional().map_or_else(Vec::new, |conditional| conditional.captured.clone());
        let gradients: Vec<NodeId> = captured.iter().map(|&id| self.gradient_or_zeros(id)).collect();
        let Some(Frame { function, .. }) = self.frames.pop() else { return Ok(()) };
        let block = self.f.block_of(function);
        self.f.set_results(block, &gradients);
        let needed = needed(&self.f, block, gradients);
        let kept: Vec<NodeId> = self.f.bindings(block).iter().copied().filter(|id| needed.contains(id)).collect();
        self.f.set_bindings(block, &kept);
        let Some(mut conditional) = self.frame().conditional.take() else { return Ok(()) };
        let id = conditional.id;
        if let Some(op) = self.first_that_differs(block) {
            let why = format_args!(
                "a branch calls `{op}`, which may give something else when the gradient computes it again"
            );
            self.obstruct(id, why);
        }
        conditional.branches.push(function);
        if conditional.branches.len() < self.f.regions(id).len() {
            let next = conditional.branches.len();
            self.frame().conditional = Some(conditional);
            return self.open_branch(id, next);
        }
        let (n, &[then, otherwise]) = (captured.len(), conditional.branches.as_slice()) else { return Ok(()) };
        let Expr::If(view) = self.f.expr(id) else { return Ok(()) };
        let (cond, n_results) = (view.cond(), (n != 1).then_some(n as u16));
        if n == 0 {
            return Ok(());
        }
        let made = self.f.add_if(cond, then, otherwise, n_results);
        self.place(made);
        for (index, value) in captured.into_iter().enumerate() {
            let gradient = self.result_of(made, index);
            self.add(value, gradient);
        }
        Ok(())
    }

    /// The first operator in a block whose calls with equal arguments may give different results.
    fn first_that_differs(&mut self, block: BlockId) -> Option<String> {
        self.ops.extend(&self.f);
        let mut walk = Walk::block(block);
        while let Some(step) = walk.next(&self.f) {
            let WalkStep::Binding(id) = step else { continue };
            let Some(call) = self.f.call(id) else { continue };
            if !self.ops.effects(call).is_mergeable() {
                return Some(call.op_name().to_owned());
            }
        }
        None
    }
}

/// How deep conditionals may be nested: the branches of each are computed again.
const MAX_DEPTH: usize = 64;

/// Returns the bindings of a block, and the parameters, that some values depend on.
fn needed(f: &Function, block: BlockId, values: impl IntoIterator<Item = NodeId>) -> HashSet<NodeId> {
    let mut needed: HashSet<NodeId> = values.into_iter().collect();
    for &id in f.bindings(block).iter().rev() {
        if needed.contains(&id) {
            needed.extend(f.operands(id).iter().filter(|operand| !operand.is_absent()));
            let functions = f.regions(id).iter().filter(|&&function| f.kind(function) == kind::FUNCTION);
            functions.for_each(|&function| needed.extend(captured(f, function)));
        }
    }
    needed
}

/// Obstacles by call and reason, each with how often it occurs, in the order of the program: what follows from another one
/// comes after it.
pub fn by_reason(obstacles: Vec<Obstacle>) -> Vec<(Obstacle, usize)> {
    let mut found: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut grouped: Vec<(Obstacle, usize)> = Vec::new();
    for obstacle in obstacles.into_iter().rev() {
        match found.get(&(obstacle.name.clone(), obstacle.why.clone())) {
            Some(&at) => grouped[at].1 += 1,
            None => {
                found.insert((obstacle.name.clone(), obstacle.why.clone()), grouped.len());
                grouped.push((obstacle, 1));
            }
        }
    }
    grouped
}
