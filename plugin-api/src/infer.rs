//! Type inference over a whole function: one pass in program order, each call typed by its operator's relation.

use crate::{
    ir::*,
    op::{Effects, InferRequest, OpError, VALUES_TABLE},
};
use abi_stable::std_types::RVec;

/// Where type relations come from.
pub trait TypeRelations {
    /// The operator-set version that a call of `op` is written for.
    fn version(&mut self, function: &Function, op: OpId) -> i64;

    /// Applies the type relation of `op` to a call of it; `None` when it has none.
    fn infer(&mut self, op: OpId, request: &mut InferRequest<'_>) -> Option<Result<(), OpError>>;

    /// The type of a call of the global function `name`; unknown where the module is not at hand. See [`result_of`].
    fn result_of_global(&mut self, _caller: &mut Function, _name: &str) -> TypeId {
        TypeId::UNKNOWN
    }
}

/// The type of what a function returns, as a type of one that calls it: what holds whatever the arguments are. Names of
/// sizes mean something else there.
pub fn result_of(caller: &mut Function, callee: &Function) -> TypeId {
    let body = callee.body();
    let mut tensor = |ty: TypeId| match callee.ty(ty) {
        Type::Tensor { elem, shape } => {
            let dims = |shape: &[DimRec]| -> Vec<DimRec> {
                shape.iter().map(|&dim| Dim::from(dim).known().map_or(Dim::Unknown, Dim::Static).into()).collect()
            };
            let shape = shape.map(dims);
            caller.add_type(Type::Tensor { elem, shape: shape.as_deref() })
        }
        _ => TypeId::UNKNOWN,
    };
    let results: Vec<TypeId> = callee.results(body).iter().map(|&result| tensor(callee.type_id(result))).collect();
    match (results.as_slice(), callee.results(body).first() == Some(&callee.result(body))) {
        ([one], true) => *one,
        _ => caller.add_type(Type::Tuple(&results)),
    }
}

/// What passes ask about operators: type relations, effects, evaluators.
pub trait Operators: TypeRelations {
    /// The effects of an operator; opaque when nobody registered it.
    fn effects(&self, op: OpId) -> Effects;

    /// The fewest and most results of an operator; `u16::MAX` is any number. All are needed when nobody registered it.
    fn outputs(&self, op: OpId) -> (u16, u16);

    /// Evaluates a call of `op` for these arguments (`None` is absent); `None` when it has no evaluator. No result may
    /// take more than `max_bytes`, written out; splats take none.
    fn evaluate(
        &mut self,
        op: OpId,
        function: &Function,
        call: NodeId,
        inputs: &[Option<Tensor>],
        max_bytes: u64,
    ) -> Option<Result<Vec<Tensor>, OpError>>;
}

/// A call whose arguments its operator does not take.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TypeFault {
    /// The call.
    pub node: NodeId,
    /// What the operator says.
    pub error: OpError,
}

/// What inference did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Inferred {
    /// How many nodes have another type than before.
    pub n_changed: usize,
    /// The calls that are invalid; their types stay unknown.
    pub faults: Vec<TypeFault>,
}

/// Which nodes are looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// All.
    Everything,
    /// Those without a type, and those with an operand whose type this run changed.
    Missing,
}

/// Infers the types of a function's bindings. A type that stood there before (declared in the file, say) is kept where
/// the relation knows less.
pub fn infer_function(function: &mut Function, relations: &mut dyn TypeRelations, scope: Scope) -> Inferred {
    let mut cx = Inference { scope, changed: vec![false; function.n_nodes()], ..Inference::default() };
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

/// What inference keeps from call to call, so that no call allocates.
pub(crate) struct Inference {
    scope: Scope,
    /// Whether this run changed a node's type; empty when nobody asks.
    changed: Vec<bool>,
    report: Inferred,
    outputs: RVec<TypeId>,
    values: RVec<TypeId>,
}

impl Default for Inference {
    fn default() -> Self {
        let (scope, changed, report) = (Scope::Everything, Vec::new(), Inferred::default());
        Self { scope, changed, report, outputs: RVec::new(), values: RVec::new() }
    }
}

impl Inference {
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
        if self.scope == Scope::Missing
            && f.type_id(id) != TypeId::UNKNOWN
            && !f.operands(id).iter().any(|operand| self.changed[operand.index()])
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
            f.set_type(id, ty);
            self.report.n_changed += 1;
            if let Some(changed) = self.changed.get_mut(id.index()) {
                *changed = true;
            }
        }
    }

    fn call(&mut self, f: &mut Function, relations: &mut dyn TypeRelations, id: NodeId, op: OpId) -> TypeId {
        let n_results = f.n_results(id);
        self.outputs.clear();
        self.values.clear();
        for _ in 0..n_results.unwrap_or(1) {
            self.outputs.push(TypeId::UNKNOWN);
            self.values.push(TypeId::UNKNOWN);
        }
        let mut request = InferRequest {
            version: relations.version(f, op),
            function: f,
            node: id,
            outputs: std::mem::take(&mut self.outputs),
            values: std::mem::take(&mut self.values),
        };
        let result = relations.infer(op, &mut request);
        let InferRequest { outputs, values, .. } = request;
        (self.outputs, self.values) = (outputs, values);
        match result {
            None => return TypeId::UNKNOWN,
            Some(Ok(())) => {}
            Some(Err(error)) => {
                // "Not supported" is no fault: nothing is known, that is all.
                if error.kind != 1 {
                    self.report.faults.push(TypeFault { node: id, error });
                }
                return TypeId::UNKNOWN;
            }
        }
        match n_results {
            None => {
                set_value(f, id, self.values[0]);
                self.outputs[0]
            }
            Some(_) => {
                if self.values.iter().any(|&value| value != TypeId::UNKNOWN) {
                    let values = f.add_type(Type::Tuple(self.values.as_slice()));
                    set_value(f, id, values);
                }
                f.add_type(Type::Tuple(self.outputs.as_slice()))
            }
        }
    }

    /// Known contents of a call's results are kept as a tuple at the call, and handed to each projection.
    fn project_value(&mut self, f: &mut Function, id: NodeId, tuple: NodeId, index: usize) {
        let Some(values) = crate::op::known_value(f, tuple) else { return };
        if let Type::Tuple(values) = f.ty(values) {
            let value = values.get(index).copied().unwrap_or(TypeId::UNKNOWN);
            set_value(f, id, value);
        }
    }
}

