//! Checks of a pass's effects on the module, independent of its claims: calls that their operators do not accept, calls
//! of functions that do not accept them, another interface of the entry function.

use crate::onnx::{attr_fault, attr_twice};
use relais_plugin_api::{
    build::{CallChecker, check_made, refused},
    diagnostics::PassError,
    infer::{
        Coverage, TypeFault, TypeRelations, branch_contradiction, contradiction, contradiction_within, infer_function,
    },
    ir::{
        CallView, Expr, Function, Global, IRModule, MAIN, NodeId, Type, TypeId, Verifier, attr_flag, attr_kind,
        has_function_attribute, kind,
    },
    op::{CallFault, CallRule},
};
use std::collections::HashMap;

/// The globals of a module, by name.
pub(super) type Globals<'a> = HashMap<&'a str, &'a Global>;

/// Whether a pass may change the interface of the entry function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Interface {
    /// It stays as it is.
    Kept,
    /// The pass declares that it may change it, and was asked to.
    Open,
}

/// Whether a pass made a call, or changed its number of arguments or results or its attributes: it is not in the old
/// function, or differs there.
fn is_made(old: Option<&Function>, new: &Function, id: NodeId) -> bool {
    let Some(old) = old.filter(|old| id.index() < old.n_nodes()) else { return true };
    let (was, is) = (old.node(id), new.node(id));
    (was.kind, was.aux, was.b, was.c) != (is.kind, is.aux, is.b, is.c)
}

/// Whether a function imports another version of an operator set than it did.
pub(super) fn is_reversioned(old: &Function, new: &Function) -> bool {
    let now = new.opset_imports();
    old.opset_imports().iter().any(|(domain, was)| now.iter().any(|(other, is)| other == domain && is != was))
}

/// Checks the calls that a pass made in a function against the records of their operators, and the errors of their type
/// relations. An error of the same operator that the function already had is not attributed to the pass; for a new
/// function, into which calls may have moved, one that any function had. Returns how many calls and conditionals there are.
///
/// `relations` are those for this function; `others` returns some for another one, which may import another operator set.
pub(super) fn made_calls<'a>(
    name: &str,
    new: &Function,
    before: &Globals<'_>,
    relations: &mut dyn TypeRelations,
    others: &dyn Fn() -> Box<dyn TypeRelations + 'a>,
    type_faults: &[TypeFault],
) -> Result<u64, PassError> {
    let old = before.get(name).and_then(|old| old.function()).map(|old| &**old);
    let any_earlier = |has: &dyn Fn(&Function, &mut dyn TypeRelations) -> bool| match old {
        Some(old) => has(old, &mut *others()),
        None => before.values().filter_map(|earlier| earlier.function()).any(|earlier| has(earlier, &mut *others())),
    };
    // Then a reference that was one may be none.
    let is_redeclared =
        old.is_some_and(|old| !new.continues(old) || old.attr_recs(old.root()) != new.attr_recs(new.root()));
    // Then every call is one of another operator set.
    let is_reversioned = old.is_some_and(|old| is_reversioned(old, new));
    let refers = |id: NodeId| new.attr_recs(id).iter().any(|rec| rec.kind == attr_kind::REF);
    let (mut checker, mut n_calls) = (CallChecker::default(), 0);
    for id in new.all_bindings() {
        let kind = new.kind(id);
        n_calls += u64::from(matches!(kind, kind::CALL | kind::IF));
        if let Some(why) = branch_contradiction(new, id)
            && !any_earlier(&has_contradiction)
        {
            let why =
                format!("before version 11 the branches of `If` give the same shapes, and it leaves others: {why}");
            return Err(PassError::new(why).code(CallRule::Types.code()).at(id));
        }
        if kind != kind::CALL || !(is_reversioned || is_made(old, new, id) || is_redeclared && refers(id)) {
            continue;
        }
        let Some(op) = new.call(id).and_then(CallView::op) else { continue };
        let Err(fault) = checker.check(new, relations, id, op) else { continue };
        let rec = new.op(op);
        let operator = (new.str(rec.domain), new.str(rec.name));
        if fault.broken.is_some() || !any_earlier(&|f, relations| had_fault(f, relations, operator, fault.rule)) {
            return Err(refused(new, op, &fault).at(id));
        }
    }
    let refusal = type_faults.iter().find(|fault| !fault.error.is_broken() && is_made(old, new, fault.node));
    let Some(TypeFault { node, error }) = refusal else { return Ok(n_calls) };
    let Some(op) = new.call(*node).and_then(CallView::op) else { return Ok(n_calls) };
    // A program that already had errors may have them in other calls too.
    let has_errors = |f: &Function, relations: &mut dyn TypeRelations| {
        !infer_function(&mut f.clone(), relations, Coverage::Everything).faults.is_empty()
    };
    if any_earlier(&has_errors) {
        return Ok(n_calls);
    }
    Err(refused(new, op, &CallFault::new(CallRule::Types, error)).at(*node))
}

