//! Rules for the operator sets that a function imports: operators resolved, arguments and attributes checked.

use super::{
    Rules,
    condition::numbers,
    found::Slot,
    placed,
    program::{Calc, CallPat, Compiled, Made, Pat, Program, Set, Step, Symbol, Test, Val, Wanted},
};
use crate::{
    core_facts::NOT_A_VALUE,
    op::OpSchema,
    relations::{Operators, nearest_op},
};
use relais_ir::{Effects, Function, OpId, attr_kind, operator_hash};
use relais_patterns::*;
use relais_words::nearest;
use std::sync::Arc;

/// The most combinations of orders and alternatives of a rule.
const MAX_ORDERS: usize = 64;

/// Returns the plans of several outermost calls. A plan is empty if the others cannot be found from that call: it
/// depends on one of them.
fn plans(roots: &[CallPat]) -> Vec<Vec<Step>> {
    let plan = |first: usize| {
        let (mut plan, mut matched) = (Vec::<Step>::new(), vec![first]);
        while matched.len() < roots.len() {
            let known = |slot: Slot| matched.iter().any(|&root| roots[root].has(slot));
            let next = (0..roots.len()).filter(|root| !matched.contains(root)).find_map(|root| {
                let (from, depth) = roots[root].nearest(&known)?;
                Some(Step { root, from, depth })
            });
            let Some(step) = next else { return Vec::new() };
            matched.push(step.root);
            plan.push(step);
        }
        plan
    };
    (0..roots.len()).map(plan).collect()
}

/// Which rules are compiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Which {
    All,
    /// Those whose operators are all in the function, or may be once other rules have matched.
    Possible,
}

/// The operators of a function and those of the right sides of rules, by the hashes of their names, in order.
struct Present(Vec<u64>);

impl Present {
    fn new(rules: &Rules, f: &Function) -> Self {
        fn collect(value: &NewValue, present: &mut Vec<u64>) {
            let args = match value {
                NewValue::Call { op, args, .. } => {
                    present.push(operator_hash(&op.domain, &op.name));
                    args
                }
                NewValue::Like { args, .. } => args,
                NewValue::Eval(value, _) => return collect(value, present),
                _ => return,
            };
            args.iter().for_each(|arg| collect(arg, present));
        }
        let mut present: Vec<u64> = f.ops().iter().map(|op| operator_hash(f.str(op.domain), f.str(op.name))).collect();
        let results = rules.texts.iter().flat_map(|source| &source.rules).flat_map(|rule| &rule.results);
        results.for_each(|result| collect(result, &mut present));
        present.sort_unstable();
        Self(present)
    }

    /// Whether an operator is there. Another name with the same hash costs time only.
    fn has(&self, wanted: &OpName) -> bool {
        self.0.binary_search(&operator_hash(&wanted.domain, &wanted.name)).is_ok()
    }

    fn may_match(&self, call: &CallPattern) -> bool {
        self.has(&call.op)
            && call.args.iter().all(|arg| match arg {
                ArgPattern::Call(call) => self.may_match(call),
                ArgPattern::Either(calls, ..) => calls.iter().any(|call| self.may_match(call)),
                _ => true,
            })
    }
}

