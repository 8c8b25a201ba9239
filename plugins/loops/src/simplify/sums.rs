//! Sums and divisions of integers.

use super::{Simplify, number};
use relais_plugin_api::{
    ir::Imm,
    prelude::*,
    prim::{Bounds, CoreOp, Linear, PrimBuilder},
};

impl Simplify {
    /// A sum, if it can be written with fewer operations.
    pub(super) fn linear(
        &mut self,
        cx: &mut RebuildCx<'_>,
        op: CoreOp,
        id: NodeId,
        elem: ElemType,
    ) -> Result<Option<NodeId>, PassError> {
        let f = cx.function();
        let args = &f.operands(id)[1..];
        let is_sum = |id: NodeId| {
            matches!(self.ops.of(f, id), Some(CoreOp::Add | CoreOp::Sub | CoreOp::Mul | CoreOp::Neg))
                && f.operands(id).len() > 1
        };
        // A sum of two values that are not sums themselves is as simple as it can be, unless they are the same.
        let is_plain = args.iter().all(|&arg| !is_sum(arg)) && !matches!(args, [a, b] if a == b);
        if is_plain && !(op == CoreOp::Sub && args.iter().any(|&arg| f.imm(arg).is_some())) {
            return Ok(None);
        }
        let Some(sum) = self.known.wrapping_sum(f, &self.ops, id) else { return Ok(None) };
        if n_operations(&sum) >= self.n_operations_of(f, id) {
            return Ok(None);
        }
        self.write(cx, &sum, elem).map(Some)
    }