fn has_contradiction(f: &Function, relations: &mut dyn TypeRelations) -> bool {
    let mut f = f.clone();
    infer_function(&mut f, relations, Coverage::Everything);
    f.all_bindings().any(|id| branch_contradiction(&f, id).is_some())
}

fn had_fault(old: &Function, relations: &mut dyn TypeRelations, (domain, name): (&str, &str), rule: CallRule) -> bool {
    old.all_bindings().any(|id| {
        let Some(op) = old.call(id).and_then(CallView::op) else { return false };
        let rec = old.op(op);
        (old.str(rec.domain), old.str(rec.name)) == (domain, name)
            && check_made(old, relations, id, op).is_err_and(|fault| fault.rule == rule)
    })
}

/// Holds the module attributes that a pass made against what an ONNX model can have.
pub(super) fn module_attrs(old: &IRModule, new: &IRModule) -> Result<(), PassError> {
    if old.attrs == new.attrs {
        return Ok(());
    }
    let refused = |name: &str, why: &str| {
        Err(PassError::new(format_args!("it leaves a module attribute `{name}` that no model can have: {why}")))
    };
    for attr in new.attrs.iter().filter(|attr| !old.attrs.contains(attr)) {
        if let Some(why) = attr_fault(attr) {
            return refused(&attr.name, &why);
        }
    }
    match attr_twice(&new.attrs) {
        Some(name) if attr_twice(&old.attrs).is_none() => refused(name, "it is there twice"),
        _ => Ok(()),
    }
}

/// Verifies the prim funcs that a pass changed. The faults of one that had as many are not attributed to the pass.
pub(super) fn made_prims(old: &IRModule, new: &IRModule, changed: impl Fn(&str) -> bool) -> Result<(), PassError> {
    let verifier = Verifier::new(new);
    for global in new.globals().iter().filter(|global| global.prim_func().is_some() && changed(&global.name)) {
        let faults = verifier.program(&global.name, global.body());
        let Some(first) = faults.first() else { continue };
        let was = old.global(&global.name).filter(|was| was.kind == global.kind);
        if was.is_none_or(|was| Verifier::new(old).program(&was.name, was.body()).len() < faults.len()) {
            let error = PassError::new(format_args!("it leaves a loop program that is wrong: {}", first.message));
            let error = error.code(first.code.as_str()).in_function(&global.name);
            return Err(first.node.map_or(error.clone(), |node| error.at(node)));
        }
    }
    Ok(())
}

/// Holds calls of the module's functions against these: those in functions that changed, and those of functions that
/// changed. An error that a call of the same function by the same one already had is not attributed to the pass.
pub(super) fn callees(old: &IRModule, new: &IRModule, changed: impl Fn(&str) -> bool) -> Result<(), PassError> {
    for (name, function) in new.functions() {
        if !function.nodes().iter().any(|node| node.kind == kind::GLOBAL_VAR) {
            continue;
        }
        let is_new = changed(name);
        for (id, callee, fault) in call_faults(new, function) {
            if !is_new && !changed(callee) {
                continue;
            }
            let was = old.function(name).is_some_and(|was| {
                call_faults(old, was).any(|(_, other, was)| (other, was.as_str()) == (callee, fault.as_str()))
            });
            if !was {
                return Err(PassError::new(format_args!("it leaves a call of `@{callee}` that is wrong: {fault}"))
                    .code(CallRule::Callee.code())
                    .at(id)
                    .in_function(name));
            }
        }
    }
    Ok(())
}

/// The calls of functions in a function that these do not accept.
fn call_faults<'a>(module: &'a IRModule, f: &'a Function) -> impl Iterator<Item = (NodeId, &'a str, String)> + 'a {
    f.all_bindings().filter_map(move |id| {
        let call = f.call(id)?;
        let Expr::GlobalVar(name) = f.expr(call.callee()) else { return None };
        let callee = module.function(name)?;
        call_fault(f, id, call, callee).map(|fault| (id, name, fault))
    })
}

