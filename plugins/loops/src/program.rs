//! The questions that the passes ask of loop programs, and how they make calls.

use relais_plugin_api::{
    ir::kind,
    prelude::*,
    prim::{CoreOp, LoopOps, fold, rule, value_type},
};

/// Whether a function consists of the nodes that loop programs have, so that its bindings can be moved and copied.
pub fn is_program(f: &Function) -> bool {
    let is_known =
        |id| matches!(f.kind(id), kind::CALL | kind::IF | kind::CONSTANT | kind::TUPLE | kind::TUPLE_GET_ITEM);
    f.all_bindings().all(|id| is_known(id) && f.regions(id).iter().all(|&region| f.kind(region) == kind::FUNCTION))
}

/// The parts of a `for`.
pub struct Loop<'a> {
    pub min: NodeId,
    pub extent: NodeId,
    /// The loop variable, and the carried values of a turn.
    pub params: &'a [NodeId],
}

impl<'a> Loop<'a> {
    /// The parts of a node; `None` unless it is a `for` with as many carried values in each place.
    pub fn of(f: &'a Function, ops: &LoopOps, id: NodeId) -> Option<Self> {
        if ops.of(f, id) != Some(CoreOp::For) {
            return None;
        }
        let call = f.call(id)?;
        let (&[min, extent, ref carried @ ..], &[function]) = (call.args(), call.regions()) else { return None };
        if f.kind(function) != kind::FUNCTION {
            return None;
        }
        let (params, results) = (f.operands(function), f.results(f.block_of(function)));
        let n = carried.len();
        let is_whole = params.len() == 1 + n && results.len() == n && f.n_results(id) == Some(n).filter(|&n| n > 1);
        is_whole.then_some(Self { min, extent, params })
    }

    /// The number of turns, if it is known; below 1 there are none.
    pub fn turns(&self, f: &Function, ops: &LoopOps) -> Option<u64> {
        constant_int(f, ops, self.extent).map(|extent| u64::try_from(extent).unwrap_or(0))
    }
}

/// The value of an integer that is an immediate, or one operation on immediates.
pub fn constant_int(f: &Function, ops: &LoopOps, id: NodeId) -> Option<i64> {
    if let Some(imm) = f.imm(id) {
        return imm.as_int();
    }
    let op = ops.of(f, id)?;
    let args = f.call(id)?.args().iter().map(|&arg| f.imm(arg)).collect::<Option<Vec<_>>>()?;
    let elem = value_type(f.type_of(id)).filter(|ty| ty.lanes.is_none())?.elem;
    fold(op, &args, elem).ok()?.as_int()
}

/// Whether two values are the same: one node, or equal immediates.
pub fn is_same_value(f: &Function, a: NodeId, b: NodeId) -> bool {
    a == b || f.imm(a).is_some_and(|imm| f.imm(b) == Some(imm))
}

/// Whether two nodes take the same values.
pub fn are_same_values(f: &Function, a: &[NodeId], b: &[NodeId]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(&a, &b)| is_same_value(f, a, b))
}

/// Sets an attribute or metadata of a node, in the place of one of that name.
pub fn set_attr(f: &mut Function, id: NodeId, attr: &Attr) {
    let new = f.encode_attr(attr);
    let mut recs = f.attr_recs(id).to_vec();
    match recs.iter_mut().find(|rec| (rec.name, rec.flags) == (new.name, new.flags)) {
        Some(rec) => *rec = new,
        None => recs.push(new),
    }
    f.set_attr_recs(id, &recs);
}

/// A call of a core operator, typed by its rule; it is in no block yet.
pub fn call(f: &mut Function, ops: &mut LoopOps, op: CoreOp, args: &[NodeId], attrs: &[Attr]) -> NodeId {
    let op = ops.id(f, op);
    let id = f.add_call(op, args);
    if !attrs.is_empty() {
        f.set_attrs(id, attrs);
    }
    if let Ok(made) = rule(f, ops, id) {
        let ty = made.add_to(f);
        f.set_type(id, ty);
    }
    id
}
