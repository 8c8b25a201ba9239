//! Removes bindings whose value is not used and whose execution has no effect.
//!
//! ```text
//! %0 = Relu(%x);
//! %1 = Neg(%x);      // not used
//! %0
//! ```
//! becomes
//! ```text
//! %0 = Relu(%x);
//! %0
//! ```
//!
//! Results that an operator may omit are removed one by one; those it must have stay as long as the call does. Operators
//! with effects stay, and so do unregistered ones, which may have some. Unused global functions stay too
//! (`RemoveUnusedFunctions` takes them). Nothing must run before it.

use relais_plugin_api::{
    infer::Operators,
    ir::{BlockId, Retain, Walk, WalkStep, kind},
    prelude::*,
};

/// Removes bindings whose value is not used and that have no effects.
#[function_pass(
    name = "relais.DeadCodeElimination",
    aliases = ["relay._transform.DeadCodeElimination", "relax.transform.DeadCodeElimination"],
    opt_level = 1,
    phase = "clean-up",
    statistics(removed = "bindings removed"),
)]
pub fn dead_code_elimination(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    let ops = cx.ops(edit.function());
    cx.count("removed", eliminate(edit, &ops));
    Ok(())
}

/// Removes the dead bindings of a function, and returns how many; linear in its size.
pub fn eliminate(edit: &mut Editor, ops: &dyn Operators) -> usize {
    let f = edit.function();
    let steps = program(f);
    let has_effects = effects(f, &steps, ops);
    let live = liveness(f, &steps, &has_effects);
    let is_needed = |id: NodeId| live[id.index()] || has_effects[id.index()];
    let dead = |id: NodeId| match f.expr(id) {
        Expr::TupleGetItem { tuple, index } if !is_needed(id) => {
            !is_needed(tuple) || may_be_left_off(f, tuple, index, ops)
        }
        _ => !is_needed(id),
    };
    let blocks: Vec<BlockId> =
        steps.iter().filter_map(|step| if let WalkStep::Exit(b) = step { Some(*b) } else { None }).collect();
    let dead: Vec<bool> = (0..f.n_nodes()).map(|index| dead(NodeId::from_index(index))).collect();
    let mut n_removed = 0;
    for block in blocks {
        edit.retain(block, |_, id| {
            n_removed += usize::from(dead[id.index()]);
            if dead[id.index()] { Retain::Drop } else { Retain::Keep }
        });
    }
    n_removed
}

/// The property of operators whose calls in onnxruntime depend on which of their results are stated: `stated`.
const RESULTS: &str = "onnxruntime.results";

/// Whether result `index` of a node that stays may be absent.
pub(crate) fn may_be_left_off(f: &Function, node: NodeId, index: usize, ops: &dyn Operators) -> bool {
    match f.expr(node) {
        Expr::Tuple(_) => true,
        Expr::Call(call) => call.op().is_some_and(|op| {
            let (fewest, most) = ops.outputs(op);
            // A kernel may be chosen by the results that are there.
            let are_stated = ops.schema(op).is_some_and(|schema| schema.property(RESULTS) == Some("stated"));
            index >= usize::from(fewest) && most != u16::MAX && !are_stated
        }),
        _ => false,
    }
}

fn program(f: &Function) -> Vec<WalkStep> {
    let mut walk = Walk::new(f);
    std::iter::from_fn(|| walk.next(f)).collect()
}

/// By node: whether executing it, or anything nested in it, can be noticed.
fn effects(f: &Function, steps: &[WalkStep], ops: &dyn Operators) -> Vec<bool> {
    let mut has_effects = vec![false; f.n_nodes()];
    // One entry for each open block: whether it holds an effect.
    let mut open: Vec<bool> = Vec::new();
    // One entry for each open binding with blocks of its own: whether one of them held an effect.
    let mut nested: Vec<bool> = Vec::new();
    for &step in steps {
        match step {
            WalkStep::Enter(_) => open.push(false),
            WalkStep::Exit(_) => {
                let effect = open.pop().unwrap_or(false);
                if let Some(nested) = nested.last_mut() {
                    *nested |= effect;
                }
            }
            WalkStep::Binding(id) => {
                if f.kind(id) == kind::FUNCTION || f.n_regions(id) > 0 {
                    nested.push(false);
                }
                let own = match f.expr(id) {
                    Expr::Call(call) => match call.op() {
                        Some(op) => !ops.effects(op).is_removable(),
                        // The effects of a function are not known here.
                        None => true,
                    },
                    Expr::Unknown(_) => true,
                    _ => false,
                };
                mark(&mut has_effects, &mut open, id, own);
            }
            // A function that is only a value does nothing until it is called.
            WalkStep::Leave(id) => {
                let nested = nested.pop().unwrap_or(false) && f.kind(id) != kind::FUNCTION;
                mark(&mut has_effects, &mut open, id, nested);
            }
        }
    }
    has_effects
}

fn mark(has_effects: &mut [bool], open: &mut [bool], id: NodeId, effect: bool) {
    if effect {
        has_effects[id.index()] = true;
        if let Some(block) = open.last_mut() {
            *block = true;
        }
    }
}

/// By node: whether its value is needed. Backwards, so that all uses of a binding are seen before it.
fn liveness(f: &Function, steps: &[WalkStep], has_effects: &[bool]) -> Vec<bool> {
    let mut live = vec![false; f.n_nodes()];
    let need_results = |block: BlockId, live: &mut Vec<bool>| {
        for result in f.results(block) {
            live[result.index()] = true;
        }
        live[f.result(block).index()] = true;
    };
    need_results(f.body(), &mut live);
    // An unused function: nothing in it is executed, and the values it refers to are not needed for its sake.
    let mut unused: Option<NodeId> = None;
    for &step in steps.iter().rev() {
        if let Some(function) = unused {
            unused = unused.filter(|_| !matches!(step, WalkStep::Binding(id) if id == function));
            continue;
        }
        match step {
            WalkStep::Leave(id) if f.kind(id) == kind::FUNCTION && !live[id.index()] => unused = Some(id),
            WalkStep::Leave(id) if live[id.index()] || has_effects[id.index()] => {
                if f.kind(id) == kind::FUNCTION {
                    need_results(f.block_of(id), &mut live);
                }
                for &region in f.regions(id) {
                    need_results(f.block_of(region), &mut live);
                }
            }
            WalkStep::Binding(id) if f.kind(id) != kind::FUNCTION && (live[id.index()] || has_effects[id.index()]) => {
                for operand in f.operands(id) {
                    live[operand.index()] = true;
                }
            }
            _ => {}
        }
    }
    live
}