fn call_fault(f: &Function, id: NodeId, call: CallView<'_>, callee: &Function) -> Option<String> {
    let (args, params) = (call.args(), callee.params());
    // ONNX lets callers leave trailing arguments and results off.
    if args.len() > params.len() {
        return Some(format!("it has {} arguments for {} parameters", args.len(), params.len()));
    }
    let n_results = callee.results(callee.body()).len();
    if f.n_results(id).is_some_and(|n| n > n_results) {
        return Some(format!("{} results are taken of {n_results}", f.n_results(id).unwrap_or(1)));
    }
    let mut given = f.attr_recs(id).iter().filter(|rec| rec.flags & attr_flag::META == 0).map(|rec| f.str(rec.name));
    if let Some(name) = given.find(|name| !has_function_attribute(callee, name)) {
        return Some(format!("it has no attribute `{name}`"));
    }
    args.iter().zip(params).enumerate().filter(|(_, (arg, _))| !arg.is_absent()).find_map(|(index, (&arg, &param))| {
        let why = contradiction_within((callee, callee.type_id(param)), (f, f.type_id(arg)))?;
        Some(format!("argument {index}: {why}"))
    })
}

/// Compares the interface of the entry function with the previous one: names, order, element types, ranks and static
/// sizes of its inputs and outputs. A graph function may become a loop program.
///
/// The declared type of an output in a file is not part of it: if the two contradict, the inferred type counts.
pub(super) fn interface(old: &IRModule, new: &IRModule, relations: &mut dyn TypeRelations) -> Result<(), PassError> {
    let Some(was) = old.entry() else { return Ok(()) };
    let changed = |what: String| {
        Err(PassError::new(format_args!("it changes the interface of the program: {what}"))
            .code("I001")
            .in_function(MAIN)
            .help(
                "a pass that may do so says it in its attribute: `changes_interface = true`, or the name of the option that asks for it",
            ))
    };
    let Some(is) = new.entry() else { return changed("the entry function is gone".to_owned()) };
    if std::ptr::eq(&raw const **was.function, &raw const **is.function) {
        return Ok(());
    }
    let (inputs, inputs_now) = (was.input_names(), is.input_names());
    if inputs != inputs_now {
        return changed(format!("its inputs were {} and are {}", list(&inputs), list(&inputs_now)));
    }
    for (name, (&a, &b)) in inputs.iter().zip(was.inputs.iter().zip(is.inputs)) {
        if let Some(why) = lost(was.function.type_of(a), is.function.type_of(b)) {
            return changed(format!("input `{name}`: {why}"));
        }
    }
    let (outputs, outputs_now) = (was.output_names(), is.output_names());
    if was.outputs.len() != is.outputs.len() || outputs != outputs_now {
        return changed(format!(
            "its outputs were {} and are {}",
            outputs.map_or_else(|| was.outputs.len().to_string(), |names| list(&names)),
            outputs_now.map_or_else(|| is.outputs.len().to_string(), |names| list(&names)),
        ));
    }
    let differs = |function: &Function, (&a, &b): (&NodeId, &NodeId)| {
        contradiction_within((function, function.type_id(a)), (is.function, is.function.type_id(b)))
    };
    // A type that was not known may have been another one.
    let is_learned = |(&a, &b): (&NodeId, &NodeId)| {
        was.function.type_id(a) == TypeId::UNKNOWN && is.function.type_id(b) != TypeId::UNKNOWN
    };
    if !was.outputs.iter().zip(is.outputs).any(|pair| is_learned(pair) || differs(was.function, pair).is_some()) {
        return Ok(());
    }
    let mut inferred = (**was.function).clone();
    if old.main().is_some() {
        infer_function(&mut inferred, relations, Coverage::Everything);
    }
    for (index, pair) in was.outputs.iter().zip(is.outputs).enumerate() {
        if let Some(why) = differs(&inferred, pair) {
            return changed(format!("output {index}: {why}"));
        }
    }
    Ok(())
}

/// Returns why an input does not have its previous type; learning more about the type does not count as a change.
fn lost(was: Type<'_>, is: Type<'_>) -> Option<String> {
    contradiction(was, is).or_else(|| match (was.elem(), is.elem(), was.static_shape(), is.static_shape()) {
        (Some(_), None, ..) => Some("its element type is not known any more".to_owned()),
        (_, _, Some(_), None) => Some("its shape is not known any more".to_owned()),
        _ => None,
    })
}

fn list<S: std::fmt::Display>(names: &[S]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
