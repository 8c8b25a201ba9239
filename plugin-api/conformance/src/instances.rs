//! Modules on which a rewrite rule applies: instances of its left side, with types and constants of all kinds.
//!
//! Shapes, element types, attributes and constants are chosen at random, with a preference for those that the rule's
//! conditions ask for. A module is kept if all its calls are accepted by their type relations and can be computed.

mod literals;
mod prim;
mod theme;

use super::{
    asked::{asked, elem_asked, numbers_asked, satisfies},
    interpret::{self, Compute, NotComputed},
    journal::Log,
    numbers,
    random::Random,
};
use literals::{integer, literal_of, number, shown};
use relais_patterns::{
    ArgPattern, AttrWanted, CallPattern, Comparison, Computation, Condition, Literal, Name, NewValue, Number, OpName,
    Rule, RuleLevel, Sort, variables,
};
use relais_plugin_api::{
    infer::{Coverage, Operators, infer_function},
    ir::{ElemType, Function, IRModule, MAIN, attr_kind, equal, verify},
    op::{AttrFacts, OpSchema},
    text,
};
use std::{collections::BTreeMap, fmt::Write as _};
use theme::Theme;

/// The most instances of a rule, and the most attempts to make them. Time does not count: the same rule is judged in the
/// same way each time.
const MOST: usize = 128;
const ATTEMPTS: usize = 30_000;

/// The attempts that fail in a row after which no other instance is expected: a left side may have few, or none.
const MOST_MISSES: usize = 5_000;

/// The element types of most tensors, the likely ones more than once.
const ELEMS: [ElemType; 8] = [
    ElemType::FLOAT,
    ElemType::FLOAT,
    ElemType::FLOAT,
    ElemType::FLOAT16,
    ElemType::DOUBLE,
    ElemType::INT64,
    ElemType::INT32,
    ElemType::BOOL,
];

/// Returns modules whose `@main` consists of an instance of a rule's left side, typed. The log has a beat for each attempt.
pub fn of_rule(rule: &Rule, seed: u64, compute: &dyn Compute, log: &dyn Log) -> Vec<IRModule> {
    let mut found = Vec::new();
    let mut n_missed = 0;
    for attempt in attempts(rule, seed, compute).take(ATTEMPTS) {
        log.beat();
        n_missed += 1;
        if let Ok(module) = attempt {
            n_missed = 0;
            found.push(module);
        }
        if found.len() == MOST || n_missed == MOST_MISSES || compute.is_stopped() {
            break;
        }
    }
    found
}

/// Why an attempt to make an instance gave none.
pub enum Miss {
    /// The calls that were made do not fit together, or there is an equal instance already.
    Unfit,
    /// An operator of the left side cannot be used or computed, for this reason.
    NotComputed(String),
}

/// Attempts to make instances of a rule's left side, without end. Equal arguments give equal instances.
pub fn attempts<'a>(
    rule: &'a Rule,
    seed: u64,
    compute: &'a dyn Compute,
) -> impl Iterator<Item = Result<IRModule, Miss>> + 'a {
    // Whatever its name is.
    let text = Rule { name: None, ..rule.clone() }.to_string();
    let mut kept: Vec<IRModule> = Vec::new();
    (0..).map(move |attempt| {
        let module = instance(rule, &mut Random::of(seed, &text, attempt), compute)?;
        if kept.iter().any(|other| equal(other, &module).is_ok()) {
            return Err(Miss::Unfit);
        }
        kept.push(module.clone());
        Ok(module)
    })
}

