//! Finding a match of a rule at a call, with all orders and alternatives that the rule allows.

use super::{
    compile::{CallPat, Compiled, Pat, Slot, Wanted},
    constant,
};
use crate::{ir::*, op::AttrDefault, rewrite::RewriteCx};
use relais_patterns::{Literal, Number};
use std::{cell::OnceCell, collections::HashMap};

/// The facts about an operator of a function.
pub(super) struct OpInfo {
    /// Its index among those of all left sides.
    pub symbol: Option<usize>,
    pub version: i64,
    pub is_commutative: bool,
    /// Whether its calls may be matched.
    pub is_removable: bool,
    pub defaults: Vec<(String, AttrData)>,
}

impl From<AttrDefault> for AttrData {
    fn from(default: AttrDefault) -> Self {
        match default {
            AttrDefault::Float(value) => Self::Float(value),
            AttrDefault::Int(value) => Self::Int(value),
            AttrDefault::String(value) => Self::String(value.into()),
            AttrDefault::Floats(values) => Self::Floats(values),
            AttrDefault::Ints(values) => Self::Ints(values),
            AttrDefault::Strings(values) => Self::Strings(values.into_iter().map(String::into_bytes).collect()),
        }
    }
}

/// The meaning of a variable in a match.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Bound {
    Node(NodeId),
    Absent,
    Rest(Vec<NodeId>),
    Attr(AttrData),
}

/// A call of a match other than the outermost one.
#[derive(Clone, Copy)]
pub(super) struct Inner {
    /// The call, or its result.
    pub value: NodeId,
    pub call: NodeId,
    pub is_shared: bool,
}

/// A match that is looked for.
pub(super) struct Search<'s, 'f> {
    pub cx: &'s RewriteCx<'f>,
    pub infos: &'s [OpInfo],
    /// Uses by calls that were replaced and that nothing uses any more.
    pub dead_uses: &'s HashMap<NodeId, u32>,
    /// Computed when it is first needed. A result that is not used can never become used.
    pub used: &'s OnceCell<UsedResults>,
    pub rule: &'s Compiled<'s>,
    pub root: CallView<'f>,
    /// By variable.
    pub bound: Vec<Option<Bound>>,
    /// The variables that were bound, in order.
    trail: Vec<Slot>,
    /// The inner calls, each after the call whose argument it is.
    pub inner: Vec<Inner>,
    /// Why the first match of the pattern was declined.
    pub reason: Option<String>,
}

/// The arguments that remain to be matched.
enum Goals<'g> {
    Done,
    Args { pats: &'g [Pat], args: &'g [NodeId], all: &'g [NodeId], next: &'g Goals<'g> },
}

impl<'s, 'f> Search<'s, 'f> {
    pub fn new(
        cx: &'s RewriteCx<'f>,
        infos: &'s [OpInfo],
        dead_uses: &'s HashMap<NodeId, u32>,
        used: &'s OnceCell<UsedResults>,
        rule: &'s Compiled<'s>,
        root: CallView<'f>,
    ) -> Self {
        let bound = vec![None; rule.slots.len()];
        Self { cx, infos, dead_uses, used, rule, root, bound, trail: Vec::new(), inner: Vec::new(), reason: None }
    }

    /// Whether the rule matches and its conditions hold.
    pub fn run(&mut self) -> bool {
        let (rule, root) = (self.rule, self.root);
        rule.roots.iter().any(|pat| self.call(pat, root.id, root, &Goals::Done))
    }

    fn solve(&mut self, goals: &Goals<'_>) -> bool {
        let &Goals::Args { pats, args, all, next } = goals else { return self.accept() };
        let Some((pat, pats)) = pats.split_first() else {
            return args.iter().all(|arg| arg.is_absent()) && self.solve(next);
        };
        if let Pat::Rest(slot) = pat {
            let mark = self.mark();
            return self.bind(*slot, Bound::Rest(args.to_vec())) && self.solve(next) || self.undo(mark);
        }
        let (arg, args) = args.split_first().map_or((NodeId::ABSENT, args), |(&arg, args)| (arg, args));
        let next = &Goals::Args { pats, args, all, next };
        let cx = self.cx;
        let constant = || cx.tensor(arg);
        let mark = self.mark();
        let is_match = match pat {
            Pat::Rest(_) => false,
            Pat::Absent => arg.is_absent() && self.solve(next),
            Pat::Optional(slot) => {
                let bound = if arg.is_absent() { Bound::Absent } else { Bound::Node(arg) };
                self.bind(*slot, bound) && self.solve(next)
            }
            _ if arg.is_absent() => false,
            Pat::Any => self.solve(next),
            Pat::Var(slot) => self.bind(*slot, Bound::Node(arg)) && self.solve(next),
            Pat::Const(slot, is_splat) => {
                constant().is_some_and(|tensor| !is_splat || constant::is_splat(tensor))
                    && self.bind(*slot, Bound::Node(arg))
                    && self.solve(next)
            }
            Pat::Number(number, tolerance) => {
                constant().is_some_and(|tensor| constant::is_number(tensor, *number, *tolerance))
                    && self.adds_no_rank(arg, all)
                    && self.solve(next)
            }
            Pat::List(numbers) => {
                constant().is_some_and(|tensor| constant::is_vector(tensor, numbers)) && self.solve(next)
            }
            Pat::Call(pat) => self.inner_call(pat, arg, next),
            Pat::Either(pats) => pats.iter().any(|pat| self.inner_call(pat, arg, next)),
        };
        is_match || self.undo(mark)
    }

