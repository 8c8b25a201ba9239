//! The facts about the integers of a loop program: the least and the largest value, divisibility, and the conditions
//! that hold at a place.

use crate::Linear;
use relais_ir::prim::{CoreOp, LoopOps, value_type};
use relais_ir::*;
use smallvec::SmallVec;
use std::collections::HashMap;

/// A set of integers: those of `min..=max` that are `residue` modulo `step`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// The least value.
    pub min: i64,
    /// The largest value. Below `min`, nothing is reached here.
    pub max: i64,
    /// At least 1; nothing is known of the remainder if it is 1.
    pub step: i64,
    /// From 0 to `step`, exclusive.
    pub residue: i64,
}

impl Bounds {
    /// Everything that an `int64` can be.
    pub const ANY: Self = Self::range(i64::MIN, i64::MAX);

    /// The integers from `min` to `max`.
    pub const fn range(min: i64, max: i64) -> Self {
        Self { min, max, step: 1, residue: 0 }
    }

    /// One integer.
    pub const fn one(value: i64) -> Self {
        Self::range(value, value)
    }

    /// The integers of an element type; `None` if there are some beyond `int64`, or it is not an integer type.
    pub const fn of_type(elem: ElemType) -> Option<Self> {
        if !elem.is_integer() || !elem.is_scalar() {
            return None;
        }
        let bits = elem.bits();
        match (elem.is_signed(), bits) {
            (true, 64) => Some(Self::ANY),
            (false, 64) => None,
            (true, _) => Some(Self::range(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)),
            (false, _) => Some(Self::range(0, (1 << bits) - 1)),
        }
    }

    /// The value, if there is only one.
    pub const fn value(self) -> Option<i64> {
        if self.min == self.max { Some(self.min) } else { None }
    }

    /// The values that are in both.
    pub fn and(self, other: Self) -> Self {
        let (min, max) = (self.min.max(other.min), self.max.min(other.max));
        let finer = if self.step >= other.step { self } else { other };
        Self { min, max, ..finer }
    }

    /// The values that are in one of them.
    pub fn or(self, other: Self) -> Self {
        // The least value may be none of the remainder's class: conditions narrow bounds to any number.
        let step = gcd(gcd(self.modulus(), other.modulus()), self.any() - other.any());
        Self::stepped(self.min.min(other.min), self.max.max(other.max), step, self.any())
    }

    /// The step, 0 for one value.
    fn modulus(self) -> i128 {
        if self.min == self.max { 0 } else { self.step.into() }
    }

    /// Some number of the remainder's class.
    fn any(self) -> i128 {
        if self.min == self.max { self.min.into() } else { self.residue.into() }
    }

    fn stepped(min: i64, max: i64, step: i128, any: i128) -> Self {
        match i64::try_from(step) {
            Ok(step) if step > 1 => Self { min, max, step, residue: any.rem_euclid(step.into()) as i64 },
            _ => Self::range(min, max),
        }
    }

    /// A result between two numbers, with a step: `None` if the type has not all of them.
    fn exact(min: i128, max: i128, step: i128, any: i128, whole: Self) -> Option<Self> {
        let fits = |value: i128| value >= whole.min.into() && value <= whole.max.into();
        (fits(min) && fits(max)).then(|| Self::stepped(min as i64, max as i64, step, any))
    }
}

fn gcd(mut a: i128, mut b: i128) -> i128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.abs()
}

/// The most nodes that one sum is read from.
const MOST_READ: usize = 24;
/// The most conditions that a proof looks at, the innermost first.
const MOST_FACTS: usize = 32;

