//! Finding where loops can be cut, so that conditions in them are decided.

use crate::{
    program::{Loop, constant_int},
    simplify::Facts,
};
use relais_plugin_api::{
    ir::{AttrValue, BlockId, Imm, Walk, WalkStep, kind},
    prelude::*,
    prim::{Bounds, CoreOp, Intervals, Linear, LoopKind, LoopOps, Mark},
};
use std::collections::{BTreeMap, HashMap};

/// The metadata of a loop that says whether it is cut.
pub const HINT: &str = "partition_hint";
/// The most bindings by which a function grows.
const MOST_BINDINGS: usize = 1 << 16;
/// The most places at which one loop may be cut, of which one is chosen.
const MOST_PLACES: usize = 256;
/// The most parts of a condition that are read.
const MOST_PARTS: usize = 256;

/// The parts that loops were cut into.
#[derive(Default)]
pub struct Parts {
    /// By loop: the end of its turns.
    pub ends: BTreeMap<NodeId, NodeId>,
    /// The facts that hold in them.
    pub facts: Facts,
    /// By how many bindings the function has grown.
    pub n_added: usize,
}

/// The hint of a loop.
pub fn hint(f: &Function, id: NodeId) -> Result<Option<bool>, PassError> {
    match f.attrs(id).meta(HINT) {
        None => Ok(None),
        Some(AttrValue::Int(value)) => Ok(Some(value != 0)),
        Some(_) => Err(PassError::new(format_args!("the metadata `{HINT}` is not an integer"))
            .at(id)
            .help(format_args!("write `#[{HINT} = 1]`, or leave it out"))),
    }
}

/// The turn from which on a sum with the loop's variable, of values from outside of the loop, is not negative any more, or is.
pub struct Place {
    /// The sum.
    pub sum: Linear,
    /// The factor of the variable in it.
    pub factor: i64,
    /// The turn is the quotient of this and [`divisor`](Self::divisor), rounded down.
    pub dividend: Linear,
    pub divisor: i64,
}

impl Place {
    fn new(sum: Linear, variable: NodeId, factor: i64) -> Option<Self> {
        let mut rest = sum.clone();
        rest.terms.retain(|term| term.0 != variable);
        let divisor = factor.checked_abs()?;
        // factor * v + rest >= 0 from -rest / factor on, rounded up; or < 0 from the turn behind rest / -factor.
        let (sign, shift) = if factor > 0 { (-1, divisor - 1) } else { (1, divisor) };
        let shift = Linear { constant: shift, ..Linear::default() };
        Some(Self { dividend: shift.plus(&rest, sign)?, sum, factor, divisor })
    }

    /// The turn, if it is constant.
    pub fn turn(&self) -> Option<i64> {
        self.dividend.as_constant().map(|dividend| dividend.div_euclid(self.divisor))
    }
}

/// A loop that is cut in two.
pub struct Cut {
    pub id: NodeId,
    pub block: BlockId,
    pub place: Place,
    /// The bindings that the loop contains.
    pub n_bindings: usize,
    /// The bounds of the loop as sums, the upper one exclusive.
    pub bounds: [Linear; 2],
    /// Whether the place may be before the loop's first turn, or behind its last one.
    pub may_be_out: [bool; 2],
}

/// A loop around the place that is visited.
struct Open {
    id: NodeId,
    block: BlockId,
    order: usize,
    places: Vec<Place>,
    /// The cuts that were found before the loop.
    n_cuts: usize,
}

/// Finds the cuts of one round: of loops in each other, the outermost one that can be cut.
pub struct Survey<'a> {
    f: &'a Function,
    parts: &'a Parts,
    /// Whether loops with constant bounds are cut without a hint.
    takes_all: bool,
    ops: LoopOps,
    known: Intervals,
    /// The truth of conditions, where they are computed.
    truths: HashMap<NodeId, bool>,
    /// By node: its place in program order.
    order: Vec<usize>,
    /// The loops around that may be cut, and their places by variable.
    open: Vec<Open>,
    variables: HashMap<NodeId, usize>,
    n_bindings: usize,
    cuts: Vec<Cut>,
}

impl<'a> Survey<'a> {
    pub fn new(f: &'a Function, parts: &'a Parts, takes_all: bool) -> Self {
        let ops = LoopOps::new(f);
        Self {
            f,
            parts,
            takes_all,
            known: Intervals::new(f),
            truths: HashMap::new(),
            ops,
            order: vec![0; f.n_nodes()],
            open: Vec::new(),
            variables: HashMap::new(),
            n_bindings: 0,
            cuts: Vec::new(),
        }
    }

