//! Conditions: those that are decided, and the three options.

use super::{Simplify, number};
use crate::program::are_same_values;
use relais_plugin_api::{
    ir::Imm,
    prelude::*,
    prim::{CoreOp, LoopOps, PrimBuilder, Scalar, value_type},
};

/// How deep conditions in each other are looked at.
const MOST_NESTED: u32 = 8;
/// The most conditions that are joined in a normal form.
const MOST_JOINED: usize = 16;
/// The most conditions in it, each as often as it is there.
const MOST_LITERALS: usize = 64;

/// The outcome for a condition.
enum Truth {
    Known(bool),
    Value(NodeId),
}

/// A condition, or its negative.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Literal {
    id: NodeId,
    truth: bool,
}

impl Literal {
    fn negated(self) -> Self {
        Self { truth: !self.truth, ..self }
    }
}

/// Conditions of which one has to hold.
type Clause = Vec<Literal>;

impl Simplify {
    /// A simpler condition, if there is one.
    pub(super) fn condition(
        &mut self,
        cx: &mut RebuildCx<'_>,
        op: CoreOp,
        id: NodeId,
    ) -> Result<Option<NodeId>, PassError> {
        let f = cx.function();
        let args = &f.operands(id)[1..];
        match self.decided(f, op, id, args) {
            Some(Truth::Known(truth)) => return Ok(Some(number(cx, Imm::bool(truth)))),
            Some(Truth::Value(by)) => return Ok(Some(by)),
            None => {}
        }
        let Some(logic) = logic(f, &self.ops, id) else { return Ok(None) };
        let mut by = None;
        if let (true, Logic::Junction(op, a, b)) = (self.config.apply_constraints_to_boolean_branches, logic) {
            by = self.in_branches(cx, op, a, b)?;
        }
        let is_inner = self.is_inner.get(id.index()) == Some(&true);
        if self.config.convert_boolean_to_and_of_ors && !is_inner {
            let normal = self.normal_form(cx, by.unwrap_or(id))?;
            by = normal.or(by);
        }
        Ok(by)
    }

    /// Comparisons and logic whose outcome is known.
    fn decided(&self, f: &Function, op: CoreOp, id: NodeId, args: &[NodeId]) -> Option<Truth> {
        if op.negated().is_some() {
            return self.known.truth(f, &self.ops, id).map(Truth::Known);
        }
        match (op, args) {
            (CoreOp::And | CoreOp::Or, &[a, b]) if is_bool(f, a) => {
                // `and` is decided by a false operand, `or` by a true one.
                let decides = op == CoreOp::Or;
                let (x, y) = (self.known.truth(f, &self.ops, a), self.known.truth(f, &self.ops, b));
                match (x, y) {
                    (Some(truth), _) | (_, Some(truth)) if truth == decides => Some(Truth::Known(decides)),
                    (Some(_), Some(_)) => Some(Truth::Known(!decides)),
                    (Some(_), None) => Some(Truth::Value(b)),
                    (None, Some(_)) => Some(Truth::Value(a)),
                    (None, None) => None,
                }
            }
            (CoreOp::Not, &[a]) if is_bool(f, a) => self.known.truth(f, &self.ops, a).map(|truth| Truth::Known(!truth)),
            _ => None,
        }
    }

    // ---- one side of `and` and `or` in the other ----------------------------------------------------------------------

    /// In `a & b`, each side matters only where the other one holds, and in `a | b`, where it does not.
    fn in_branches(
        &mut self,
        cx: &mut RebuildCx<'_>,
        op: CoreOp,
        a: NodeId,
        b: NodeId,
    ) -> Result<Option<NodeId>, PassError> {
        let truth = op == CoreOp::And;
        let y = self.where_it_is(cx, a, truth, b)?;
        let x = self.where_it_is(cx, y, truth, a)?;
        if (x, y) == (a, b) {
            return Ok(None);
        }
        self.junction(cx, op, x, y).map(Some)
    }

    /// A condition that is the same where another one holds, or does not.
    fn where_it_is(
        &mut self,
        cx: &mut RebuildCx<'_>,
        given: NodeId,
        truth: bool,
        id: NodeId,
    ) -> Result<NodeId, PassError> {
        if cx.function().imm(given).is_some() {
            return Ok(id);
        }
        let mark = self.known.mark();
        self.known.assume(cx.function(), &self.ops, given, truth);
        let by = self.restricted(cx, id, MOST_NESTED);
        self.known.undo(mark);
        by
    }