/// A condition that holds: the sum is at most 0, 0, or not 0.
#[derive(Clone, Debug)]
struct Fact {
    sum: Linear,
    holds: Holds,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Holds {
    AtMostZero,
    Zero,
    NotZero,
}

/// The facts about the values of a function at the place that is visited, in program order.
///
/// A caller that walks calls [`bind`](Self::bind) at each binding, [`enter_loop`](Self::enter_loop) before the body of a loop,
/// [`assume`](Self::assume) before a branch, and [`undo`](Self::undo) when the block ends.
#[derive(Debug)]
pub struct Intervals {
    /// By node; [`None`] where nothing but the type is known.
    values: Vec<Option<Bounds>>,
    /// Values whose bounds were narrowed, with the previous ones.
    narrowed: Vec<(NodeId, Option<Bounds>)>,
    /// Conditions whose truth is known.
    decided: HashMap<NodeId, bool>,
    decided_order: Vec<(NodeId, Option<bool>)>,
    facts: Vec<Fact>,
    /// The first of equal divisions that are visible here: they stand for each other in sums. One that is not visible has the
    /// bounds of the place where it was.
    firsts: HashMap<Division, NodeId>,
    firsts_order: Vec<Division>,
    same: HashMap<NodeId, NodeId>,
    /// Whether a proof takes several conditions together.
    is_combining: bool,
}

/// A division or a product: the operator, and the operands, of which the second may be a number.
type Division = (CoreOp, NodeId, i64, NodeId);

/// The facts that held at a place; see [`Intervals::mark`].
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    n_narrowed: usize,
    n_decided: usize,
    n_facts: usize,
    n_firsts: usize,
}

impl Intervals {
    /// Nothing is known yet.
    pub fn new(f: &Function) -> Self {
        Self {
            values: vec![None; f.n_nodes()],
            narrowed: Vec::new(),
            decided: HashMap::new(),
            decided_order: Vec::new(),
            facts: Vec::new(),
            firsts: HashMap::new(),
            firsts_order: Vec::new(),
            same: HashMap::new(),
            is_combining: false,
        }
    }

    /// From here on, comparisons are proven from several conditions together, too: `i < k` from `i < j` and `j < k`. That
    /// takes longer.
    pub fn combine_conditions(&mut self) {
        self.is_combining = true;
    }

    /// The bounds of an integer; those of `int64` for other values.
    #[inline]
    pub fn of(&self, f: &Function, id: NodeId) -> Bounds {
        if let Some(imm) = f.imm(id) {
            return imm.as_int().map_or(Bounds::ANY, Bounds::one);
        }
        match self.values.get(id.index()) {
            Some(&Some(bounds)) => bounds,
            _ => type_of(f, id).unwrap_or(Bounds::ANY),
        }
    }

    fn set(&mut self, id: NodeId, bounds: Bounds) {
        if self.values.len() <= id.index() {
            self.values.resize((id.index() + 1).max(self.values.len() * 2), None);
        }
        self.values[id.index()] = Some(bounds);
    }

    // ---- walking ------------------------------------------------------------------------------------------------------

    /// The facts that hold here, to come back to them.
    pub fn mark(&self) -> Mark {
        Mark {
            n_narrowed: self.narrowed.len(),
            n_decided: self.decided_order.len(),
            n_facts: self.facts.len(),
            n_firsts: self.firsts_order.len(),
        }
    }

    /// Forgets what was assumed and bound since.
    pub fn undo(&mut self, mark: Mark) {
        while self.narrowed.len() > mark.n_narrowed
            && let Some((id, before)) = self.narrowed.pop()
        {
            self.values[id.index()] = before;
        }
        while self.decided_order.len() > mark.n_decided
            && let Some((id, before)) = self.decided_order.pop()
        {
            match before {
                Some(before) => self.decided.insert(id, before),
                None => self.decided.remove(&id),
            };
        }
        self.facts.truncate(mark.n_facts);
        for division in self.firsts_order.drain(mark.n_firsts.min(self.firsts_order.len())..) {
            self.firsts.remove(&division);
        }
    }