    /// Whether a constant with one element cannot add dimensions to the result of a call with these arguments.
    fn adds_no_rank(&self, constant: NodeId, args: &[NodeId]) -> bool {
        let rank = self.cx.tensor(constant).map_or(0, |tensor| tensor.dims().len());
        let ranks = args.iter().filter(|&&arg| arg != constant && !arg.is_absent());
        let mut ranks = ranks.filter_map(|&arg| Some(self.cx.type_of(arg).shape()?.len()));
        rank == 0 || ranks.any(|other| other >= rank)
    }

    fn inner_call(&mut self, pat: &CallPat, value: NodeId, next: &Goals<'_>) -> bool {
        let f = self.cx.function();
        let (call, result) = match f.expr(value) {
            Expr::Call(call) if call.n_results().is_none() => (call, 0),
            Expr::TupleGetItem { tuple, index } => match f.call(tuple) {
                Some(call) => (call, index),
                None => return false,
            },
            _ => return false,
        };
        let is_here = self.cx.is_in_same_block(call.id) && self.cx.is_in_same_block(value);
        if result != usize::from(pat.result) || !is_here {
            return false;
        }
        let mark = self.mark();
        self.inner.push(Inner { value, call: call.id, is_shared: pat.is_shared });
        self.call(pat, value, call, next) || self.undo(mark)
    }

    fn call(&mut self, pat: &CallPat, value: NodeId, call: CallView<'f>, next: &Goals<'_>) -> bool {
        let infos = self.infos;
        let Some(info) = call.op().and_then(|op| infos.get(op.index())) else { return false };
        let is_version = pat.versions.is_none_or(|(first, last)| {
            let version = if info.version == 0 { i64::MAX } else { info.version };
            version >= first && last.is_none_or(|last| version <= last)
        });
        if info.symbol != Some(pat.symbol) || !info.is_removable || !is_version || !call.regions().is_empty() {
            return false;
        }
        let mark = self.mark();
        if !self.attrs(pat, call, info) || pat.bind.is_some_and(|slot| !self.bind(slot, Bound::Node(value))) {
            return self.undo(mark);
        }
        let args = call.args();
        if self.solve(&Goals::Args { pats: &pat.args, args, all: args, next }) {
            return true;
        }
        let has_two = pat.args.len() >= 2 && !matches!(pat.args[1], Pat::Rest(_));
        if let (true, true, [a, b, rest @ ..]) = (info.is_commutative, has_two, args)
            && a != b
        {
            let swapped: Vec<NodeId> = [*b, *a].into_iter().chain(rest.iter().copied()).collect();
            if self.solve(&Goals::Args { pats: &pat.args, args: &swapped, all: &swapped, next }) {
                return true;
            }
        }
        self.undo(mark)
    }

    fn attrs(&mut self, pat: &CallPat, call: CallView<'f>, info: &OpInfo) -> bool {
        let default = |name: &str| info.defaults.iter().find(|(other, _)| other == name).map(|(_, value)| value);
        if !pat.any_attrs {
            let is_listed = |name: &str| pat.attrs.iter().any(|(key, _)| key == name);
            let others = call.attrs().iter().filter(|(name, _)| !is_listed(name));
            for (name, value) in others {
                if value.to_data().is_none_or(|value| default(name) != Some(&value)) {
                    return false;
                }
            }
        }
        for (name, wanted) in &pat.attrs {
            let is_match = match (wanted, call.attrs().get(name)) {
                (Wanted::Any, _) => true,
                (_, Some(AttrValue::Ref { .. } | AttrValue::Raw(_))) => false,
                (_, value) => match value.and_then(AttrValue::to_data).or_else(|| default(name).cloned()) {
                    None => false,
                    Some(value) => match wanted {
                        Wanted::Bind(slot) => self.bind(*slot, Bound::Attr(value)),
                        Wanted::Literal(literal) => is_literal(&value, literal),
                        Wanted::Any => true,
                    },
                },
            };
            if !is_match {
                return false;
            }
        }
        true
    }

