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

/// The domains that a function uses and does not import, each with the newest version that a call in it was written
/// for, 0 if unspecified. Nodes of a model that are unchanged need nothing: they are written as they were read.
fn missing(scene: &Scene<'_>, functions: &BTreeMap<&str, FunctionKey>) -> BTreeMap<String, i64> {
    let Scene { f, names, form, .. } = scene;
    let imports = f.opset_imports();
    let imported: BTreeSet<&str> = imports.iter().map(|(domain, _)| normal_domain(domain)).collect();
    let mut missing = BTreeMap::<String, i64>::new();
    let mut add = |domain: &str, version: u32| {
        let domain = normal_domain(domain);
        if !imported.contains(domain) {
            let newest = missing.entry(domain.to_owned()).or_default();
            *newest = i64::from(version).max(*newest);
        }
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
    missing
}

/// Returns the imports that each function needs beyond its own, in the order of the functions: `main` first.
pub(super) fn further(
    scenes: &[Scene<'_>],
    functions: &BTreeMap<&str, FunctionKey>,
) -> Result<Vec<Vec<(String, i64)>>> {
    let of_others = |domain: &str| scenes.iter().find_map(|scene| scene.f.opset_version(domain));
    let mut all = Vec::new();
    for scene in scenes {
        for (domain, version) in scene.f.opset_imports() {
            if !is_opset_version(version) {
                return Err(OnnxError::new(ErrorKind::OpsetVersion { domain: domain.to_owned(), version }));
            }
        }
        let mut further = Vec::new();
        for (domain, version) in missing(scene, functions) {
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
