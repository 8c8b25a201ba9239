//! The module between passes: what is kept true about it.

use super::verifier;
use crate::pipeline::{Catalogue, OperatorName, spec::Verify};
use abi_stable::std_types::RArc;
use rayon::prelude::*;
use relais_plugin_api::{
    diagnostics::PassError,
    infer::{Scope, TypeRelations, infer_function, result_of},
    ir::{Expr, Function, Global, IRModule, NodeId, OpId, TypeId, kind},
    op::{InferRequest, OpError},
};
use std::{
    collections::{BTreeSet, HashMap, HashSet},
    time::{Duration, Instant},
};

/// How far up a chain of callers types are followed; functions that call each other would go round for ever.
const MAX_CALL_DEPTH: usize = 32;

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
    /// compacted, and typed where it changed.
    ///
    /// # Errors
    /// When the verifier finds a fault. The module is as it was, then.
    pub fn take(&mut self, mut new: IRModule, catalogue: &dyn Catalogue, verify: Verify) -> Result<Taken, PassError> {
        if verify == Verify::Each {
            verifier::check(&new)?;
        }
        let changed = self.changed(&new)?;
        let mut functions: Vec<_> = new.functions_mut().filter(|(name, _)| changed.now.contains(*name)).collect();
        let began = Instant::now();
        let before = &self.module;
        let n_new: u64 =
            functions.par_iter_mut().map(|(name, function)| settle(name, function, catalogue, before)).sum();
        self.retype_callers(&mut new, &changed.now, catalogue);
        let types = began.elapsed();
        self.n_nodes = (self.n_nodes + n_new).saturating_sub(changed.n_before);
        self.module = new;
        self.version += 1;
        Ok(Taken { types })
    }

    /// Types the callers of those functions whose results have another type than before, and their callers in turn.
    fn retype_callers(&self, new: &mut IRModule, changed: &HashSet<String>, catalogue: &dyn Catalogue) {
        let mut before = self.module.clone();
        let mut other: HashSet<String> = changed.clone();
        for _ in 0..MAX_CALL_DEPTH {
            retain_other_results(&mut other, &before, new);
            if other.is_empty() {
                return;
            }
            before = new.clone();
            let mut callers: Vec<_> =
                new.functions_mut().filter(|(_, function)| calls_one_of(function, &other)).collect();
            let retype = |(name, function): &mut (&str, &mut RArc<Function>)| {
                let mut relations = WithModule { relations: catalogue.relations(), module: &before };
                infer_function(RArc::make_mut(function), &mut relations, Scope::Everything);
                (*name).to_owned()
            };
            other = callers.par_iter_mut().map(retype).collect();
        }
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
fn settle(name: &str, function: &mut RArc<Function>, catalogue: &dyn Catalogue, module: &IRModule) -> u64 {
    let function = RArc::make_mut(function);
    compact(function);
    let mut relations = WithModule { relations: catalogue.relations(), module };
    for fault in infer_function(function, &mut relations, Scope::Missing).faults {
        log::debug!("in `@{name}`, at {}: {}", fault.node, fault.error);
    }
    n_calls(function)
}

/// The type relations of operators, and the functions that are called.
struct WithModule<'a> {
    relations: Box<dyn TypeRelations + 'a>,
    module: &'a IRModule,
}

impl TypeRelations for WithModule<'_> {
    fn version(&mut self, function: &Function, op: OpId) -> i64 {
        self.relations.version(function, op)
    }

    fn infer(&mut self, op: OpId, request: &mut InferRequest<'_>) -> Option<Result<(), OpError>> {
        self.relations.infer(op, request)
    }

    fn result_of_global(&mut self, caller: &mut Function, name: &str) -> TypeId {
        self.module.function(name).map_or(TypeId::UNKNOWN, |callee| result_of(caller, callee))
    }
}

/// Keeps the names of functions whose results are of another type than before, as their callers see it.
fn retain_other_results(names: &mut HashSet<String>, before: &IRModule, now: &IRModule) {
    let mut scratch = Function::new();
    let old: HashMap<&str, TypeId> = before
        .functions()
        .filter(|(name, _)| names.contains(*name))
        .map(|(name, function)| (name, result_of(&mut scratch, function)))
        .collect();
    let is_other = |(name, function): (&str, &RArc<Function>)| {
        let is_other = names.contains(name) && old.get(name) != Some(&result_of(&mut scratch, function));
        is_other.then(|| name.to_owned())
    };
    *names = now.functions().filter_map(is_other).collect();
}

fn calls_one_of(function: &Function, names: &HashSet<String>) -> bool {
    function.nodes().iter().enumerate().any(|(index, node)| {
        node.kind == kind::GLOBAL_VAR
            && matches!(function.expr(NodeId::from_index(index)), Expr::GlobalVar(name) if names.contains(name))
    })
}

/// Compacts an arena of which more than half is dead.
fn compact(function: &mut Function) {
    if function.n_nodes() >= MIN_COMPACTED && function.n_live() * 2 < function.n_nodes() {
        *function = function.compacted();
    }
}
