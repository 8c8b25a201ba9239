//! The facts that decide how accesses are written.

use relais_plugin_api::{
    op::Effects,
    prelude::*,
    prim::{CoreOp, LoopOps},
};

/// Which values depend on what is in memory: the others are the same in each run of a program, as all sizes are fixed.
pub struct FromData(Vec<bool>);

impl FromData {
    /// Looks at a function.
    pub fn of(f: &Function, ops: &LoopOps) -> Self {
        let mut from = vec![false; f.n_nodes()];
        // Values that loops carry may depend on data only from a later turn on.
        loop {
            let before = from.iter().filter(|&&is| is).count();
            for id in f.all_bindings() {
                let depends = match ops.of(f, id) {
                    Some(op) if op.info().effects.contains(Effects::READS) => true,
                    _ => {
                        any(f.operands(id), &from)
                            || f.regions(id).iter().any(|&region| any(f.results(f.block_of(region)), &from))
                    }
                };
                from[id.index()] |= depends;
                Self::params(f, ops, id, &mut from);
            }
            if from.iter().filter(|&&is| is).count() == before {
                return Self(from);
            }
        }
    }

    /// The parameters of the functions of a loop.
    fn params(f: &Function, ops: &LoopOps, id: NodeId, from: &mut [bool]) {
        let n_bounds = match ops.of(f, id) {
            Some(CoreOp::For) => 2,
            Some(CoreOp::While) => 0,
            _ => return,
        };
        let operands = f.operands(id);
        let args = &operands[1..operands.len() - f.n_regions(id)];
        let Some(&body) = f.regions(id).last() else { return };
        let results = f.results(f.block_of(body));
        let (bounds, carried) = args.split_at(n_bounds.min(args.len()));
        for &region in f.regions(id) {
            let params = f.operands(region);
            let (index, values) = params.split_at(bounds.len().min(1).min(params.len()));
            for &param in index {
                from[param.index()] |= any(bounds, from);
            }
            for ((&param, &first), &next) in values.iter().zip(carried).zip(results) {
                from[param.index()] |= from[first.index()] || from[next.index()];
            }
        }
    }

    /// Whether a value depends on what is in memory.
    pub fn has(&self, id: NodeId) -> bool {
        self.0.get(id.index()) == Some(&true)
    }
}

fn any(ids: &[NodeId], from: &[bool]) -> bool {
    ids.iter().any(|id| from.get(id.index()) == Some(&true))
}