    /// How many operations a sum takes as it is, as far as nothing else needs its parts.
    fn n_operations_of(&self, f: &Function, id: NodeId) -> usize {
        let mut n = 0;
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            let args = match self.ops.of(f, id) {
                Some(CoreOp::Add | CoreOp::Sub | CoreOp::Neg) => &f.operands(id)[1..],
                Some(CoreOp::Mul) if f.operands(id)[1..].iter().any(|&arg| f.imm(arg).is_some()) => {
                    &f.operands(id)[1..]
                }
                _ => continue,
            };
            n += 1;
            if n > MOST_OPERATIONS {
                return n;
            }
            open.extend_from_slice(args);
        }
        n
    }

    /// Divisions by a positive number.
    pub(super) fn division(
        &mut self,
        cx: &mut RebuildCx<'_>,
        op: CoreOp,
        a: NodeId,
        by: i64,
        elem: ElemType,
    ) -> Result<Option<NodeId>, PassError> {
        let f = cx.function();
        let is_quotient = matches!(op, CoreOp::FloorDiv | CoreOp::Div);
        if by == 1 {
            return Ok(if is_quotient { Some(a) } else { Imm::int(elem, 0).map(|imm| number(cx, imm)) });
        }
        // Rounding towards zero is rounding down where nothing is negative.
        if matches!(op, CoreOp::Div | CoreOp::Mod) && self.known.of(f, a).min < 0 {
            return Ok(None);
        }
        let Some(sum) = self.known.sum(f, &self.ops, a) else { return Ok(None) };
        let (mut whole, mut rest) = (Linear::default(), Linear::default());
        for &(value, factor) in &sum.terms {
            match factor % by {
                0 => whole.terms.push((value, factor / by)),
                _ => rest.terms.push((value, factor)),
            }
        }
        (whole.constant, rest.constant) = (sum.constant.div_euclid(by), sum.constant.rem_euclid(by));
        let (Some(bounds), Some(all)) = (self.known.of_sum(f, &rest), Bounds::of_type(elem)) else { return Ok(None) };
        // The whole is not negative, but the rest may be.
        let op = match op {
            CoreOp::Div if bounds.min < 0 => CoreOp::FloorDiv,
            CoreOp::Mod if bounds.min < 0 => CoreOp::FloorMod,
            _ => op,
        };
        let decided = (bounds.min.div_euclid(by) == bounds.max.div_euclid(by)).then(|| bounds.min.div_euclid(by));
        match (is_quotient, decided) {
            (true, Some(more)) => {
                let Some(constant) = whole.constant.checked_add(more) else { return Ok(None) };
                whole.constant = constant;
                self.write(cx, &whole, elem).map(Some)
            }
            (false, Some(less)) => {
                let Some(constant) = rest.constant.checked_sub(less.saturating_mul(by)) else { return Ok(None) };
                rest.constant = constant;
                self.write(cx, &rest, elem).map(Some)
            }
            // The rest must not wrap where it is divided.
            (_, None) if whole == Linear::default() || bounds.min < all.min || bounds.max > all.max => Ok(None),
            (true, None) => {
                if n_operations(&whole) + n_operations(&rest) > self.n_operations_of(f, a) + 1 {
                    return Ok(None);
                }
                let rest = self.write(cx, &rest, elem)?;
                let quotient = self.operation(cx, op, rest, by, elem)?;
                whole_plus(self, cx, whole, quotient, elem).map(Some)
            }
            (false, None) => {
                let rest = self.write(cx, &rest, elem)?;
                self.operation(cx, op, rest, by, elem).map(Some)
            }
        }
    }

    /// `a op by`, noted.
    fn operation(
        &mut self,
        cx: &mut RebuildCx<'_>,
        op: CoreOp,
        a: NodeId,
        by: i64,
        elem: ElemType,
    ) -> Result<NodeId, PassError> {
        let mut b = PrimBuilder::before(cx, &mut self.ops);
        let by = Imm::int(elem, by).map(|imm| b.imm(imm)).unwrap_or(a);
        let id = b.op(op, &[a, by]);
        b.finish()?;
        self.note(cx, id);
        Ok(id)
    }

    /// A sum in few operations: its values with their factors in the order of their ids, then the number.
    fn write(&mut self, cx: &mut RebuildCx<'_>, sum: &Linear, elem: ElemType) -> Result<NodeId, PassError> {
        let imm = |value: i64| Imm::int(elem, value).unwrap_or(Imm::index(value));
        let Some(&(first, factor)) = sum.terms.iter().find(|term| term.1 > 0).or(sum.terms.first()) else {
            return Ok(number(cx, imm(sum.constant)));
        };
        let mut made = Vec::new();
        let mut b = PrimBuilder::before(cx, &mut self.ops);
        let mut times = |b: &mut PrimBuilder<'_>, value: NodeId, factor: i64| match factor {
            1 => value,
            _ => {
                let factor = b.imm(imm(factor));
                made.push(b.op(CoreOp::Mul, &[value, factor]));
                made[made.len() - 1]
            }
        };
        let mut total = match factor {
            -1 => {
                let zero = b.imm(imm(0));
                b.op(CoreOp::Sub, &[zero, first])
            }
            _ => times(&mut b, first, factor),
        };
        let mut totals = vec![total];
        for &(value, factor) in sum.terms.iter().filter(|term| term.0 != first) {
            let (op, factor) = match factor {
                i64::MIN..0 if factor != i64::MIN => (CoreOp::Sub, -factor),
                _ => (CoreOp::Add, factor),
            };
            let term = times(&mut b, value, factor);
            total = b.op(op, &[total, term]);
            totals.push(total);
        }
        if sum.constant != 0 {
            let (op, constant) = match sum.constant {
                i64::MIN..0 if sum.constant != i64::MIN => (CoreOp::Sub, -sum.constant),
                _ => (CoreOp::Add, sum.constant),
            };
            let constant = b.imm(imm(constant));
            total = b.op(op, &[total, constant]);
            totals.push(total);
        }
        b.finish()?;
        made.extend(totals);
        // Operands come before what uses them.
        made.sort_unstable();
        made.into_iter().filter(|&id| id != first).for_each(|id| self.note(cx, id));
        Ok(total)
    }
}

/// `whole + value`.
fn whole_plus(
    simplify: &mut Simplify,
    cx: &mut RebuildCx<'_>,
    mut whole: Linear,
    value: NodeId,
    elem: ElemType,
) -> Result<NodeId, PassError> {
    match whole.terms.binary_search_by_key(&value, |term| term.0) {
        Ok(at) => whole.terms[at].1 += 1,
        Err(at) => whole.terms.insert(at, (value, 1)),
    }
    simplify.write(cx, &whole, elem)
}

/// The most operations of a sum that are counted.
const MOST_OPERATIONS: usize = 24;

/// The operations that a sum takes.
fn n_operations(sum: &Linear) -> usize {
    let n_products = sum.terms.iter().filter(|term| term.1 != 1 && term.1 != -1).count();
    let is_negative = !sum.terms.is_empty() && sum.terms.iter().all(|term| term.1 < 0);
    let n_summands = sum.terms.len() + usize::from(sum.constant != 0);
    n_products + n_summands.saturating_sub(1) + usize::from(is_negative)
}
