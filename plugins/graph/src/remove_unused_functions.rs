//! Removes global functions that no entry function reaches.
//!
//! ```text
//! def @main(%x) { %0 = @used(%x); %0 }
//! def @used(%x) { … }
//! def @unused(%x) { … }
//! ```
//! loses `@unused`. A function counts as reached when its name stands anywhere in a reached one, called or not. Imports of
//! a domain of which no function is left go as well, unless an operator is in that domain.

use relais_plugin_api::{ir::is_same_domain, prelude::*};
use std::collections::BTreeSet;

/// Options of `RemoveUnusedFunctions`.
#[derive(PassOptions)]
pub struct RemoveUnusedFunctionsOptions {
    /// The functions that are needed whatever else is.
    #[option(default = ["main"])]
    pub entry_functions: Vec<String>,
}

/// Removes global functions that no entry function reaches.
#[module_pass(
    name = "relais.RemoveUnusedFunctions",
    aliases = ["relay._transform.RemoveUnusedFunctions", "relax.transform.RemoveUnusedFunctions"],
    opt_level = 1,
    phase = "clean-up",
    statistics(removed = "functions removed"),
)]
pub fn remove_unused_functions(
    module: &mut IRModule,
    cx: &PassCx<'_>,
    options: &RemoveUnusedFunctionsOptions,
) -> Result<(), PassError> {
    if options.entry_functions.is_empty() {
        return Err(PassError::new("`entry_functions` is empty, so that every function would go")
            .code("G001")
            .help("name functions of the module in `entry_functions`"));
    }
    if module.globals().is_empty() {
        return Ok(());
    }
    for name in &options.entry_functions {
        if module.global(name).is_none() {
            return Err(PassError::new(format_args!("the module has no function `@{name}`"))
                .code("G001")
                .help("name functions of the module in `entry_functions`"));
        }
    }
    let unreached = unreached(module, &options.entry_functions);
    cx.count("removed", unreached.len());
    for name in &unreached {
        module.remove(name);
    }
    drop_imports(module, &unreached);
    Ok(())
}

/// The domain of a function of a model: functions are named `domain::name`.
fn domain(name: &str) -> Option<&str> {
    name.rsplit_once("::").map(|(domain, _)| domain)
}

/// Drops the imports of the domains that only functions which were removed were in.
fn drop_imports(module: &mut IRModule, removed: &[String]) {
    let mut gone: BTreeSet<&str> = removed.iter().filter_map(|name| domain(name)).collect();
    for global in module.globals() {
        gone.retain(|gone| domain(&global.name).is_none_or(|domain| !is_same_domain(domain, gone)));
    }
    let names: Vec<String> = module.functions().map(|(name, _)| name.to_owned()).collect();
    for name in names {
        let Some(f) = module.function(&name).cloned() else { continue };
        let is_gone = |domain: &str| {
            let is_used = || f.ops().iter().any(|op| is_same_domain(f.str(op.domain), domain));
            gone.iter().any(|gone| is_same_domain(gone, domain)) && !is_used()
        };
        let imports = f.opset_imports();
        let kept: Vec<(&str, i64)> = imports.iter().copied().filter(|(domain, _)| !is_gone(domain)).collect();
        if kept.len() < imports.len() {
            let mut f = Function::clone(&f);
            f.set_opset_imports(&kept);
            module.set_function(&name, f);
        }
    }
}

/// The names of the globals that none of `entries` reaches.
pub fn unreached(module: &IRModule, entries: &[String]) -> Vec<String> {
    let mut reached: BTreeSet<&str> = entries.iter().map(String::as_str).collect();
    let mut pending: Vec<&str> = reached.iter().copied().collect();
    while let Some(name) = pending.pop() {
        let Some(f) = module.body(name) else { continue };
        for id in f.all_bindings() {
            for &operand in f.operands(id) {
                if let Expr::GlobalVar(name) = f.expr(operand)
                    && reached.insert(name)
                {
                    pending.push(name);
                }
            }
        }
    }
    module.globals().iter().map(|g| g.name.as_str()).filter(|name| !reached.contains(name)).map(str::to_owned).collect()
}
