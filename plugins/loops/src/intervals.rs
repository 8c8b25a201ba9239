//! `relais.Intervals`: between which two numbers each integer of a loop program is, at its place.

use relais_plugin_api::{
    analysis::{Analysis, AnalysisCx},
    ir::{Lists, Numbers, Walk, WalkStep},
    prelude::*,
    prim::{Bounds, Intervals, LoopOps},
};

/// The least and the largest value of each integer of a loop program: of parameters, variables of loops and bindings, where
/// they are computed. A binding in a branch that never runs may have a least value above the largest.
#[derive(PartialEq)]
struct Ranges {
    least: Numbers<i64>,
    largest: Numbers<i64>,
}

#[analysis(
    name = "relais.Intervals",
    lists(
        least = "by node: the least value of an integer, -2^63 where nothing is known",
        largest = "by node: the largest value, 2^63 - 1 where nothing is known",
    )
)]
impl Analysis for Ranges {
    fn compute(f: &Function, cx: &AnalysisCx<'_>) -> Result<Self, PassError> {
        let ops = LoopOps::new(f);
        let mut known = Intervals::new(f);
        let mut ranges = vec![Bounds::ANY; f.n_nodes()];
        let (mut scopes, mut owners) = (Vec::new(), Vec::new());
        let mut walk = Walk::new(f);
        while let Some(step) = walk.next(f) {
            match step {
                WalkStep::Enter(block) => {
                    cx.check_cancelled()?;
                    scopes.push(known.mark());
                    if let Some(&owner) = owners.last() {
                        known.enter(f, &ops, owner, block);
                    }
                    for &param in f.operands(f.block(block).owner) {
                        ranges[param.index()] = known.of(f, param);
                    }
                }
                WalkStep::Exit(_) => {
                    if let Some(mark) = scopes.pop() {
                        known.undo(mark);
                    }
                }
                WalkStep::Leave(_) => drop(owners.pop()),
                WalkStep::Binding(id) if f.n_regions(id) > 0 => owners.push(id),
                WalkStep::Binding(id) => {
                    known.bind(f, &ops, id);
                    // Conditions say something of sums.
                    let sum = known.sum(f, &ops, id).and_then(|sum| known.of_sum(f, &sum));
                    ranges[id.index()] = sum.map_or(known.of(f, id), |sum| sum.and(known.of(f, id)));
                }
            }
        }
        // Numbers are in no block.
        for id in (0..f.n_nodes()).map(NodeId::from_index).filter(|&id| f.imm(id).is_some()) {
            ranges[id.index()] = known.of(f, id);
        }
        let of = |bound: fn(&Bounds) -> i64| Numbers::from(ranges.iter().map(bound).collect::<Vec<_>>());
        Ok(Self { least: of(|range| range.min), largest: of(|range| range.max) })
    }

    fn lists(&self) -> Lists {
        Lists::new().with("least", &self.least).with("largest", &self.largest)
    }
}