    /// A condition that is the same by the facts that hold here.
    fn restricted(&mut self, cx: &mut RebuildCx<'_>, id: NodeId, depth: u32) -> Result<NodeId, PassError> {
        let f = cx.function();
        if f.imm(id).is_some() || depth == 0 {
            return Ok(id);
        }
        if let Some(truth) = self.known.truth(f, &self.ops, id) {
            return Ok(number(cx, Imm::bool(truth)));
        }
        match logic(f, &self.ops, id) {
            Some(Logic::Junction(op, a, b)) => {
                let x = self.restricted(cx, a, depth - 1)?;
                let y = self.restricted(cx, b, depth - 1)?;
                if (x, y) == (a, b) { Ok(id) } else { self.junction(cx, op, x, y) }
            }
            Some(Logic::Not(a)) => {
                let x = self.restricted(cx, a, depth - 1)?;
                match cx.function().imm(x).and_then(Imm::as_bool) {
                    _ if x == a => Ok(id),
                    Some(truth) => Ok(number(cx, Imm::bool(!truth))),
                    None => self.make(cx, CoreOp::Not, &[x]),
                }
            }
            None => Ok(id),
        }
    }

    /// `a & b` or `a | b`, of which one may be a number.
    fn junction(&mut self, cx: &mut RebuildCx<'_>, op: CoreOp, a: NodeId, b: NodeId) -> Result<NodeId, PassError> {
        let truth = |id: NodeId| cx.function().imm(id).and_then(Imm::as_bool);
        let decides = op == CoreOp::Or;
        match (truth(a), truth(b)) {
            (Some(truth), _) => Ok(if truth == decides { a } else { b }),
            (_, Some(truth)) => Ok(if truth == decides { b } else { a }),
            (None, None) => self.make(cx, op, &[a, b]),
        }
    }

    fn make(&mut self, cx: &mut RebuildCx<'_>, op: CoreOp, args: &[NodeId]) -> Result<NodeId, PassError> {
        let mut b = PrimBuilder::before(cx, &mut self.ops);
        let id = b.op(op, args);
        b.finish()?;
        self.note(cx, id);
        Ok(id)
    }

    // ---- the normal form ----------------------------------------------------------------------------------------------

    /// A condition as an `and` of `or`s, with what the parts say of each other; `None` if it is that already.
    fn normal_form(&mut self, cx: &mut RebuildCx<'_>, id: NodeId) -> Result<Option<NodeId>, PassError> {
        let f = cx.function();
        let mut is_normal = true;
        let Some(clauses) = clauses(f, &self.ops, id, true, MOST_NESTED, &mut is_normal) else { return Ok(None) };
        let (clauses, is_simpler) = self.simplified(f, clauses);
        if is_normal && !is_simpler {
            return Ok(None);
        }
        let mut all = number(cx, Imm::bool(true));
        for clause in clauses {
            let mut any = number(cx, Imm::bool(false));
            for literal in clause {
                let literal = self.literal(cx, literal)?;
                any = self.junction(cx, CoreOp::Or, any, literal)?;
            }
            all = self.junction(cx, CoreOp::And, all, any)?;
        }
        Ok(Some(all))
    }

    fn literal(&mut self, cx: &mut RebuildCx<'_>, Literal { id, truth }: Literal) -> Result<NodeId, PassError> {
        if truth {
            return Ok(id);
        }
        let f = cx.function();
        let op = self.ops.of(f, id).and_then(CoreOp::negated);
        match (op, f.operands(id).get(1..)) {
            (Some(op), Some(&[a, b]))
                if matches!(op, CoreOp::Eq | CoreOp::Ne)
                    || value_type(f.type_of(a)).is_some_and(|ty| ty.elem.is_integer()) =>
            {
                self.make(cx, op, &[a, b])
            }
            _ => self.make(cx, CoreOp::Not, &[id]),
        }
    }

    /// Fewer clauses that say the same, and whether they are not the same as before.
    fn simplified(&mut self, f: &Function, all: Vec<Clause>) -> (Vec<Clause>, bool) {
        let n_before: usize = all.iter().map(Vec::len).sum();
        let mut clauses: Vec<Clause> = all.into_iter().filter_map(|clause| self.clause(f, clause)).collect();
        // A clause that follows from another one says nothing.
        for at in (0..clauses.len()).rev() {
            let follows = (0..clauses.len()).any(|other| other != at && self.follows(f, &clauses[other], &clauses[at]));
            if follows {
                clauses.remove(at);
            }
        }
        // Of `(a | b) & (a | c)`, where `b` and `c` exclude each other, `a` is left.
        while let Some((at, other, clause)) = self.resolved(f, &clauses) {
            clauses[at] = clause;
            clauses.remove(other);
        }
        let n_after: usize = clauses.iter().map(Vec::len).sum();
        (clauses, n_after != n_before)
    }

    /// A clause without conditions of which others follow; `None` if it always holds.
    fn clause(&mut self, f: &Function, mut clause: Clause) -> Option<Clause> {
        for at in (0..clause.len()).rev() {
            let literal = clause[at];
            let others: Vec<Literal> = (0..clause.len()).filter(|&other| other != at).map(|at| clause[at]).collect();
            if others.iter().any(|&other| self.implies(f, literal.negated(), other)) {
                return None;
            }
            if others.iter().any(|&other| self.implies(f, literal, other)) {
                clause.remove(at);
            }
        }
        Some(clause)
    }