fn instance(rule: &Rule, random: &mut Random, compute: &dyn Compute) -> Result<IRModule, Miss> {
    if rule.level() == RuleLevel::Prim {
        return prim::instance(rule, random);
    }
    let mut empty = Function::new();
    let (mut made, mut unknown) = (None, None);
    compute.with_ops(&empty.clone(), &mut |ops| {
        let imports = imports(rule, ops);
        let imports: Vec<(&str, i64)> = imports.iter().map(|(domain, version)| (domain.as_str(), *version)).collect();
        empty.set_opset_imports(&imports);
    });
    compute.with_ops(&empty.clone(), &mut |ops| {
        unknown = calls(rule).into_iter().map(|call| &call.op).find(|op| {
            let known = ops.other(&empty, &op.domain, &op.name).and_then(|op| ops.schema(op));
            known.is_none()
        });
        made = Maker::new(rule, random, ops, &empty).make();
    });
    if let Some(op) = unknown {
        return Err(Miss::NotComputed(format!("no plugin describes `{op}`")));
    }
    let parsed = text::parse_str(&made.ok_or(Miss::Unfit)?).ok().filter(|module| verify(module).is_empty());
    let mut module = parsed.ok_or(Miss::Unfit)?;
    let mut f = Function::clone(module.main().ok_or(Miss::Unfit)?);
    let mut is_typed = false;
    compute.with_ops(&f.clone(), &mut |ops| {
        is_typed = infer_function(&mut f, ops, Coverage::Everything).faults.is_empty();
    });
    if !is_typed {
        return Err(Miss::Unfit);
    }
    let inputs = numbers::inputs(&f, 1).map_err(|_| Miss::Unfit)?;
    module.set_function(MAIN, f);
    let results = interpret::run(&module, MAIN, &inputs, compute).and_then(|results| results.into_iter().collect());
    let _: Vec<_> = results.map_err(|stop| match stop {
        NotComputed::NotCovered { why, .. } => Miss::NotComputed(why),
        NotComputed::Wrong(_) => Miss::Unfit,
    })?;
    Ok(module)
}

/// The calls of a rule's left side.
fn calls(rule: &Rule) -> Vec<&CallPattern> {
    let mut all: Vec<&CallPattern> = rule.roots().collect();
    let mut at = 0;
    while let Some(call) = all.get(at) {
        for arg in &call.args {
            match arg {
                ArgPattern::Call(call) => all.push(call),
                ArgPattern::Either(either, _) => all.extend(either),
                _ => {}
            }
        }
        at += 1;
    }
    all
}

/// The operator sets that a function needs for both sides of a rule.
fn imports(rule: &Rule, ops: &mut dyn Operators) -> BTreeMap<String, i64> {
    let mut versions: BTreeMap<String, i64> = BTreeMap::new();
    let mut ranges: Vec<(String, i64, Option<i64>)> = Vec::new();
    let mut see = |op: &OpName, range: Option<(i64, Option<i64>)>, ops: &mut dyn Operators| {
        let newest = ops.newest_version(&op.domain, &op.name).unwrap_or(1);
        let version = versions.entry(op.domain.clone()).or_insert(1);
        *version = newest.max(*version);
        ranges.extend(range.map(|(first, last)| (op.domain.clone(), first, last)));
    };
    calls(rule).into_iter().for_each(|call| see(&call.op, call.versions, ops));
    let mut values: Vec<&NewValue> = rule.results.iter().collect();
    while let Some(value) = values.pop() {
        match value {
            NewValue::Call { op, args, .. } => {
                see(op, None, ops);
                values.extend(args);
            }
            NewValue::Like { args, .. } => values.extend(args),
            NewValue::Eval(call, _) => values.push(call),
            _ => {}
        }
    }
    let default = versions.entry(String::new()).or_insert(1);
    *default = rule.opset.unwrap_or(1).max(*default);
    for (domain, first, last) in ranges {
        let version = versions.entry(domain).or_insert(1);
        *version = last.map_or(*version, |last| last.min(*version)).max(first);
    }
    versions
}

/// The meaning of a variable in an instance.
#[derive(Clone)]
enum Bound {
    /// Values: one, none or several.
    Values(Vec<String>),
    /// The text of an attribute; `None` is absent.
    Attr(Option<String>),
}

