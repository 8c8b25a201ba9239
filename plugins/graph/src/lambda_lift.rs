//! Makes functions of the module of closures, which are called where they are defined.
//!
//! ```text
//! def @main(%x, %y) {
//!   let %f = fn(%a) { %1 = Add(%a, %y); %1 };
//!   %2 = %f(%x);
//!   %2
//! }
//! ```
//! becomes
//! ```text
//! def @main(%x, %y) { %2 = @lifted_f(%y, %x); %2 }
//! def @lifted_f(%y, %a) { %1 = Add(%a, %y); %1 }
//! ```
//!
//! The values around a closure that it uses become parameters, before its own. A closure that is passed on, or
//! returned, rather than called stays, with a remark: no model can hold it. Calls of functions are typed by them, and are
//! written to ONNX as calls of model-local functions; `Inline` puts the bodies into their places.
//!
//! With `bodies = true`, what a branch of an `If` or the body of a `Loop` or a `Scan` computes becomes a function in the
//! same way, called there, unless it is a single call. In ONNX these are the only closures: a graph inside a node uses
//! the values around it by name.

use relais_plugin_api::{
    build::Builder,
    ir::{Copier, Subgraph, Type, TypeId, Users, Walk, WalkStep, kind},
    prelude::*,
};
use std::collections::{BTreeMap, HashSet};

/// Options of `LambdaLift`.
#[derive(PassOptions)]
pub struct LambdaLiftOptions {
    /// Whether branches and the bodies of loops become functions, too.
    #[option(default = false)]
    pub bodies: bool,
}

/// Turns closures into functions of the module whose parameters include what they captured.
#[module_pass(
    name = "relais.LambdaLift",
    aliases = ["relay._transform.LambdaLift", "relax.transform.LambdaLift"],
    opt_level = 1,
    phase = "none",
    required = ["relais.InferType"],
    statistics(lifted = "closures that became functions", lifted_bodies = "bodies that became functions"),
)]
pub fn lambda_lift(module: &mut IRModule, cx: &PassCx<'_>, options: &LambdaLiftOptions) -> Result<(), PassError> {
    let names: Vec<String> = module.functions().map(|(name, _)| name.to_owned()).collect();
    for caller in names {
        let Some(f) = module.function(&caller).cloned() else { continue };
        let mut edit = Editor::new(f);
        // Those in others go first: then nothing that is moved has closures.
        while lift_innermost(&mut edit, module, cx)? {
            cx.check_cancelled()?;
        }
        while options.bodies && lift_bodies(&mut edit, module, cx)? {
            cx.check_cancelled()?;
        }
        remark_rest(edit.function(), cx);
        if edit.is_changed() {
            module.set_function(&caller, edit.into_function());
        }
    }
    Ok(())
}

/// A closure that became a function.
struct Lifted {
    name: String,
    /// The values around it that it uses.
    captured: Vec<NodeId>,
    n_results: u16,
}

impl Lifted {
    /// Adds the function of a closure with these results to the module, with a name that is free.
    fn add(
        module: &mut IRModule,
        f: &Function,
        closure: NodeId,
        captured: Vec<NodeId>,
        results: &[NodeId],
    ) -> Result<Self, PassError> {
        let stem = if f.name(closure).is_empty() { "lifted".to_owned() } else { format!("lifted_{}", f.name(closure)) };
        let mut names = std::iter::once(stem.clone()).chain((1..).map(|n| format!("{stem}_{n}")));
        let name = names.find(|name| module.global(name).is_none()).unwrap_or(stem);
        module.set_function(&name, to_function(f, closure, &captured, results)?);
        let n_results = u16::try_from(results.len()).map_err(PassError::new)?;
        Ok(Self { name, captured, n_results })
    }
}

