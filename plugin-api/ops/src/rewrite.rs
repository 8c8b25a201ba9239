//! The rewrite driver: authors match one call and decide; the driver mutates.
//!
//! Nothing that a rewrite returns is believed: nodes that it names must be its own or visible at the call, calls that
//! it makes must match their operators' records, and the replacement of a value must not contradict the types inferred
//! for the value. A violation fails the pass, and the error names the call.

mod again;
mod ahead;
mod cx;
mod drive;
mod replacement;
mod stage;

pub use cx::RewriteCx;
pub use drive::{DriveOptions, DriveStats, RewriteFn, drive_while, drive_with};
pub use replacement::check_replacements;

use crate::{
    build::{CallChecker, NewNode, Nodes, check_made, place, refused},
    core_facts::NOT_A_VALUE,
    error::OpError,
    infer::infer_results,
    op::{CallFault, CallRule},
    relations::TypeRelations,
    request::set_known_value,
};
use again::Traces;
use ahead::Ahead;
use relais_ir::{
    diagnostics::PassError,
    guard::caught,
    prim::{CoreOp, DOMAIN},
    *,
};
use replacement::check_replacement;
use smallvec::smallvec;
use stage::{Stage, Staged};
use std::{borrow::Cow, cell::OnceCell, collections::BTreeSet};

/// The decision of a rewrite about a call.
#[derive(Clone, PartialEq, Debug)]
pub enum Rewrite {
    /// The call stays.
    Keep,
    /// The call's one result becomes this node: an operand, or one made through [`RewriteCx`].
    Replace(NodeId),
    /// Each of the call's results becomes the node at its position; [`NodeId::ABSENT`] asserts that nothing uses the
    /// result. Declined if something uses that result, or uses the call other than through projections.
    ReplaceResults(Vec<NodeId>),
    /// Several calls are replaced together: the call, and others that come later in its block.
    ReplaceCalls(Replacements),
    /// The call looked right and stays for this reason, which becomes a remark.
    Decline(Cow<'static, str>),
}

impl Rewrite {
    /// Declines with a reason.
    pub fn decline(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Decline(reason.into())
    }
}

/// Several calls of a block with the values that take their places.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Replacements {
    /// Each call with a value for each of its results, [`NodeId::ABSENT`] for one that nothing uses. The first one is
    /// the call that was offered, and the others come later.
    pub calls: Vec<(NodeId, Vec<NodeId>)>,
    /// Bindings that come later and are moved before the call, each after those that it uses. They have no functions of
    /// their own, and calling them earlier must make no difference.
    pub moved: Vec<NodeId>,
}

/// No block: where the driver has not been.
const NOWHERE: BlockId = BlockId(u32::MAX);

struct Driver<'d, 'r> {
    /// The number of nodes before the first rewrite.
    n_before: usize,
    uses: Vec<u32>,
    /// Computed when a round first needs it.
    used: Option<UsedResults>,
    home: Vec<BlockId>,
    open: Vec<BlockId>,
    /// By block: whether the driver is in it.
    is_open: Vec<bool>,
    /// By operator: whether the rule wants to see its calls.
    wanted: Vec<bool>,
    /// Errors in calls of an operator that the function had before, which are not the rule's.
    known_faults: BTreeSet<(OpId, CallRule)>,
    relations: &'d mut dyn TypeRelations,
    rule: &'d mut RewriteFn<'r>,
    ops: &'d [&'d str],
    is_prim: bool,
    /// Whether the limits allow no round after this one.
    is_last: bool,
    may_go_on: &'d dyn Fn() -> Result<(), PassError>,
    stats: &'d mut DriveStats,
    /// Computed when a round first needs it.
    ahead: OnceCell<Ahead>,
    /// The nodes that the rule makes for a call; empty between calls.
    stage: Stage,
    checker: CallChecker,
    /// Of the round, if the rule is local.
    traces: Option<Traces>,
}