struct Maker<'m> {
    rule: &'m Rule,
    random: &'m mut Random,
    ops: &'m mut dyn Operators,
    f: &'m Function,
    /// The element type of most tensors.
    elem: ElemType,
    /// The sort of numbers in constants.
    theme: Theme,
    /// The rank of most tensors, and the size of most dimensions.
    rank: usize,
    size: u64,
    /// In how many of a hundred cases a dimension has that size.
    evenness: u64,
    /// Whether no size of a parameter is known before the module runs.
    is_dynamic: bool,
    bound: BTreeMap<String, Bound>,
    /// By name of a value: its element type and dimensions.
    known: BTreeMap<String, (ElemType, Vec<u64>)>,
    /// The dimensions of the constant made last. Other constants may get the same, as weights of one call often have.
    weights: Option<Vec<u64>>,
    are_weights_alike: bool,
    params: Vec<String>,
    lines: Vec<String>,
    n: usize,
}

impl<'m> Maker<'m> {
    fn new(rule: &'m Rule, random: &'m mut Random, ops: &'m mut dyn Operators, f: &'m Function) -> Self {
        let elem = ELEMS[random.below(ELEMS.len() as u64) as usize];
        let (rank, size) = (random.below(5) as usize, 1 + random.below(3));
        let theme = Theme::any(random);
        let evenness = if random.below(2) == 0 { 80 } else { 30 };
        let is_dynamic = random.below(4) == 0;
        let are_weights_alike = random.below(2) == 0;
        let (bound, known) = (BTreeMap::new(), BTreeMap::new());
        Self {
            rule,
            random,
            ops,
            f,
            elem,
            theme,
            rank,
            size,
            evenness,
            is_dynamic,
            bound,
            known,
            weights: None,
            are_weights_alike,
            params: Vec::new(),
            lines: Vec::new(),
            n: 0,
        }
    }

    fn make(mut self) -> Option<String> {
        let (root, results) = match self.rule.others.as_slice() {
            [] => {
                let root = &self.rule.patterns[self.below(self.rule.patterns.len())];
                (self.call(root, self.rule.results.len())?, self.rule.results.as_slice())
            }
            _ => (self.roots()?, [].as_slice()),
        };
        let imports = self.f.opset_imports();
        let imports: Vec<String> = imports.iter().map(|(domain, version)| format!("{domain:?}: {version}")).collect();
        let mut out = format!("def @main({}) #[opset = {{{}}}] {{\n", self.params.join(", "), imports.join(", "));
        for line in &self.lines {
            writeln!(out, "  {line};").ok()?;
        }
        let kept: Vec<String> = match root.as_slice() {
            [one] => vec![one.clone()],
            several => {
                let is_absent = |at: usize| matches!(results.get(at), Some(NewValue::Absent(_)));
                let used = several.iter().enumerate().filter(|(at, _)| !is_absent(*at));
                used.map(|(_, name)| name.clone()).collect()
            }
        };
        match kept.as_slice() {
            [one] => writeln!(out, "  {one}\n}}").ok()?,
            several => writeln!(out, "  ({})\n}}", several.join(", ")).ok()?,
        }
        Some(out)
    }

    /// Makes several outermost calls, one after another or, if none uses another one, in any order.
    fn roots(&mut self) -> Option<Vec<String>> {
        let roots: Vec<&CallPattern> = self.rule.roots().collect();
        let is_root = |name: &str| roots.iter().any(|root| root.bind.as_ref().is_some_and(|bind| bind.text == name));
        let uses_root = |call: &&CallPattern| {
            call.args.iter().any(|arg| matches!(arg, ArgPattern::Var(name) if is_root(&name.text)))
        };
        let mut order: Vec<usize> = (0..roots.len()).collect();
        // One that uses another one comes after it.
        order.sort_by_key(|&root| uses_root(&roots[root]));
        if !calls(self.rule).iter().any(uses_root) {
            let first = self.below(roots.len());
            order.rotate_left(first);
        }
        let mut values = vec![String::new(); roots.len()];
        for at in order {
            values[at] = self.call(roots[at], 1)?.swap_remove(0);
        }
        Some(values)
    }

    fn below(&mut self, n: usize) -> usize {
        self.random.below(n as u64) as usize
    }

    /// Whether something happens that happens in that many of a hundred cases.
    fn chance(&mut self, percent: u64) -> bool {
        self.random.below(100) < percent
    }

    fn name(&mut self) -> String {
        self.n += 1;
        format!("%v{}", self.n)
    }

