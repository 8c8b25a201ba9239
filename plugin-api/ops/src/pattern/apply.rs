//! Rewriting a function by rules.

use super::{
    RuleLevel, Rules,
    compile::{Which, compile},
    error,
    found::{Inner, Known, Match, OpInfo, Slot, Values},
    matched::{MakeFn, Matched},
    program::{CallPat, Compiled, Pat, Program, Symbol},
    replace::{Maker, WithOperators},
    search::Search,
};
use crate::{
    core_facts::CoreFacts,
    relations::{Operators, TypeRelations},
    rewrite::{DriveOptions, DriveStats, Rewrite, RewriteCx, RewriteFn, drive_with},
};
use relais_ir::{diagnostics::PassError, *};
use smallvec::SmallVec;

/// The number of the last rewrites whose rules are named when there is no end.
const N_NAMED: usize = 8;

/// Checks rules for the operator sets that a function imports. Rules for loop programs do not depend on either: every
/// prim func has the same operators.
///
/// # Errors
/// Returns the faults, with their places.
pub fn check_with(rules: &Rules, function: &Function, facts: &mut dyn Operators) -> Result<(), PassError> {
    let program = match rules.level() {
        Some(RuleLevel::Prim) => compile(rules, Which::All, &Function::new(), &mut CoreFacts::default()),
        _ => compile(rules, Which::All, function, facts),
    };
    if program.faults.is_empty() { Ok(()) } else { Err(error(program.faults)) }
}

/// Receives why a rule, or a match at a call, is declined.
pub type Explain<'e> = dyn FnMut(NodeId, &str) + 'e;

/// Rewrites a function by rules until none matches, with facts about operators, of the function and of others, and type
/// relations, which rules for loop programs do not ask. `explain` receives why rules and matches are declined.
///
/// # Errors
/// Returns an error if a rule is not valid for the operator sets that the function imports, makes a call that its operator
/// does not accept, or if the rules still match after the most rounds that `DriveOptions` allow by default.
pub fn apply_with(
    editor: &mut Editor,
    (facts, compute): (&mut dyn Operators, &WithOperators<'_>),
    relations: &mut dyn TypeRelations,
    rules: &Rules,
    explain: Option<&mut Explain<'_>>,
) -> Result<DriveStats, PassError> {
    let says_why = explain.is_some();
    let mut ignore = |_: NodeId, _: &str| {};
    let explain = explain.unwrap_or(&mut ignore);
    let driven = |editor: &mut Editor, rule: &mut RewriteFn<'_>, ops: &[&str], options| {
        let stats = drive_with(editor, relations, rule, ops, options)?;
        match stats.settled {
            true => Ok(stats),
            false => Err(stats.unsettled()),
        }
    };
    let skipped = &mut |why: &str| explain(NodeId::ABSENT, why);
    let stats = if rules.level() == Some(RuleLevel::Prim) {
        let facts = &mut CoreFacts::new(editor.function());
        let compute: &WithOperators<'_> = &|f, body| body(&mut CoreFacts::new(f));
        apply_by(editor, (facts, compute), rules, says_why, skipped, driven)?
    } else {
        apply_by(editor, (facts, compute), rules, says_why, skipped, driven)?
    };
    stats.declined.iter().for_each(|(node, why)| explain(*node, why));
    Ok(stats)
}

