//! Rewriting a function by rules.

use super::{
    Rules,
    compile::{CallPat, Pat, Program, compile},
    error,
    replace::Plan,
    search::{Inner, OpInfo, Search},
};
use crate::{
    diagnostics::PassError,
    infer::{Operators, contradiction},
    ir::*,
    pass::{PassCx, drive},
    rewrite::{DriveOptions, DriveStats, Rewrite, RewriteCx},
};
use smallvec::SmallVec;
use std::{
    cell::OnceCell,
    collections::{HashMap, HashSet},
};

/// The number of the last rewrites whose rules are named when there is no end.
const N_NAMED: usize = 8;

/// Checks rules for the operator sets that a function imports.
///
/// # Errors
/// Returns the faults, with their places.
pub fn check(rules: &Rules, function: &Function, cx: &PassCx<'_>) -> Result<(), PassError> {
    let mut relations = cx.ops(function);
    let program = compile(rules, function, &mut relations);
    if program.faults.is_empty() { Ok(()) } else { Err(error(program.faults)) }
}

/// Rewrites a function by rules until none matches. Matches that are declined become remarks that name the rule.
///
/// # Errors
/// Returns an error if a rule is not valid for the operator sets that the function imports, makes a call that its
/// operator does not accept, or if the rules still match after the most rounds that `DriveOptions` allow by default.
pub fn apply(editor: &mut Editor, cx: &PassCx<'_>, rules: &Rules) -> Result<DriveStats, PassError> {
    let mut facts = cx.ops(editor.function());
    let mut program = compile(rules, editor.function(), &mut facts);
    if !program.faults.is_empty() {
        return Err(error(std::mem::take(&mut program.faults)));
    }
    for why in &program.skipped {
        cx.remark(NodeId::ABSENT, why);
    }
    let ops = program.root_ops();
    if ops.is_empty() {
        return Ok(DriveStats { settled: true, ..DriveStats::default() });
    }
    let ops: Vec<&str> = ops.iter().map(String::as_str).collect();
    let mut matcher = Matcher::new(&program, &mut facts);
    let options = DriveOptions::default();
    let driven = drive(editor, cx, &mut |call, cx| matcher.rewrite(call, cx), &ops, options);
    driven.map_err(|error| {
        let mut names: Vec<&str> = Vec::new();
        for &index in &matcher.last {
            let name = program.rules[index].name.as_str();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        match names.is_empty() {
            true => error,
            false => error.with_note(format_args!("the last calls were rewritten by {}", names.join(", "))),
        }
    })
}

impl Program<'_> {
    /// The operators of outermost calls.
    fn root_ops(&self) -> Vec<String> {
        let mut roots: Vec<usize> = self.rules.iter().flat_map(|rule| &rule.roots).map(|root| root.symbol).collect();
        roots.sort_unstable();
        roots.dedup();
        let name = |(domain, name): &(String, String)| match domain.as_str() {
            "" => name.clone(),
            domain => format!("{domain}::{name}"),
        };
        roots.into_iter().map(|root| name(&self.symbols[root])).collect()
    }
}

/// One matcher for all rules.
struct Matcher<'m> {
    program: &'m Program<'m>,
    facts: &'m mut dyn Operators,
    /// By operator of a left side: the rules for its calls, in the order in which they are tried.
    by_root: Vec<Vec<usize>>,
    /// By operator of the function.
    infos: Vec<OpInfo>,
    /// Uses by calls that were replaced and that nothing uses any more: they stay until dead code is removed.
    dead_uses: HashMap<NodeId, u32>,
    /// The values of these calls.
    dead: HashSet<NodeId>,
    used: OnceCell<UsedResults>,
    /// The rules of the last rewrites.
    last: Vec<usize>,
}

impl<'m> Matcher<'m> {
    fn new(program: &'m Program<'m>, facts: &'m mut dyn Operators) -> Self {
        let mut by_root = vec![Vec::new(); program.symbols.len()];
        for (index, rule) in program.rules.iter().enumerate() {
            for root in &rule.roots {
                let rules: &mut Vec<usize> = &mut by_root[root.symbol];
                if rules.last() != Some(&index) {
                    rules.push(index);
                }
            }
        }
        for rules in &mut by_root {
            rules.sort_by_key(|&index| std::cmp::Reverse(program.rules[index].size));
        }
        Self {
            program,
            facts,
            by_root,
            infos: Vec::new(),
            dead_uses: HashMap::new(),
            dead: HashSet::new(),
            used: OnceCell::new(),
            last: Vec::new(),
        }
    }

    /// Looks up operators that the function has since the last call.
    fn learn(&mut self, f: &Function) {
        for index in self.infos.len()..f.n_ops() {
            let op = OpId(index as u32);
            let rec = f.op(op);
            let (domain, name) = (normal_domain(f.str(rec.domain)), f.str(rec.name));
            let symbol = self.program.symbols.iter().position(|(d, n)| d == domain && n == name);
            let mut info =
                OpInfo { symbol, version: 0, is_commutative: false, is_removable: false, defaults: Vec::new() };
            if symbol.is_some() {
                info.version = self.facts.version(f, op);
                let effects = self.facts.effects(op);
                info.is_removable = effects.is_mergeable() && effects.is_removable();
                if let Some(schema) = self.facts.schema(op) {
                    info.is_commutative = schema.is_commutative;
                    let defaults = schema.attrs.iter();
                    let defaults = defaults.filter_map(|attr| Some((attr.name.clone(), attr.default_value()?.into())));
                    info.defaults = defaults.collect();
                }
            }
            self.infos.push(info);
        }
    }