    /// Makes a call; returns its results, as many as are needed.
    fn call(&mut self, call: &CallPattern, n_wanted: usize) -> Option<Vec<String>> {
        let op = self.ops.other(self.f, &call.op.domain, &call.op.name);
        let schema = op.and_then(|op| self.ops.schema(op).cloned())?;
        // The element types of the type variables of this call.
        let mut vars: BTreeMap<String, ElemType> = BTreeMap::new();
        let mut args = Vec::new();
        for arg in &call.args {
            let at = args.len();
            let elem = self.elem_of(&schema, at, &vars);
            let values = match arg {
                ArgPattern::Absent(_) => vec!["_".to_owned()],
                ArgPattern::Any(_) => vec![self.param(None, elem)],
                ArgPattern::Var(name) | ArgPattern::Const { name, .. } => {
                    let is_splat = matches!(arg, ArgPattern::Const { is_splat: true, .. });
                    self.values(name, |maker| {
                        let is_const = maker.sort(&name.text) == Some(Sort::Const);
                        vec![if is_const {
                            maker.constant(name, elem, is_splat)
                        } else {
                            maker.param(Some(name), elem)
                        }]
                    })?
                }
                ArgPattern::Optional(name) => self.values(name, |maker| match maker.chance(50) {
                    true => vec!["_".to_owned()],
                    false => vec![maker.param(Some(name), elem)],
                })?,
                ArgPattern::Rest(name) => self.values(name, |maker| {
                    let n = 1 + maker.below(2);
                    (0..n).map(|_| maker.param(Some(name), elem)).collect()
                })?,
                ArgPattern::Number { value, .. } => vec![self.literal(&[*value], elem, false)?],
                ArgPattern::List(items, _) => {
                    let number = |item: &Literal| if let Literal::Number(number) = item { Some(*number) } else { None };
                    let numbers: Vec<Number> = items.iter().map(number).collect::<Option<_>>()?;
                    vec![self.literal(&numbers, elem, true)?]
                }
                ArgPattern::Call(inner) => vec![self.call(inner, 1)?.into_iter().next()?],
                ArgPattern::Either(either, _) => {
                    let inner = &either[self.below(either.len())];
                    vec![self.call(inner, 1)?.into_iter().next()?]
                }
            };
            if let (Some(formal), [value]) = (schema.formal_input(at), values.as_slice())
                && let Some((elem, _)) = self.known.get(value)
            {
                vars.entry(formal.var.clone()).or_insert(*elem);
            }
            args.extend(values);
        }
        let attrs = self.attrs(call, &schema)?;
        let result = usize::from(call.result);
        let fewest = usize::from(schema.outputs.0);
        let n_results = if n_wanted > 1 { n_wanted } else { fewest.max(result + 1) };
        let operands: Vec<String> = args.into_iter().chain(attrs).collect();
        let domain = if call.op.domain.is_empty() { String::new() } else { format!("{:?}::", call.op.domain) };
        let text = format!("{domain}{}({})", call.op.name, operands.join(", "));
        let names: Vec<String> = (0..n_results).map(|_| self.name()).collect();
        match names.as_slice() {
            [one] => self.lines.push(format!("{one} = {text}")),
            several => self.lines.push(format!("({}) = {text}", several.join(", "))),
        }
        let values = if n_wanted > 1 { names } else { vec![names[result].clone()] };
        if let Some(bind) = &call.bind {
            self.bound.insert(bind.text.clone(), Bound::Values(vec![values[0].clone()]));
        }
        Some(values)
    }

    fn sort(&self, name: &str) -> Option<Sort> {
        variables(self.rule).into_iter().find(|(other, _)| other.text == name).map(|(_, sort)| sort)
    }

    /// Returns the values of a variable, made when it is first met.
    fn values(&mut self, name: &Name, make: impl FnOnce(&mut Self) -> Vec<String>) -> Option<Vec<String>> {
        match self.bound.get(&name.text) {
            Some(Bound::Values(values)) => Some(values.clone()),
            Some(Bound::Attr(_)) => None,
            None => {
                let values = make(self);
                self.bound.insert(name.text.clone(), Bound::Values(values.clone()));
                Some(values)
            }
        }
    }