    /// Reads a binding, whose operands were read before.
    pub fn bind(&mut self, f: &Function, ops: &LoopOps, id: NodeId) {
        let Some(op) = ops.of(f, id) else { return };
        let operands = f.operands(id);
        if let Some(bounds) = self.result(f, op, id, &operands[1..]) {
            self.set(id, bounds);
        }
        if matches!(op, CoreOp::FloorDiv | CoreOp::FloorMod | CoreOp::Div | CoreOp::Mod | CoreOp::Mul)
            && let [a, b] = operands[1..]
            && type_of(f, id).is_some()
        {
            // Divisors are most often numbers, and equal numbers are different nodes.
            let divisor = match f.imm(b).and_then(Imm::as_int) {
                Some(number) => (number, NodeId::ABSENT),
                None => (0, self.first(b)),
            };
            let key = (op, self.first(a), divisor.0, divisor.1);
            match self.firsts.get(&key) {
                Some(&first) if first != id => drop(self.same.insert(id, first)),
                Some(_) => {}
                None => {
                    self.firsts.insert(key, id);
                    self.firsts_order.push(key);
                }
            }
        }
    }

    /// The first of the values that are equal to this one wherever both are there.
    fn first(&self, id: NodeId) -> NodeId {
        match self.same.is_empty() {
            true => id,
            false => self.same.get(&id).copied().unwrap_or(id),
        }
    }

    /// Notes the variable of a loop whose body is visited next, and that it is visited at all.
    pub fn enter_loop(&mut self, f: &Function, ops: &LoopOps, var: NodeId, min: NodeId, extent: NodeId) {
        let (lower, turns) = (self.of(f, min), self.of(f, extent));
        let whole = type_of(f, var).unwrap_or(Bounds::ANY);
        let last = i128::from(lower.max) + i128::from(turns.max) - 1;
        let max = i64::try_from(last).unwrap_or(i64::MAX).min(whole.max).max(lower.min);
        // Where the end wraps, so may the variable.
        if last <= whole.max.into() {
            self.set(var, Bounds::range(lower.min, max));
        }
        if f.imm(extent).is_none() {
            let sum = self.shared_sum(f, ops, extent);
            // 1 - extent <= 0
            let fact = Linear { constant: 1, ..Linear::default() };
            if let Some(sum) = sum.and_then(|sum| fact.minus(&sum)) {
                self.add_fact(f, sum, Holds::AtMostZero);
            }
        }
    }

    /// Notes what holds in a block of a loop or a conditional.
    pub fn enter(&mut self, f: &Function, ops: &LoopOps, owner: NodeId, block: BlockId) {
        let (function, operands) = (f.block(block).owner, f.operands(owner));
        match (ops.of(f, owner), operands, f.operands(function)) {
            (Some(CoreOp::For), &[_, min, extent, ..], &[var, ..]) => self.enter_loop(f, ops, var, min, extent),
            (Some(CoreOp::When), &[_, condition, ..], _) | (None, &[condition, ..], _)
                if f.kind(owner) == kind::IF || ops.of(f, owner).is_some() =>
            {
                self.assume(f, ops, condition, f.regions(owner).first() == Some(&function));
            }
            _ => {}
        }
    }

    /// Notes that a condition holds, or does not.
    pub fn assume(&mut self, f: &Function, ops: &LoopOps, condition: NodeId, truth: bool) {
        let mut open: SmallVec<[(NodeId, bool); 8]> = SmallVec::from_slice(&[(condition, truth)]);
        let mut n_read = 0;
        while let Some((id, truth)) = open.pop() {
            n_read += 1;
            if n_read > MOST_READ {
                return;
            }
            let before = self.decided.insert(id, truth);
            self.decided_order.push((id, before));
            let (Some(op), args) = (ops.of(f, id), f.operands(id)) else { continue };
            let args = &args[1..];
            match (op, args) {
                (CoreOp::And, &[a, b]) if truth => open.extend([(a, true), (b, true)]),
                (CoreOp::Or, &[a, b]) if !truth => open.extend([(a, false), (b, false)]),
                (CoreOp::Not, &[a]) => open.push((a, !truth)),
                (_, &[a, b]) if op.negated().is_some() && type_of(f, a).is_some() => {
                    let op = if truth { Some(op) } else { op.negated() };
                    let difference = self.difference(f, ops, a, b);
                    if let (Some(op), Some(difference)) = (op, difference) {
                        self.assume_sum(f, op, difference);
                    }
                }
                _ => {}
            }
        }
    }

