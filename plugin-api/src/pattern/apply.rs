//! Rewriting a function by rules.

use super::{
    Rules,
    compile::{Compiled, Pat, Program, Symbol, compile},
    error,
    replace::Maker,
    search::{Inner, Known, Match, OpInfo, Search},
};
use crate::{
    diagnostics::PassError,
    infer::Operators,
    ir::*,
    pass::{PassCx, drive},
    rewrite::{DriveOptions, DriveStats, Rewrite, RewriteCx},
};
use smallvec::SmallVec;

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

/// Checks rules for every function of a module.
///
/// # Errors
/// Returns the faults for the first function that has some, with their places.
pub fn check_module(rules: &Rules, module: &IRModule, cx: &PassCx<'_>) -> Result<(), PassError> {
    module.functions().try_for_each(|(name, f)| check(rules, f, cx).map_err(|error| error.in_function(name)))
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
    let mut matcher = Matcher::new(&program, &mut facts, cx.wants_remarks());
    let options = DriveOptions::default();
    let driven = drive(editor, cx, &mut |call, cx| matcher.rewrite(call, cx), &ops, options);
    driven.map_err(|error| {
        if let Some((rule, condition)) = matcher.known.asked.take() {
            let Compiled { name, conditions, .. } = &program.rules[rule];
            let (_, condition) = &conditions[condition];
            return error.with_note(format_args!("the panic was in the condition `{condition}` of {name}"));
        }
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
        let name = |symbol: &Symbol| match symbol.domain.as_str() {
            "" => symbol.name.clone(),
            domain => format!("{domain}::{}", symbol.name),
        };
        roots.into_iter().map(|root| name(&self.symbols[root])).collect()
    }
}

/// The rules for the calls of an operator.
struct Candidates {
    /// In the order in which they are tried.
    rules: Vec<Candidate>,
    /// The number of arguments of which a rule wants to know the operator that computes them.
    n_producers: usize,
}

struct Candidate {
    /// The index of the rule.
    rule: usize,
    /// The operators that must compute arguments: the positions, and the indices of the operators. Empty for a rule
    /// with alternatives.
    inner: SmallVec<[(usize, usize); 2]>,
    /// Conditions that are tried before a match is looked for. Empty for a rule with alternatives.
    guards: SmallVec<[Guard; 2]>,
}

/// A condition about the type of a value that is at one place in every match, unless operators on the way are
/// commutative.
struct Guard {
    /// The positions of arguments, from the outermost call on; none is its result.
    path: SmallVec<[usize; 2]>,
    /// The index of the condition.
    condition: usize,
}

impl Candidates {
    fn of(program: &Program<'_>, symbol: usize) -> Self {
        let mut rules = Vec::new();
        for (index, rule) in program.rules.iter().enumerate() {
            let mut roots = rule.roots.iter().filter(|root| root.symbol == symbol);
            let (Some(root), second) = (roots.next(), roots.next()) else { continue };
            if second.is_some() {
                rules.push(Candidate { rule: index, inner: SmallVec::new(), guards: SmallVec::new() });
                continue;
            }
            let args = root.args.iter().enumerate();
            let inner =
                args.filter_map(|(at, arg)| if let Pat::Call(arg) = arg { Some((at, arg.symbol)) } else { None });
            let conditions = rule.conditions.iter().enumerate();
            let guards = conditions.filter_map(|(condition, (test, _))| {
                let path = root.place_of(test.typed()?)?;
                Some(Guard { path, condition })
            });
            rules.push(Candidate { rule: index, inner: inner.collect(), guards: guards.collect() });
        }
        rules.sort_by_key(|candidate| std::cmp::Reverse(program.rules[candidate.rule].size));
        let last = rules.iter().flat_map(|candidate| &candidate.inner).map(|&(at, _)| at).max();
        // Of a commutative operator, the first two arguments may change places.
        Self { rules, n_producers: last.map_or(0, |last| last.max(1) + 1) }
    }
}

/// No operator that a rule names.
const OTHER: usize = usize::MAX;

/// One matcher for all rules.
struct Matcher<'m> {
    program: &'m Program<'m>,
    facts: &'m mut dyn Operators,
    /// By operator: the rules for its calls.
    by_root: Vec<Candidates>,
    known: Known,
    /// By node, as far as there are any: whether it is the value of a call that was replaced and that nothing uses any
    /// more.
    dead: Vec<bool>,
    found: Match,
    /// The rules of the last rewrites.
    last: Vec<usize>,
}

impl<'m> Matcher<'m> {
    fn new(program: &'m Program<'m>, facts: &'m mut dyn Operators, says_why: bool) -> Self {
        let by_root = (0..program.symbols.len()).map(|symbol| Candidates::of(program, symbol));
        Self {
            program,
            facts,
            by_root: by_root.collect(),
            known: Known { says_why, ..Known::default() },
            dead: Vec::new(),
            found: Match::default(),
            last: Vec::new(),
        }
    }