/// The type of a function's results as that of a call which uses so many of them.
fn fitting(f: &mut Function, call: NodeId, ty: TypeId) -> TypeId {
    match (f.n_results(call), f.ty(ty)) {
        (None, Type::Tuple(&[one])) => one,
        (None, Type::Tuple(_)) => TypeId::UNKNOWN,
        (Some(n), Type::Tuple(fields)) if fields.len() >= n as usize => {
            let used = fields[..n as usize].to_vec();
            f.add_type(Type::Tuple(&used))
        }
        (Some(1), Type::Tensor { .. }) => f.add_type(Type::Tuple(&[ty])),
        (Some(_), _) => TypeId::UNKNOWN,
        (None, _) => ty,
    }
}

fn set_value(f: &mut Function, id: NodeId, value: TypeId) {
    if value != TypeId::UNKNOWN || crate::op::known_value(f, id).is_some() {
        f.table_mut(VALUES_TABLE, 4, table_policy::DERIVED).get_mut(id).copy_from_slice(&value.0.to_le_bytes());
    }
}

fn result_type(f: &mut Function, block: BlockId) -> TypeId {
    let results: Vec<TypeId> = f.results(block).iter().map(|&result| f.type_id(result)).collect();
    match (results.as_slice(), f.results(block).first() == Some(&f.result(block))) {
        ([one], true) => *one,
        _ => f.add_type(Type::Tuple(&results)),
    }
}

/// The type of a conditional: what both branches have in common.
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

/// What holds for a value that has one type or the other.
pub fn join(f: &mut Function, a: TypeId, b: TypeId) -> TypeId {
    if a == b {
        return a;
    }
    match (f.ty(a), f.ty(b)) {
        (Type::Tensor { elem, shape: x }, Type::Tensor { elem: other, shape: y }) => {
            let elem = if elem == other { elem } else { ElemType::UNKNOWN };
            let shape: Option<Vec<DimRec>> = match (x, y) {
                (Some(x), Some(y)) if x.len() == y.len() => {
                    let dims = x.iter().zip(y);
                    Some(dims.map(|(&x, &y)| if x == y { x } else { Dim::Unknown.into() }).collect())
                }
                _ => None,
            };
            f.add_type(Type::Tensor { elem, shape: shape.as_deref() })
        }
        _ => TypeId::UNKNOWN,
    }
}

/// All that is known from two sources about one value; where they contradict each other, `inferred` is right.
pub fn merge(f: &mut Function, declared: TypeId, inferred: TypeId) -> TypeId {
    if declared == inferred || declared == TypeId::UNKNOWN {
        return inferred;
    }
    if inferred == TypeId::UNKNOWN {
        return declared;
    }
    match (f.ty(declared), f.ty(inferred)) {
        (Type::Tensor { elem: a, shape: x }, Type::Tensor { elem: b, shape: y }) => {
            let elem = if b == ElemType::UNKNOWN { a } else { b };
            let shape: Option<Vec<DimRec>> = match (x, y) {
                (x, None) => x.map(<[DimRec]>::to_vec),
                (Some(x), Some(y)) if x.len() == y.len() => {
                    Some(x.iter().zip(y).map(|(&x, &y)| merge_dim(x, y)).collect())
                }
                (_, Some(y)) => Some(y.to_vec()),
            };
            f.add_type(Type::Tensor { elem, shape: shape.as_deref() })
        }
        (Type::Tuple(a), Type::Tuple(b)) if a.len() == b.len() => {
            // Fields of tuples are tensors in practice; deeper ones are taken as inferred.
            let pairs: Vec<(TypeId, TypeId)> = a.iter().copied().zip(b.iter().copied()).collect();
            let is_flat = |id: TypeId, f: &Function| !matches!(f.ty(id), Type::Tuple(_));
            let fields: Vec<TypeId> = pairs
                .into_iter()
                .map(|(a, b)| if is_flat(a, f) && is_flat(b, f) { merge(f, a, b) } else { b })
                .collect();
            f.add_type(Type::Tuple(&fields))
        }
        _ => inferred,
    }
}

fn merge_dim(declared: DimRec, inferred: DimRec) -> DimRec {
    match (Dim::from(declared), Dim::from(inferred)) {
        (_, Dim::Static(_)) | (Dim::Unknown, _) => inferred,
        (Dim::Static(_), _) | (_, Dim::Unknown) => declared,
        (Dim::Symbol(_), Dim::Symbol(_)) => inferred,
    }
}
