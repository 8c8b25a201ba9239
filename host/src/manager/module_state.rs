//! The module between passes, and its invariants.

use super::checks::{self, Globals, Interface};
use crate::pass::{Catalogue, OperatorName, Touched, Verify, check_arena, check_module, spread};
use abi_stable::std_types::RArc;
use rayon::prelude::*;
use relais_plugin_api::{
    diagnostics::PassError,
    infer::{
        Blaming, Checking, Coverage, Inferred, TypeFault, TypeRelations, Typing, infer_changes, infer_function,
        result_of_global,
    },
    ir::{CallView, Expr, Function, Global, IRModule, NodeId, OpId, TypeId, kind},
    op::{InferRequest, OpError, OpSchema},
    prim::infer as infer_prim,
    text::display_type,
};
use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
    time::{Duration, Instant},
};

/// How far up a chain of callers types are followed; functions that call each other would never end.
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
    /// Whether all functions have the arenas that they had, in size: at most types, names and attributes differ.
    pub is_alike: bool,
    /// A type that the pass stated and that is another one, in words.
    pub overruled: Option<String>,
}

/// Whether types count that a pass states for nodes that it changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PassTypes {
    /// Inferred ones count instead.
    Checked,
    /// The pass infers types, and doing so again would take as long.
    Believed,
}

/// Decides about the result of a pass, given what the host did to functions after it.
pub(super) type Accept<'a> = dyn Fn(&IRModule, &Touched) -> Result<(), PassError> + 'a;

