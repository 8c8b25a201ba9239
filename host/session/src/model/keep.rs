//! Calls that no pass may remove or change.

use super::declared::infer_types;
use crate::error::Error;
use relais::{
    ir::{AttrValue, Expr, Function, IRModule, NodeId, OpId},
    onnx::meta,
    pass::Catalogue,
    words::{nearest, or_list},
};
use std::collections::{BTreeSet, HashSet};

/// The domain of calls that are kept; those of another domain than the default one have `relais.kept.DOMAIN`.
const KEPT: &str = "relais.kept";

/// Makes the calls with some names, of their nodes or of values that they compute, calls of operators that nothing
/// describes, so that passes neither know nor match them, and must take them for calls with every effect: they stay, once
/// each, unless the branch or the function that they are in is never run and goes as a whole. [`release`] makes them what
/// they were. Types are inferred before, since these operators have no relations. Returns the number of these calls.
///
/// # Errors
/// Returns an error if nothing has a name, if it is of something other than a call of an operator, or if the module has
/// such calls already.
pub fn keep(module: &mut IRModule, names: &[String], catalogue: &dyn Catalogue) -> Result<usize, Error> {
    if names.is_empty() {
        return Ok(0);
    }
    infer_types(module, catalogue);
    let mut n_kept = 0;
    let uses_domain = |f: &Function| f.ops().iter().any(|op| original(f.str(op.domain)).is_some());
    if module.functions().any(|(_, f)| uses_domain(f)) {
        let error = Error::new(format!("the model has operators of the domain `{KEPT}`, so that none can be kept"));
        return Err(error.with_help("it was written while passes ran, such as for a reproducer: run the original"));
    }
    let mut found = vec![false; names.len()];
    let mut known = BTreeSet::new();
    let functions: Vec<String> = module.functions().map(|(name, _)| name.to_owned()).collect();
    for function in functions {
        let Some(f) = module.function(&function) else { continue };
        let mut calls = Vec::new();
        let hidden = hidden(f);
        for id in f.all_bindings().filter(|id| !hidden.contains(id)) {
            for name in [f.name(id), node_name(f, id)] {
                if let Some(at) = names.iter().position(|wanted| wanted == name) {
                    calls.push(call_of(f, id).ok_or_else(|| not_kept(&names[at], f, id))?);
                    found[at] = true;
                } else if !name.is_empty() && found.contains(&false) {
                    known.insert(name.to_owned());
                }
            }
        }
        if calls.is_empty() {
            continue;
        }
        calls.sort_unstable();
        calls.dedup();
        n_kept += calls.len();
        let Some(f) = module.function_mut(&function) else { continue };
        rename(f, &calls, |domain| match domain {
            "" | "ai.onnx" => KEPT.to_owned(),
            other => format!("{KEPT}.{other}"),
        });
    }
    let Some(at) = found.iter().position(|found| !found) else { return Ok(n_kept) };
    let near = nearest(&names[at], known.iter().map(String::as_str));
    let help = match near.is_empty() {
        true => "`relais show` prints the model with the names of its values and nodes".to_owned(),
        false => format!("did you mean {}?", or_list(&near)),
    };
    Err(Error::new(format!("the model has no node or value `{}` to keep", names[at])).with_help(help))
}

