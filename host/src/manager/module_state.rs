//! The module between passes: what is kept true about it.

use super::verifier;
use crate::pipeline::{Catalogue, OperatorName, spec::Verify};
use abi_stable::std_types::RArc;
use rayon::prelude::*;
use relais_plugin_api::{
    diagnostics::PassError,
    infer::{Scope, infer_function},
    ir::{Function, Global, IRModule, kind},
};
use std::{
    collections::{BTreeSet, HashMap, HashSet},
    time::{Duration, Instant},
};

/// Arenas smaller than this are not worth compacting.
const MIN_COMPACTED: usize = 1024;

/// The module that passes work on.
pub(super) struct ModuleState {
    module: IRModule,
    /// Changes with the module.
    version: u64,
    n_nodes: u64,
}

/// A module that was taken over from a pass.
pub(super) struct Taken {
    /// How long it took to infer types.
    pub types: Duration,
}

impl ModuleState {
    pub fn new(module: IRModule) -> Self {
        let n_nodes = module.functions().map(|(_, function)| n_calls(function)).sum();
        Self { module, version: 0, n_nodes }
    }

    pub fn module(&self) -> &IRModule {
        &self.module
    }

    pub fn into_module(self) -> IRModule {
        self.module
    }

    pub fn version(&self) -> u64 {
        self.version
    }

    /// How many operator calls and conditionals there are.
    pub fn n_nodes(&self) -> u64 {
        self.n_nodes
    }

    /// Takes over what a pass made of the module: verified as asked, but readable in any case,
    /// accepted by those who watch, compacted, and typed where it changed.
    ///
    /// # Errors
    /// When the verifier finds a fault, or it is not accepted. The module is as it was, then.
    pub fn take(
        &mut self,
        mut new: IRModule,
        catalogue: &dyn Catalogue,
        verify: Verify,
        accept: &dyn Fn(&IRModule) -> Result<(), PassError>,
    ) -> Result<Taken, PassError> {
        if verify == Verify::Each {
            verifier::check(&new)?;
        }
        let changed = self.changed(&new)?;
        accept(&new)?;
        let mut functions: Vec<_> = new.functions_mut().filter(|(name, _)| changed.now.contains(*name)).collect();
        let began = Instant::now();
        let n_new: u64 = functions.par_iter_mut().map(|(name, function)| settle(name, function, catalogue)).sum();
        let types = began.elapsed();
        self.n_nodes = (self.n_nodes + n_new).saturating_sub(changed.n_before);
        self.module = new;
        self.version += 1;
        Ok(Taken { types })
    }

    /// # Errors
    /// When a function that is new cannot be read.
    fn changed(&self, new: &IRModule) -> Result<Changed, PassError> {
        let old: HashMap<&str, &Global> =
            self.module.globals().iter().map(|global| (global.name.as_str(), global)).collect();
        let names: BTreeSet<&str> = new.globals().iter().map(|global| global.name.as_str()).collect();
        let mut changed = Changed { now: HashSet::new(), n_before: 0 };
        for global in new.globals() {
            match old.get(global.name.as_str()) {
                Some(old) if old.is_same(global) => continue,
                Some(old) => changed.n_before += old.function().map_or(0, |function| n_calls(function)),
                None => {}
            }
            changed.now.extend(global.function().map(|_| global.name.to_string()));
        }
        for global in self.module.globals().iter().filter(|global| !names.contains(global.name.as_str())) {
            changed.n_before += global.function().map_or(0, |function| n_calls(function));
        }
        let functions: Vec<_> = new.functions().filter(|(name, _)| changed.now.contains(*name)).collect();
        let is_readable = |&(name, function): &(&str, &RArc<Function>)| verifier::check_arena(name, function);
        // The first fault in module order.
        let checked: Vec<_> = functions.par_iter().map(is_readable).collect();
        checked.into_iter().collect::<Result<(), _>>()?;
        Ok(changed)
    }

    /// Whether the module calls one of these operators, or has a conditional where `If` is asked for.
    pub fn calls_any(&self, operators: &[OperatorName]) -> bool {
        let is_wanted = |domain: &str, name: &str| {
            let domain = crate::ir::normal_domain(domain);
            operators.iter().any(|op| op.domain == domain && op.name == name)
        };
        self.module.functions().any(|(_, function)| {
            let wanted: Vec<bool> =
                function.ops().iter().map(|op| is_wanted(function.str(op.domain), function.str(op.name))).collect();
            let has_if = is_wanted("", "If");
            (has_if || wanted.contains(&true))
                && function.all_bindings().any(|id| match function.kind(id) {
                    kind::IF => has_if,
                    kind::CALL => function.call(id).and_then(|call| call.op()).is_some_and(|op| wanted[op.index()]),
                    _ => false,
                })
        })
    }
}

/// What is different in another module.
struct Changed {
    /// The functions that are new or other ones.
    now: HashSet<String>,
    /// How many calls there were in the place of these, and in those that are gone.
    n_before: u64,
}

/// Operator calls and conditionals: what ONNX counts as nodes, `Constant` apart.
fn n_calls(function: &Function) -> u64 {
    function.all_bindings().filter(|&id| matches!(function.kind(id), kind::CALL | kind::IF)).count() as u64
}

/// Compacts a function that a pass made, and types what has no type; returns how many calls there are.
fn settle(name: &str, function: &mut RArc<Function>, catalogue: &dyn Catalogue) -> u64 {
    let function = RArc::make_mut(function);
    compact(function);
    for fault in infer_function(function, &mut *catalogue.relations(), Scope::Missing).faults {
        log::debug!("in `@{name}`, at {}: {}", fault.node, fault.error);
    }
    n_calls(function)
}

/// Compacts an arena of which more than half is dead.
fn compact(function: &mut Function) {
    if function.n_nodes() >= MIN_COMPACTED && function.n_live() * 2 < function.n_nodes() {
        *function = function.compacted();
    }
}