impl Driver<'_, '_> {
    fn any_wanted(&mut self, f: &Function) -> bool {
        if let Some(last) = f.n_ops().checked_sub(1) {
            // The records of all operators are known from here on: rewrites look at defaults of attributes.
            self.relations.version(f, OpId::from_index(last));
        }
        for op in &f.ops()[self.wanted.len()..] {
            let (domain, name) = (normal_domain(f.str(op.domain)), f.str(op.name));
            let is_wanted = |wanted: &str| match wanted.rsplit_once("::") {
                Some((d, n)) => (normal_domain(d), n) == (domain, name),
                None => domain.is_empty() && wanted == name,
            };
            let is_offered = !self.is_prim || not_made(domain, name).is_none();
            self.wanted.push(is_offered && (self.ops.is_empty() || self.ops.iter().any(|op| is_wanted(op))));
        }
        self.ops.is_empty() && !self.is_prim || self.wanted.contains(&true)
    }

    /// Whether a local rule can decide about a call otherwise after a round. `now` says how often nodes are used.
    fn can_change_more(&mut self, f: &Function, now: &[u32]) -> bool {
        self.any_wanted(f);
        let Some(traces) = &self.traces else { return true };
        let is_there = |id: NodeId| self.home.get(id.index()).is_some_and(|&home| home != NOWHERE);
        traces.is_open
            || !self.stats.declined.is_empty()
            || traces.made.iter().any(|op| self.wanted[op.index()])
            || traces.change_users(f, now.to_vec(), is_there)
    }

    /// Records that a binding is in the innermost open block.
    fn settle(&mut self, id: NodeId) {
        if self.home.len() <= id.index() {
            self.home.resize(id.index() + 1, NOWHERE);
        }
        self.home[id.index()] = self.open.last().copied().unwrap_or(NOWHERE);
    }

    /// Whether a value can be used at the driver's position: it comes before, in a block that is open.
    fn is_visible(&self, id: NodeId) -> bool {
        let home = self.home.get(id.index()).copied().unwrap_or(NOWHERE);
        home != NOWHERE && self.is_open.get(home.index()) == Some(&true)
    }