    /// An element type for an argument.
    fn elem_of(&mut self, schema: &OpSchema, at: usize, vars: &BTreeMap<String, ElemType>) -> ElemType {
        let Some(formal) = schema.formal_input(at) else { return self.elem };
        if let Some(&elem) = vars.get(&formal.var) {
            return elem;
        }
        match schema.type_var(&formal.var).map(|var| var.tensors.as_slice()) {
            Some(allowed) if !allowed.is_empty() && !allowed.contains(&self.elem) => {
                let usual: Vec<ElemType> = allowed.iter().copied().filter(|elem| ELEMS.contains(elem)).collect();
                let among = if usual.is_empty() { allowed } else { &usual };
                let elem = among[self.random.below(among.len() as u64) as usize];
                if self.known.is_empty() {
                    self.elem = elem;
                }
                elem
            }
            _ => self.elem,
        }
    }

    /// Dimensions for a variable: those that conditions ask for, then those of `like`.
    fn dims(&mut self, name: Option<&Name>, like: Option<Vec<u64>>) -> Vec<u64> {
        if let Some(name) = name {
            // `shape(x) == shape(y)` and `broadcasts(x, y)`.
            let same = asked(self.rule, "shape", &name.text).into_iter().find_map(|(_, expr)| match expr {
                Computation::Call(_, args) => match args.first() {
                    Some(Computation::Var(other)) => Some(other.text.clone()),
                    _ => None,
                },
                _ => None,
            });
            let broadcast = self.rule.conditions.iter().find_map(|condition| match condition {
                Condition::Holds(function, args) if function.text == "broadcasts" && args[0].text == name.text => {
                    Some(args[1].text.clone())
                }
                _ => None,
            });
            let dims_of = |other: Option<String>| match self.bound.get(&other?) {
                Some(Bound::Values(values)) => self.known.get(values.first()?).map(|(_, dims)| dims.clone()),
                _ => None,
            };
            if let Some(dims) = dims_of(same) {
                return dims;
            }
            if let Some(dims) = dims_of(broadcast) {
                let first = self.below(dims.len() + 1);
                return dims[first..].iter().map(|&dim| if self.random.below(4) == 0 { 1 } else { dim }).collect();
            }
        }
        let rank = name.and_then(|name| {
            asked(self.rule, "rank", &name.text).into_iter().find_map(|(comparison, expr)| match (comparison, expr) {
                (Comparison::Eq, Computation::Number(Number::Int(rank @ 0..=8), _)) => Some(*rank as usize),
                _ => None,
            })
        });
        let mut dims = match like.filter(|like| rank.is_none_or(|rank| rank == like.len())) {
            Some(like) => like,
            None => {
                let rank = rank.unwrap_or_else(|| match self.random.below(100) {
                    0..55 => self.rank,
                    55..75 => 1,
                    75..85 => 0,
                    _ => self.below(5),
                });
                let size = |maker: &mut Self| {
                    if maker.chance(maker.evenness) { maker.size } else { 1 + maker.random.below(3) }
                };
                (0..rank).map(|_| size(self)).collect()
            }
        };
        for (index, size) in name.into_iter().flat_map(|name| self.sizes_asked(&name.text)) {
            let at = if index < 0 { index + dims.len() as i64 } else { index };
            if let Some(dim) = usize::try_from(at).ok().and_then(|at| dims.get_mut(at)) {
                *dim = size;
            }
        }
        dims
    }

    /// The sizes that conditions such as `dim(x, 1) == 4` ask for, with their places.
    fn sizes_asked(&self, variable: &str) -> Vec<(i64, u64)> {
        let size = |condition: &Condition| match condition {
            Condition::Compare(
                Computation::Call(function, args),
                Comparison::Eq,
                Computation::Number(Number::Int(size), _),
            ) if function.text == "dim" => match args.as_slice() {
                [Computation::Var(name), index] if name.text == variable => {
                    Some((integer(index)?, u64::try_from(*size).ok().filter(|&size| size <= 64)?))
                }
                _ => None,
            },
            _ => None,
        };
        self.rule.conditions.iter().filter_map(size).collect()
    }

