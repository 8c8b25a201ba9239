//! Which values depend on those that a gradient is with respect to, in a way that can have a gradient.

use relais_plugin_api::{
    ir::{Type, Walk, WalkStep, kind},
    prelude::*,
};
use std::collections::HashSet;

/// Whether elements of a type can have gradients: floats, and those about which nothing is known.
pub fn is_differentiable(elem: ElemType) -> bool {
    !elem.is_integer() && elem != ElemType::BOOL && elem != ElemType::STRING
}

/// Whether a value may have a gradient, by its type.
pub fn may_have_gradient(f: &Function, id: NodeId) -> bool {
    match f.type_of(id) {
        Type::Tensor { elem, .. } => is_differentiable(elem),
        _ => true,
    }
}

/// Returns, by node, which values depend on `wrt`. A value whose type can have no gradient passes nothing on.
pub fn active(f: &Function, wrt: &[NodeId]) -> Vec<bool> {
    let mut active = vec![false; f.n_nodes()];
    wrt.iter().for_each(|id| active[id.index()] = true);
    let any = |active: &[bool], ids: &[NodeId]| ids.iter().any(|id| active[id.index()]);
    // For each binding with functions of its own that is open: whether anything that depends on `wrt` is used there.
    let mut open: Vec<bool> = Vec::new();
    let mut walk = Walk::new(f);
    while let Some(step) = walk.next(f) {
        match step {
            WalkStep::Enter(_) => {}
            WalkStep::Binding(id) => {
                let uses = any(&active, f.operands(id));
                if f.n_regions(id) > 0 || f.kind(id) == kind::FUNCTION {
                    open.push(uses);
                } else {
                    active[id.index()] |= uses && may_have_gradient(f, id);
                    open.last_mut().into_iter().for_each(|outer| *outer |= uses);
                }
            }
            WalkStep::Exit(block) => {
                let uses = any(&active, f.results(block));
                open.last_mut().into_iter().for_each(|outer| *outer |= uses);
            }
            WalkStep::Leave(id) => {
                let uses = open.pop().unwrap_or(true);
                let gives = match f.expr(id) {
                    Expr::If(_) => f.regions(id).iter().any(|&branch| any(&active, f.results(f.block_of(branch)))),
                    _ => uses,
                };
                active[id.index()] = gives && may_have_gradient(f, id);
                open.last_mut().into_iter().for_each(|outer| *outer |= uses);
            }
        }
    }
    active
}

/// Returns the values that a function in `f` uses and that are defined outside of it, in the order of their first use.
pub fn captured(f: &Function, function: NodeId) -> Vec<NodeId> {
    let mut defined: HashSet<NodeId> = HashSet::new();
    let mut seen: HashSet<NodeId> = HashSet::new();
    let mut captured = Vec::new();
    let is_value = |id: NodeId| !matches!(f.kind(id), kind::ABSENT | kind::OP | kind::GLOBAL_VAR | kind::FUNCTION);
    let mut walk = Walk::block(f.block_of(function));
    while let Some(step) = walk.next(f) {
        let used = match step {
            WalkStep::Enter(block) => {
                let owner = f.block(block).owner;
                defined.extend(f.operands(owner));
                &[]
            }
            WalkStep::Binding(id) => {
                defined.insert(id);
                f.operands(id)
            }
            WalkStep::Exit(block) => f.results(block),
            WalkStep::Leave(_) => &[],
        };
        captured.extend(used.iter().filter(|&&id| is_value(id) && !defined.contains(&id) && seen.insert(id)));
    }
    captured
}