    fn rewrite<'f>(&mut self, call: CallView<'f>, cx: &mut RewriteCx<'f>) -> Rewrite {
        self.learn(cx.function());
        let symbol = call.op().and_then(|op| self.infos.get(op.index())?.symbol);
        let program = self.program;
        let mut reason = None;
        let producers = self.producers(call);
        for at in 0..symbol.map_or(0, |symbol| self.by_root[symbol].len()) {
            let index = self.by_root[symbol.unwrap_or(0)][at];
            let rule = &program.rules[index];
            if !rule.roots.iter().any(|root| self.may_match(root, call, &producers)) {
                continue;
            }
            let mut search = Search::new(cx, &self.infos, &self.dead_uses, &self.used, rule, call);
            if !search.run() {
                reason = reason.or(search.reason);
                continue;
            }
            let plans = search.plan(program);
            let inner = std::mem::take(&mut search.inner);
            let rewrite = match plans {
                Ok(plans) => {
                    let rewrite = replace(call, cx, program, &plans);
                    if rewrite.is_ok() {
                        self.forget(cx.function(), &inner, &plans);
                    }
                    rewrite
                }
                Err(why) => Err(why),
            };
            return match rewrite {
                Ok(rewrite) => {
                    if self.last.len() == N_NAMED {
                        self.last.remove(0);
                    }
                    self.last.push(index);
                    rewrite
                }
                Err(why) => Rewrite::decline(format!("{}: {why}", rule.name)),
            };
        }
        reason.map_or(Rewrite::Keep, Rewrite::decline)
    }

    /// Returns, for each argument of a call, the operator of left sides that it is the result of.
    fn producers(&self, call: CallView<'_>) -> SmallVec<[Option<usize>; 6]> {
        let f = call.owner();
        let producer = |&arg: &NodeId| {
            let producer = match f.expr(arg) {
                Expr::Call(call) => call,
                Expr::TupleGetItem { tuple, .. } => f.call(tuple)?,
                _ => return None,
            };
            self.infos.get(producer.op()?.index())?.symbol
        };
        call.args().iter().map(producer).collect()
    }

    /// Whether the arguments of a call are results of the operators that a pattern wants: most rules end here.
    fn may_match(&self, root: &CallPat, call: CallView<'_>, producers: &[Option<usize>]) -> bool {
        let info = call.op().and_then(|op| self.infos.get(op.index()));
        let is_commutative = info.is_some_and(|info| info.is_commutative);
        root.args.iter().enumerate().all(|(at, pat)| {
            let Pat::Call(inner) = pat else { return true };
            let is_inner = |at: usize| producers.get(at) == Some(&Some(inner.symbol));
            is_inner(at) || is_commutative && at < 2 && is_inner(1 - at)
        })
    }

    /// Notes that inner calls which the right side does not use no longer count as users.
    fn forget(&mut self, f: &Function, inner: &[Inner], plans: &[Plan]) {
        let mut alive = Vec::new();
        plans.iter().for_each(|plan| plan.nodes(&mut alive));
        for Inner { value, call, is_shared } in inner {
            if *is_shared || alive.contains(value) {
                alive.extend(f.operands(*call));
            } else if self.dead.insert(*value) {
                let projected = (value != call).then_some(*call);
                for operand in f.operands(*call).iter().copied().chain(projected) {
                    *self.dead_uses.entry(operand).or_default() += 1;
                }
            }
        }
    }
}

/// Makes the right side of a rule.
///
/// # Errors
/// Returns why it cannot take the place of the call.
fn replace(
    call: CallView<'_>,
    cx: &mut RewriteCx<'_>,
    program: &Program<'_>,
    plans: &[Plan],
) -> Result<Rewrite, String> {
    let f = cx.function();
    let n_results = call.n_results();
    let old = |index: usize| match (n_results, f.type_of(call.id)) {
        (None, _) => f.type_id(call.id),
        (Some(_), Type::Tuple(fields)) => fields.get(index).copied().unwrap_or(TypeId::UNKNOWN),
        _ => TypeId::UNKNOWN,
    };
    if plans.len() > n_results.unwrap_or(1) {
        return Err(format!("the call has {} results, and the right side {}", n_results.unwrap_or(1), plans.len()));
    }
    let mut results = Vec::with_capacity(n_results.unwrap_or(1));
    for (index, plan) in plans.iter().enumerate() {
        if matches!(plan, Plan::Absent) {
            results.push(NodeId::ABSENT);
            continue;
        }
        let new = plan.result(cx, program, old(index))?;
        if let Some(why) = contradiction(f.ty(old(index)), cx.type_of(new)) {
            return Err(format!("the right side is of another type: {why}"));
        }
        results.push(new);
    }
    match (n_results, results.as_slice()) {
        (None, &[one]) => Ok(Rewrite::Replace(one)),
        (None, _) => Err("the right side is not one value".to_owned()),
        (Some(n), _) => {
            results.resize(n, NodeId::ABSENT);
            Ok(Rewrite::ReplaceResults(results))
        }
    }
}
