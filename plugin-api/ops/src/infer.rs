//! Type inference over a whole function: one pass in program order, each call typed by its operator's relation.

use crate::{
    error::{OpError, op_error_kind},
    relations::TypeRelations,
    request::{CallParts, Given, VALUES_TABLE, known_value, set_known_value},
};
use relais_ir::{prim::n_outputs, *};

/// The type of a function's results, as a type of a function that calls it: the part that holds for any arguments.
/// Names of sizes have another meaning there.
pub fn result_of(caller: &mut Function, callee: &Function) -> TypeId {
    let body = callee.body();
    let is_one = callee.results(body).first() == Some(&callee.result(body));
    values_of(caller, callee, callee.results(body), is_one)
}

/// The same of any global: a prim func gives its outputs.
pub fn result_of_global(caller: &mut Function, callee: &Global) -> TypeId {
    let body = callee.body();
    match callee.prim_func() {
        None => result_of(caller, body),
        Some(prim) => values_of(caller, prim, &prim.params()[prim.params().len() - n_outputs(prim)..], true),
    }
}

/// The type of values of the callee: of one alone if `is_one`, else of a tuple.
fn values_of(caller: &mut Function, callee: &Function, values: &[NodeId], is_one: bool) -> TypeId {
    let mut tensor = |ty: TypeId| match callee.ty(ty) {
        Type::Tensor { elem, shape } => {
            let shape = shape.map(without_names);
            caller.add_type(Type::Tensor { elem, shape: shape.as_deref() })
        }
        _ => TypeId::UNKNOWN,
    };
    let types: Vec<TypeId> = values.iter().map(|&value| tensor(callee.type_id(value))).collect();
    match (types.as_slice(), is_one) {
        ([one], true) => *one,
        _ => caller.add_type(Type::Tuple(&types)),
    }
}

/// A shape in which sizes that have names are unknown.
fn without_names(shape: &[DimRec]) -> Vec<DimRec> {
    shape.iter().map(|&dim| Dim::from(dim).known().map_or(Dim::Unknown, Dim::Static).into()).collect()
}

/// A call whose arguments its operator does not take.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TypeFault {
    /// The call.
    pub node: NodeId,
    /// The operator's error.
    pub error: OpError,
}

/// The outcome of inference.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Inferred {
    /// How many nodes have another type than before.
    pub n_changed: usize,
    /// The calls that are invalid; their types stay unknown.
    pub faults: Vec<TypeFault>,
    /// The first binding that [`infer_changes`] found to be of another type than was stated for it, with both types.
    pub overruled: Option<(NodeId, TypeId, TypeId)>,
}

/// Which nodes are looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coverage {
    /// All.
    Everything,
    /// Those without a type, and those with an operand whose type this run changed.
    Missing,
}

/// Infers the types of a function's bindings. A previous type (declared in the file, for example) is kept if the
/// relation knows less.
pub fn infer_function(function: &mut Function, relations: &mut dyn TypeRelations, coverage: Coverage) -> Inferred {
    infer(function, relations, Inference { coverage, ..Inference::default() })
}

/// As [`infer_function`] for missing types, and also infers the types of those bindings that are not the same as in `before`,
/// an earlier state of the function, and of those with an operand of which another type or value is known. A type that was
/// stated since then and contradicts the inferred one does not count.
pub fn infer_changes(function: &mut Function, before: &Function, relations: &mut dyn TypeRelations) -> Inferred {
    let Some(Changes { nodes, entries }) = function.changes_since(before, &[table_key::TYPES, VALUES_TABLE]) else {
        return infer_function(function, relations, Coverage::Everything);
    };
    let since = Since { before, is_other_known: entries.contains(&true), nodes, entries };
    infer(function, relations, Inference { coverage: Coverage::Missing, since: Some(since), ..Inference::default() })
}

/// The differences to an earlier state of a function.
struct Since<'a> {
    before: &'a Function,
    /// By node: whether it is another one.
    nodes: Vec<bool>,
    /// By node: whether another type or another value is known of it.
    entries: Vec<bool>,
    /// Whether that is so of one of them.
    is_other_known: bool,
}