/// Makes the calls that [`keep`] hid, of which there were `n_kept`, what they were. Returns a warning if some are gone.
///
/// # Errors
/// Returns an error if they would be read as those of another version of their operator set: a pass changed it.
pub fn release(module: &mut IRModule, n_kept: usize) -> Result<Option<String>, Error> {
    if n_kept == 0 {
        // A model may have operators of the same domain itself.
        return Ok(None);
    }
    let mut n_left = 0;
    let functions: Vec<String> = module.functions().map(|(name, _)| name.to_owned()).collect();
    for function in functions {
        let is_kept = |f: &Function, id: NodeId| op_of(f, id).is_some_and(|op| original(domain_of(f, op)).is_some());
        let Some(f) = module.function(&function) else { continue };
        let calls: Vec<NodeId> = f.all_bindings().filter(|&id| is_kept(f, id)).collect();
        let has_import = f.opset_imports().iter().any(|(domain, _)| original(domain).is_some());
        if calls.is_empty() && !has_import {
            continue;
        }
        n_left += calls.len();
        for &(domain, kept) in f.opset_imports().iter().filter(|_| !calls.is_empty()) {
            let now = original(domain).and_then(|domain| f.opset_version(domain)).unwrap_or(kept);
            if now != kept {
                let what = format!("nodes to keep are written for operator set {kept}, and a pass made it {now}");
                return Err(Error::new(what).with_help("convert the model without `--keep`, then run the rest"));
            }
        }
        let Some(f) = module.function_mut(&function) else { continue };
        rename(f, &calls, |domain| original(domain).unwrap_or(domain).to_owned());
        let imports: Vec<(String, i64)> =
            f.opset_imports().iter().map(|&(domain, version)| (domain.to_owned(), version)).collect();
        let rest = imports.iter().map(|(domain, version)| (domain.as_str(), *version));
        f.set_opset_imports(&rest.filter(|(domain, _)| original(domain).is_none()).collect::<Vec<_>>());
    }
    Ok((n_left < n_kept).then(|| {
        let n_gone = n_kept - n_left;
        format!(
            "{n_gone} of the {n_kept} nodes to keep are gone: they were in branches or functions that are never run"
        )
    }))
}

/// The values of nested graphs whose names a value of the function itself has, too, which is meant then.
fn hidden(f: &Function) -> BTreeSet<NodeId> {
    let own: BTreeSet<NodeId> = f.params().iter().chain(f.bindings(f.body())).copied().collect();
    let names: HashSet<&str> = own.iter().map(|&id| f.name(id)).filter(|name| !name.is_empty()).collect();
    f.all_bindings().filter(|id| !own.contains(id) && names.contains(f.name(*id))).collect()
}

/// The domain of a call before it was kept; `None` if this is not the domain of one.
fn original(domain: &str) -> Option<&str> {
    let rest = domain.strip_prefix(KEPT)?;
    if rest.is_empty() { Some("") } else { rest.strip_prefix('.') }
}

/// Gives the operators of calls other domains, which are imported in the versions of the former ones.
fn rename(f: &mut Function, calls: &[NodeId], new: impl Fn(&str) -> String) {
    for &id in calls {
        let Some(op) = op_of(f, id) else { continue };
        let rec = *f.op(op);
        let [old, name, overload] = [rec.domain, rec.name, rec.overload].map(|string| f.str(string).to_owned());
        let domain = new(&old);
        let version = f.opset_version(&old);
        let op = f.add_op(&domain, &name, &overload, rec.version);
        let callee = f.op(op).node;
        f.set_operand(id, 0, callee);
        if let (None, Some(version)) = (f.opset_version(&domain), version) {
            let imports: Vec<(String, i64)> =
                f.opset_imports().iter().map(|&(domain, version)| (domain.to_owned(), version)).collect();
            let others = imports.iter().map(|(domain, version)| (domain.as_str(), *version));
            f.set_opset_imports(&others.chain([(domain.as_str(), version)]).collect::<Vec<_>>());
        }
    }
}

fn op_of(f: &Function, id: NodeId) -> Option<OpId> {
    f.call(id)?.op()
}

fn domain_of(f: &Function, op: OpId) -> &str {
    f.str(f.op(op).domain)
}

/// The call of an operator that computes a value.
fn call_of(f: &Function, id: NodeId) -> Option<NodeId> {
    let call = match f.expr(id) {
        Expr::TupleGetItem { tuple, .. } => tuple,
        _ => id,
    };
    op_of(f, call).map(|_| call)
}

/// The name of a node of ONNX; empty if it has none.
fn node_name(f: &Function, id: NodeId) -> &str {
    match f.attrs(id).meta(meta::NAME) {
        Some(AttrValue::String(name)) => std::str::from_utf8(name).unwrap_or_default(),
        _ => "",
    }
}

fn not_kept(name: &str, f: &Function, id: NodeId) -> Error {
    let what = match f.expr(id) {
        Expr::Constant(_) => "it is a constant",
        Expr::If(_) => "it is a conditional",
        Expr::Call(_) => "it is a call of a function",
        _ => "it is not a call of an operator",
    };
    let help = "name nodes, or values that they compute; `relais show` prints them";
    Error::new(format!("`{name}` cannot be kept: {what}")).with_help(help)
}
