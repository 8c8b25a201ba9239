//! Bindings that nothing needs.

use super::{CoreOp, LoopOps};
use crate::*;

/// Removes the values and the memory of a prim func that nothing uses, those that only they use with them; returns whether
/// there were any. Loads and divisions go as well: that one ends the program is a fault, not a result.
pub fn remove_unused(editor: &mut Editor) -> bool {
    let f = editor.function();
    let ops = LoopOps::new(f);
    let mut n_uses = vec![0_u32; f.n_nodes()];
    let mut order = Vec::new();
    let mut blocks = Vec::new();
    let mut walk = Walk::new(f);
    while let Some(step) = walk.next(f) {
        match step {
            WalkStep::Binding(id) => {
                order.push(id);
                f.operands(id).iter().for_each(|operand| n_uses[operand.index()] += 1);
            }
            WalkStep::Enter(block) => {
                blocks.push(block);
                f.results(block).iter().for_each(|result| n_uses[result.index()] += 1);
            }
            WalkStep::Exit(_) | WalkStep::Leave(_) => {}
        }
    }
    let mut is_gone = vec![false; f.n_nodes()];
    let mut n_gone = 0;
    for &id in order.iter().rev() {
        let is_value = match f.kind(id) {
            kind::CONSTANT | kind::TUPLE_GET_ITEM => true,
            kind::CALL => ops.of(f, id).is_some_and(|op| !op.is_statement() || op == CoreOp::Alloc),
            _ => false,
        };
        if is_value && n_uses[id.index()] == 0 {
            is_gone[id.index()] = true;
            n_gone += 1;
            f.operands(id).iter().for_each(|operand| n_uses[operand.index()] -= 1);
        }
    }
    if n_gone == 0 {
        return false;
    }
    for block in blocks {
        editor.retain(block, |_, id| if is_gone[id.index()] { Retain::Drop } else { Retain::Keep });
    }
    true
}