impl Since<'_> {
    /// Whether what is inferred for a binding is what was inferred before: it is the same, and so is what is known of its
    /// operands. Of one with regions, it is not.
    fn is_as_before(&self, f: &Function, id: NodeId) -> bool {
        let is_other = |operand: &NodeId| self.entries[operand.index()];
        !self.nodes[id.index()] && f.n_regions(id) == 0 && !(self.is_other_known && f.operands(id).iter().any(is_other))
    }

    /// Notes what is known of a binding now.
    fn note(&mut self, f: &Function, id: NodeId) {
        let is_other = id.index() >= self.before.n_nodes()
            || self.before.type_id(id) != f.type_id(id)
            || known_value(self.before, id) != known_value(f, id);
        self.entries[id.index()] = is_other;
        self.is_other_known |= is_other;
    }
}

fn infer(function: &mut Function, relations: &mut dyn TypeRelations, mut cx: Inference<'_>) -> Inferred {
    cx.changed = vec![false; function.n_nodes()];
    // The table must exist before relations look for it.
    function.table_mut(VALUES_TABLE, 4, table_policy::DERIVED);
    let mut walk = Walk::new(function);
    while let Some(step) = walk.next(function) {
        match step {
            WalkStep::Binding(id) if function.kind(id) == kind::FUNCTION || function.n_regions(id) > 0 => {}
            WalkStep::Binding(id) | WalkStep::Leave(id) => cx.binding(function, relations, id),
            WalkStep::Enter(_) | WalkStep::Exit(_) => {}
        }
    }
    cx.report
}

/// Infers the type of one binding whose operands are typed.
pub fn infer_node(function: &mut Function, relations: &mut dyn TypeRelations, id: NodeId) -> Result<(), OpError> {
    Inference::default().node(function, relations, id)
}

/// The types of a call's results as its operator's relation infers them, regardless of declared types.
pub(crate) struct InferredResults(Given);

impl InferredResults {
    /// The type of a result.
    pub fn ty<'a>(&'a self, function: &'a Function, index: usize) -> Type<'a> {
        self.0.outputs.get(index).map_or(Type::Unknown, |&ty| self.0.types.ty(function, ty))
    }
}

/// Infers the types of the results of a call of an operator, and changes nothing; `None` if nothing infers them.
pub(crate) fn infer_results(
    f: &Function,
    relations: &mut dyn TypeRelations,
    call: NodeId,
) -> Option<Result<InferredResults, OpError>> {
    let op = f.call(call)?.op()?;
    let version = relations.version(f, op);
    let mut given = Given::default();
    given.reset(f, f.n_results(call).unwrap_or(1));
    let parts = CallParts::new(f, call);
    let result = given.ask(parts.value(op, version), |request| relations.infer(op, request))?;
    Some(result.map(|()| InferredResults(given)))
}

/// Buffers that inference keeps from call to call, so that no call allocates.
pub(crate) struct Inference<'a> {
    coverage: Coverage,
    /// For [`infer_changes`].
    since: Option<Since<'a>>,
    /// Whether this run changed a node's type; empty if not requested.
    changed: Vec<bool>,
    report: Inferred,
    given: Given,
}

impl Default for Inference<'_> {
    fn default() -> Self {
        let (coverage, changed, report) = (Coverage::Everything, Vec::new(), Inferred::default());
        Self { coverage, since: None, changed, report, given: Given::default() }
    }
}