    /// Looks up operators that the function has since the last call.
    fn learn(&mut self, f: &Function) {
        for index in self.known.infos.len()..f.n_ops() {
            let op = OpId(index as u32);
            let rec = f.op(op);
            let (domain, name) = (normal_domain(f.str(rec.domain)), f.str(rec.name));
            let symbol = self.program.symbols.iter().position(|it| it.domain == domain && it.name == name);
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
            self.known.infos.push(info);
        }
    }

    fn rewrite<'f>(&mut self, call: CallView<'f>, cx: &mut RewriteCx<'f>) -> Rewrite {
        self.learn(cx.function());
        let Some(symbol) = call.op().and_then(|op| self.known.infos.get(op.index())?.symbol) else {
            return Rewrite::Keep;
        };
        let program = self.program;
        let mut reason = None;
        let is_commutative = call.op().is_some_and(|op| self.known.infos[op.index()].is_commutative);
        let producers = self.producers(call, self.by_root[symbol].n_producers);
        for at in 0..self.by_root[symbol].rules.len() {
            let Candidate { rule: index, inner, guards } = &self.by_root[symbol].rules[at];
            let index = *index;
            // Most rules end here.
            let is_inner = |at: usize, symbol: usize| producers.get(at) == Some(&symbol);
            let may_match = |&(at, symbol): &(usize, usize)| {
                is_inner(at, symbol) || is_commutative && at < 2 && is_inner(1 - at, symbol)
            };
            if !inner.iter().all(may_match) {
                continue;
            }
            let rule = &program.rules[index];
            // A search says why.
            if !self.known.says_why && !guards.iter().all(|guard| self.may_hold(guard, rule, call)) {
                continue;
            }
            let mut search = Search::new(cx, &self.known, rule, call, &mut self.found);
            if !search.run() {
                reason = reason.or(search.reason);
                continue;
            }
            let maker = Maker { program, known: &self.known, rule, found: &self.found };
            match maker.results(call, cx) {
                Ok(results) => {
                    self.forget(cx.function(), index);
                    if self.last.len() == N_NAMED {
                        self.last.remove(0);
                    }
                    self.last.push(index);
                    return match call.n_results() {
                        None => Rewrite::Replace(results[0]),
                        Some(_) => Rewrite::ReplaceResults(results.into_vec()),
                    };
                }
                Err(why) => {
                    cx.forget_made();
                    reason.get_or_insert_with(|| format!("{}: {why}", rule.name));
                }
            }
        }
        reason.map_or(Rewrite::Keep, Rewrite::decline)
    }

    /// Returns, for the first arguments of a call, the operators that compute them.
    fn producers(&self, call: CallView<'_>, n: usize) -> SmallVec<[usize; 6]> {
        let f = call.owner();
        let producer = |&arg: &NodeId| self.known.infos.get(producer(f, arg)?.op()?.index())?.symbol;
        call.args().iter().take(n).map(|arg| producer(arg).unwrap_or(OTHER)).collect()
    }

    /// Whether the condition may hold in a match at a call.
    fn may_hold(&self, guard: &Guard, rule: &Compiled<'_>, root: CallView<'_>) -> bool {
        let f = root.owner();
        let mut value = root.id;
        for &at in &guard.path {
            let Some(call) = producer(f, value) else { return false };
            let info = call.op().and_then(|op| self.known.infos.get(op.index()));
            if at < 2 && info.is_none_or(|info| info.is_commutative) {
                return true;
            }
            match call.args().get(at) {
                Some(arg) if !arg.is_absent() => value = *arg,
                _ => return false,
            }
        }
        rule.conditions[guard.condition].0.holds_for(f.type_of(value))
    }

    /// Notes that inner calls of a match which the right side does not use no longer count as users.
    fn forget(&mut self, f: &Function, rule: usize) {
        let mut alive = Vec::new();
        self.program.rules[rule].results.iter().for_each(|made| made.nodes(&self.found, &mut alive));
        for Inner { value, call, is_shared } in &self.found.inner {
            if *is_shared || alive.contains(value) {
                alive.extend(f.operands(*call));
                continue;
            }
            let is_dead = entry(&mut self.dead, *value);
            if !std::mem::replace(is_dead, true) {
                let projected = (value != call).then_some(*call);
                for operand in f.operands(*call).iter().copied().chain(projected).filter(|operand| !operand.is_absent())
                {
                    *entry(&mut self.known.dead_uses, operand) += 1;
                }
            }
        }
    }
}

/// The call that computes a value.
fn producer(f: &Function, value: NodeId) -> Option<CallView<'_>> {
    match f.expr(value) {
        Expr::Call(call) => Some(call),
        Expr::TupleGetItem { tuple, .. } => f.call(tuple),
        _ => None,
    }
}

/// The entry of a node in a list that may be shorter.
fn entry<T: Default + Clone>(list: &mut Vec<T>, id: NodeId) -> &mut T {
    if list.len() <= id.index() {
        list.resize(id.index() + 1, T::default());
    }
    &mut list[id.index()]
}
