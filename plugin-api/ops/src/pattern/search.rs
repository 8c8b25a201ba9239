//! Finding a match of a rule at a call, with all orders and alternatives that the rule allows.

use super::{
    condition::View,
    constant,
    found::{Bound, Inner, Known, Match, OpInfo, Root, Slot, Values},
    program::{CallPat, Compiled, Pat, Step, Wanted},
};
use crate::rewrite::RewriteCx;
use relais_ir::*;
use relais_patterns::{Literal, Number};
use smallvec::SmallVec;

/// The most users of values that are looked at for the outermost calls of one match.
const MAX_USERS: usize = 256;

/// The most bindings that are moved for one match.
const MAX_MOVED: usize = 64;

/// A match that is looked for.
pub(super) struct Search<'s, 'f> {
    pub cx: &'s RewriteCx<'f>,
    pub known: &'s Known,
    pub rule: &'s Compiled<'s>,
    pub root: CallView<'f>,
    /// The number of the call's pattern, if the rule has several outermost calls.
    first: usize,
    /// How many more users of values are looked at.
    fuel: usize,
    found: &'s mut Match,
    /// Why the first match of the pattern was declined.
    pub reason: Option<String>,
}

/// The arguments that remain to be matched.
enum Goals<'g> {
    Done,
    /// Then the other outermost calls are to be found.
    Roots(&'g [Step]),
    Args {
        pats: &'g [Pat],
        args: &'g [NodeId],
        all: &'g [NodeId],
        next: &'g Goals<'g>,
    },
}

impl<'s, 'f> Search<'s, 'f> {
    pub fn new(
        cx: &'s RewriteCx<'f>,
        known: &'s Known,
        rule: &'s Compiled<'s>,
        root: CallView<'f>,
        first: usize,
        found: &'s mut Match,
    ) -> Self {
        found.clear(rule.slots.len());
        Self { cx, known, rule, root, first, fuel: MAX_USERS, found, reason: None }
    }

    /// Whether the rule matches and its conditions hold.
    pub fn run(&mut self) -> bool {
        let (rule, root) = (self.rule, self.root);
        if let Some(plan) = rule.plans.get(self.first) {
            let Some(value) = self.value_of(root, rule.roots[self.first].result).filter(|_| !plan.is_empty()) else {
                return false;
            };
            return self.outermost(self.first, root, value, &Goals::Roots(plan));
        }
        self.any(&rule.roots, |search, pat| search.call(pat, root.id, root, &Goals::Done))
    }

    /// Whether one of several patterns matches. A search that fails does not forget what it
    /// bound: that is done before the next one.
    fn any(&mut self, pats: &[CallPat], mut matches: impl FnMut(&mut Self, &CallPat) -> bool) -> bool {
        let mark = self.found.mark();
        pats.iter().enumerate().any(|(at, pat)| {
            if at > 0 {
                self.found.undo(mark);
            }
            matches(self, pat)
        })
    }

    /// The value that a pattern of a call stands for; `None` if nothing uses it.
    fn value_of(&self, call: CallView<'f>, result: u16) -> Option<NodeId> {
        let f = self.cx.function();
        let is_it = |id: &&NodeId| matches!(f.expr(**id), Expr::TupleGetItem { tuple, index } if tuple == call.id && index == usize::from(result));
        let value = match call.n_results() {
            None => (result == 0).then_some(call.id),
            Some(_) => self.cx.users(call.id).iter().find(is_it).copied(),
        }?;
        (self.known.n_live_uses(value, self.cx.n_uses(value)) > 0).then_some(value)
    }

    /// Whether a call is matched by the pattern of one of several outermost calls.
    fn outermost(&mut self, root: usize, call: CallView<'f>, value: NodeId, next: &Goals<'_>) -> bool {
        self.found.roots.push(Root { root, call: call.id, value });
        let rule = self.rule;
        self.call(&rule.roots[root], value, call, next)
    }