    /// Returns why `results` cannot take the place of a call's results, by what uses them.
    fn use_that_stays(&mut self, f: &Function, id: NodeId, results: &[NodeId]) -> Option<Cow<'static, str>> {
        let used = self.used.get_or_insert_with(|| f.used_results());
        if used.has_whole(id) {
            return Some("something uses the results as one value".into());
        }
        let absent = results.iter().enumerate().filter(|(_, by)| by.is_absent());
        let index = absent.map(|(index, _)| index).find(|&index| used.has_result(id, index))?;
        Some(format!("something uses result {index}").into())
    }

    /// Inserts the staged nodes, in place of a call; returns the ids of the new nodes, by position.
    fn commit(&mut self, cx: &mut RebuildCx<'_>, old: NodeId) -> Result<(u32, Nodes), PassError> {
        let first = self.stage.first();
        let (mut staged, types) = self.stage.take();
        let mut ids = Nodes::new();
        if staged.is_empty() {
            self.release(cx.function(), old);
            return Ok((first, ids));
        }
        let type_ids = types.add_to(cx.function_mut());
        let known = |id: TypeId| types.resolve(&type_ids, id);
        for Staged { mut node, ty, value, results, fault } in staged.drain(..) {
            let real = |id: NodeId| if Stage::is_staged(id) { ids[Stage::position(first, id)] } else { id };
            match &mut node {
                NewNode::Constant(_) | NewNode::Imm(_) => {}
                NewNode::Projection { tuple, .. } => *tuple = real(*tuple),
                NewNode::Tuple(operands) | NewNode::Call { args: operands, .. } => {
                    operands.iter_mut().for_each(|operand| *operand = real(*operand));
                }
            }
            let f = cx.function_mut();
            let is_bound = !matches!(node, NewNode::Imm(_));
            let id = place(f, self.relations, node);
            if !is_bound {
                ids.push(id);
                continue;
            }
            match results.as_slice() {
                [] => {
                    f.set_type(id, known(ty));
                    set_known_value(f, id, known(value));
                }
                results => {
                    let fields: Vec<TypeId> = results.iter().map(|&(ty, _)| known(ty)).collect();
                    let ty = f.add_type(Type::Tuple(&fields));
                    f.set_type(id, ty);
                    if results.iter().any(|&(_, value)| value != TypeId::UNKNOWN) {
                        let values: Vec<TypeId> = results.iter().map(|&(_, value)| known(value)).collect();
                        let values = f.add_type(Type::Tuple(&values));
                        set_known_value(f, id, values);
                    }
                }
            }
            if let Some(op) = f.call(id).and_then(CallView::op) {
                if let Some(traces) = &mut self.traces {
                    traces.made(op);
                }
                self.check(cx.function(), id, op, fault)?;
            }
            let f = cx.function();
            let is_projection = f.kind(id) == kind::TUPLE_GET_ITEM;
            for &operand in f.operands(id) {
                bump(&mut self.uses, operand, 1);
                if let (false, Some(used)) = (is_projection, &mut self.used) {
                    used.add(f, operand);
                }
            }
            cx.insert(id);
            self.settle(id);
            ids.push(id);
        }
        self.stage.recycle(staged, types);
        self.release(cx.function(), old);
        Ok((first, ids))
    }

    /// Subtracts the uses by a call that is removed.
    fn release(&mut self, f: &Function, old: NodeId) {
        for &operand in f.operands(old) {
            bump(&mut self.uses, operand, -1);
            if let Some(traces) = &mut self.traces {
                traces.released(operand, self.uses[operand.index()]);
            }
        }
    }

    /// Checks a call that the rule made against the record of its operator.
    fn check(&mut self, f: &Function, id: NodeId, op: OpId, fault: Option<(OpId, OpError)>) -> Result<(), PassError> {
        if self.is_prim
            && let Some(why) = not_made(f.str(f.op(op).domain), f.str(f.op(op).name))
        {
            return Err(refused(f, op, &CallFault::new(CallRule::UnknownOperator, why)));
        }
        let fault = match (self.checker.check(f, self.relations, id, op), fault) {
            (Err(fault), _) if fault.broken.is_some() => return Err(refused(f, op, &fault)),
            (Err(fault), _) => fault,
            (Ok(()), None) => return Ok(()),
            (Ok(()), Some((asked, error))) if error.is_broken() => {
                self.relations.broken(asked, &error);
                return Err(self.relations.fault(asked, &error));
            }
            // Nothing is known of this call, which is not an error.
            (Ok(()), Some((_, error))) if error.is_unsupported() => return Ok(()),
            (Ok(()), Some((_, error))) => CallFault::new(CallRule::Types, error),
        };
        if self.known_faults.contains(&(op, fault.rule)) {
            return Ok(());
        }
        if self.was_there(f, op, fault.rule) {
            self.known_faults.insert((op, fault.rule));
            return Ok(());
        }
        Err(refused(f, op, &fault))
    }

    /// Whether a call of the operator broke the same rule before the first rewrite.
    fn was_there(&mut self, f: &Function, op: OpId, rule: CallRule) -> bool {
        let calls =
            (0..self.n_before).map(NodeId::from_index).filter(|&id| f.call(id).and_then(CallView::op) == Some(op));
        let calls: Vec<NodeId> = calls.collect();
        calls.into_iter().any(|id| match rule {
            CallRule::Types => infer_results(f, self.relations, id).is_some_and(|result| result.is_err()),
            _ => check_made(f, self.relations, id, op).is_err_and(|fault| fault.rule == rule),
        })
    }
}

fn bump(uses: &mut Vec<u32>, id: NodeId, by: i64) {
    if uses.len() <= id.index() {
        uses.resize(id.index() + 1, 0);
    }
    let count = &mut uses[id.index()];
    *count = (i64::from(*count) + by).max(0) as u32;
}

impl Rebuild for Driver<'_, '_> {
    type Error = PassError;