/// Compiles rules for a function.
pub(super) fn compile<'r>(rules: &'r Rules, which: Which, f: &Function, ops: &mut dyn Operators) -> Program<'r> {
    let mut program = Program::default();
    let mut number = 0;
    let present = Present::new(rules, f);
    for source in &rules.texts {
        for rule in &source.rules {
            number += 1;
            // Most rules of most passes end here.
            if which == Which::Possible && !rule.roots().any(|call| present.may_match(call)) {
                continue;
            }
            let name = rule.name.as_ref().map_or_else(|| format!("rule {number}"), |name| format!("`{}`", name.text));
            let imported = f.opset_version("").unwrap_or(0);
            if let Some(needed) = rule.opset.filter(|&needed| imported < needed) {
                let why =
                    format!("{name} needs version {needed} of the default domain, and the function imports {imported}");
                program.skipped.push(why);
                continue;
            }
            let slots: Vec<&str> = variables(rule).into_iter().map(|(name, _)| name.text.as_str()).collect();
            let mut compiler = Compiler {
                f,
                ops,
                symbols: &mut program.symbols,
                slots: &slots,
                faults: Vec::new(),
                size: 0,
                applies: true,
                missing: None,
            };
            let mut n_orders = 0;
            let is_several = !rule.others.is_empty();
            let roots = rule.roots().map(|call| {
                let (call, orders) = compiler.call(call);
                n_orders = if is_several { usize::max(n_orders, 1).saturating_mul(orders) } else { n_orders + orders };
                call
            });
            let roots: Vec<CallPat> = roots.collect();
            let plans = if is_several { plans(&roots) } else { Vec::new() };
            let results = rule.results.iter().map(|result| compiler.value(result)).collect();
            if n_orders > MAX_ORDERS {
                let message = format_args!("there are {n_orders} combinations of orders and alternatives");
                let help = format_args!("at most {MAX_ORDERS} are tried: split the rule");
                compiler.faults.push(RuleFault::new(RuleCode::Orders, rule.span, message).help(help));
            }
            let Compiler { faults, size, applies, missing, .. } = compiler;
            if let Some(missing) = missing {
                program.skipped.push(format!("{name} matches {missing}"));
                continue;
            }
            if !applies {
                continue;
            }
            program.faults.extend(faults.into_iter().map(|fault| placed(&source.origin, &source.text, fault)));
            let conditions = rule
                .conditions
                .iter()
                .map(|condition| (Test::new(condition, &slots, &rules.conditions), condition))
                .collect();
            let index = program.rules.len();
            let is_prim = rule.level() == RuleLevel::Prim;
            program.rules.push(Compiled { index, name, is_prim, slots, roots, plans, size, conditions, results });
        }
    }
    program
}

struct Compiler<'c, 'r> {
    f: &'c Function,
    ops: &'c mut dyn Operators,
    symbols: &'c mut Vec<Symbol>,
    slots: &'c [&'r str],
    faults: Vec<RuleFault>,
    size: usize,
    /// Whether a call of the pattern can be written for the imported versions.
    applies: bool,
    /// An operator of the pattern that cannot be in the function or is not described, and why.
    missing: Option<String>,
}

