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

use relais_plugin_api::{
    build::Builder,
    ir::{Copier, Subgraph, Users, Walk, WalkStep, kind},
    prelude::*,
};
use std::collections::{BTreeMap, HashSet};

/// Turns closures into functions of the module whose parameters include what they captured.
#[module_pass(
    name = "relais.LambdaLift",
    aliases = ["relay._transform.LambdaLift", "relax.transform.LambdaLift"],
    opt_level = 1,
    phase = "none",
    statistics(lifted = "closures that became functions"),
)]
pub fn lambda_lift(module: &mut IRModule, cx: &PassCx<'_>) -> Result<(), PassError> {
    let names: Vec<String> = module.functions().map(|(name, _)| name.to_owned()).collect();
    for caller in names {
        let Some(f) = module.function(&caller).cloned() else { continue };
        let mut edit = Editor::new(f);
        // Those in others go first: then nothing that is moved has closures.
        while lift_innermost(&mut edit, module, cx)? {
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

/// Lifts the closures that have none in them and use none; returns whether there are any.
fn lift_innermost(edit: &mut Editor, module: &mut IRModule, cx: &PassCx<'_>) -> Result<bool, PassError> {
    let users = edit.analysis::<Users>();
    let f = edit.function();
    let is_closure = |id: NodeId| f.kind(id) == kind::FUNCTION;
    let mut lifted: BTreeMap<NodeId, Lifted> = BTreeMap::new();
    for id in f.all_bindings().filter(|&id| is_closure(id) && is_only_called(f, &users, id)) {
        let captured = captured(f, &users, id);
        if captured.iter().any(|&id| is_closure(id)) || has_closures(f, id) {
            continue;
        }
        let stem = if f.name(id).is_empty() { "lifted".to_owned() } else { format!("lifted_{}", f.name(id)) };
        let mut names = std::iter::once(stem.clone()).chain((1..).map(|n| format!("{stem}_{n}")));
        let name = names.find(|name| module.global(name).is_none()).unwrap_or(stem);
        let function = to_function(f, id, &captured)?;
        let n_results = u16::try_from(function.results(function.body()).len()).map_err(PassError::new)?;
        module.set_function(&name, function);
        lifted.insert(id, Lifted { name, captured, n_results });
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
        let captured: Vec<NodeId> = to.captured.iter().map(|&id| at.resolve(id)).collect();
        let results = Builder::before(at, &mut ops).call_function(&to.name, &[captured, own].concat(), to.n_results)?;
        if is_tuple {
            at.replace_results(id, results);
            return Ok(Action::Drop);
        }
        results.first().map(|&result| Action::Replace(result)).ok_or_else(|| PassError::new("a closure has no results"))
    })?;
    Ok(true)
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

/// Returns a closure as a function whose first parameters are what it captured.
fn to_function(f: &Function, closure: NodeId, captured: &[NodeId]) -> Result<Function, PassError> {
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
    let results: Vec<NodeId> = f.results(block).iter().filter_map(|&result| copier.get(result)).collect();
    function.set_results(body, &results);
    Ok(function)
}

fn remark_rest(f: &Function, cx: &PassCx<'_>) {
    for id in f.all_bindings().filter(|&id| f.kind(id) == kind::FUNCTION) {
        cx.remark(id, "the closure is passed on, or called with other arguments or results than it has");
    }
}