    fn enter(&mut self, editor: &mut Editor, block: BlockId) -> Result<(), PassError> {
        self.open.push(block);
        self.is_open[block.index()] = true;
        let f = editor.function();
        for &param in f.operands(f.block(block).owner) {
            self.settle(param);
        }
        Ok(())
    }

    fn exit(&mut self, _: &mut Editor, block: BlockId) -> Result<(), PassError> {
        self.open.pop();
        self.is_open[block.index()] = false;
        Ok(())
    }

    fn binding(&mut self, cx: &mut RebuildCx<'_>, id: NodeId) -> Result<Action, PassError> {
        self.settle(id);
        let f = cx.function();
        let Some(call) = f.call(id) else { return Ok(Action::Keep) };
        let is_wanted = match call.op() {
            Some(op) => self.wanted.get(op.index()).copied().unwrap_or(false),
            None => self.ops.is_empty() && !self.is_prim,
        };
        // Unused values are left to dead code elimination.
        if !is_wanted || self.uses.get(id.index()).is_none_or(|&n| n == 0) {
            return Ok(Action::Keep);
        }
        self.stage.clear(f);
        let mut rewrite_cx = RewriteCx {
            function: f,
            uses: &self.uses,
            home: &self.home,
            block: self.open.last().copied().unwrap_or(NOWHERE),
            at: id,
            ahead: &self.ahead,
            stage: &mut self.stage,
            relations: self.relations,
        };
        let rewrite = caught(|| (self.rule)(call, &mut rewrite_cx));
        let rewrite = rewrite.and_then(|rewrite| (self.may_go_on)().map(|()| rewrite));
        let done = rewrite.and_then(|rewrite| self.act(cx, id, rewrite));
        done.map_err(|error| {
            let offered = described(cx.function(), id);
            error.at(id).with_note(format_args!("the rewrite was offered {offered}"))
        })
    }
}

/// Why a rewrite makes no calls of an operator in loop programs.
fn not_made(domain: &str, name: &str) -> Option<&'static str> {
    match CoreOp::from_name(name).filter(|_| domain == DOMAIN) {
        None => Some("loop programs have no such operator"),
        Some(op) => (!op.is_value()).then_some(NOT_A_VALUE),
    }
}

/// Describes a call for people.
fn described(f: &Function, call: NodeId) -> String {
    let op = f.call(call).map_or("", CallView::op_name);
    match f.name(call) {
        "" => format!("{call}, a call of `{op}`"),
        name => format!("{call}, a call of `{op}` (`{name}`)"),
    }
}