impl Inference<'_> {
    /// Infers the type of one binding whose operands are typed.
    pub(crate) fn node(
        &mut self,
        f: &mut Function,
        relations: &mut dyn TypeRelations,
        id: NodeId,
    ) -> Result<(), OpError> {
        self.binding(f, relations, id);
        match self.report.faults.pop() {
            Some(fault) => Err(fault.error),
            None => Ok(()),
        }
    }

    fn binding(&mut self, f: &mut Function, relations: &mut dyn TypeRelations, id: NodeId) {
        if self.coverage == Coverage::Missing
            && f.type_id(id) != TypeId::UNKNOWN
            && (self.report.n_changed == 0 || !f.operands(id).iter().any(|operand| self.changed[operand.index()]))
            && self.since.as_ref().is_none_or(|since| since.is_as_before(f, id))
        {
            return;
        }
        let ty = match f.expr(id) {
            Expr::Tuple(fields) => {
                let fields: Vec<TypeId> = fields.iter().map(|&field| f.type_id(field)).collect();
                f.add_type(Type::Tuple(&fields))
            }
            Expr::TupleGetItem { tuple, index } => {
                self.project_value(f, id, tuple, index);
                match f.type_of(tuple) {
                    Type::Tuple(fields) => fields.get(index).copied().unwrap_or(TypeId::UNKNOWN),
                    _ => TypeId::UNKNOWN,
                }
            }
            Expr::Call(call) => match call.op() {
                Some(op) => self.call(f, relations, id, op),
                None => match f.expr(call.callee()) {
                    Expr::GlobalVar(name) => {
                        let name = name.to_owned();
                        let ty = relations.result_of_global(f, &name);
                        fitting(f, id, ty)
                    }
                    Expr::Function(closure) => {
                        let block = closure.block();
                        let ty = result_of_closure(f, block);
                        fitting(f, id, ty)
                    }
                    _ => TypeId::UNKNOWN,
                },
            },
            Expr::If(branch) => {
                let [then, otherwise] = [branch.then_branch(), branch.else_branch()].map(|b| f.block_of(b));
                join_results(f, then, otherwise, f.n_results(id).is_some())
            }
            Expr::Function(nested) => {
                let params: Vec<TypeId> = nested.params().iter().map(|&param| f.type_id(param)).collect();
                let block = nested.block();
                let result = result_type(f, block);
                f.add_type(Type::Func { params: &params, result })
            }
            _ => return,
        };
        let old = f.type_id(id);
        let ty = merge(f, old, ty);
        if ty != old {
            // Functions that are called may be other ones, too.
            let is_stated = |before: &Function| {
                (id.index() >= before.n_nodes() || before.type_id(id) != old)
                    && f.call(id).is_some_and(|call| call.op().is_some())
            };
            if self.since.as_ref().is_some_and(|since| is_stated(since.before))
                && self.report.overruled.is_none()
                && contradiction(f.ty(old), f.ty(ty)).is_some()
            {
                self.report.overruled = Some((id, old, ty));
            }
            f.set_type(id, ty);
            self.report.n_changed += 1;
            if let Some(changed) = self.changed.get_mut(id.index()) {
                *changed = true;
            }
        }
        if let Some(since) = &mut self.since {
            since.note(f, id);
        }
    }

    fn call(&mut self, f: &mut Function, relations: &mut dyn TypeRelations, id: NodeId, op: OpId) -> TypeId {
        let n_results = f.n_results(id);
        let version = relations.version(f, op);
        self.given.reset(f, n_results.unwrap_or(1));
        let result = {
            let parts = CallParts::new(f, id);
            self.given.ask(parts.value(op, version), |request| relations.infer(op, request))
        };
        match result {
            None => return TypeId::UNKNOWN,
            Some(Ok(())) => {}
            Some(Err(error)) => {
                if error.is_broken() {
                    relations.broken(op, &error);
                }
                // "Not supported" is not a fault: nothing is known.
                if error.kind != op_error_kind::UNSUPPORTED {
                    self.report.faults.push(TypeFault { node: id, error });
                }
                return TypeId::UNKNOWN;
            }
        }
        let Given { outputs, values, types } = &mut self.given;
        if !types.is_empty() {
            let ids = types.add_to(f);
            for id in outputs.iter_mut().chain(values.iter_mut()) {
                *id = types.resolve(&ids, *id);
            }
        }
        match n_results {
            None => {
                set_known_value(f, id, values[0]);
                outputs[0]
            }
            Some(_) => {
                if values.iter().any(|&value| value != TypeId::UNKNOWN) {
                    let values = f.add_type(Type::Tuple(values.as_slice()));
                    set_known_value(f, id, values);
                }
                f.add_type(Type::Tuple(outputs.as_slice()))
            }
        }
    }

    /// Known contents of a call's results are kept as a tuple at the call, and handed to each projection.
    fn project_value(&mut self, f: &mut Function, id: NodeId, tuple: NodeId, index: usize) {
        let Some(values) = known_value(f, tuple) else { return };
        if let Type::Tuple(values) = f.ty(values) {
            let value = values.get(index).copied().unwrap_or(TypeId::UNKNOWN);
            set_known_value(f, id, value);
        }
    }
}

