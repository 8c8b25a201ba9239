//! The imports that a module needs beyond its own: the domains of calls that passes made, and of its own functions.

use super::steps::{FunctionKey, Scene};
use crate::{
    error::{ErrorKind, OnnxError, Result},
    read::{Form, is_opset_version},
};
use relais_plugin_api::ir::{ConstForm, Expr, IRModule, OpId, kind, normal_domain};
use std::collections::{BTreeMap, BTreeSet};

/// The domain of functions without one: one that no operator has.
pub(super) fn own_domain(module: &IRModule) -> String {
    let mut taken = BTreeSet::new();
    for (_, f) in module.functions() {
        taken.extend((0..f.n_ops()).map(|index| f.str(f.op(OpId::from_index(index)).domain)));
    }
    let numbered = (1..).map(|number| format!("local_{number}"));
    std::iter::once("local".to_owned()).chain(numbered).find(|name| !taken.contains(name.as_str())).unwrap_or_default()
}

/// The domains that a function uses, each with the newest version that a call in it was written for, 0 if unspecified.
/// Nodes of a model that are unchanged need nothing: they are written as they were read.
fn used(scene: &Scene<'_>, functions: &BTreeMap<&str, FunctionKey>) -> BTreeMap<String, i64> {
    let Scene { f, names, form, .. } = scene;
    let mut used = BTreeMap::<String, i64>::new();
    let mut add = |domain: &str, version: u32| {
        let newest = used.entry(normal_domain(domain).to_owned()).or_default();
        *newest = i64::from(version).max(*newest);
    };
    if names.have_identities() {
        add("", 0);
    }
    // An operator is looked at once, not for each call.
    let mut is_seen = vec![false; f.n_ops()];
    for id in f.all_bindings() {
        let is_as_read = || f.is_pristine(id) && f.span(id).is_some_and(|span| span.source == 1);
        match f.kind(id) {
            kind::CALL => {
                let Some(call) = f.call(id) else { continue };
                match call.op() {
                    Some(op) if is_seen[op.index()] => {}
                    Some(_) if is_as_read() => {}
                    Some(op) => {
                        is_seen[op.index()] = true;
                        let rec = f.op(op);
                        add(f.str(rec.domain), rec.version);
                    }
                    None if is_as_read() => {}
                    None => {
                        let Expr::GlobalVar(global) = f.expr(call.callee()) else { continue };
                        if let Some(key) = functions.get(global) {
                            add(&key.domain, 1);
                        }
                    }
                }
            }
            kind::IF if !is_as_read() => add("", 0),
            kind::CONSTANT if !is_as_read() => {
                let form_of_constant = ConstForm(f.node(id).aux);
                let is_listed = form_of_constant == ConstForm::INITIALIZER || form_of_constant == ConstForm::ANY;
                if *form == Form::Function || !is_listed {
                    add("", 0);
                }
            }
            _ => {}
        }
    }
    used
}

/// Adds domains to others, each with its newest version.
fn join(into: &mut BTreeMap<String, i64>, others: &BTreeMap<String, i64>) {
    for (domain, &version) in others {
        let newest = into.entry(domain.clone()).or_default();
        *newest = version.max(*newest);
    }
}

/// Returns the imports that each function needs beyond its own, in the order of the functions: `main` first.
pub(super) fn further(
    scenes: &[Scene<'_>],
    functions: &BTreeMap<&str, FunctionKey>,
) -> Result<Vec<Vec<(String, i64)>>> {
    let mut used: Vec<BTreeMap<String, i64>> = scenes.iter().map(|scene| used(scene, functions)).collect();
    // The model imports the domains of its functions, too: runtimes look there alone once they have inlined them.
    if let Some((model, functions)) = used.split_first_mut() {
        functions.iter().for_each(|of_function| join(model, of_function));
    }
    let of_others = |domain: &str| scenes.iter().find_map(|scene| scene.f.opset_version(domain));
    let mut all = Vec::new();
    for (scene, used) in scenes.iter().zip(used) {
        let mut imported = BTreeSet::new();
        for (domain, version) in scene.f.opset_imports() {
            if !is_opset_version(version) {
                return Err(OnnxError::new(ErrorKind::OpsetVersion { domain: domain.to_owned(), version }));
            }
            imported.insert(normal_domain(domain));
        }
        let mut further = Vec::new();
        for (domain, version) in used.into_iter().filter(|(domain, _)| !imported.contains(domain.as_str())) {
            let version = match (version, of_others(&domain)) {
                (0, Some(version)) => version,
                // The first versions of the format import nothing.
                (0, None) if domain.is_empty() && scenes[0].f.opset_imports().is_empty() => continue,
                (0, None) if domain.is_empty() => return Err(OnnxError::new(ErrorKind::NoOpset)),
                (version, _) => version.max(1),
            };
            further.push((domain, version));
        }
        all.push(further);
    }
    Ok(all)
}