    fn param(&mut self, name: Option<&Name>, elem: ElemType) -> String {
        let elem = name.map_or(elem, |name| elem_asked(self.rule, self.random, name, elem));
        let mut dims = self.dims(name, None);
        if self.is_dynamic {
            dims.fill(numbers::UNKNOWN_SIZE);
        }
        let value = self.name();
        let shown = dims.iter().map(|dim| if self.is_dynamic { "?".to_owned() } else { dim.to_string() });
        let shown: Vec<String> = shown.collect();
        self.params.push(format!("{value}: Tensor[({}), {elem}]", shown.join(", ")));
        self.known.insert(value.clone(), (elem, dims));
        value
    }

    /// A constant for a variable.
    fn constant(&mut self, name: &Name, elem: ElemType, is_splat: bool) -> String {
        let elem = elem_asked(self.rule, self.random, name, elem);
        // Shapes, axes and the like are vectors.
        let is_list = elem == ElemType::INT64 && elem != self.elem;
        let like = self.weights.take().filter(|_| self.are_weights_alike);
        let dims = if is_list { vec![1 + self.random.below(4)] } else { self.dims(Some(name), like) };
        self.weights = (!is_list).then(|| dims.clone());
        let count: u64 = dims.iter().product();
        let asked = numbers_asked(self.rule, &name.text);
        let one = self.element(elem, &asked);
        let items: Vec<String> =
            (0..count).map(|_| if is_splat { one.clone() } else { self.element(elem, &asked) }).collect();
        self.bind_constant(elem, dims, &items)
    }

    /// An element of a constant, which the comparisons with numbers hold for if possible.
    fn element(&mut self, elem: ElemType, asked: &[(Comparison, f64)]) -> String {
        if let Some((_, value)) = asked.iter().find(|(comparison, _)| *comparison == Comparison::Eq) {
            return number(elem, *value);
        }
        let mut value = 0.0;
        for _ in 0..16 {
            value = match elem {
                // Sizes and axes among them, and 0 and -1, which mean something else where sizes are expected.
                _ if !elem.is_float() => match self.random.below(100) {
                    0..20 => 0.0,
                    20..40 => -1.0,
                    40..60 => self.size as f64,
                    _ => self.random.below(7) as f64 - 1.0,
                },
                _ if self.chance(60) => {
                    let numbers = self.theme.numbers(elem);
                    numbers[self.below(numbers.len())]
                }
                _ => (self.random.below(33) as f64 - 16.0) / 8.0,
            };
            if satisfies(asked, value) {
                break;
            }
        }
        number(elem, value)
    }

    fn literal(&mut self, numbers: &[Number], elem: ElemType, is_list: bool) -> Option<String> {
        let is_whole = numbers.iter().all(|number| number.to_f64().fract() == 0.0);
        let elem = if is_list && is_whole && !elem.is_float() { ElemType::INT64 } else { elem };
        if !is_whole && !elem.is_float() {
            return None;
        }
        let items: Vec<String> = numbers.iter().map(|it| number(elem, it.to_f64())).collect();
        let dims = if is_list { vec![numbers.len() as u64] } else { Vec::new() };
        Some(self.bind_constant(elem, dims, &items))
    }

    fn bind_constant(&mut self, elem: ElemType, dims: Vec<u64>, items: &[String]) -> String {
        let value = self.name();
        let shown: Vec<String> = dims.iter().map(u64::to_string).collect();
        self.lines.push(format!("{value} = const({elem}, ({}), [{}])", shown.join(", "), items.join(", ")));
        self.known.insert(value.clone(), (elem, dims));
        value
    }