    /// Whether the second clause holds where the first one does.
    fn follows(&mut self, f: &Function, a: &[Literal], b: &[Literal]) -> bool {
        a.iter().all(|&a| b.iter().any(|&b| self.implies(f, a, b)))
    }

    /// Two clauses and the one that says the same as both.
    fn resolved(&mut self, f: &Function, clauses: &[Clause]) -> Option<(usize, usize, Clause)> {
        for (at, a) in clauses.iter().enumerate() {
            for (other, b) in clauses.iter().enumerate().skip(at + 1).filter(|(_, b)| b.len() == a.len()) {
                let is_in = |all: &[Literal], x: Literal| all.iter().any(|&y| is_same(f, &self.ops, x, y));
                let in_a: Vec<Literal> = a.iter().copied().filter(|&x| !is_in(b, x)).collect();
                let in_b: Vec<Literal> = b.iter().copied().filter(|&x| !is_in(a, x)).collect();
                if let (&[x], &[y]) = (&in_a[..], &in_b[..])
                    && self.implies(f, x, y.negated())
                {
                    return Some((at, other, a.iter().copied().filter(|&literal| literal != x).collect()));
                }
            }
        }
        None
    }

    /// Whether a condition holds where another one does.
    fn implies(&mut self, f: &Function, a: Literal, b: Literal) -> bool {
        if is_same(f, &self.ops, a, Literal { truth: a.truth, ..b }) {
            return a.truth == b.truth;
        }
        let mark = self.known.mark();
        self.known.assume(f, &self.ops, a.id, a.truth);
        let truth = self.known.truth(f, &self.ops, b.id);
        self.known.undo(mark);
        truth == Some(b.truth)
    }
}

fn is_bool(f: &Function, id: NodeId) -> bool {
    value_type(f.type_of(id)) == Some(Scalar { elem: ElemType::BOOL, lanes: None })
}

/// A condition of others.
enum Logic {
    Junction(CoreOp, NodeId, NodeId),
    Not(NodeId),
}

fn logic(f: &Function, ops: &LoopOps, id: NodeId) -> Option<Logic> {
    if !is_bool(f, id) {
        return None;
    }
    match (ops.of(f, id)?, &f.operands(id)[1..]) {
        (op @ (CoreOp::And | CoreOp::Or), &[a, b]) => Some(Logic::Junction(op, a, b)),
        (CoreOp::Not, &[a]) => Some(Logic::Not(a)),
        _ => None,
    }
}

/// Whether two conditions are the same: one node, or a comparison of the same values.
fn is_same(f: &Function, ops: &LoopOps, a: Literal, b: Literal) -> bool {
    let is_comparison = || ops.of(f, a.id).is_some_and(|op| op.negated().is_some() && ops.of(f, b.id) == Some(op));
    let is_same_node = || is_comparison() && are_same_values(f, &f.operands(a.id)[1..], &f.operands(b.id)[1..]);
    a.truth == b.truth && (a.id == b.id || is_same_node())
}

/// A condition, or its negative, as clauses that all have to hold; `None` if they are too many. `is_normal` becomes false
/// where that is another form.
fn clauses(
    f: &Function,
    ops: &LoopOps,
    id: NodeId,
    truth: bool,
    depth: u32,
    is_normal: &mut bool,
) -> Option<Vec<Clause>> {
    match logic(f, ops, id).filter(|_| depth > 0) {
        Some(Logic::Junction(op, a, b)) => {
            *is_normal &= truth;
            let mut all = clauses(f, ops, a, truth, depth - 1, is_normal)?;
            let more = clauses(f, ops, b, truth, depth - 1, is_normal)?;
            if (op == CoreOp::And) == truth {
                all.extend(more);
            } else {
                *is_normal &= all.len() == 1 && more.len() == 1;
                let joined = all.iter().flat_map(|a| more.iter().map(move |b| [&a[..], b].concat()));
                all = joined.take(MOST_JOINED + 1).collect();
            }
            let n: usize = all.iter().map(Vec::len).sum();
            (all.len() <= MOST_JOINED && n <= MOST_LITERALS).then_some(all)
        }
        Some(Logic::Not(a)) if logic(f, ops, a).is_some() => clauses(f, ops, a, !truth, depth - 1, is_normal),
        _ => Some(vec![vec![Literal { id, truth }]]),
    }
}

/// By node: whether it is a condition that only one `and`, `or` or `not` needs.
pub(super) fn inner_conditions(f: &Function, ops: &LoopOps) -> Vec<bool> {
    let (mut n_uses, mut is_inner) = (vec![0_u32; f.n_nodes()], vec![false; f.n_nodes()]);
    for block in f.all_blocks() {
        f.results(block).iter().for_each(|result| n_uses[result.index()] += 1);
        for &id in f.bindings(block) {
            let is_logic = logic(f, ops, id).is_some();
            for &operand in f.operands(id) {
                n_uses[operand.index()] += 1;
                is_inner[operand.index()] |= is_logic;
            }
        }
    }
    is_inner.iter().zip(n_uses).map(|(&is_inner, n)| is_inner && n == 1).collect()
}