/// The type of a function's results, for a call that uses that many of them.
fn fitting(f: &mut Function, call: NodeId, ty: TypeId) -> TypeId {
    match (f.n_results(call), f.ty(ty)) {
        (None, Type::Tuple(&[one])) => one,
        (None, Type::Tuple(_)) => TypeId::UNKNOWN,
        (Some(n), Type::Tuple(fields)) if fields.len() >= n => {
            let used = fields[..n].to_vec();
            f.add_type(Type::Tuple(&used))
        }
        (Some(1), Type::Tensor { .. }) => f.add_type(Type::Tuple(&[ty])),
        (Some(_), _) => TypeId::UNKNOWN,
        (None, _) => ty,
    }
}

fn result_type(f: &mut Function, block: BlockId) -> TypeId {
    let results: Vec<TypeId> = f.results(block).iter().map(|&result| f.type_id(result)).collect();
    match (results.as_slice(), f.results(block).first() == Some(&f.result(block))) {
        ([one], true) => *one,
        _ => f.add_type(Type::Tuple(&results)),
    }
}

/// The part of the type of a closure's results that holds for any arguments.
fn result_of_closure(f: &mut Function, block: BlockId) -> TypeId {
    let ids: Vec<TypeId> = f.results(block).iter().map(|&result| f.type_id(result)).collect();
    let mut results = Vec::with_capacity(ids.len());
    for id in ids {
        let known = match f.ty(id) {
            Type::Tensor { elem, shape } => Some((elem, shape.map(without_names))),
            _ => None,
        };
        results.push(
            known.map_or(TypeId::UNKNOWN, |(elem, shape)| f.add_type(Type::Tensor { elem, shape: shape.as_deref() })),
        );
    }
    match (results.as_slice(), f.results(block).first() == Some(&f.result(block))) {
        ([one], true) => *one,
        _ => f.add_type(Type::Tuple(&results)),
    }
}

/// Why a conditional is not one of its version of ONNX's operator set: before version 11 a result of `If` has one shape,
/// whichever branch runs.
pub fn branch_contradiction(f: &Function, conditional: NodeId) -> Option<String> {
    const JOINED_SHAPES: i64 = 11;
    let &[then, otherwise] = f.regions(conditional) else { return None };
    if f.kind(conditional) != kind::IF || f.opset_version("").is_none_or(|version| version >= JOINED_SHAPES) {
        return None;
    }
    let results = |region: NodeId| f.results(f.block_of(region)).iter();
    let contradiction = |(&a, &b): (&NodeId, &NodeId)| contradiction(f.type_of(a), f.type_of(b));
    results(then).zip(results(otherwise)).find_map(contradiction)
}

/// The type of a conditional: the common part of both branches.
fn join_results(f: &mut Function, then: BlockId, otherwise: BlockId, is_tuple: bool) -> TypeId {
    let types = |f: &Function, block| -> Vec<TypeId> { f.results(block).iter().map(|&r| f.type_id(r)).collect() };
    let (a, b) = (types(f, then), types(f, otherwise));
    if a.len() != b.len() {
        return TypeId::UNKNOWN;
    }
    let joined: Vec<TypeId> = a.iter().zip(&b).map(|(&a, &b)| join(f, a, b)).collect();
    match joined.as_slice() {
        [one] if !is_tuple => *one,
        _ => f.add_type(Type::Tuple(&joined)),
    }
}