impl ModuleState {
    pub fn new(module: IRModule) -> Self {
        let n_nodes = total_calls(module.globals());
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

    /// Accepts a pass's result: verified as requested, but readable in any case, accepted by the instruments,
    /// compacted, and typed where it changed.
    ///
    /// # Errors
    /// Returns an error if the verifier finds a fault, or it is not accepted. The module is as it was, then.
    pub fn take(
        &mut self,
        mut new: IRModule,
        catalogue: &dyn Catalogue,
        verify: Verify,
        interface: Interface,
        stated: PassTypes,
        accept: &Accept<'_>,
    ) -> Result<Taken, PassError> {
        let changed = self.changed(&new)?;
        checks::module_attrs(&self.module, &new)?;
        let began = Instant::now();
        let mut touched = Touched::default();
        let n_loops = self.settle_prims(&mut new, &changed.now, &mut touched)?;
        let mut functions: Vec<_> = new.functions_mut().filter(|(name, _)| changed.now.contains(*name)).collect();
        let before = index(&self.module);
        let one =
            |(name, function): &mut (&str, &mut RArc<Function>)| settle(name, function, stated, catalogue, &before);
        let settled: Vec<_> = spread(|| functions.par_iter_mut().map(one).collect());
        // The first fault in module order.
        let names = functions.iter().map(|(name, _)| (*name).to_owned());
        let (mut n_new, mut overruled) = (0, None);
        for (name, settled) in names.zip(settled) {
            let Settled { n_calls, is_compacted, is_typed, overruled: other } = settled?;
            n_new += n_calls;
            overruled = overruled.or(other);
            touched.compacted.extend(is_compacted.then(|| name.clone()));
            touched.typed.extend(is_typed.then_some(name));
        }
        touched.typed.extend(self.retype_callers(&mut new, &changed.now, catalogue)?);
        checks::callees(&self.module, &new, |name| changed.now.contains(name))?;
        if interface == Interface::Kept {
            checks::interface(&self.module, &new, &mut *catalogue.relations())?;
        }
        let types = began.elapsed();
        // The module is also verified after type inference: type relations belong to plugins.
        if verify == Verify::Each {
            check_module(&new)?;
        }
        accept(&new, &touched)?;
        let is_alike = changed.before.iter().all(|old| {
            let now = new.global(&old.name).map(Global::body);
            now.is_some_and(|now| now.n_nodes() == old.body().n_nodes() && now.n_blocks() == old.body().n_blocks())
        });
        let is_alike = is_alike && changed.before.len() == changed.now.len() && touched.compacted.is_empty();
        let n_before = match changed.before.len() == self.module.globals().len() {
            true => self.n_nodes,
            false => total_calls(&changed.before),
        };
        self.n_nodes = (self.n_nodes + n_new + n_loops).saturating_sub(n_before);
        self.module = new;
        self.version += 1;
        // Large functions are not gone at once.
        spread(|| changed.before.into_par_iter().for_each(drop));
        Ok(Taken { types, is_alike, overruled })
    }

    /// Compacts and types the prim funcs that a pass made, and checks them; returns how many calls there are.
    ///
    /// # Errors
    /// Returns an error if one of them breaks a rule, unless it did so before.
    fn settle_prims(
        &self,
        new: &mut IRModule,
        changed: &HashSet<String>,
        touched: &mut Touched,
    ) -> Result<u64, PassError> {
        if !new.globals().iter().any(|global| global.prim_func().is_some() && changed.contains(global.name.as_str())) {
            return Ok(0);
        }
        let mut prims: Vec<_> = new.prim_funcs_mut().filter(|(name, _)| changed.contains(*name)).collect();
        let one = |(_, prim): &mut (&str, &mut RArc<Function>)| {
            let prim = RArc::make_mut(prim);
            let is_compacted = compact(prim);
            infer_prim(prim);
            is_compacted
        };
        let compacted: Vec<bool> = spread(|| prims.par_iter_mut().map(one).collect());
        for ((name, _), is_compacted) in prims.iter().zip(compacted) {
            touched.compacted.extend(is_compacted.then(|| (*name).to_owned()));
            // All types of a loop program are inferred again.
            touched.typed.insert((*name).to_owned());
        }
        let n_calls = prims.iter().map(|(_, prim)| n_calls(prim)).sum();
        checks::made_prims(&self.module, new, |name| changed.contains(name))?;
        Ok(n_calls)
    }

    /// Types the callers of those functions whose results have another type than before, and their callers in turn; returns
    /// the names of all that it typed.
    fn retype_callers(
        &self,
        new: &mut IRModule,
        changed: &HashSet<String>,
        catalogue: &dyn Catalogue,
    ) -> Result<HashSet<String>, PassError> {
        let mut before = self.module.clone();
        let mut all = HashSet::new();
        let mut other: HashSet<String> = changed.clone();
        for _ in 0..MAX_CALL_DEPTH {
            retain_other_results(&mut other, &before, new);
            if other.is_empty() {
                return Ok(all);
            }
            before = new.clone();
            let index = index(&before);
            let functions: Vec<_> = new.functions_mut().collect();
            let retype = |(name, function): (&str, &mut RArc<Function>)| {
                let mut relations = WithFunctions { relations: catalogue.relations(), globals: &index };
                let function = RArc::make_mut(function);
                let faults = infer_function(function, &mut relations, Coverage::Everything).faults;
                operator_fault(name, function, &relations, &faults).map(|()| name.to_owned())
            };
            let calls = |(_, function): &(&str, &mut RArc<Function>)| calls_one_of(function, &other);
            let retyped: Vec<_> = spread(|| functions.into_par_iter().filter(calls).map(retype).collect());
            other = retyped.into_iter().collect::<Result<_, _>>()?;
            all.extend(other.iter().cloned());
        }
        Ok(all)
    }

    /// # Errors
    /// Returns an error if a function that is new cannot be read.
    fn changed(&self, new: &IRModule) -> Result<Changed, PassError> {
        let old: HashMap<&str, &Global> =
            self.module.globals().iter().map(|global| (global.name.as_str(), global)).collect();
        let names: BTreeSet<&str> = new.globals().iter().map(|global| global.name.as_str()).collect();
        let mut changed = Changed { now: HashSet::new(), before: Vec::new() };
        let mut bodies = Vec::new();
        for global in new.globals() {
            match old.get(global.name.as_str()) {
                Some(&old) if old.is_same(global) => continue,
                Some(&old) => changed.before.push(old.clone()),
                None => {}
            }
            changed.now.insert(global.name.to_string());
            bodies.push((global.name.as_str(), global.body()));
        }
        let is_gone = |global: &&Global| !names.contains(global.name.as_str());
        changed.before.extend(self.module.globals().iter().filter(is_gone).cloned());
        let is_readable = |&(name, function): &(&str, &RArc<Function>)| check_arena(name, function);
        // The first fault in module order.
        let checked: Vec<_> = spread(|| bodies.par_iter().map(is_readable).collect());
        checked.into_iter().collect::<Result<(), _>>()?;
        Ok(changed)
    }

    /// Whether the module calls one of these operators, or has a conditional if `If` is among them.
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

/// The differences to another module.
struct Changed {
    /// The globals that are new or other ones.
    now: HashSet<String>,
    /// The previous versions of these, and the removed ones.
    before: Vec<Global>,
}

/// Operator calls and conditionals: the nodes in ONNX's sense, except `Constant`.
fn n_calls(function: &Function) -> u64 {
    function.all_bindings().filter(|&id| matches!(function.kind(id), kind::CALL | kind::IF)).count() as u64
}

fn total_calls(globals: &[Global]) -> u64 {
    globals.par_iter().map(|global| n_calls(global.body())).sum()
}

/// The state of a function that the host settled after a pass.
struct Settled {
    n_calls: u64,
    is_compacted: bool,
    /// Whether a type is another one.
    is_typed: bool,
    /// As [`Taken::overruled`].
    overruled: Option<String>,
}

/// Compacts a function that a pass made, and infers the types that are missing or, where stated ones are checked, may be
/// others.
///
/// # Errors
/// Returns an error if a type relation panics or returns something untrue.
fn settle(
    name: &str,
    function: &mut RArc<Function>,
    stated: PassTypes,
    catalogue: &dyn Catalogue,
    before: &Globals<'_>,
) -> Result<Settled, PassError> {
    let function = RArc::make_mut(function);
    let old = before.get(name).and_then(|old| old.function());
    let is_compacted = compact(function);
    let mut relations = WithFunctions { relations: catalogue.relations(), globals: before };
    let Inferred { n_changed, faults, overruled } = match (stated, old) {
        (PassTypes::Believed, _) => infer_function(function, &mut relations, Coverage::Missing),
        (PassTypes::Checked, Some(old)) if !checks::is_reversioned(old, function) => {
            infer_changes(function, old, &mut relations)
        }
        (PassTypes::Checked, _) => infer_function(function, &mut relations, Coverage::Everything),
    };
    operator_fault(name, function, &relations, &faults)?;
    let others = || -> Box<dyn TypeRelations + '_> {
        Box::new(WithFunctions { relations: catalogue.relations(), globals: before })
    };
    let n_calls = checks::made_calls(name, function, before, &mut relations, &others, &faults);
    let n_calls = n_calls.map_err(|error| error.in_function(name))?;
    for fault in faults {
        log::debug!("in `@{name}`, at {}: {}", fault.node, fault.error);
    }
    let overruled = overruled.map(|(id, stated, inferred)| {
        let [stated, inferred] = [stated, inferred].map(|ty| display_type(function, ty).to_string());
        let callee = function.call(id).and_then(CallView::op).map_or("", |op| function.str(function.op(op).name));
        format!("in `@{name}`, the result of `{callee}` is of type `{inferred}`, not `{stated}`")
    });
    Ok(Settled { n_calls, is_compacted, is_typed: n_changed > 0, overruled })
}

/// # Errors
/// Returns the failure of the plugin whose type relation was the first to panic or to return something untrue.
fn operator_fault(
    name: &str,
    function: &Function,
    relations: &dyn TypeRelations,
    faults: &[TypeFault],
) -> Result<(), PassError> {
    let Some(fault) = faults.iter().find(|fault| fault.error.is_broken()) else { return Ok(()) };
    let error = match function.call(fault.node).and_then(CallView::op) {
        Some(op) => relations.fault(op, &fault.error),
        None => PassError::new(&fault.error.message),
    };
    Err(error.at(fault.node).in_function(name))
}

/// The type relations of operators, and the functions that are called.
struct WithFunctions<'a> {
    relations: Box<dyn TypeRelations + 'a>,
    globals: &'a Globals<'a>,
}