impl Driver<'_, '_> {
    /// Applies a rule's decision about a call.
    fn act(&mut self, cx: &mut RebuildCx<'_>, id: NodeId, rewrite: Rewrite) -> Result<Action, PassError> {
        let mut others = Replacements::default();
        let results: Nodes = match rewrite {
            Rewrite::Keep => return Ok(Action::Keep),
            Rewrite::Decline(reason) => {
                self.stats.declined.push((id, reason));
                return Ok(Action::Keep);
            }
            Rewrite::Replace(by) if by == id => return Ok(Action::Keep),
            Rewrite::Replace(by) => smallvec![by],
            Rewrite::ReplaceResults(by) => by.into(),
            Rewrite::ReplaceCalls(mut all) => {
                if all.calls.first().is_none_or(|(first, _)| *first != id) {
                    return Err(PassError::new("the rewrite replaced other calls first").code("R003"));
                }
                let (_, by) = all.calls.remove(0);
                others = all;
                by.into()
            }
        };
        let f = cx.function();
        let n_results = f.n_results(id);
        self.check_others(f, id, &others)?;
        // A number is in no block, nor is a function or an operator that is an argument.
        let is_named =
            |by: NodeId| f.nodes().get(by.index()).is_some_and(|node| matches!(node.kind, kind::GLOBAL_VAR | kind::OP));
        let is_argument = |by: NodeId| is_named(by) && f.call(id).is_some_and(|call| call.args().contains(&by));
        let is_number = |by: NodeId| f.nodes().get(by.index()).is_some_and(|node| node.kind == kind::IMM);
        let is_known = |by: NodeId| self.is_known(by) || others.moved.contains(&by) || is_argument(by) || is_number(by);
        if let Some(by) = self.stage.operands().find(|&by| !by.is_absent() && !is_known(by)) {
            return Err(stray(f, by, "used"));
        }
        let calls = others.calls.iter().map(|(call, by)| (*call, by.as_slice()));
        let calls: Vec<(NodeId, &[NodeId])> = [(id, results.as_slice())].into_iter().chain(calls).collect();
        for &(call, by) in &calls {
            let n_results = f.n_results(call);
            if let Some(&by) = by.iter().find(|&&by| !(is_known(by) || by.is_absent() && n_results.is_some())) {
                return Err(stray(f, by, "gave"));
            }
            if n_results.unwrap_or(1) != by.len() {
                let (given, wanted) = (by.len(), n_results.unwrap_or(1));
                return Err(PassError::new(format_args!("the rewrite gave {given} results for {wanted}")).code("R003"));
            }
        }
        for &(call, by) in &calls {
            if f.n_results(call).is_some()
                && let Some(why) = self.use_that_stays(f, call, by)
            {
                self.stats.declined.push((id, why));
                return Ok(Action::Keep);
            }
        }
        if !self.relations.may_rewrite(id) {
            self.stats.declined.push((id, "the host holds this rewrite back".into()));
            return Ok(Action::Keep);
        }
        if self.is_last {
            self.stats.last = Some((id, described(cx.function(), id)));
        }
        for &moved in &others.moved {
            cx.hoist(moved);
            self.settle(moved);
        }
        let (first, ids) = self.commit(cx, id)?;
        let real = |id: NodeId| if Stage::is_staged(id) { ids[Stage::position(first, id)] } else { id };
        let results: Nodes = results.into_iter().map(real).collect();
        check_replacement(cx.function(), self.relations, id, &results)?;
        self.stats.n_rewrites += 1;
        self.home[id.index()] = NOWHERE;
        let action = if n_results.is_some() {
            // How often they are used is counted again in the next round.
            if let Some(used) = &mut self.used {
                results.iter().filter(|new| !new.is_absent()).for_each(|&new| used.add(cx.function(), new));
            }
            for new in results.iter().filter(|new| ids.contains(new)) {
                cx.function_mut().inherit_description(*new, id);
            }
            cx.replace_results(id, results.into_vec());
            Action::Drop
        } else {
            let new = results[0];
            let n_uses = self.uses[id.index()];
            bump(&mut self.uses, new, n_uses.into());
            self.uses[id.index()] = 0;
            if let Some(used) = &mut self.used {
                used.add(cx.function(), new);
            }
            self.inherit(cx, id, new, ids.contains(&new));
            Action::Replace(new)
        };
        for (call, by) in others.calls {
            let by: Nodes = by.into_iter().map(real).collect();
            self.replace_later(cx, call, &by)?;
        }
        if let Some(ahead) = self.ahead.get_mut() {
            ahead.gone.extend(others.moved);
        }
        Ok(action)
    }