    pub fn cuts(mut self) -> Result<Vec<Cut>, PassError> {
        let f = self.f;
        // For each open block, the facts before it, and whether it never runs.
        let mut scopes: Vec<(BlockId, Mark, bool)> = Vec::new();
        let mut owners: Vec<NodeId> = Vec::new();
        let mut walk = Walk::new(f);
        while let Some(step) = walk.next(f) {
            match step {
                WalkStep::Enter(block) => {
                    let mut is_dead = scopes.last().is_some_and(|scope| scope.2);
                    let mark = self.known.mark();
                    if let Some(&owner) = owners.last() {
                        is_dead |= self.is_dead(owner, block);
                        self.enter(owner, block);
                    }
                    scopes.push((block, mark, is_dead));
                }
                WalkStep::Exit(_) => {
                    if let Some((_, mark, _)) = scopes.pop() {
                        self.known.undo(mark);
                    }
                }
                WalkStep::Leave(id) => {
                    owners.pop();
                    if self.open.last().is_some_and(|open| open.id == id)
                        && let Some(open) = self.open.pop()
                    {
                        self.leave(open);
                    }
                }
                WalkStep::Binding(id) => {
                    self.n_bindings += 1;
                    self.order[id.index()] = self.n_bindings;
                    let Some(&(block, _, is_dead)) = scopes.last() else { continue };
                    if !is_dead {
                        self.conditions(id);
                    }
                    if f.n_regions(id) > 0 {
                        owners.push(id);
                        if !is_dead && self.may_be_cut(id)? {
                            let (order, n_cuts) = (self.n_bindings, self.cuts.len());
                            self.open.push(Open { id, block, order, places: Vec::new(), n_cuts });
                        }
                        continue;
                    }
                    self.known.bind(f, &self.ops, id);
                    if self.ops.of(f, id) == Some(CoreOp::Assert)
                        && let Some(&condition) = f.operands(id).get(1)
                    {
                        self.known.assume(f, &self.ops, condition, true);
                    }
                    if let Some(truth) = self.truth_of(id) {
                        self.truths.insert(id, truth);
                    }
                }
            }
        }
        Ok(self.cuts)
    }

    /// Whether a loop may be cut, as far as its metadata and its bounds say.
    fn may_be_cut(&self, id: NodeId) -> Result<bool, PassError> {
        let Some(parts) = Loop::of(self.f, &self.ops, id) else { return Ok(false) };
        let is_fixed = [parts.min, parts.extent].iter().all(|&bound| constant_int(self.f, &self.ops, bound).is_some());
        let is_wanted = hint(self.f, id)?.unwrap_or(!is_fixed || self.takes_all);
        Ok(is_wanted || self.parts.ends.contains_key(&id))
    }

    /// The truth of a condition, from that of its parts.
    fn truth_of(&self, id: NodeId) -> Option<bool> {
        let f = self.f;
        let op = self.ops.of(f, id)?;
        match (op, &f.operands(id)[1..]) {
            // `and` is decided by a false operand, `or` by a true one.
            (CoreOp::And | CoreOp::Or, &[a, b]) => match (self.truth(a), self.truth(b)) {
                (Some(truth), _) | (_, Some(truth)) if truth == (op == CoreOp::Or) => Some(truth),
                (Some(a), Some(_)) => Some(a),
                _ => None,
            },
            (CoreOp::Not, &[a]) => self.truth(a).map(|truth| !truth),
            _ if op.negated().is_some() => self.known.truth(f, &self.ops, id),
            _ => None,
        }
    }

    fn truth(&self, condition: NodeId) -> Option<bool> {
        self.truths.get(&condition).copied().or_else(|| self.known.truth(self.f, &self.ops, condition))
    }

    /// The condition of a `when`, an `if` or a `select`.
    fn condition_of(&self, id: NodeId) -> Option<NodeId> {
        let operands = self.f.operands(id);
        match self.ops.of(self.f, id) {
            Some(CoreOp::When | CoreOp::Select) => operands.get(1).copied(),
            None if self.f.kind(id) == kind::IF => operands.first().copied(),
            _ => None,
        }
    }

    /// Whether a block is the branch that a condition does not choose.
    fn is_dead(&self, owner: NodeId, block: BlockId) -> bool {
        let truth = self.condition_of(owner).and_then(|condition| self.truth(condition));
        let is_then = self.f.regions(owner).first() == Some(&self.f.block(block).owner);
        truth.is_some_and(|truth| truth != is_then)
    }

    /// Notes where loops can be cut so that what a binding decides by is decided.
    fn conditions(&mut self, id: NodeId) {
        if matches!(self.ops.of(self.f, id), Some(CoreOp::Min | CoreOp::Max)) {
            return self.comparison(id);
        }
        let mut open: Vec<NodeId> = self.condition_of(id).into_iter().collect();
        for _ in 0..MOST_PARTS {
            let Some(id) = open.pop() else { return };
            match self.ops.of(self.f, id) {
                _ if self.truth(id).is_some() => {}
                Some(CoreOp::And | CoreOp::Or | CoreOp::Not) => open.extend(self.f.operands(id)[1..].iter().rev()),
                _ => self.comparison(id),
            }
        }
    }