    /// Notes how a sum compares with 0.
    pub fn assume_sum(&mut self, f: &Function, op: CoreOp, sum: Linear) {
        let negative = |sum: &Linear| Linear::default().minus(sum);
        let plus_one = |mut sum: Linear| sum.add_constant(1).then_some(sum);
        let (sum, holds) = match op {
            CoreOp::Eq => (Some(sum), Holds::Zero),
            CoreOp::Ne => (Some(sum), Holds::NotZero),
            CoreOp::Le => (Some(sum), Holds::AtMostZero),
            CoreOp::Lt => (plus_one(sum), Holds::AtMostZero),
            CoreOp::Ge => (negative(&sum), Holds::AtMostZero),
            CoreOp::Gt => (negative(&sum).and_then(plus_one), Holds::AtMostZero),
            _ => return,
        };
        if let Some(sum) = sum {
            self.add_fact(f, sum, holds);
        }
    }

    fn add_fact(&mut self, f: &Function, sum: Linear, holds: Holds) {
        // Bounds of single values say it directly.
        for &(value, factor) in &sum.terms {
            let mut rest = sum.clone();
            rest.terms.retain(|term| term.0 != value);
            let (rest_min, rest_max) = self.range_of(f, &rest);
            let known = self.of(f, value);
            let mut narrowed = known;
            let factor = i128::from(factor);
            // factor * value <= -rest_min
            let at_most = |bounds: &mut Bounds, factor: i128, limit: i128| {
                let clamp = |value: i128| value.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
                match factor > 0 {
                    true => bounds.max = bounds.max.min(clamp(limit.div_euclid(factor))),
                    false => bounds.min = bounds.min.max(clamp(-(limit.div_euclid(-factor)))),
                }
            };
            match holds {
                Holds::AtMostZero => at_most(&mut narrowed, factor, rest_min.saturating_neg()),
                Holds::Zero => {
                    at_most(&mut narrowed, factor, rest_min.saturating_neg());
                    at_most(&mut narrowed, -factor, rest_max);
                }
                Holds::NotZero if rest.terms.is_empty() && factor.abs() == 1 => {
                    let hole = -i128::from(rest.constant) * factor;
                    if i128::from(narrowed.min) == hole {
                        narrowed.min = narrowed.min.saturating_add(1);
                    } else if i128::from(narrowed.max) == hole {
                        narrowed.max = narrowed.max.saturating_sub(1);
                    }
                }
                Holds::NotZero => {}
            }
            if narrowed != known {
                self.narrowed.push((value, self.values.get(value.index()).copied().flatten()));
                self.set(value, narrowed);
            }
        }
        self.facts.push(Fact { sum, holds });
    }

    // ---- asking -------------------------------------------------------------------------------------------------------

    /// The truth of a condition, if it is known.
    pub fn truth(&self, f: &Function, ops: &LoopOps, condition: NodeId) -> Option<bool> {
        if let Some(imm) = f.imm(condition) {
            return imm.as_bool();
        }
        if let Some(&truth) = self.decided.get(&condition) {
            return Some(truth);
        }
        let op = ops.of(f, condition)?;
        match (op, &f.operands(condition)[1..]) {
            (_, &[a, b]) if op.negated().is_some() => self.compare(f, ops, op, a, b),
            _ => None,
        }
    }