    /// Binds a variable; `false` if it is bound to something else.
    fn bind(&mut self, slot: Slot, new: Bound) -> bool {
        match (&self.bound[slot], &new) {
            (None, _) => {
                self.bound[slot] = Some(new);
                self.trail.push(slot);
                true
            }
            (Some(Bound::Node(old)), Bound::Node(new)) => {
                old == new
                    || match (self.cx.tensor(*old), self.cx.tensor(*new)) {
                        (Some(old), Some(new)) => constant::is_equal(old, new),
                        _ => false,
                    }
            }
            (Some(old), new) => old == new,
        }
    }

    fn mark(&self) -> (usize, usize) {
        (self.trail.len(), self.inner.len())
    }

    /// Forgets everything since a mark. Returns `false`.
    fn undo(&mut self, (n_bound, n_inner): (usize, usize)) -> bool {
        for slot in self.trail.drain(n_bound..) {
            self.bound[slot] = None;
        }
        self.inner.truncate(n_inner);
        false
    }

    /// Whether a match of the pattern fulfils everything else.
    fn accept(&mut self) -> bool {
        let reason = self.other_user().or_else(|| self.conditions().err());
        let is_accepted = reason.is_none();
        if let (Some(reason), None) = (reason, &self.reason) {
            self.reason = Some(format!("{}: {reason}", self.rule.name));
        }
        is_accepted
    }

    /// Returns the number of live uses of a node.
    pub fn n_uses(&self, id: NodeId) -> u32 {
        self.cx.n_uses(id).saturating_sub(self.dead_uses.get(&id).copied().unwrap_or(0))
    }

    /// Returns the first inner value that is used outside the match.
    fn other_user(&self) -> Option<String> {
        let f = self.cx.function();
        let mut calls: Vec<NodeId> = self.inner.iter().map(|inner| inner.call).collect();
        calls.push(self.root.id);
        calls.sort_unstable();
        calls.dedup();
        let uses_in_match = |value: NodeId| {
            let operands = calls.iter().flat_map(|&call| f.operands(call));
            operands.filter(|&&operand| operand == value).count() as u32
        };
        let has_other_result = |inner: &Inner| {
            let Expr::TupleGetItem { index, .. } = f.expr(inner.value) else { return false };
            let used = self.used.get_or_init(|| f.used_results());
            let n_results = f.n_results(inner.call).unwrap_or(0);
            used.has_whole(inner.call)
                || (0..n_results).any(|other| other != index && used.has_result(inner.call, other))
        };
        let is_used = |inner: &&Inner| {
            !inner.is_shared && (self.n_uses(inner.value) > uses_in_match(inner.value) || has_other_result(inner))
        };
        let inner = self.inner.iter().find(is_used)?;
        let op = f.call(inner.call).map_or("", CallView::op_name);
        Some(format!("the result of the inner `{op}` has another user"))
    }
}

/// Whether the value of an attribute is a literal.
fn is_literal(value: &AttrData, literal: &Literal) -> bool {
    let is_float = |value: f32, number: Number| value.to_bits() == (number.to_f64() as f32).to_bits();
    match (value, literal) {
        (AttrData::Int(value), Literal::Number(Number::Int(number))) => value == number,
        (AttrData::Float(value), Literal::Number(number)) => is_float(*value, *number),
        (AttrData::String(value), Literal::String(text)) => value == text.as_bytes(),
        (AttrData::Ints(values), Literal::List(items)) => {
            let is_item = |(value, item): (&i64, &Literal)| *item == Literal::Number(Number::Int(*value));
            values.len() == items.len() && values.iter().zip(items).all(is_item)
        }
        (AttrData::Floats(values), Literal::List(items)) => {
            let is_item = |(value, item): (&f32, &Literal)| {
                if let Literal::Number(number) = item { is_float(*value, *number) } else { false }
            };
            values.len() == items.len() && values.iter().zip(items).all(is_item)
        }
        (AttrData::Strings(values), Literal::List(items)) => {
            let is_item = |(value, item): (&Vec<u8>, &Literal)| {
                if let Literal::String(text) = item { text.as_bytes() == value.as_slice() } else { false }
            };
            values.len() == items.len() && values.iter().zip(items).all(is_item)
        }
        _ => false,
    }
}