fn index(module: &IRModule) -> Globals<'_> {
    module.globals().iter().map(|global| (global.name.as_str(), global)).collect()
}

impl Typing for WithFunctions<'_> {
    fn version(&mut self, function: &Function, op: OpId) -> i64 {
        self.relations.version(function, op)
    }

    fn infer(&mut self, op: OpId, request: &mut InferRequest<'_>) -> Option<Result<(), OpError>> {
        self.relations.infer(op, request)
    }

    fn result_of_global(&mut self, caller: &mut Function, name: &str) -> TypeId {
        self.globals.get(name).map_or(TypeId::UNKNOWN, |callee| result_of_global(caller, callee))
    }
}

impl Checking for WithFunctions<'_> {
    fn schema(&self, op: OpId) -> Option<&Arc<OpSchema>> {
        self.relations.schema(op)
    }

    fn verify(&mut self, function: &Function, call: NodeId, op: OpId) -> Option<Result<(), OpError>> {
        self.relations.verify(function, call, op)
    }

    fn is_closed(&self, op: OpId) -> bool {
        self.relations.is_closed(op)
    }
}

impl Blaming for WithFunctions<'_> {
    fn verifier_fault(&mut self, op: OpId, error: &OpError) -> PassError {
        self.relations.verifier_fault(op, error)
    }

    fn fault(&self, op: OpId, error: &OpError) -> PassError {
        self.relations.fault(op, error)
    }
}

/// Keeps the names of functions whose results are of another type than before, as their callers see it.
fn retain_other_results(names: &mut HashSet<String>, before: &IRModule, now: &IRModule) {
    let old = index(before);
    let globals: Vec<_> = now.globals().iter().filter(|global| names.contains(global.name.as_str())).collect();
    let is_other = |scratch: &mut Function, global: &Global| {
        let old = old.get(global.name.as_str()).map(|old| result_of_global(scratch, old));
        (old != Some(result_of_global(scratch, global))).then(|| global.name.to_string())
    };
    *names = globals.into_par_iter().map_init(Function::new, is_other).flatten().collect();
}

fn calls_one_of(function: &Function, names: &HashSet<String>) -> bool {
    function.nodes().iter().enumerate().any(|(index, node)| {
        node.kind == kind::GLOBAL_VAR
            && matches!(function.expr(NodeId::from_index(index)), Expr::GlobalVar(name) if names.contains(name))
    })
}

/// Compacts an arena if more than half of it is dead; returns whether it was.
fn compact(function: &mut Function) -> bool {
    let n_nodes = function.n_nodes();
    // The bindings of the body are alive, and usually enough to know.
    let is_full = n_nodes < MIN_COMPACTED || function.bindings(function.body()).len() * 2 >= n_nodes;
    let is_sparse = !is_full && function.n_live() * 2 < n_nodes;
    if is_sparse {
        *function = function.compacted();
    }
    is_sparse
}