/// Lifts the closures that have none in them and use none; returns whether there are any.
fn lift_innermost(edit: &mut Editor, module: &mut IRModule, cx: &PassCx<'_>) -> Result<bool, PassError> {
    let users = edit.analysis::<Users>();
    let f = edit.function();
    let is_closure = |id: NodeId| f.kind(id) == kind::FUNCTION;
    let mut lifted: BTreeMap<NodeId, Lifted> = BTreeMap::new();
    for id in f.all_bindings().filter(|&id| is_closure(id) && is_only_called(f, &users, id)) {
        let captured = captured(f, &users, id);
        if captured.iter().any(|&id| is_closure(id) || is_tuple(f, id)) || has_closures(f, id) {
            continue;
        }
        lifted.insert(id, Lifted::add(module, f, id, captured, f.results(f.block_of(id)))?);
    }
    if lifted.is_empty() {
        return Ok(false);
    }
    cx.count("lifted", lifted.len());
    let mut ops = cx.ops(f);
    edit.rebuild(&mut |at: &mut RebuildCx<'_>, id: NodeId| -> Result<Action, PassError> {
        if lifted.contains_key(&id) {
            return Ok(Action::Drop);
        }
        let call = at.function().call(id);
        let Some((call, to)) = call.and_then(|call| Some((call, lifted.get(&call.callee())?))) else {
            return Ok(Action::Keep);
        };
        let (is_tuple, own) = (call.n_results().is_some(), call.args().to_vec());
        let types: Vec<TypeId> = match at.function().type_of(id) {
            Type::Tuple(types) if is_tuple => types.to_vec(),
            _ => vec![at.function().type_id(id)],
        };
        let captured: Vec<NodeId> = to.captured.iter().map(|&id| at.resolve(id)).collect();
        let results = Builder::before(at, &mut ops).call_function(&to.name, &[captured, own].concat(), to.n_results)?;
        results.iter().zip(types).for_each(|(&result, ty)| at.function_mut().set_type(result, ty));
        if is_tuple {
            at.replace_results(id, results);
            return Ok(Action::Drop);
        }
        results.first().map(|&result| Action::Replace(result)).ok_or_else(|| PassError::new("a closure has no results"))
    })?;
    Ok(true)
}

/// Lifts the bodies in which no other one is left to lift; returns whether there are any.
fn lift_bodies(edit: &mut Editor, module: &mut IRModule, cx: &PassCx<'_>) -> Result<bool, PassError> {
    let users = edit.analysis::<Users>();
    let f = edit.function();
    let regions = f.all_bindings().flat_map(|id| f.regions(id).iter().copied());
    let regions: Vec<NodeId> = regions.filter(|&region| is_worth_lifting(f, &users, region)).collect();
    let liftable: HashSet<NodeId> = regions.iter().copied().collect();
    // By the first binding of a body, which the call takes the place of.
    let mut lifted: BTreeMap<NodeId, (Lifted, Vec<NodeId>, Vec<NodeId>)> = BTreeMap::new();
    let mut dropped: HashSet<NodeId> = HashSet::new();
    for region in regions {
        let bindings = f.bindings(f.block_of(region));
        let mut walk = Walk::block(f.block_of(region));
        let mut nested = std::iter::from_fn(|| walk.next(f)).filter_map(|step| match step {
            WalkStep::Binding(id) => Some(f.regions(id)),
            _ => None,
        });
        if nested.any(|regions| regions.iter().any(|region| liftable.contains(region))) {
            continue;
        }
        let results = computed(f, region);
        let to = Lifted::add(module, f, region, captured(f, &users, region), &results)?;
        dropped.extend(bindings.iter().filter(|&&id| !is_constant_result(f, region, id)));
        lifted.insert(bindings[0], (to, f.operands(region).to_vec(), results));
    }
    if lifted.is_empty() {
        return Ok(false);
    }
    cx.count("lifted_bodies", lifted.len());
    let mut ops = cx.ops(f);
    edit.rebuild(&mut |at: &mut RebuildCx<'_>, id: NodeId| -> Result<Action, PassError> {
        if let Some((to, own, results)) = lifted.get(&id) {
            let args: Vec<NodeId> = to.captured.iter().chain(own).map(|&id| at.resolve(id)).collect();
            let made = Builder::before(at, &mut ops).call_function(&to.name, &args, to.n_results)?;
            results.iter().zip(made).for_each(|(&old, new)| at.take_over(old, new));
        }
        Ok(if dropped.contains(&id) { Action::Drop } else { Action::Keep })
    })?;
    Ok(true)
}