    /// The attributes of a call, as text.
    fn attrs(&mut self, call: &CallPattern, schema: &OpSchema) -> Option<Vec<String>> {
        let mut attrs = Vec::new();
        for attr in &call.attrs {
            let facts = schema.attr(&attr.key.text)?.clone();
            let value = match &attr.value {
                AttrWanted::Literal(literal) => Some(shown(literal, facts.kind)),
                AttrWanted::Any => self.attr(&facts, None),
                AttrWanted::Bind(name) => match self.bound.get(&name.text) {
                    Some(Bound::Attr(value)) => value.clone(),
                    Some(Bound::Values(_)) => return None,
                    None => {
                        let value = self.attr(&facts, Some(&name.text));
                        self.bound.insert(name.text.clone(), Bound::Attr(value.clone()));
                        value
                    }
                },
            };
            attrs.extend(value.map(|value| format!("{} = {value}", facts.name)));
        }
        let is_listed = |name: &str| call.attrs.iter().any(|attr| attr.key.text == name);
        let missing: Vec<AttrFacts> =
            schema.attrs.iter().filter(|attr| attr.is_required && !is_listed(&attr.name)).cloned().collect();
        for facts in missing {
            let value = self.attr(&facts, None)?;
            attrs.push(format!("{} = {value}", facts.name));
        }
        Some(attrs)
    }

    /// A value of an attribute: the one that a condition asks for, if there is one; `None` is absent.
    fn attr(&mut self, facts: &AttrFacts, variable: Option<&str>) -> Option<String> {
        let asked = variable.and_then(|variable| {
            asked(self.rule, "", variable).into_iter().find_map(|(comparison, expr)| match expr {
                _ if comparison != Comparison::Eq => None,
                expr => literal_of(expr).map(|literal| shown(&literal, facts.kind)),
            })
        });
        if asked.is_some() {
            return asked;
        }
        if !facts.is_required && self.chance(30) {
            return None;
        }
        let int = |maker: &mut Self| maker.random.below(4) as i64 - 1;
        Some(match facts.kind {
            attr_kind::INT => int(self).to_string(),
            attr_kind::FLOAT => ["0.0", "0.5", "1.0", "2.0", "-1.0", "1e30"][self.below(6)].to_owned(),
            attr_kind::INTS => {
                let rank = self.rank.max(1);
                let mut order: Vec<i64> = (0..rank as i64).collect();
                (1..rank).for_each(|at| order.swap(at, self.random.below(at as u64 + 1) as usize));
                let n = if self.chance(60) { rank } else { 1 + self.below(rank) };
                format!("[{}]", order[..n].iter().map(i64::to_string).collect::<Vec<_>>().join(", "))
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bench::LinkedItems, journal::Memory};
    use relais_plugin_api::{ir::Type, prelude::*};

    fn same(cx: &mut InferCx<'_>) -> Result<(), OpError> {
        cx.set_output(0, cx.input_id(0));
        Ok(())
    }

    fn copy(cx: &mut EvalCx<'_>) -> Result<(), OpError> {
        let tensor = cx.require(0)?.clone();
        cx.output(tensor);
        Ok(())
    }

    operators! { &[Operator::new("made", "Copy", 1).infer(same).eval(copy)] }

    #[test]
    fn instances_are_of_the_kind_that_conditions_ask_for() {
        let text =
            "made::Copy(made::Copy(x)) => x if rank(x) == 3, dim(x, 1) == 7, dim(x, -1) == 5, elem(x) == float16";
        let rules = relais_patterns::parse(text).unwrap();
        let modules = of_rule(&rules[0], 1, &LinkedItems, &Memory::new());
        assert!(modules.len() > 2, "{}", modules.len());
        let fits = |module: &IRModule| {
            let f = module.main().unwrap();
            let Type::Tensor { elem, shape: Some(dims) } = f.type_of(f.params()[0]) else { return false };
            let dims: Vec<Option<u64>> = dims.iter().map(|&dim| Dim::from(dim).known()).collect();
            let is_known = dims[1] == Some(7) && dims[2] == Some(5);
            elem == ElemType::FLOAT16 && dims.len() == 3 && (is_known || dims == [None; 3])
        };
        assert!(modules.iter().all(fits));
        let unknown = relais_patterns::parse("made::Nothing(x) => x").unwrap();
        assert!(of_rule(&unknown[0], 1, &LinkedItems, &Memory::new()).is_empty());
    }
}
