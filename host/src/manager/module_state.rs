//! The module between passes: what is kept true about it.

use super::verifier;
use crate::pipeline::{Catalogue, OperatorName, spec::Verify};
use relais_plugin_api::{
    diagnostics::PassError,
    infer::{Scope, infer_function},
    ir::{Function, Global, IRModule, kind},
};
use std::{
    collections::{BTreeSet, HashMap},
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
        let mut types = Duration::ZERO;
        for name in &changed.now {
            let Some(function) = new.function_mut(name) else { continue };
            compact(function);
            let began = Instant::now();
            let inferred = infer_function(function, &mut *catalogue.relations(), Scope::Missing);
            for fault in inferred.faults {
                log::debug!("in `@{name}`, at {}: {}", fault.node, fault.error);
            }
            types += began.elapsed();
        }
        let n_new: u64 = changed.now.iter().filter_map(|name| new.function(name)).map(|f| n_calls(f)).sum();
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
        let mut changed = Changed { now: Vec::new(), n_before: 0 };
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
        let functions = changed.now.iter().filter_map(|name| Some((name.as_str(), &**new.function(name)?)));
        verifier::check_arenas(functions)?;
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
    now: Vec<String>,
    /// How many calls there were in the place of these, and in those that are gone.
    n_before: u64,
}

/// Operator calls and conditionals: what ONNX counts as nodes, `Constant` apart.
fn n_calls(function: &Function) -> u64 {
    function.all_bindings().filter(|&id| matches!(function.kind(id), kind::CALL | kind::IF)).count() as u64
}

/// Compacts an arena of which more than half is dead.
fn compact(function: &mut Function) {
    if function.n_nodes() >= MIN_COMPACTED && function.n_live() * 2 < function.n_nodes() {
        *function = function.compacted();
    }
}
