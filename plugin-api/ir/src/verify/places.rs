//! Checks that every binding is in one place and every function belongs to one node: otherwise a walk over nested
//! blocks may not terminate.

use super::{FaultCode, Report};
use crate::{node::kind, *};

/// Ids are compared this many at a time, since that takes fewer instructions than to stop at the first.
const CHUNK: usize = 256;

/// Relies on a sound arena with `n_functions` functions among its nodes.
pub(super) fn check(f: &Function, n_functions: usize, report: &mut Report<'_>) {
    // The root is alone: nothing else has a block, and nothing owns it.
    let is_root = |ids: &[NodeId]| ids.iter().fold(false, |found, &id| found | (id == f.root()));
    let is_flat = n_functions == 1 && !f.parts().pool.chunks(CHUNK).any(is_root);
    let mut is_bound = vec![false; f.n_nodes()];
    let mut is_owned = vec![false; f.n_nodes()];
    is_owned[f.root().index()] = true;
    // Two functions with one block would be walked twice, and so would all that is in it.
    let functions = (0..f.n_nodes()).map(NodeId::from_index).filter(|&id| f.kind(id) == kind::FUNCTION);
    for id in functions {
        let owner = f.block(f.block_of(id)).owner;
        if owner != id {
            let message = format!("{} says it belongs to `{owner}`", f.block_of(id));
            report.push(FaultCode::Region, Some(id), Some(f.block_of(id)), message);
        }
    }
    for at in 0..f.n_blocks() {
        let block = BlockId::from_index(at);
        for &id in f.bindings(block) {
            if std::mem::replace(&mut is_bound[id.index()], true) {
                report.push(FaultCode::BoundTwice, Some(id), Some(block), "the binding stands in two places");
                continue;
            }
            if is_flat {
                continue;
            }
            let itself = (f.kind(id) == kind::FUNCTION).then_some(id);
            for &function in f.regions(id).iter().chain(&itself) {
                if std::mem::replace(&mut is_owned[function.index()], true) {
                    let message = format!("function `{function}` belongs to two nodes");
                    report.push(FaultCode::Region, Some(id), Some(block), message);
                }
            }
        }
    }
}