/// Rewrites a function by rules: `driven` offers calls until none matches. `skipped` receives why rules are left out, where
/// `says_why`.
///
/// # Errors
/// As for [`apply_with`], and what `driven` returns.
pub fn apply_by(
    editor: &mut Editor,
    (facts, compute): (&mut dyn Operators, &WithOperators<'_>),
    rules: &Rules,
    says_why: bool,
    skipped: &mut dyn FnMut(&str),
    driven: impl FnOnce(&mut Editor, &mut RewriteFn<'_>, &[&str], DriveOptions) -> Result<DriveStats, PassError>,
) -> Result<DriveStats, PassError> {
    // Remarks are about all rules, and a function of the program may make any call.
    let which = if says_why || rules.make.is_some() { Which::All } else { Which::Possible };
    let mut program = compile(rules, which, editor.function(), facts);
    if !program.faults.is_empty() {
        return Err(error(std::mem::take(&mut program.faults)));
    }
    program.skipped.iter().for_each(|why| skipped(why));
    let ops = program.root_ops();
    if ops.is_empty() {
        return Ok(DriveStats { settled: true, ..DriveStats::default() });
    }
    let ops: Vec<&str> = ops.iter().map(String::as_str).collect();
    let by_root: Vec<Candidates> = (0..program.symbols.len()).map(|symbol| Candidates::of(&program, symbol)).collect();
    let mut matcher =
        Matcher { make: rules.make.as_ref(), ..Matcher::new(&program, &by_root, facts, compute, says_why) };
    // The last round says why rules are declined.
    let is_local = !says_why && rules.make.is_none() && program.rules.iter().all(Compiled::is_local);
    let is_prim = rules.level() == Some(RuleLevel::Prim);
    let options = DriveOptions { is_local, is_prim, ..DriveOptions::default() };
    let driven = driven(editor, &mut |call, cx| matcher.rewrite(call, cx), &ops, options);
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
    /// The places of the values whose types guards want to know, as positions of arguments from the call on; none is its
    /// result.
    places: Vec<Path>,
    /// The number of arguments of which a rule wants to know the operator that computes them.
    n_producers: usize,
}

struct Candidate {
    /// The index of the rule.
    rule: usize,
    /// The number of the call's pattern, if the rule has several outermost calls.
    first: usize,
    /// The operators that must compute arguments: the positions, and the indices of the operators. Empty for a rule
    /// with alternatives.
    inner: SmallVec<[(usize, usize); 2]>,
    /// Conditions that are tried before a match is looked for. Empty for a rule with alternatives.
    guards: SmallVec<[Guard; 2]>,
}

/// A condition about the type of a value that is at one place in every match, unless operators on the way are
/// commutative.
struct Guard {
    /// The index of the value's place.
    place: usize,
    /// The index of the condition.
    condition: usize,
}

/// The positions of arguments that lead from a call to a value.
type Path = SmallVec<[usize; 2]>;

/// The end of a path from a call.
#[derive(Clone, Copy)]
enum Place {
    Value(NodeId),
    /// There is no such argument.
    Nowhere,
    /// Operators on the way are commutative, or functions.
    Anywhere,
}

/// The places of a call, as far as guards asked for them.
type Seen = SmallVec<[Option<Place>; 4]>;

impl Candidates {
    fn of(program: &Program<'_>, symbol: usize) -> Self {
        let (mut rules, mut places) = (Vec::new(), Vec::<Path>::new());
        for (index, rule) in program.rules.iter().enumerate() {
            let mut candidate = |first: usize, root: &CallPat| {
                let args = root.args.iter().enumerate();
                let inner =
                    args.filter_map(|(at, arg)| if let Pat::Call(arg) = arg { Some((at, arg.symbol)) } else { None });
                let conditions = rule.conditions.iter().enumerate();
                let guards = conditions.filter_map(|(condition, (test, _))| {
                    let path = root.place_of(test.typed()?)?;
                    let known = places.iter().position(|place| *place == path);
                    let place = known.unwrap_or_else(|| {
                        places.push(path);
                        places.len() - 1
                    });
                    Some(Guard { place, condition })
                });
                Candidate { rule: index, first, inner: inner.collect(), guards: guards.collect() }
            };
            let roots = rule.roots.iter().enumerate().filter(|(_, root)| root.symbol == symbol);
            let roots: SmallVec<[(usize, &CallPat); 2]> = roots.collect();
            match roots.as_slice() {
                [] => {}
                several if !rule.plans.is_empty() => {
                    rules.extend(several.iter().map(|(first, root)| candidate(*first, root)));
                }
                [(_, one)] => rules.push(candidate(0, one)),
                _ => rules.push(Candidate { rule: index, first: 0, inner: SmallVec::new(), guards: SmallVec::new() }),
            }
        }
        rules.sort_by_key(|candidate| std::cmp::Reverse(program.rules[candidate.rule].size));
        let last = rules.iter().flat_map(|candidate| &candidate.inner).map(|&(at, _)| at).max();
        // Of a commutative operator, the first two arguments may change places.
        Self { rules, places, n_producers: last.map_or(0, |last| last.max(1) + 1) }
    }
}

/// No operator that a rule names.
const OTHER: usize = usize::MAX;

/// One matcher for all rules.
struct Matcher<'m> {
    program: &'m Program<'m>,
    /// The facts about operators of other functions.
    compute: &'m WithOperators<'m>,
    /// Makes the right sides, if it is a function.
    make: Option<&'m MakeFn>,
    facts: &'m mut dyn Operators,
    /// Whether a rule may move calls of any operator.
    moves: bool,
    /// By operator: the rules for its calls.
    by_root: &'m [Candidates],
    known: Known,
    /// By node, as far as there are any: whether it is the value of a call that was replaced and that nothing uses any
    /// more.
    dead: Vec<bool>,
    found: Match,
    /// The rules of the last rewrites.
    last: Vec<usize>,
}

impl<'m> Matcher<'m> {
    fn new(
        program: &'m Program<'m>,
        by_root: &'m [Candidates],
        facts: &'m mut dyn Operators,
        compute: &'m WithOperators<'m>,
        says_why: bool,
    ) -> Self {
        Self {
            program,
            compute,
            make: None,
            facts,
            moves: program.rules.iter().any(|rule| !rule.plans.is_empty()),
            by_root,
            known: Known { says_why, callees: vec![None; program.symbols.len()], ..Known::default() },
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
            if let Some(symbol) = symbol {
                let same_domain =
                    f.str(rec.domain) == domain && (domain.is_empty() || f.opset_version(domain).is_some());
                if same_domain && rec.overload == StrId::EMPTY && rec.version == 0 {
                    self.known.callees[symbol].get_or_insert(rec.node);
                }
            }
            if symbol.is_some() || self.moves {
                info.version = self.facts.version(f, op);
                let effects = self.facts.effects(op);
                info.is_removable = effects.is_mergeable() && effects.is_removable();
            }
            if let Some(schema) = symbol.and_then(|_| self.facts.schema(op)) {
                info.is_commutative = schema.is_commutative;
                let defaults = schema.attrs.iter();
                let defaults = defaults.filter_map(|attr| Some((attr.name.clone(), attr.default_value()?.into())));
                info.defaults = defaults.collect();
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
        let Candidates { rules, places, n_producers } = &self.by_root[symbol];
        let producers = self.producers(call, *n_producers);
        let mut seen = Seen::new();
        for Candidate { rule: index, first, inner, guards } in rules {
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
            if !self.known.says_why && !guards.is_empty() {
                seen.resize(places.len(), None);
                let mut at = |place: usize| *seen[place].get_or_insert_with(|| self.place(call, &places[place]));
                let may_hold = |guard: &Guard| match at(guard.place) {
                    Place::Value(value) => rule.conditions[guard.condition].0.holds_for(call.owner().type_of(value)),
                    Place::Nowhere => false,
                    Place::Anywhere => true,
                };
                if !guards.iter().all(may_hold) {
                    continue;
                }
            }
            let mut search = Search::new(cx, &self.known, rule, call, *first, &mut self.found);
            if !search.run() {
                reason = reason.or(search.reason);
                continue;
            }
            if let Some(make) = self.make.filter(|_| rule.plans.is_empty()) {
                let args: SmallVec<[Slot; 8]> = (0..rule.slots.len()).collect();
                let (f, known, found) = (cx.function(), &self.known, &self.found);
                let matched = Matched { f, uses: cx.uses(), known, slots: &rule.slots, found, args: &args };
                match make.make(&matched, cx) {
                    Ok(results) => {
                        let alive = results.iter().copied().chain(cx.made_from()).collect();
                        self.forget(cx.function(), alive);
                        self.last_by(index);
                        return match (call.n_results(), results.as_slice()) {
                            (None, &[one]) => Rewrite::Replace(one),
                            _ => Rewrite::ReplaceResults(results),
                        };
                    }
                    Err(why) => {
                        cx.forget_made();
                        reason.get_or_insert_with(|| format!("{}: {why}", rule.name));
                        continue;
                    }
                }
            }
            let maker = Maker { compute: self.compute, program, known: &self.known, rule, found: &self.found };
            let made = maker.rewrite(call, cx).and_then(|rewrite| match cx.refused() {
                Some(why) => Err(format!("the right side is refused: {why}")),
                None => Ok(rewrite),
            });
            match made {
                Ok(rewrite) => {
                    let mut alive = Values::new();
                    rule.results.iter().for_each(|made| made.nodes(&self.found, &mut alive));
                    self.forget(cx.function(), alive);
                    self.last_by(index);
                    return rewrite;
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
        let (f, infos) = (call.owner(), &self.known.infos);
        let mut producers = SmallVec::new();
        for &arg in call.args().iter().take(n) {
            let op = producer(f, arg).and_then(|call| call.op());
            producers.push(op.and_then(|op| infos.get(op.index())?.symbol).unwrap_or(OTHER));
        }
        producers
    }

    /// Follows a path from a call.
    fn place(&self, root: CallView<'_>, path: &Path) -> Place {
        let f = root.owner();
        let (mut value, mut call) = (root.id, Some(root));
        for (depth, &at) in path.iter().enumerate() {
            if depth > 0 {
                call = producer(f, value);
            }
            let Some(call) = call else { return Place::Nowhere };
            let info = call.op().and_then(|op| self.known.infos.get(op.index()));
            if at < 2 && info.is_none_or(|info| info.is_commutative) {
                return Place::Anywhere;
            }
            match call.args().get(at) {
                Some(arg) if !arg.is_absent() => value = *arg,
                _ => return Place::Nowhere,
            }
        }
        Place::Value(value)
    }

    /// Notes by which rule the last call was rewritten.
    fn last_by(&mut self, rule: usize) {
        if self.last.len() == N_NAMED {
            self.last.remove(0);
        }
        self.last.push(rule);
    }

    /// Notes that inner calls of a match which the right side does not use no longer count as users: `alive` are those
    /// that it uses.
    fn forget(&mut self, f: &Function, mut alive: Values) {
        for Inner { value, call, is_shared } in &self.found.inner {
            if *is_shared || alive.contains(value) {
                alive.extend_from_slice(f.operands(*call));
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
#[inline]
fn producer(f: &Function, value: NodeId) -> Option<CallView<'_>> {
    match f.kind(value) {
        kind::TUPLE_GET_ITEM => f.call(f.operands(value)[0]),
        _ => f.call(value),
    }
}

/// The entry of a node in a list that may be shorter.
fn entry<T: Default + Clone>(list: &mut Vec<T>, id: NodeId) -> &mut T {
    if list.len() <= id.index() {
        list.resize(id.index() + 1, T::default());
    }
    &mut list[id.index()]
}
