//! The bounds of results, by those of operands.

use super::{Bounds, Intervals, gcd, type_of};
use relais_ir::{prim::CoreOp, *};

impl Intervals {
    /// The bounds of a result; `None` if they are those of its type.
    pub(super) fn result(&self, f: &Function, op: CoreOp, id: NodeId, args: &[NodeId]) -> Option<Bounds> {
        type_of(f, id)?;
        let of = |id| self.of(f, id);
        match (op, args) {
            (CoreOp::Select, &[_, a, b]) => Some(of(a).or(of(b))),
            (CoreOp::Cast, &[a]) => {
                type_of(f, a)?;
                let (to, bounds) = (type_of(f, id)?, of(a));
                (bounds.min >= to.min && bounds.max <= to.max).then_some(bounds)
            }
            (CoreOp::Dim, &[memory]) => {
                let AttrValue::Int(axis) = f.attrs(id).get("axis")? else { return None };
                let dim = *f.type_of(memory).shape()?.get(usize::try_from(axis).ok()?)?;
                match Dim::from(dim).known() {
                    Some(size) => Some(Bounds::one(i64::try_from(size).ok()?)),
                    None => Some(Bounds::range(0, i64::MAX)),
                }
            }
            _ => self.result_exact(f, op, id, args),
        }
    }

    /// The bounds of the result of arithmetic that certainly does not wrap.
    pub(super) fn result_exact(&self, f: &Function, op: CoreOp, id: NodeId, args: &[NodeId]) -> Option<Bounds> {
        let whole = type_of(f, id)?;
        let of = |id| self.of(f, id);
        let wide = |value: i64| i128::from(value);
        match (op, args) {
            (CoreOp::Add, &[a, b]) => {
                let (a, b) = (of(a), of(b));
                let step = gcd(a.modulus(), b.modulus());
                Bounds::exact(wide(a.min) + wide(b.min), wide(a.max) + wide(b.max), step, a.any() + b.any(), whole)
            }
            (CoreOp::Sub, &[a, b]) => {
                let (a, b) = (of(a), of(b));
                let step = gcd(a.modulus(), b.modulus());
                Bounds::exact(wide(a.min) - wide(b.max), wide(a.max) - wide(b.min), step, a.any() - b.any(), whole)
            }
            (CoreOp::Neg, &[a]) => {
                let a = of(a);
                Bounds::exact(-wide(a.max), -wide(a.min), a.modulus(), -a.any(), whole)
            }
            (CoreOp::Mul, &[a, b]) => {
                let (a, b) = (of(a), of(b));
                let corners = [a.min, a.max].map(|x| [b.min, b.max].map(|y| wide(x) * wide(y)));
                let corners = corners.as_flattened();
                let (min, max) = (*corners.iter().min()?, *corners.iter().max()?);
                // (m·p + r)(n·q + s) is rs modulo gcd(mn, ms, nr)
                let (m, n, r, s) = (a.modulus(), b.modulus(), a.any(), b.any());
                let step = match (m.checked_mul(n), m.checked_mul(s), n.checked_mul(r)) {
                    (Some(mn), Some(ms), Some(nr)) => gcd(gcd(mn, ms), nr),
                    _ => 1,
                };
                Bounds::exact(min, max, step, r.checked_mul(s).unwrap_or(0), whole)
            }
            (CoreOp::Min, &[a, b]) => {
                let (a, b) = (of(a), of(b));
                Some(Bounds { min: a.min.min(b.min), max: a.max.min(b.max), ..a.or(b) })
            }
            (CoreOp::Max, &[a, b]) => {
                let (a, b) = (of(a), of(b));
                Some(Bounds { min: a.min.max(b.min), max: a.max.max(b.max), ..a.or(b) })
            }
            (CoreOp::Abs, &[a]) => {
                let a = of(a);
                let largest = wide(a.min).abs().max(wide(a.max).abs());
                let least = if a.min <= 0 && a.max >= 0 { 0 } else { wide(a.min).abs().min(wide(a.max).abs()) };
                Bounds::exact(least, largest, 1, 0, whole)
            }
            (CoreOp::FloorDiv | CoreOp::Div, &[a, b]) => {
                let (a, b) = (of(a), Some(of(b)).filter(|b| b.min > 0 && b.max >= b.min)?);
                let quotient = |a: i64, b: i64| if op == CoreOp::FloorDiv { a.div_euclid(b) } else { a / b };
                // The larger the divisor, the nearer to zero, or to -1.
                let min = quotient(a.min, if a.min < 0 { b.min } else { b.max });
                let max = quotient(a.max, if a.max < 0 { b.max } else { b.min });
                Some(Bounds::range(min, max))
            }
            (CoreOp::FloorMod, &[a, b]) => {
                let (a, b) = (of(a), of(b));
                match b.value() {
                    Some(b) if b > 0 && a.min.div_euclid(b) == a.max.div_euclid(b) => {
                        Some(Bounds::range(a.min.rem_euclid(b), a.max.rem_euclid(b)))
                    }
                    Some(b) if b > 0 => {
                        let step = gcd(a.modulus(), b.into());
                        Some(Bounds::stepped(0, b - 1, step, a.any()))
                    }
                    None if b.min > 0 => Some(Bounds::range(0, b.max - 1)),
                    _ => None,
                }
            }
            (CoreOp::Mod, &[a, b]) => {
                let (a, b) = (of(a), of(b).value().filter(|&b| b > 0)?);
                match a.min >= 0 {
                    true if a.max < b => Some(a),
                    true => Some(Bounds::range(0, b - 1)),
                    false => Some(Bounds::range((1 - b).max(a.min), (b - 1).min(a.max.max(0)))),
                }
            }
            _ => None,
        }
    }
}