impl<'r> Compiler<'_, 'r> {
    /// Returns the index of an operator, its id for `ops`, and its record if it has one here.
    fn symbol(&mut self, op: &OpName) -> (usize, Option<OpId>, Option<Arc<OpSchema>>) {
        let hash = operator_hash(&op.domain, &op.name);
        let id = self.ops.other(self.f, &op.domain, &op.name);
        let is_it = |symbol: &Symbol| symbol.hash == hash && symbol.domain == op.domain && symbol.name == op.name;
        let index = self.symbols.iter().position(is_it).unwrap_or_else(|| {
            let schema = id.and_then(|id| self.ops.schema(id)).cloned();
            self.symbols.push(Symbol { domain: op.domain.clone(), name: op.name.clone(), hash, schema });
            self.symbols.len() - 1
        });
        (index, id, self.symbols[index].schema.clone())
    }

    fn slot(&self, name: &Name) -> Slot {
        // The parser has checked that all variables are bound.
        self.slots.iter().position(|slot| *slot == name.text).unwrap_or(0)
    }

    fn fault(&mut self, code: RuleCode, span: TextSpan, message: impl std::fmt::Display, help: impl std::fmt::Display) {
        self.faults.push(RuleFault::new(code, span, message).help(help));
    }

    /// Returns the pattern of a call, and the number of combinations of orders and alternatives in it.
    fn call(&mut self, call: &CallPattern) -> (CallPat, usize) {
        self.size += 1;
        let CallPattern { op: OpName { domain, name, span }, versions, any_attrs, result, is_shared, .. } = call;
        let imported = self.f.opset_version(domain);
        let is_covered = |(first, last): (i64, Option<i64>)| {
            imported.is_none_or(|version| version >= first && last.is_none_or(|last| version <= last))
        };
        let mut n_orders = 1_usize;
        let (symbol, op, schema) = self.symbol(&call.op);
        if !versions.is_none_or(is_covered) {
            self.applies = false;
        } else if let Some((op, schema)) = op.zip(schema) {
            let effects = self.ops.effects(op);
            if call.op.level() == RuleLevel::Prim {
                self.value_op(&call.op, effects);
            } else if !(effects.is_mergeable() && effects.is_removable()) {
                let message = format_args!("calls of `{}` are random or keep state", call.op);
                self.fault(RuleCode::Effects, *span, message, "a rule removes the calls that it matches");
            }
            let n_args = call.args.iter().filter(|arg| !matches!(arg, ArgPattern::Rest(_))).count();
            let has_rest = n_args < call.args.len();
            self.arity(&schema, &call.op, n_args, has_rest);
            self.attrs(&schema, call);
            if schema.is_commutative && n_args >= 2 {
                n_orders = 2;
            }
        } else if self.ops.newest_version(domain, name).is_some() {
            self.missing = Some(format!("`{}`, which the imported version does not have", call.op));
        } else if domain.is_empty() && !op.is_some_and(|op| self.ops.is_closed(op)) {
            // Nothing says that ONNX has no such operator: no plugin describes it, or several do.
            self.missing = Some(format!("`{}`, which no plugin describes, or more than one", call.op));
        } else {
            self.unknown(&call.op);
        }
        let attrs = call.attrs.iter().map(|attr| {
            let wanted = match &attr.value {
                AttrWanted::Literal(literal) => Wanted::Literal(literal.clone()),
                AttrWanted::Bind(name) => Wanted::Bind(self.slot(name)),
                AttrWanted::Any => Wanted::Any,
            };
            (attr.key.text.clone(), wanted)
        });
        let attrs = attrs.collect();
        let mut args = Vec::with_capacity(call.args.len());
        for arg in &call.args {
            args.push(match arg {
                ArgPattern::Any(_) => Pat::Any,
                ArgPattern::Absent(_) => Pat::Absent,
                ArgPattern::Var(name) => Pat::Var(self.slot(name)),
                ArgPattern::Optional(name) => Pat::Optional(self.slot(name)),
                ArgPattern::Rest(name) => Pat::Rest(self.slot(name)),
                ArgPattern::Const { name, is_splat } => Pat::Const(self.slot(name), *is_splat),
                ArgPattern::Number { value, tolerance, .. } => Pat::Number(*value, tolerance.map(Number::to_f64)),
                ArgPattern::List(items, _) => Pat::List(numbers(items)),
                ArgPattern::Call(call) => {
                    let (call, orders) = self.call(call);
                    n_orders = n_orders.saturating_mul(orders);
                    Pat::Call(call)
                }
                ArgPattern::Either(calls, _) => {
                    let mut sum = 0_usize;
                    let calls = calls.iter().map(|call| {
                        let (call, orders) = self.call(call);
                        sum = sum.saturating_add(orders);
                        call
                    });
                    let calls = calls.collect();
                    n_orders = n_orders.saturating_mul(sum);
                    Pat::Either(calls)
                }
            });
        }
        let bind = call.bind.as_ref().map(|name| self.slot(name));
        let pat = CallPat {
            symbol,
            versions: *versions,
            attrs,
            any_attrs: *any_attrs,
            args,
            result: *result,
            bind,
            is_shared: *is_shared,
        };
        (pat, n_orders)
    }

    /// Reports an operator of loop programs that does not compute a value from values.
    fn value_op(&mut self, op: &OpName, effects: Effects) {
        if effects.contains(Effects::OPAQUE) {
            self.fault(RuleCode::Effects, op.span, format_args!("`{op}` is not an operation on values"), NOT_A_VALUE);
        }
    }

    fn arity(&mut self, schema: &OpSchema, op: &OpName, n_args: usize, is_open: bool) {
        let (fewest, most) = (usize::from(schema.inputs.0), usize::from(schema.inputs.1));
        if schema.inputs.1 != u16::MAX && n_args > most {
            let message = format_args!("`{op}` has {n_args} arguments");
            self.fault(RuleCode::Arguments, op.span, message, format_args!("it takes at most {most}"));
        } else if n_args < fewest && !is_open {
            let message = format_args!("`{op}` has {n_args} arguments");
            self.fault(RuleCode::Arguments, op.span, message, format_args!("it takes at least {fewest}"));
        }
    }

    /// Reports an attribute that the operator does not have; returns its kind.
    fn attr_kind(&mut self, schema: &OpSchema, op: &OpName, key: &Name) -> Option<u8> {
        let known = schema.attr(&key.text);
        if known.is_none() {
            let names: Vec<&str> = schema.attrs.iter().map(|attr| attr.name.as_str()).collect();
            let help = match nearest(&key.text, names.iter().copied()) {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None if names.is_empty() => "it has none".to_owned(),
                None => format!("it has {}", names.join(", ")),
            };
            let message = format_args!("`{op}` has no attribute `{}`", key.text);
            self.fault(RuleCode::Attribute, key.span, message, help);
        }
        known.map(|attr| attr.kind)
    }

    fn attrs(&mut self, schema: &OpSchema, call: &CallPattern) {
        for attr in &call.attrs {
            let kind = self.attr_kind(schema, &call.op, &attr.key);
            if let (Some(kind), AttrWanted::Literal(literal)) = (kind, &attr.value) {
                let fits = match literal {
                    Literal::Number(Number::Int(_)) => matches!(kind, attr_kind::INT | attr_kind::FLOAT),
                    Literal::Number(Number::Float(_)) => kind == attr_kind::FLOAT,
                    Literal::String(_) => kind == attr_kind::STRING,
                    Literal::List(_) => matches!(kind, attr_kind::INTS | attr_kind::FLOATS | attr_kind::STRINGS),
                };
                self.fits(fits || kind == 0, &attr.key, kind);
            }
        }
    }

    fn fits(&mut self, fits: bool, key: &Name, kind: u8) {
        if !fits {
            let message = format_args!("attribute `{}` is of kind `{}`", key.text, attr_kind::name(kind));
            self.fault(RuleCode::Attribute, key.span, message, "write a value of this kind");
        }
    }

    /// Reports an operator that nothing describes in the imported version.
    fn unknown(&mut self, op: &OpName) {
        let OpName { domain, name, span } = op;
        if let Some(newest) = self.ops.newest_version(domain, name) {
            let imported = self.f.opset_version(domain).unwrap_or(0);
            let message = format_args!("version {imported} of the domain has no operator `{op}`");
            let begin = if domain.is_empty() { format!(": begin the rule with `@{newest}`") } else { String::new() };
            let help = format_args!("it is described for version {newest}{begin}");
            self.fault(RuleCode::UnknownOperator, *span, message, help);
            return;
        }
        let is_prim = op.level() == RuleLevel::Prim;
        let message = match is_prim {
            true => format!("loop programs have no operator `{op}`"),
            false => format!("no plugin describes an operator `{op}`"),
        };
        let help = match nearest_op(self.ops, domain, name) {
            Some(nearest) => {
                let nearest = OpName { domain: domain.clone(), name: nearest, span: *span };
                format!("did you mean `{nearest}`?")
            }
            None if is_prim => "the guide to loop programs lists them, in `docs/loop-programs.md`".to_owned(),
            None => "a plugin describes operators with `operators!`".to_owned(),
        };
        self.fault(RuleCode::UnknownOperator, *span, message, help);
    }

    fn value(&mut self, value: &'r NewValue) -> Made<'r> {
        match value {
            NewValue::Var(name) => Made::Var(self.slot(name)),
            NewValue::Rest(name) => Made::Rest(self.slot(name)),
            NewValue::Absent(_) => Made::Absent,
            NewValue::Number(number, _) => Made::Numbers { values: vec![Calc::Is(Val::Number(*number))], shown: value },
            NewValue::List(items, _) => {
                let values = items.iter().map(|item| Calc::new(item, self.slots)).collect();
                Made::Numbers { values, shown: value }
            }
            NewValue::Eval(call, _) => self.eval(call),
            NewValue::Like { call, attrs, args } => {
                Made::Like { call: self.slot(call), attrs: self.sets(attrs), args: self.values(args) }
            }
            NewValue::Call { op, attrs, args } => {
                let (symbol, known, schema) = self.symbol(op);
                if let (Some(known), true) = (known, schema.is_some() && op.level() == RuleLevel::Prim) {
                    let effects = self.ops.effects(known);
                    self.value_op(op, effects);
                }
                match schema.as_deref() {
                    Some(schema) => {
                        let n_args = args.iter().filter(|arg| !matches!(arg, NewValue::Rest(_))).count();
                        self.arity(schema, op, n_args, n_args < args.len());
                        self.settings(schema, op, attrs);
                    }
                    // In a domain that is not described completely, other operators are possible.
                    None if !op.domain.is_empty()
                        && !known.is_some_and(|known| self.ops.is_closed(known))
                        && self.ops.newest_version(&op.domain, &op.name).is_none() => {}
                    None => self.unknown(op),
                }
                Made::Call { symbol, attrs: self.sets(attrs), args: self.values(args) }
            }
        }
    }

    /// A call that is computed, and so are the calls in it.
    fn eval(&mut self, value: &'r NewValue) -> Made<'r> {
        let NewValue::Call { op, .. } = value else { return self.value(value) };
        let known = self.ops.other(self.f, &op.domain, &op.name).filter(|&known| self.ops.schema(known).is_some());
        if let Some(known) = known {
            let effects = self.ops.effects(known);
            let why = match () {
                () if !(effects.is_mergeable() && effects.is_removable()) => Some("are random or keep state"),
                () if !self.ops.is_computed(known) => {
                    Some("cannot be computed: it has neither an evaluator nor a body")
                }
                () => None,
            };
            if let Some(why) = why {
                let message = format_args!("calls of `{op}` {why}");
                self.fault(RuleCode::NotComputed, op.span, message, "without `eval`, the call is made in the model");
            }
        }
        let mut call = self.value(value);
        if let (Made::Call { args: made, .. }, NewValue::Call { args, .. }) = (&mut call, value) {
            for (made, arg) in made.iter_mut().zip(args).filter(|(_, arg)| matches!(arg, NewValue::Call { .. })) {
                *made = self.eval(arg);
            }
        }
        Made::Eval { call: Box::new(call), shown: value }
    }

    fn values(&mut self, values: &'r [NewValue]) -> Vec<Made<'r>> {
        values.iter().map(|value| self.value(value)).collect()
    }

    fn sets(&self, settings: &'r [Setting]) -> Vec<Set<'r>> {
        settings.iter().map(|setting| Set { value: Calc::new(&setting.value, self.slots), setting }).collect()
    }

    fn settings(&mut self, schema: &OpSchema, op: &OpName, attrs: &[Setting]) {
        for attr in attrs {
            let Some(kind) = self.attr_kind(schema, op, &attr.key) else { continue };
            let fits = match &attr.value {
                Computation::String(..) => kind == attr_kind::STRING,
                Computation::List(..) => matches!(kind, attr_kind::INTS | attr_kind::FLOATS | attr_kind::STRINGS),
                Computation::Number(Number::Float(_), _) => kind == attr_kind::FLOAT,
                Computation::Number(..) | Computation::Neg(..) | Computation::Binary(..) => {
                    matches!(kind, attr_kind::INT | attr_kind::FLOAT)
                }
                Computation::Var(_) | Computation::Call(..) => true,
            };
            self.fits(fits || kind == 0, &attr.key, kind);
        }
        let is_missing = |name: &str| !attrs.iter().any(|attr| attr.key.text == name);
        if let Some(missing) = schema.attrs.iter().find(|attr| attr.is_required && is_missing(&attr.name)) {
            let message = format_args!("`{op}` needs the attribute `{}`", missing.name);
            self.fault(RuleCode::Attribute, op.span, message, format_args!("write `{op}{{{} = …}}`", missing.name));
        }
    }
}