    /// The result of comparing two integers, if it is known.
    pub fn compare(&self, f: &Function, ops: &LoopOps, op: CoreOp, a: NodeId, b: NodeId) -> Option<bool> {
        type_of(f, a)?;
        let (min, max, is_not_zero) = match self.difference(f, ops, a, b) {
            Some(difference) => self.prove(f, &difference),
            None => {
                let (a, b) = (self.of(f, a), self.of(f, b));
                (i128::from(a.min) - i128::from(b.max), i128::from(a.max) - i128::from(b.min), false)
            }
        };
        let decided = |yes: bool, no: bool| match (yes, no) {
            (true, false) => Some(true),
            (false, true) => Some(false),
            // Both: nothing comes here.
            _ => None,
        };
        let differs = is_not_zero || min > 0 || max < 0;
        match op {
            CoreOp::Lt => decided(max < 0, min >= 0),
            CoreOp::Le => decided(max <= 0, min > 0),
            CoreOp::Gt => decided(min > 0, max <= 0),
            CoreOp::Ge => decided(min >= 0, max < 0),
            CoreOp::Eq => decided(min == 0 && max == 0 && !is_not_zero, differs),
            CoreOp::Ne => decided(differs, min == 0 && max == 0 && !is_not_zero),
            _ => None,
        }
    }

    /// The least and largest value of a sum, and whether it is certainly not 0, from bounds and conditions.
    fn prove(&self, f: &Function, sum: &Linear) -> (i128, i128, bool) {
        let alone = self.prove_by_one(f, sum);
        if self.is_combining && !self.facts.is_empty() { self.prove_by_several(f, sum, alone) } else { alone }
    }

    /// The same, from one condition at a time.
    fn prove_by_one(&self, f: &Function, sum: &Linear) -> (i128, i128, bool) {
        let (mut min, mut max) = self.range_of(f, sum);
        let mut is_not_zero = self.excludes_zero(f, sum);
        for fact in self.facts.iter().rev().take(MOST_FACTS) {
            let constant = i128::from(fact.sum.constant);
            let ours = i128::from(sum.constant);
            for sign in [1, -1] {
                let Some(rest) = sum.without(&fact.sum, sign) else { continue };
                let (rest_min, rest_max) = self.range_of(f, &rest);
                // The terms of the fact are at most, or equal to, or not its constant's negative.
                let limit = i128::from(sign) * -constant + ours;
                let (least, most) = (limit.saturating_add(rest_min), limit.saturating_add(rest_max));
                match fact.holds {
                    Holds::Zero => (min, max) = (min.max(least), max.min(most)),
                    Holds::AtMostZero if sign > 0 => max = max.min(most),
                    Holds::AtMostZero => min = min.max(least),
                    Holds::NotZero => is_not_zero |= limit == 0 && rest.terms.is_empty(),
                }
            }
        }
        if is_not_zero {
            min += i128::from(min == 0);
            max -= i128::from(max == 0);
        }
        (min, max, is_not_zero)
    }

    /// The least and the largest value of a sum, without the conditions between values.
    fn range_of(&self, f: &Function, sum: &Linear) -> (i128, i128) {
        sum.terms.iter().fold((sum.constant.into(), sum.constant.into()), |(min, max), &(value, factor)| {
            let bounds = self.of(f, value);
            let [a, b] = [bounds.min, bounds.max].map(|bound| i128::from(bound) * i128::from(factor));
            (min.saturating_add(a.min(b)), max.saturating_add(a.max(b)))
        })
    }

    /// Whether the remainders exclude that a sum is 0.
    fn excludes_zero(&self, f: &Function, sum: &Linear) -> bool {
        let mut step = 0;
        let mut any = i128::from(sum.constant);
        for &(value, factor) in &sum.terms {
            let bounds = self.of(f, value);
            step = gcd(step, bounds.modulus() * i128::from(factor));
            let Some(sum) = any.checked_add(bounds.any() * i128::from(factor)) else { return false };
            any = sum;
        }
        step > 1 && any % step != 0
    }

    /// The least and the largest value of a sum, from bounds and conditions.
    pub fn range_of_sum(&self, f: &Function, sum: &Linear) -> (i128, i128) {
        let (min, max, _) = self.prove(f, sum);
        (min, max)
    }

    /// The bounds of a sum of values, if the type has them all.
    pub fn of_sum(&self, f: &Function, sum: &Linear) -> Option<Bounds> {
        let (min, max) = self.range_of(f, sum);
        Some(Bounds::range(i64::try_from(min).ok()?, i64::try_from(max).ok()?))
    }