    /// Checks the calls and bindings that are replaced and moved with a call.
    ///
    /// # Errors
    /// Returns an error if they do not come later in its block, or cannot be moved.
    fn check_others(&self, f: &Function, id: NodeId, others: &Replacements) -> Result<(), PassError> {
        let comes_later = |other: NodeId| {
            let ahead = self.ahead.get_or_init(|| Ahead::of(f));
            other.index() < f.n_nodes() && ahead.is_after(other, id)
        };
        for (at, (call, _)) in others.calls.iter().enumerate() {
            if !comes_later(*call) || others.calls[..at].iter().any(|(other, _)| other == call) {
                return Err(stray(f, *call, "replaced"));
            }
        }
        for (at, &moved) in others.moved.iter().enumerate() {
            let operands = match f.expr(moved) {
                _ if !comes_later(moved) || f.n_regions(moved) > 0 => return Err(stray(f, moved, "moved")),
                Expr::Constant(_) => &[],
                Expr::Tuple(fields) => fields,
                Expr::TupleGetItem { .. } => f.operands(moved),
                Expr::Call(call) => call.args(),
                _ => return Err(stray(f, moved, "moved")),
            };
            let is_replaced = |by: NodeId| by == id || others.calls.iter().any(|(call, _)| *call == by);
            let is_there = |by: &&NodeId| {
                by.is_absent() || self.is_visible(**by) && !is_replaced(**by) || others.moved[..at].contains(by)
            };
            if let Some(&by) = operands.iter().find(|by| !is_there(by)) {
                return Err(stray(f, by, "moved a user of"));
            }
        }
        Ok(())
    }

    /// Replaces a call that comes later in the block.
    fn replace_later(&mut self, cx: &mut RebuildCx<'_>, call: NodeId, by: &[NodeId]) -> Result<(), PassError> {
        check_replacement(cx.function(), self.relations, call, by)?;
        self.release(cx.function(), call);
        if let Some(used) = &mut self.used {
            by.iter().filter(|new| !new.is_absent()).for_each(|&new| used.add(cx.function(), new));
        }
        if let Some(ahead) = self.ahead.get_mut() {
            ahead.gone.insert(call);
        }
        if cx.function().n_results(call).is_some() {
            cx.replace_results(call, by.to_vec());
            cx.forget(call);
            return Ok(());
        }
        let n_uses = self.uses.get(call.index()).copied().unwrap_or(0);
        bump(&mut self.uses, by[0], n_uses.into());
        self.uses[call.index()] = 0;
        cx.take_over(call, by[0]);
        Ok(())
    }

    /// Whether the rule may name a node: one that it made for this call, or a value that is visible there.
    fn is_known(&self, id: NodeId) -> bool {
        if Stage::is_staged(id) { self.stage.index(id).is_some() } else { self.is_visible(id) }
    }

    /// Gives what takes the place of a value what is known of the value.
    fn inherit(&mut self, cx: &mut RebuildCx<'_>, old: NodeId, new: NodeId, is_new: bool) {
        let f = cx.function();
        if f.kind(new) == kind::IMM {
            return;
        }
        let (ty, old_type) = (f.type_id(new), f.type_id(old));
        // It is the same value wherever both are computed, and its type there is the known information of either. But
        // the type of a parameter belongs to the interface.
        let is_beside = is_new || self.home.get(new.index()) == self.open.last();
        let may_know_more = ty != old_type && old_type != TypeId::UNKNOWN && is_beside && f.kind(new) != kind::VAR;
        if !is_new && !may_know_more {
            return;
        }
        let f = cx.function_mut();
        if is_new && f.name_id(new) == StrId::EMPTY {
            f.inherit_value(new, old);
        }
        if may_know_more {
            // If a declared type contradicts it, the new value's own type is right; of two names of a size the old one
            // stays.
            let merged = match contradiction_within((f, old_type), (f, ty)) {
                Some(_) => merge(f, old_type, ty),
                None => merge(f, ty, old_type),
            };
            if merged != ty {
                f.set_type(new, merged);
                if let Some(traces) = self.traces.as_mut().filter(|_| !is_new) {
                    traces.is_open = true;
                }
            }
        }
    }
}

fn stray(f: &Function, id: NodeId, verb: &str) -> PassError {
    let message = if Stage::is_staged(id) {
        "a node that it made for another call".to_owned()
    } else if id.is_absent() {
        "the absent operand".to_owned()
    } else if id.index() >= f.n_nodes() {
        format!("{id}, which does not exist")
    } else {
        format!("{id}, which is not visible at the call")
    };
    PassError::new(format_args!("the rewrite {verb} {message}"))
        .code("R001")
        .help("use operands of the call, what they are computed from in the same block, and nodes made for this call")
}

#[cfg(test)]
mod tests;