    /// Whether the remaining outermost calls are found.
    fn others(&mut self, steps: &[Step]) -> bool {
        let Some((step, rest)) = steps.split_first() else { return self.accept() };
        let Bound::Node(from) = self.found.bound[step.from] else { return false };
        let mark = self.found.mark();
        for call in self.users(from, step.depth) {
            let pat = &self.rule.roots[step.root];
            let is_other = self.found.roots.iter().all(|root| root.call != call.id) && self.cx.comes_later(call.id);
            let is_op = call.op().and_then(|op| self.known.infos.get(op.index())?.symbol) == Some(pat.symbol);
            let Some(value) = self.value_of(call, pat.result).filter(|_| is_other && is_op) else { continue };
            self.found.undo(mark);
            if self.outermost(step.root, call, value, &Goals::Roots(rest)) {
                return true;
            }
        }
        false
    }

    /// Returns the calls that use a value through that many calls less one, in program order.
    fn users(&mut self, value: NodeId, depth: usize) -> Vec<CallView<'f>> {
        let (cx, f) = (self.cx, self.cx.function());
        let mut values = vec![value];
        let mut calls: Vec<CallView<'f>> = Vec::new();
        for level in 1..=depth {
            calls.clear();
            for value in &values {
                let mut users = cx.users(*value);
                if level == depth {
                    // Only what comes later counts, and a value may have many users.
                    let here = cx.position(self.root.id);
                    users = &users[users.partition_point(|&user| cx.position(user) <= here)..];
                }
                for &user in users {
                    if self.fuel == 0 {
                        break;
                    }
                    self.fuel -= 1;
                    calls.extend(f.call(user).filter(|call| calls.last().is_none_or(|last| last.id != call.id)));
                }
            }
            let results = |call: &CallView<'f>| match call.n_results() {
                None => vec![call.id],
                Some(_) => cx.users(call.id).to_vec(),
            };
            values = calls.iter().flat_map(results).collect();
        }
        calls.sort_by_key(|call| cx.position(call.id));
        calls.dedup_by_key(|call| call.id);
        calls
    }

    /// Whether a binding is in the block of the outermost call.
    fn is_here(&self, id: NodeId) -> bool {
        self.cx.is_in_same_block(id) || !self.rule.plans.is_empty() && self.cx.comes_later(id)
    }

    fn solve(&mut self, goals: &Goals<'_>) -> bool {
        let (pats, args, all, next) = match *goals {
            Goals::Args { pats, args, all, next } => (pats, args, all, next),
            Goals::Roots(steps) => return self.others(steps),
            Goals::Done => return self.accept(),
        };
        let Some((pat, pats)) = pats.split_first() else {
            return args.iter().all(|arg| arg.is_absent()) && self.solve(next);
        };
        if let Pat::Rest(slot) = pat {
            return self.found.bind_rest(*slot, args) && self.solve(next);
        }
        let (arg, args) = args.split_first().map_or((NodeId::ABSENT, args), |(&arg, args)| (arg, args));
        let next = &Goals::Args { pats, args, all, next };
        let cx = self.cx;
        let constant = || cx.constant_of(arg);
        match pat {
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
                constant().is_some_and(|tensor| !is_splat || constant::is_splat(&tensor))
                    && self.bind(*slot, Bound::Node(arg))
                    && self.solve(next)
            }
            Pat::Number(number, tolerance) => {
                constant().is_some_and(|tensor| constant::is_number(&tensor, *number, *tolerance))
                    && self.adds_no_rank(arg, all)
                    && self.solve(next)
            }
            Pat::List(numbers) => {
                constant().is_some_and(|tensor| constant::is_vector(&tensor, numbers)) && self.solve(next)
            }
            Pat::Call(pat) => self.inner_call(pat, arg, next),
            Pat::Either(pats) => self.any(pats, |search, pat| search.inner_call(pat, arg, next)),
        }
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
        let is_here = self.is_here(call.id) && self.is_here(value);
        if result != usize::from(pat.result) || !is_here {
            return false;
        }
        self.found.inner.push(Inner { value, call: call.id, is_shared: pat.is_shared });
        self.call(pat, value, call, next)
    }

    fn call(&mut self, pat: &CallPat, value: NodeId, call: CallView<'f>, next: &Goals<'_>) -> bool {
        let infos = &self.known.infos;
        let Some(info) = call.op().and_then(|op| infos.get(op.index())) else { return false };
        let is_version = pat.versions.is_none_or(|(first, last)| {
            let version = if info.version == 0 { i64::MAX } else { info.version };
            version >= first && last.is_none_or(|last| version <= last)
        });
        if info.symbol != Some(pat.symbol) || !info.is_removable || !is_version || !call.regions().is_empty() {
            return false;
        }
        if !self.attrs(pat, call, info) || pat.bind.is_some_and(|slot| !self.bind(slot, Bound::Node(value))) {
            return false;
        }
        let mark = self.found.mark();
        let args = call.args();
        if self.solve(&Goals::Args { pats: &pat.args, args, all: args, next }) {
            return true;
        }
        let has_two = pat.args.len() >= 2 && !matches!(pat.args[1], Pat::Rest(_));
        if let (true, true, [a, b, rest @ ..]) = (info.is_commutative, has_two, args)
            && a != b
        {
            self.found.undo(mark);
            let swapped: SmallVec<[NodeId; 8]> = [*b, *a].into_iter().chain(rest.iter().copied()).collect();
            return self.solve(&Goals::Args { pats: &pat.args, args: &swapped, all: &swapped, next });
        }
        false
    }

    fn attrs(&mut self, pat: &CallPat, call: CallView<'f>, info: &OpInfo) -> bool {
        if pat.attrs.is_empty() && (pat.any_attrs || call.attrs().recs().is_empty()) {
            return true;
        }
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
                        Wanted::Bind(slot) => self.found.bind_attr(*slot, value),
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

    /// Binds a variable to a value. Returns `false` if it is bound to something else.
    fn bind(&mut self, slot: Slot, new: Bound) -> bool {
        let old = self.found.bound[slot];
        match (old, new) {
            (Bound::Nothing, _) => {
                self.found.set(slot, new);
                true
            }
            (Bound::Node(a), Bound::Node(b)) if a != b => {
                // Numbers of loop programs may have different lanes.
                let is_alike =
                    self.cx.function().type_id(a) == self.cx.function().type_id(b) || self.cx.tensor(a).is_some();
                match (self.cx.constant_of(a), self.cx.constant_of(b)) {
                    (Some(a), Some(b)) => is_alike && constant::is_equal(&a, &b),
                    _ => false,
                }
            }
            _ => old == new,
        }
    }

    /// Whether a match of the pattern fulfils everything else.
    fn accept(&mut self) -> bool {
        let view = View { cx: self.cx, known: self.known, rule: self.rule, found: self.found };
        let reason = match self.other_user(view) {
            Some(inner) if self.known.says_why => {
                let op = self.cx.function().call(inner.call).map_or("", CallView::op_name);
                match self.found.roots.iter().any(|root| root.call == inner.call) {
                    true => format!("another result of `{op}` is used"),
                    false => format!("the result of the inner `{op}` has another user"),
                }
            }
            Some(_) => return false,
            None => match view.first_not_held() {
                None => match self.move_before() {
                    Ok(()) => return true,
                    Err(_) if !self.known.says_why => return false,
                    Err(why) => why,
                },
                Some(_) if !self.known.says_why => return false,
                Some((condition, not_held)) => not_held.say(condition, self.rule),
            },
        };
        self.reason.get_or_insert_with(|| format!("{}: {reason}", self.rule.name));
        false
    }

    /// Notes which later bindings the right side needs before the first one of several outermost calls.
    ///
    /// # Errors
    /// Returns why one of them cannot be moved there.
    fn move_before(&mut self) -> Result<(), String> {
        if self.rule.plans.is_empty() {
            return Ok(());
        }
        let f = self.cx.function();
        let mut needed = Values::new();
        self.rule.results.iter().for_each(|made| made.nodes(self.found, &mut needed));
        // Each with the value that the right side uses.
        let mut needed: Vec<(NodeId, NodeId)> = needed.into_iter().map(|id| (id, id)).collect();
        let mut moved: Vec<NodeId> = Vec::new();
        while let Some((id, used)) = needed.pop() {
            let is_replaced = self.found.roots.iter().any(|root| root.call == id || root.value == id);
            if id.is_absent() || self.cx.was_visited(id) && !is_replaced || moved.contains(&id) {
                continue;
            }
            let why = |why: &str| {
                let is_it = |bound: &Bound| *bound == Bound::Node(used);
                let name = self.found.bound.iter().position(is_it).map(|slot| self.rule.slots[slot]);
                let name = name.map_or_else(|| "an argument".to_owned(), |name| format!("`{name}`"));
                Err(format!("{name} cannot be computed before the first of the calls that are replaced: {why}"))
            };
            if is_replaced {
                return why("it depends on one of them");
            }
            if !self.cx.comes_later(id) || moved.len() == MAX_MOVED {
                return why("too much is between");
            }
            match f.expr(id) {
                Expr::Constant(_) => {}
                Expr::Tuple(_) | Expr::TupleGetItem { .. } => {
                    needed.extend(f.operands(id).iter().map(|&id| (id, used)))
                }
                Expr::Call(call) => {
                    let info = call.op().and_then(|op| self.known.infos.get(op.index()));
                    if !info.is_some_and(|info| info.is_removable) || !call.regions().is_empty() {
                        return why(&format!("a call of `{}` stays where it is", call.op_name()));
                    }
                    needed.extend(call.args().iter().map(|&id| (id, used)));
                }
                _ => return why("something between stays where it is"),
            }
            moved.push(id);
        }
        moved.sort_by_key(|&id| self.cx.position(id));
        self.found.moved = moved;
        Ok(())
    }

    /// Returns the first inner value that is used outside the match.
    fn other_user(&self, view: View<'_, 'f>) -> Option<Inner> {
        let f = self.cx.function();
        // A value with one use is used where it was found.
        let may_be_used =
            |inner: &Inner| !inner.is_shared && (inner.value != inner.call || view.n_uses(inner.value) > 1);
        let inner = &view.found.inner;
        let roots = &view.found.roots;
        if !inner.iter().any(may_be_used) && roots.iter().all(|root| root.value == root.call) {
            return None;
        }
        let mut calls: SmallVec<[NodeId; 8]> = inner.iter().map(|inner| inner.call).collect();
        calls.push(self.root.id);
        calls.extend(roots.iter().map(|root| root.call));
        calls.sort_unstable();
        calls.dedup();
        let uses_in_match = |value: NodeId| {
            let operands = calls.iter().flat_map(|&call| f.operands(call));
            operands.filter(|&&operand| operand == value).count() as u32
        };
        let has_other_result = |call: NodeId, value: NodeId| {
            if !matches!(f.expr(value), Expr::TupleGetItem { .. }) {
                return false;
            }
            let used = self.known.used.get_or_init(|| f.used_results());
            let is_matched = |index: usize| {
                let is_it = |inner: &Inner| inner.call == call && is_result(f, inner.value, index);
                is_result(f, value, index) || inner.iter().any(is_it)
            };
            let n_results = f.n_results(call).unwrap_or(0);
            used.has_whole(call) || (0..n_results).any(|other| !is_matched(other) && used.has_result(call, other))
        };
        let is_used = |inner: &&Inner| {
            let Inner { value, call, is_shared } = **inner;
            !is_shared && (view.n_uses(value) > uses_in_match(value) || has_other_result(call, value))
        };
        let root = roots.iter().find(|root| has_other_result(root.call, root.value));
        let root = root.map(|root| Inner { value: root.value, call: root.call, is_shared: false });
        inner.iter().find(is_used).copied().or(root)
    }
}

/// Whether a value is that result of a call with several.
fn is_result(f: &Function, value: NodeId, result: usize) -> bool {
    matches!(f.expr(value), Expr::TupleGetItem { index, .. } if index == result)
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