    fn enter(&mut self, owner: NodeId, block: BlockId) {
        let f = self.f;
        self.known.enter(f, &self.ops, owner, block);
        let params = f.operands(f.block(block).owner);
        params.iter().for_each(|param| self.order[param.index()] = self.n_bindings);
        if self.ops.of(f, owner) != Some(CoreOp::For) {
            return;
        }
        let Some(&variable) = params.first() else { return };
        for (op, sum) in self.parts.facts.get(&variable).into_iter().flatten() {
            self.known.assume_sum(f, *op, sum.clone());
        }
        if self.open.last().is_some_and(|open| open.id == owner) {
            self.variables.insert(variable, self.open.len() - 1);
        }
    }

    /// Notes where loops can be cut because of a comparison.
    fn comparison(&mut self, id: NodeId) {
        let f = self.f;
        let Some(op) = self.ops.of(f, id) else { return };
        let &[_, a, b] = f.operands(id) else { return };
        // The least and the largest value of the rest that count, and what is added to them.
        let shifts = match op {
            CoreOp::Lt | CoreOp::Ge | CoreOp::Min | CoreOp::Max => [0, 0],
            CoreOp::Le | CoreOp::Gt => [-1, -1],
            CoreOp::Eq | CoreOp::Ne => [-1, 0],
            _ => return,
        };
        let asked = if op.negated().is_some() { op } else { CoreOp::Lt };
        if self.known.compare(f, &self.ops, asked, a, b).is_some() {
            return;
        }
        let sums = [a, b].map(|side| self.known.sum(f, &self.ops, side));
        let [Some(a), Some(b)] = &sums else { return };
        let Some(difference) = a.minus(b) else { return };
        let undivided = difference.terms.iter().filter_map(|&term| self.undivided(&difference, term));
        for (sum, scale) in [(difference.clone(), 1)].into_iter().chain(undivided).collect::<Vec<_>>() {
            self.note(&sum, shifts.map(|shift| shift * i128::from(scale)));
        }
    }

    /// A sum with a quotient as one that is not negative where it is not: of what is divided, and the rest times the divisor.
    fn undivided(&self, sum: &Linear, (value, factor): (NodeId, i64)) -> Option<(Linear, i64)> {
        let f = self.f;
        let &[_, dividend, divisor] = f.operands(value) else { return None };
        if self.ops.of(f, value) != Some(CoreOp::FloorDiv) || factor.abs() != 1 {
            return None;
        }
        let divisor = f.imm(divisor).and_then(Imm::as_int).filter(|&divisor| divisor > 0)?;
        let dividend = self.known.sum(f, &self.ops, dividend)?;
        let mut rest = sum.clone();
        rest.terms.retain(|term| term.0 != value);
        // q + r >= 0 if x >= -r * d, and r - q >= 0 if x < (r + 1) * d.
        let shift = Linear { constant: if factor < 0 { divisor - 1 } else { 0 }, ..Linear::default() };
        Some((shift.plus(&dividend, factor)?.plus(&rest, divisor)?, divisor))
    }

    /// Notes where loops can be cut so that a sum is known to be negative or not, whatever the values in them are; `shifts` are
    /// added to it for the least and the largest of these.
    fn note(&mut self, difference: &Linear, shifts: [i128; 2]) {
        let f = self.f;
        for &(variable, factor) in &difference.terms {
            let Some(&at) = self.variables.get(&variable) else { continue };
            let Some(open) = self.open.get(at).filter(|open| self.order[variable.index()] == open.order) else {
                continue;
            };
            let is_inner = |value: NodeId| value != variable && self.order[value.index()] >= open.order;
            let mut fixed = difference.clone();
            fixed.terms.retain(|&mut (value, _)| !is_inner(value));
            let (mut least, mut most) = (0_i128, 0_i128);
            for &(value, factor) in difference.terms.iter().filter(|term| is_inner(term.0)) {
                let Bounds { min, max, .. } = self.known.of(f, value);
                let ends = [min, max].map(|end| i128::from(end) * i128::from(factor));
                (least, most) = (least + ends[0].min(ends[1]), most + ends[0].max(ends[1]));
            }
            for (rest, shift) in [least, most].into_iter().zip(shifts) {
                let Ok(constant) = i64::try_from(i128::from(fixed.constant) + rest + shift) else { continue };
                let sum = Linear { constant, ..fixed.clone() };
                let (min, max) = self.known.range_of_sum(f, &sum);
                let places = &mut self.open[at].places;
                let is_new = !places.iter().any(|place| place.sum == sum);
                if min < 0 && max >= 0 && is_new && places.len() < MOST_PLACES {
                    places.extend(Place::new(sum, variable, factor));
                }
            }
        }
    }