/// Whether the body of a region computes something in more than one call, of values that a function can take.
fn is_worth_lifting(f: &Function, users: &Users, region: NodeId) -> bool {
    let calls = f.bindings(f.block_of(region)).iter().filter(|&&id| matches!(f.kind(id), kind::CALL | kind::IF));
    let passed = || captured(f, users, region).into_iter().chain(computed(f, region));
    calls.count() > 1
        && !computed(f, region).is_empty()
        && !has_closures(f, region)
        && !passed().any(|id| f.kind(id) == kind::FUNCTION || is_tuple(f, id))
}

/// The results of a region that its bindings compute, each once.
fn computed(f: &Function, region: NodeId) -> Vec<NodeId> {
    let block = f.block_of(region);
    let bound: HashSet<NodeId> = f.bindings(block).iter().copied().collect();
    let mut seen = HashSet::new();
    let results = f.results(block).iter().copied();
    results.filter(|id| bound.contains(id) && f.constant(*id).is_none() && seen.insert(*id)).collect()
}

fn is_constant_result(f: &Function, region: NodeId, id: NodeId) -> bool {
    f.constant(id).is_some() && f.results(f.block_of(region)).contains(&id)
}

/// Whether a value consists of several, which no function of a model takes.
fn is_tuple(f: &Function, id: NodeId) -> bool {
    f.n_results(id).is_some() || matches!(f.expr(id), Expr::Tuple(_))
}

/// Whether a closure is called, with as many arguments and results as it has, and not used otherwise.
fn is_only_called(f: &Function, users: &Users, closure: NodeId) -> bool {
    let (n_params, n_results) = (f.operands(closure).len(), f.results(f.block_of(closure)).len());
    let is_call = |&user: &NodeId| {
        f.call(user).is_some_and(|call| {
            call.callee() == closure
                && !call.args().contains(&closure)
                && call.args().len() == n_params
                && call.n_results().unwrap_or(1) == n_results
        })
    };
    !users.is_result(closure) && users.of(closure).iter().all(is_call)
}

/// Whether closures are bound in a function, at any depth.
fn has_closures(f: &Function, function: NodeId) -> bool {
    let mut walk = Walk::block(f.block_of(function));
    while let Some(step) = walk.next(f) {
        if let WalkStep::Binding(id) = step
            && f.kind(id) == kind::FUNCTION
        {
            return true;
        }
    }
    false
}

/// The values around a closure that it uses, each once.
fn captured(f: &Function, users: &Users, closure: NodeId) -> Vec<NodeId> {
    let block = f.block_of(closure);
    let bound: HashSet<NodeId> = f.operands(closure).iter().chain(f.bindings(block)).copied().collect();
    let mut captured = Subgraph::of(f, users, f.bindings(block)).inputs().to_vec();
    captured.extend(f.results(block));
    let mut seen = HashSet::new();
    captured.retain(|&id| !bound.contains(&id) && !id.is_absent() && seen.insert(id));
    captured
}

/// Returns a closure as a function whose first parameters are what it captured, with these of its results.
fn to_function(f: &Function, closure: NodeId, captured: &[NodeId], results: &[NodeId]) -> Result<Function, PassError> {
    let mut function = Function::new();
    function.set_opset_imports(&f.opset_imports());
    let mut copier = Copier::new(f).keep_symbols();
    let mut params = Vec::new();
    let mut names = HashSet::new();
    for &id in captured.iter().chain(f.operands(closure)) {
        let ty = copier.add_type(&mut function, f.type_id(id));
        // A parameter may hide a value that was captured under its name.
        let name = if names.insert(f.name(id)) { f.name(id) } else { "" };
        let param = function.add_var(name, ty);
        copier.set(id, param);
        params.push(param);
    }
    let (root, body) = (function.root(), function.body());
    function.set_params(root, &params);
    let block = f.block_of(closure);
    for &id in f.bindings(block) {
        let copy = copier.copy(&mut function, id)?;
        function.append(body, copy);
    }
    let results: Vec<NodeId> = results.iter().filter_map(|&result| copier.get(result)).collect();
    function.set_results(body, &results);
    Ok(function)
}

fn remark_rest(f: &Function, cx: &PassCx<'_>) {
    for id in f.all_bindings().filter(|&id| f.kind(id) == kind::FUNCTION) {
        cx.remark(id, "the closure is passed on, called with other arguments or results than it has, or uses a tuple");
    }
}
