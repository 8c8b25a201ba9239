//! The types of a whole prim func.

use super::{CoreOp, LoopOps, rule};
use crate::*;

/// Sets the types of all bindings and of the parameters of loops and conditionals, by the rules of the core operators. A
/// binding that breaks a rule has no type; the verifier says why.
pub fn infer(f: &mut Function) {
    let ops = LoopOps::new(f);
    let mut walk = Walk::new(f);
    while let Some(step) = walk.next(f) {
        match step {
            WalkStep::Enter(_) => {}
            WalkStep::Binding(id) => {
                type_immediates(f, id);
                match ops.of(f, id) {
                    Some(CoreOp::For) => type_params(f, id, 2),
                    Some(CoreOp::While) => type_params(f, id, 0),
                    _ if f.n_regions(id) > 0 => {}
                    _ => type_binding(f, &ops, id),
                }
            }
            WalkStep::Exit(block) => {
                for at in 0..f.results(block).len() {
                    type_immediate(f, f.results(block)[at]);
                }
            }
            WalkStep::Leave(id) => type_binding(f, &ops, id),
        }
    }
}

fn type_binding(f: &mut Function, ops: &LoopOps, id: NodeId) {
    let ty = rule(f, ops, id).map_or(TypeId::UNKNOWN, |made| made.add_to(f));
    if f.type_id(id) != ty {
        f.set_type(id, ty);
    }
}

fn type_immediates(f: &mut Function, id: NodeId) {
    for at in 0..f.operands(id).len() {
        type_immediate(f, f.operands(id)[at]);
    }
}

fn type_immediate(f: &mut Function, id: NodeId) {
    if f.kind(id) == kind::IMM
        && f.type_id(id) == TypeId::UNKNOWN
        && let Some(imm) = f.imm(id)
    {
        let ty = f.add_type(Type::Tensor { elem: imm.elem(), shape: Some(&[]) });
        f.set_type(id, ty);
    }
}

/// The parameters of a loop's functions: its variable, if it has bounds, and the carried values.
fn type_params(f: &mut Function, id: NodeId, n_bounds: usize) {
    let operands = f.operands(id);
    let args = operands.get(1..operands.len() - f.n_regions(id)).unwrap_or_default();
    let mut types: Vec<TypeId> = args.iter().take(n_bounds.min(1)).map(|&min| f.type_id(min)).collect();
    types.extend(args.iter().skip(n_bounds).map(|&value| f.type_id(value)));
    for at in 0..f.n_regions(id) {
        let region = f.regions(id)[at];
        if f.kind(region) != kind::FUNCTION {
            continue;
        }
        for (at, &ty) in types.iter().enumerate().take(f.operands(region).len()) {
            let param = f.operands(region)[at];
            if f.type_id(param) != ty {
                f.set_type(param, ty);
            }
        }
    }
}
