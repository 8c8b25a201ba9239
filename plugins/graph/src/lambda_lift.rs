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
//! same way, called there, unless it is a single call, or the model states other types of its values than they have:
//! runtimes ignore that in a body, and refuse it in a function. In ONNX these are the only closures: a graph inside a node
//! uses the values around it by name.

use relais_plugin_api::{
    build::Builder,
    infer::{Coverage, contradiction},
    ir::{AttrValue, Copier, OUTPUT_TYPES, Subgraph, Type, TypeId, Users, Walk, WalkStep, attr_kind, kind},
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
    /// Adds the function of a closure to the module, with a name that is free.
    fn add(
        module: &mut IRModule,
        f: &Function,
        closure: NodeId,
        captured: Vec<NodeId>,
        function: Function,
    ) -> Result<Self, PassError> {
        let stem = if f.name(closure).is_empty() { "lifted".to_owned() } else { format!("lifted_{}", f.name(closure)) };
        let mut names = std::iter::once(stem.clone()).chain((1..).map(|n| format!("{stem}_{n}")));
        let name = names.find(|name| module.global(name).is_none()).unwrap_or(stem);
        let n_results = u16::try_from(function.results(function.body()).len()).map_err(PassError::new)?;
        module.set_function(&name, function);
        Ok(Self { name, captured, n_results })
    }
}

/// Lifts the closures that have none in them and use none; returns whether there are any.
fn lift_innermost(edit: &mut Editor, module: &mut IRModule, cx: &PassCx<'_>) -> Result<bool, PassError> {
    let users = cx.analysis::<Users>(edit)?;
    let f = edit.function();
    let is_closure = |id: NodeId| f.kind(id) == kind::FUNCTION;
    let mut lifted: BTreeMap<NodeId, Lifted> = BTreeMap::new();
    for id in f.all_bindings().filter(|&id| is_closure(id) && is_only_called(f, &users, id)) {
        let captured = captured(f, &users, id);
        if captured.iter().any(|&id| is_closure(id) || is_tuple(f, id)) || has_closures(f, id) {
            continue;
        }
        let function = to_function(f, id, &captured, f.results(f.block_of(id)))?;
        if refers_to_attributes(&function) {
            continue;
        }
        lifted.insert(id, Lifted::add(module, f, id, captured, function)?);
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
    let users = cx.analysis::<Users>(edit)?;
    let f = edit.function();
    let mut liftable: BTreeMap<NodeId, Function> = BTreeMap::new();
    for region in f.all_bindings().flat_map(|id| f.regions(id).iter().copied()) {
        if let Some(function) = worth_lifting(f, &users, region, cx)? {
            liftable.insert(region, function);
        }
    }
    let is_innermost = |region: NodeId| !regions_in(f, region).any(|inner| liftable.contains_key(&inner));
    let innermost: Vec<NodeId> = liftable.keys().copied().filter(|&region| is_innermost(region)).collect();
    // By the first binding of a body, which the call takes the place of.
    let mut lifted: BTreeMap<NodeId, (Lifted, Vec<NodeId>, Vec<NodeId>)> = BTreeMap::new();
    let mut dropped: HashSet<NodeId> = HashSet::new();
    for region in innermost {
        let (bindings, results) = (f.bindings(f.block_of(region)), computed(f, region));
        let (Some(&first), Some(function)) = (bindings.first(), liftable.remove(&region)) else { continue };
        let to = Lifted::add(module, f, region, captured(f, &users, region), function)?;
        dropped.extend(bindings.iter().filter(|&&id| !is_constant_result(f, region, id)));
        lifted.insert(first, (to, f.operands(region).to_vec(), results));
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

/// Returns the function of a region that computes something in more than one call, of values that a function can take.
/// `None` if it does not, or if types are stated that its values do not have.
fn worth_lifting(f: &Function, users: &Users, region: NodeId, cx: &PassCx<'_>) -> Result<Option<Function>, PassError> {
    let calls = f.bindings(f.block_of(region)).iter().filter(|&&id| matches!(f.kind(id), kind::CALL | kind::IF));
    let (captured, results) = (captured(f, users, region), computed(f, region));
    let is_passed = |id: NodeId| f.kind(id) != kind::FUNCTION && !is_tuple(f, id);
    if calls.count() < 2
        || results.is_empty()
        || has_closures(f, region)
        || !captured.iter().chain(&results).all(|&id| is_passed(id))
    {
        return Ok(None);
    }
    let function = to_function(f, region, &captured, &results)?;
    if refers_to_attributes(&function) {
        return Ok(None);
    }
    let mut typed = function.clone();
    let faults = cx.ops(&typed).infer_types(&mut typed, Coverage::Everything).faults;
    Ok((faults.is_empty() && !is_contradicted(f, region)).then_some(function))
}

/// Whether the model says other types of the results of a region, or of one in it, than they have.
fn is_contradicted(f: &Function, region: NodeId) -> bool {
    let differs = |region: NodeId| match f.attrs(region).meta(OUTPUT_TYPES) {
        Some(AttrValue::Types(stated)) => {
            let mut pairs = stated.types().zip(f.results(f.block_of(region)));
            pairs.any(|(stated, &result)| contradiction(f.ty(stated), f.type_of(result)).is_some())
        }
        _ => false,
    };
    differs(region) || regions_in(f, region).any(differs)
}

/// The regions inside a region, at any depth.
fn regions_in(f: &Function, region: NodeId) -> impl Iterator<Item = NodeId> {
    let mut walk = Walk::block(f.block_of(region));
    let steps = std::iter::from_fn(move || walk.next(f));
    steps.flat_map(move |step| if let WalkStep::Binding(id) = step { f.regions(id) } else { &[] }).copied()
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

/// Whether attributes of calls refer to those of the function: one that the calls are moved to does not have them.
fn refers_to_attributes(f: &Function) -> bool {
    f.all_bindings().any(|id| f.attr_recs(id).iter().any(|rec| rec.kind == attr_kind::REF))
}

fn remark_rest(f: &Function, cx: &PassCx<'_>) {
    for id in f.all_bindings().filter(|&id| f.kind(id) == kind::FUNCTION) {
        cx.remark(
            id,
            "the closure is passed on, called with other arguments or results than it has, uses a tuple, or refers to \
             attributes of the function",
        );
    }
}