    /// Decides about a loop whose body was visited.
    fn leave(&mut self, open: Open) {
        let Open { id, block, order, places, n_cuts } = open;
        let n_bindings = self.n_bindings - order;
        // A cut of this loop takes the place of those in it.
        let n_before: usize = self.cuts[..n_cuts].iter().map(|cut| cut.n_bindings).sum();
        let n_added = self.parts.n_added + n_before + n_bindings + 1;
        if places.is_empty() || n_added > MOST_BINDINGS {
            return;
        }
        let Some(bounds) = self.bounds(id) else { return };
        let place = match [&bounds[0], &bounds[1]].map(Linear::as_constant) {
            [Some(min), Some(end)] => {
                let is_within = |place: &Place| place.turn().is_some_and(|turn| min < turn && turn < end);
                let (mut within, mut others): (Vec<Place>, Vec<Place>) = places.into_iter().partition(is_within);
                others.retain(|place| place.turn().is_none());
                within.sort_by_key(Place::turn);
                match within.len() {
                    0 => self.symbolic(id, others),
                    n => Some(within.swap_remove(n / 2)),
                }
            }
            _ => self.symbolic(id, places),
        };
        let Some(place) = place else { return };
        let range = |dividend: &Linear| self.known.range_of_sum(self.f, dividend);
        // The quotient is less than a number if the dividend is less than the divisor times it.
        let before = place.dividend.plus(&bounds[0], -place.divisor).map(|sum| range(&sum).0 < 0);
        let behind = place.dividend.plus(&bounds[1], -place.divisor).map(|sum| range(&sum).1 >= place.divisor.into());
        let may_be_out = [before, behind].map(|may_be| may_be.unwrap_or(true));
        self.cuts.truncate(n_cuts);
        self.cuts.push(Cut { id, block, place, n_bindings: n_bindings + 1, bounds, may_be_out });
    }

    /// The first place that can be computed before a loop whose bounds, or the place, are not constants.
    fn symbolic(&self, id: NodeId, places: Vec<Place>) -> Option<Place> {
        let is_unrolled = LoopOps::loop_kind(self.f, id) == Some(LoopKind::Unrolled);
        places.into_iter().filter(|_| !is_unrolled).find(|place| self.is_exact(id, &place.dividend))
    }

    /// Whether a sum can be computed without that a part of it wraps, in the order in which [`add_up`] does it.
    fn is_exact(&self, id: NodeId, sum: &Linear) -> bool {
        let variable = Loop::of(self.f, &self.ops, id).map(|parts| parts.params[0]);
        let Some(whole) = variable.and_then(|variable| type_bounds(self.f, variable)) else { return false };
        let fits = |(min, max): (i128, i128)| min >= whole.min.into() && max <= whole.max.into();
        let mut all = (0_i128, 0_i128);
        for (value, factor) in in_order(sum) {
            let Bounds { min, max, .. } = self.known.of(self.f, value);
            let ends = [min, max].map(|end| i128::from(end) * i128::from(factor));
            let product = (ends[0].min(ends[1]), ends[0].max(ends[1]));
            all = (all.0 + product.0, all.1 + product.1);
            if !fits(product) || !fits(all) {
                return false;
            }
        }
        let constant = i128::from(sum.constant);
        fits((all.0 + constant, all.1 + constant)) && fits((constant, constant))
    }

    /// The bounds of a loop as sums, the upper one exclusive; `None` if that may wrap.
    fn bounds(&self, id: NodeId) -> Option<[Linear; 2]> {
        let (f, known) = (self.f, &self.known);
        let parts = Loop::of(f, &self.ops, id)?;
        let min = known.sum(f, &self.ops, parts.min)?;
        if let Some(&end) = self.parts.ends.get(&id) {
            return Some([min, known.sum(f, &self.ops, end)?]);
        }
        let whole = type_bounds(f, parts.params[0])?;
        let last = i128::from(known.of(f, parts.min).max) + i128::from(known.of(f, parts.extent).max);
        let end = min.plus(&known.sum(f, &self.ops, parts.extent)?, 1)?;
        (last <= whole.max.into()).then_some([min, end])
    }
}

/// The bounds of an index's type.
fn type_bounds(f: &Function, id: NodeId) -> Option<Bounds> {
    Bounds::of_type(f.type_of(id).elem()?)
}

/// The terms of a sum, those with positive factors first.
pub fn in_order(sum: &Linear) -> impl Iterator<Item = (NodeId, i64)> + '_ {
    let is_positive = |term: &&(NodeId, i64)| term.1 > 0;
    let (positive, negative) = (sum.terms.iter().filter(is_positive), sum.terms.iter());
    positive.chain(negative.filter(move |term| !is_positive(term))).copied()
}