    /// `a - b` as a sum of values: exact, no part of it wraps.
    pub fn difference(&self, f: &Function, ops: &LoopOps, a: NodeId, b: NodeId) -> Option<Linear> {
        self.shared_sum(f, ops, a)?.minus(&self.shared_sum(f, ops, b)?)
    }

    /// As [`sum`](Self::sum), in which equal divisions are one value.
    fn shared_sum(&self, f: &Function, ops: &LoopOps, id: NodeId) -> Option<Linear> {
        let sum = self.sum(f, ops, id)?;
        if self.same.is_empty() {
            return Some(sum);
        }
        let mut shared = Linear { constant: sum.constant, ..Linear::default() };
        sum.terms.iter().all(|&(value, factor)| shared.add(self.first(value), factor)).then_some(shared)
    }

    /// An integer as a sum of values. Exact: what could wrap is a value of its own.
    pub fn sum(&self, f: &Function, ops: &LoopOps, id: NodeId) -> Option<Linear> {
        self.read(f, ops, id, |bounds, f, op, id, args| bounds.result_exact(f, op, id, args).is_some())
    }

    /// The same modulo 2 to the number of bits: sums, differences and products wrap, and their parts may as well.
    pub fn wrapping_sum(&self, f: &Function, ops: &LoopOps, id: NodeId) -> Option<Linear> {
        self.read(f, ops, id, |_, _, _, _, _| true)
    }

    fn read(
        &self,
        f: &Function,
        ops: &LoopOps,
        id: NodeId,
        may_open: impl Fn(&Self, &Function, CoreOp, NodeId, &[NodeId]) -> bool,
    ) -> Option<Linear> {
        let mut sum = Linear::default();
        let mut open: SmallVec<[(NodeId, i64); 8]> = SmallVec::from_slice(&[(id, 1)]);
        let mut n_read = 0;
        while let Some((id, factor)) = open.pop() {
            if let Some(number) = f.imm(id).and_then(Imm::as_int) {
                sum.add_constant(number.checked_mul(factor)?).then_some(())?;
                continue;
            }
            if let Some(&Some(Bounds { min, max, .. })) = self.values.get(id.index())
                && min == max
            {
                sum.add_constant(min.checked_mul(factor)?).then_some(())?;
                continue;
            }
            n_read += 1;
            let op = ops.of(f, id).filter(|_| n_read <= MOST_READ);
            let args = if op.is_some() { &f.operands(id)[1..] } else { &[] };
            let number = |id: NodeId| f.imm(id).and_then(Imm::as_int);
            let parts: Option<SmallVec<[(NodeId, i64); 2]>> = match (op, args) {
                (Some(CoreOp::Add), &[a, b]) => Some(SmallVec::from_slice(&[(a, 1), (b, 1)])),
                (Some(CoreOp::Sub), &[a, b]) => Some(SmallVec::from_slice(&[(a, 1), (b, -1)])),
                (Some(CoreOp::Neg), &[a]) => Some(SmallVec::from_slice(&[(a, -1)])),
                (Some(CoreOp::Mul), &[a, b]) => match (number(a), number(b)) {
                    (_, Some(factor)) => Some(SmallVec::from_slice(&[(a, factor)])),
                    (Some(factor), _) => Some(SmallVec::from_slice(&[(b, factor)])),
                    _ => None,
                },
                _ => None,
            };
            match (parts, op) {
                (Some(parts), Some(op)) if may_open(self, f, op, id, args) => {
                    for (part, by) in parts {
                        open.push((part, factor.checked_mul(by)?));
                    }
                }
                _ => sum.add(id, factor).then_some(())?,
            }
        }
        Some(sum)
    }
}

/// The bounds of a scalar integer's type.
fn type_of(f: &Function, id: NodeId) -> Option<Bounds> {
    let value = value_type(f.type_of(id)).filter(|value| value.lanes.is_none())?;
    Bounds::of_type(value.elem)
}

mod combined;
mod results;
#[cfg(test)]
mod tests;
