//! The checks that need nothing but the text.

use crate::{RuleCode, RuleFault, TextSpan, ast::*, level};
use relais_words::nearest;

/// The names of element types, as in the text form of modules.
pub const ELEMS: &[&str] = &[
    "float32",
    "uint8",
    "int8",
    "uint16",
    "int16",
    "int32",
    "int64",
    "string",
    "bool",
    "float16",
    "float64",
    "uint32",
    "uint64",
    "complex64",
    "complex128",
    "bfloat16",
    "float8e4m3fn",
    "float8e4m3fnuz",
    "float8e5m2",
    "float8e5m2fnuz",
    "uint4",
    "int4",
    "float4e2m1",
    "float8e8m0",
    "uint2",
    "int2",
    "float6e2m3",
    "float6e3m2",
];

/// The functions of computations, with the numbers of their arguments.
const FUNCTIONS: &[(&str, usize)] = &[("rank", 1), ("dim", 2), ("elem", 1), ("shape", 1), ("users", 1)];

/// The functions that are conditions by themselves.
const PREDICATES: &[(&str, usize)] = &[("broadcasts", 2), ("finite", 1)];

/// The functions that are conditions beside those of the language.
#[derive(Clone, Copy, Debug)]
pub enum Functions<'a> {
    /// None: the text stands alone.
    None,
    /// Those with these names.
    Named(&'a [&'a str]),
    /// Those with any other name: the text is only read.
    Any,
}

impl Functions<'_> {
    fn has(self, name: &str) -> bool {
        match self {
            Self::None => false,
            Self::Named(names) => names.contains(&name),
            Self::Any => !is_function(name),
        }
    }
}

/// Whether the language has a function of that name.
pub fn is_function(name: &str) -> bool {
    FUNCTIONS.iter().chain(PREDICATES).any(|(known, _)| *known == name)
}

/// Returns the names of conditions that are functions which stand beside the text.
pub fn functions(rule: &Rule) -> impl Iterator<Item = &Name> {
    rule.conditions.iter().filter_map(|condition| match condition {
        Condition::Holds(name, _) if !is_function(&name.text) => Some(name),
        _ => None,
    })
}

/// The kind of thing that a variable is bound to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sort {
    /// A value.
    Value,
    /// A constant.
    Const,
    /// The result of an inner call.
    Call,
    /// The value that is replaced.
    Root,
    /// A value, or an absent argument.
    Optional,
    /// Several values.
    Rest,
    /// The value of an attribute.
    Attr,
}

/// Returns the variables that the left side of a rule binds, in the order of the text.
pub fn variables(rule: &Rule) -> Vec<(&Name, Sort)> {
    Scope::of(rule).bound
}

/// Checks rules.
pub(crate) fn rules(rules: &[Rule], functions: Functions<'_>) -> Vec<RuleFault> {
    let mut faults = Vec::new();
    let mut names = std::collections::BTreeSet::new();
    for rule in rules {
        if let Some(name) = rule.name.as_ref().filter(|name| !names.insert(&name.text)) {
            let fault =
                RuleFault::new(RuleCode::Duplicate, name.span, format_args!("two rules are named `{}`", name.text));
            faults.push(fault.help("rename one of them"));
        }
        let mut scope = Scope::of(rule);
        if scope.faults.is_empty() {
            scope.faults.extend(unconnected(rule, &scope.bound));
        }
        if !scope.faults.is_empty() {
            // The right side would be blamed for what the left side binds.
            faults.append(&mut scope.faults);
            continue;
        }
        level::check(rule, &mut faults);
        let mut right = Right { bound: &scope.bound, functions, faults: &mut faults };
        right.results(rule);
        rule.conditions.iter().for_each(|condition| right.condition(condition));
        let ([pattern], []) = (rule.patterns.as_slice(), rule.others.as_slice()) else { continue };
        let [result @ NewValue::Call { .. }] = rule.results.as_slice() else { continue };
        let plain = CallPattern { bind: None, is_shared: false, ..pattern.clone() };
        if plain.to_string() == result.to_string() {
            let fault = RuleFault::new(RuleCode::Same, rule.span, "the right side is the left side");
            faults.push(fault.help("the rule would replace its own result without an end"));
        }
    }
    faults
}

/// Reports the first of several outermost calls that has no value in common with the first one, directly or through
/// others: a match could be anywhere.
fn unconnected(rule: &Rule, bound: &[(&Name, Sort)]) -> Option<RuleFault> {
    let roots: Vec<&CallPattern> = rule.roots().collect();
    if rule.others.is_empty() {
        return None;
    }
    let is_value = |name: &str| {
        bound.iter().any(|(other, sort)| other.text == name && matches!(sort, Sort::Value | Sort::Call | Sort::Root))
    };
    let values = roots.iter().map(|root| {
        let mut values = shared(root);
        values.retain(|name| is_value(name));
        values
    });
    let values: Vec<Vec<&str>> = values.collect();
    let mut reached = vec![0];
    let mut at = 0;
    while let Some(&from) = reached.get(at) {
        let common = |to: &usize| values[*to].iter().any(|name| values[from].contains(name));
        let next: Vec<usize> = (0..roots.len()).filter(|to| !reached.contains(to)).filter(common).collect();
        reached.extend(next);
        at += 1;
    }
    let alone = (0..roots.len()).find(|root| !reached.contains(root))?;
    let name = roots[alone].bind.as_ref().map_or("", |name| name.text.as_str());
    let message = format_args!("`{name}` has no value in common with the other outermost calls");
    let help =
        "use a variable of one in the other; attributes, constants and variables within alternatives do not connect";
    Some(RuleFault::new(RuleCode::Unconnected, roots[alone].op.span, message).help(help))
}

/// The variables by which an outermost call can be found: its own, and those outside alternatives.
fn shared(root: &CallPattern) -> Vec<&str> {
    let (mut values, mut calls) = (Vec::new(), vec![root]);
    while let Some(call) = calls.pop() {
        values.extend(call.bind.as_ref().map(|name| name.text.as_str()));
        for arg in &call.args {
            match arg {
                ArgPattern::Var(name) => values.push(name.text.as_str()),
                ArgPattern::Call(call) => calls.push(call),
                _ => {}
            }
        }
    }
    values
}

/// The variables that a left side binds.
#[derive(Default)]
struct Scope<'r> {
    bound: Vec<(&'r Name, Sort)>,
    /// The variables of several outermost calls, which the others can use.
    roots: Vec<&'r str>,
    /// The one whose pattern this is.
    root: &'r str,
    faults: Vec<RuleFault>,
}

impl<'r> Scope<'r> {
    fn of(rule: &'r Rule) -> Self {
        let mut scope = Scope::default();
        if rule.others.is_empty() {
            scope.either(&rule.patterns, true);
            return scope;
        }
        let name = |call: &'r CallPattern| call.bind.as_ref().map_or("", |name| name.text.as_str());
        scope.roots = rule.roots().map(name).collect();
        for root in rule.roots() {
            scope.root = name(root);
            scope.call(root, true);
        }
        scope
    }

    /// The scope of an alternative.
    fn branch(&self) -> Self {
        Self { roots: self.roots.clone(), root: self.root, ..Self::default() }
    }

    fn bind(&mut self, name: &'r Name, sort: Sort) {
        if sort == Sort::Value && name.text != self.root && self.roots.contains(&name.text.as_str()) {
            return;
        }
        let Some(at) = self.bound.iter().position(|(other, _)| other.text == name.text) else {
            self.bound.push((name, sort));
            return;
        };
        let text = &name.text;
        let old = self.bound[at].1;
        let (code, why, help) = match (old, sort) {
            (Sort::Value, Sort::Const | Sort::Call) => {
                self.bound[at].1 = sort;
                return;
            }
            (Sort::Const | Sort::Call, Sort::Value) => return,
            (old, new) if old == new && !matches!(old, Sort::Rest | Sort::Root) => return,
            (Sort::Attr, _) | (_, Sort::Attr) => {
                (RuleCode::TwoSorts, "is bound to an attribute and to a value", "use two variables")
            }
            (Sort::Rest, _) | (_, Sort::Rest) => {
                (RuleCode::Use, "stands for several values", "use another variable here")
            }
            (Sort::Root, _) | (_, Sort::Root) => {
                (RuleCode::Use, "is the value that is replaced", "a value is not computed from itself")
            }
            (Sort::Optional, _) | (_, Sort::Optional) => {
                (RuleCode::Use, "may be absent in one place and not in another", "write `?` in both places")
            }
            _ => (RuleCode::Use, "is a constant and the result of a call", "use two variables"),
        };
        self.faults.push(RuleFault::new(code, name.span, format_args!("`{text}` {why}")).help(help));
    }

    fn either(&mut self, calls: &'r [CallPattern], is_root: bool) {
        let mut first: Option<Vec<(&'r Name, Sort)>> = None;
        for call in calls {
            let mut branch = self.branch();
            branch.call(call, is_root);
            self.faults.append(&mut branch.faults);
            let Some(first) = &first else {
                first = Some(branch.bound);
                continue;
            };
            let lacks = |these: &[(&'r Name, Sort)], (name, sort): &(&'r Name, Sort)| {
                !these.iter().any(|(other, of)| other.text == name.text && of == sort)
            };
            let odd = first.iter().find(|var| lacks(&branch.bound, var));
            let odd = odd.or_else(|| branch.bound.iter().find(|var| lacks(first, var)));
            if let Some((name, _)) = odd {
                let is_in_both = |bound: &[(&Name, Sort)]| bound.iter().any(|(other, _)| other.text == name.text);
                let help = match is_in_both(first) && is_in_both(&branch.bound) {
                    true => format!("`{}` is not bound in the same way in each of them", name.text),
                    false => format!("`{}` is not bound in each of them", name.text),
                };
                let fault =
                    RuleFault::new(RuleCode::Alternatives, call.op.span, "the alternatives bind different variables");
                self.faults.push(fault.help(help));
            }
        }
        for (name, sort) in first.unwrap_or_default() {
            self.bind(name, sort);
        }
    }

    fn call(&mut self, call: &'r CallPattern, is_root: bool) {
        for (at, attr) in call.attrs.iter().enumerate() {
            twice(&mut self.faults, &attr.key, call.attrs[..at].iter().map(|attr| &attr.key));
            if let AttrWanted::Bind(name) = &attr.value {
                self.bind(name, Sort::Attr);
            }
        }
        for arg in &call.args {
            match arg {
                ArgPattern::Var(name) => self.bind(name, Sort::Value),
                ArgPattern::Optional(name) => self.bind(name, Sort::Optional),
                ArgPattern::Rest(name) => self.bind(name, Sort::Rest),
                ArgPattern::Const { name, .. } => self.bind(name, Sort::Const),
                ArgPattern::Call(call) => self.call(call, false),
                ArgPattern::Either(calls, _) => self.either(calls, false),
                ArgPattern::Number { tolerance, span, .. } => {
                    if tolerance.is_some_and(|tolerance| !(0.0..1.0).contains(&tolerance.to_f64())) {
                        let fault = RuleFault::new(RuleCode::Use, *span, "the tolerance is not between 0 and 1");
                        self.faults.push(fault.help("it is relative to the number"));
                    }
                }
                ArgPattern::List(items, span) => constant_list(&mut self.faults, items, *span),
                ArgPattern::Any(_) | ArgPattern::Absent(_) => {}
            }
        }
        if is_root && call.result > 0 && self.roots.is_empty() {
            let fault =
                RuleFault::new(RuleCode::Use, call.span, "the outermost call cannot stand for one of its results");
            self.faults.push(fault.help("list the replacements of its results on the right side: `(none, y)`"));
        }
        if let Some(name) = &call.bind {
            self.bind(name, if is_root { Sort::Root } else { Sort::Call });
        }
    }
}

/// Reports a key that is one of those before it.
fn twice<'r>(faults: &mut Vec<RuleFault>, key: &Name, mut before: impl Iterator<Item = &'r Name>) {
    if before.any(|other| other.text == key.text) {
        let fault = RuleFault::new(RuleCode::Duplicate, key.span, format_args!("`{}` is given twice", key.text));
        faults.push(fault.help("remove one of them"));
    }
}

/// Reports a list that is not a vector of numbers of one kind.
fn constant_list(faults: &mut Vec<RuleFault>, items: &[Literal], span: TextSpan) {
    if !items.iter().all(|item| matches!(item, Literal::Number(_))) {
        let fault = RuleFault::new(RuleCode::Use, span, "a list that is a constant has only numbers");
        faults.push(fault.help("matrices and strings cannot be written as constants"));
    }
}

/// The kind of value that a computation has, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    Elem,
    List,
    String,
    Unknown,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Number => "a number",
            Self::Elem => "an element type",
            Self::List => "a list",
            Self::String => "a string",
            Self::Unknown => "a value",
        }
    }
}

/// Right sides and conditions.
struct Right<'s, 'r> {
    bound: &'s [(&'r Name, Sort)],
    functions: Functions<'s>,
    faults: &'s mut Vec<RuleFault>,
}

impl Right<'_, '_> {
    fn fault(&mut self, code: RuleCode, span: TextSpan, message: impl std::fmt::Display, help: impl std::fmt::Display) {
        self.faults.push(RuleFault::new(code, span, message).help(help));
    }

    fn sort(&mut self, name: &Name) -> Option<Sort> {
        let found = self.bound.iter().find(|(other, _)| other.text == name.text).map(|(_, sort)| *sort);
        if found.is_none() {
            let known = self.bound.iter().map(|(other, _)| other.text.as_str());
            let help = match nearest(&name.text, known.clone().chain(ELEMS.iter().copied())) {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => {
                    let known: Vec<String> = known.map(|name| format!("`{name}`")).collect();
                    match known.as_slice() {
                        [] => "the left side binds no variables".to_owned(),
                        [one] => format!("the left side binds {one}"),
                        [most @ .., last] => format!("the left side binds {} and {last}", most.join(", ")),
                    }
                }
            };
            self.fault(
                RuleCode::Unbound,
                name.span,
                format_args!("`{}` is not bound on the left side", name.text),
                help,
            );
        }
        found
    }

    fn results(&mut self, rule: &Rule) {
        let n_roots = 1 + rule.others.len();
        match rule.results.as_slice() {
            _ if n_roots == 1 => {}
            [NewValue::Call { .. }] => {}
            [one] => {
                let message = format_args!("`{one}` stands for {n_roots} outermost calls");
                self.fault(
                    RuleCode::Use,
                    rule.span,
                    message,
                    "list a value for each, or write a call with as many results",
                );
            }
            values if values.len() != n_roots => {
                let n = values.len();
                let message = format_args!("there are {n_roots} outermost calls, and {n} values on the right side");
                self.fault(RuleCode::Use, rule.span, message, "list a value for each, in the same order");
            }
            _ => {}
        }
        for result in &rule.results {
            match result {
                NewValue::Rest(name) => {
                    let message = format_args!("`..{}` is not one value", name.text);
                    self.fault(RuleCode::Use, name.span, message, "`..v` is an argument of a call");
                }
                NewValue::Absent(_) if rule.results.len() > 1 && n_roots == 1 => {}
                NewValue::Absent(span) => {
                    self.fault(RuleCode::Use, *span, "`none` cannot replace a value", "write a value");
                }
                NewValue::Var(name) if self.is_optional(name) => {
                    let message = format_args!("`{}` may be absent", name.text);
                    self.fault(RuleCode::Use, name.span, message, "write two rules, one with `none`");
                }
                result => self.value(result),
            }
        }
    }

    fn is_optional(&self, name: &Name) -> bool {
        self.bound.iter().any(|(other, sort)| other.text == name.text && *sort == Sort::Optional)
    }

    fn value(&mut self, value: &NewValue) {
        let (attrs, args) = match value {
            NewValue::Number(..) | NewValue::Absent(_) => return,
            NewValue::List(items, _) => {
                for item in items {
                    let kind = self.expr(item);
                    if !is_number(kind) {
                        let message = "a list that is a constant has only numbers";
                        self.fault(
                            RuleCode::Use,
                            item.span(),
                            message,
                            "matrices and strings cannot be written as constants",
                        );
                    }
                }
                return;
            }
            NewValue::Var(name) => {
                let text = &name.text;
                match self.sort(name) {
                    Some(Sort::Attr) => {
                        let message = format_args!("`{text}` is the value of an attribute");
                        self.fault(
                            RuleCode::Use,
                            name.span,
                            message,
                            "it can be used for attributes and in conditions",
                        );
                    }
                    Some(Sort::Root) => {
                        let message = format_args!("`{text}` is the value that is replaced");
                        self.fault(
                            RuleCode::Use,
                            name.span,
                            message,
                            "it can only follow `like`, or be used in conditions",
                        );
                    }
                    Some(Sort::Rest) => {
                        let message = format_args!("`{text}` stands for several values");
                        self.fault(RuleCode::Use, name.span, message, format_args!("write `..{text}`"));
                    }
                    _ => {}
                }
                return;
            }
            NewValue::Rest(name) => {
                if self.sort(name).is_some_and(|sort| sort != Sort::Rest) {
                    let message = format_args!("`{}` stands for one value", name.text);
                    self.fault(RuleCode::Use, name.span, message, "remove the `..`");
                }
                return;
            }
            NewValue::Eval(call, _) => {
                self.constants(call);
                return self.value(call);
            }
            NewValue::Like { call, attrs, args } => {
                if self.sort(call).is_some_and(|sort| !matches!(sort, Sort::Call | Sort::Root)) {
                    let message = format_args!("`{}` does not name a call", call.text);
                    let help = format_args!("write `as {}` after a call on the left side", call.text);
                    self.fault(RuleCode::Use, call.span, message, help);
                }
                (attrs, args)
            }
            NewValue::Call { attrs, args, .. } => (attrs, args),
        };
        for (at, attr) in attrs.iter().enumerate() {
            twice(self.faults, &attr.key, attrs[..at].iter().map(|attr| &attr.key));
            self.expr(&attr.value);
        }
        args.iter().for_each(|arg| self.value(arg));
    }

    /// Reports arguments of a call that is computed which are not constants.
    fn constants(&mut self, call: &NewValue) {
        let NewValue::Call { args, .. } = call else { return };
        for arg in args {
            match arg {
                NewValue::Var(name) => {
                    let is_other = |(other, sort): &(&Name, Sort)| other.text == name.text && *sort != Sort::Const;
                    if self.bound.iter().any(is_other) {
                        self.not_constant(name);
                    }
                }
                NewValue::Call { .. } => self.constants(arg),
                NewValue::Number(..) | NewValue::List(..) | NewValue::Absent(_) => {}
                NewValue::Rest(Name { span, .. })
                | NewValue::Eval(_, span)
                | NewValue::Like { call: Name { span, .. }, .. } => {
                    let message = format_args!("`{arg}` cannot be an argument within `eval`");
                    self.fault(RuleCode::Use, *span, message, "write constants, numbers, lists and calls of them");
                }
            }
        }
    }

    fn condition(&mut self, condition: &Condition) {
        match condition {
            Condition::Compare(left, comparison, right) => {
                let kinds = (self.expr(left), self.expr(right));
                self.same(kinds, right.span());
                let is_order = !matches!(comparison, Comparison::Eq | Comparison::Ne);
                if let (Some(kind), true) = ([kinds.0, kinds.1].into_iter().find(|&kind| !is_number(kind)), is_order) {
                    let message = format_args!("{} is not less or greater than another", kind.name());
                    self.fault(RuleCode::Use, left.span(), message, "compare with `==` or `!=`");
                }
            }
            Condition::In(left, options) => {
                let kind = self.expr(left);
                for option in options {
                    let kinds = (kind, self.expr(option));
                    self.same(kinds, option.span());
                }
            }
            Condition::Holds(name, args) if self.functions.has(&name.text) => {
                for arg in args {
                    self.sort(arg);
                }
            }
            Condition::Holds(name, args) => {
                if !self.function(name, args.len(), PREDICATES) {
                    return;
                }
                for arg in args {
                    let sort = self.sort(arg);
                    if name.text == "finite" && sort.is_some_and(|sort| sort != Sort::Const) {
                        self.not_constant(arg);
                    } else {
                        self.has_type(arg, sort);
                    }
                }
            }
        }
    }

    fn same(&mut self, (left, right): (Kind, Kind), span: TextSpan) {
        if left != right && left != Kind::Unknown && right != Kind::Unknown {
            let message = format_args!("{} is compared with {}", left.name(), right.name());
            self.fault(RuleCode::Use, span, message, "both sides must be of one kind");
        }
    }

    /// Whether there is a function of that name, with that number of arguments.
    fn function(&mut self, name: &Name, n_args: usize, known: &[(&str, usize)]) -> bool {
        let text = &name.text;
        let Some((_, wanted)) = known.iter().find(|(known, _)| known == text) else {
            let own = if let Functions::Named(names) = self.functions { names } else { &[] };
            let all = || FUNCTIONS.iter().chain(PREDICATES).map(|(name, _)| *name).chain(own.iter().copied());
            let help = match nearest(text, all()) {
                Some(nearest) if nearest == text && known == PREDICATES => "compare its value".to_owned(),
                Some(nearest) if nearest == text => "it is a condition by itself".to_owned(),
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => {
                    let all = format!("there are {}", all().collect::<Vec<_>>().join(", "));
                    match self.functions {
                        _ if known == FUNCTIONS => all,
                        Functions::None => format!("{all}; a rule has others in Rust only, beside it in its plugin"),
                        _ => format!("{all}; name another one in `conditions = [{text}]`"),
                    }
                }
            };
            self.fault(RuleCode::UnknownFunction, name.span, format_args!("there is no function `{text}`"), help);
            return false;
        };
        if *wanted != n_args {
            let message = format_args!("`{text}` has {n_args} arguments");
            self.fault(RuleCode::Use, name.span, message, format_args!("it takes {wanted}"));
        }
        *wanted == n_args
    }

    fn not_constant(&mut self, name: &Name) {
        let text = &name.text;
        let message = format_args!("`{text}` is not known to be a constant");
        self.fault(RuleCode::Use, name.span, message, format_args!("write `const {text}` on the left side"));
    }

    /// Reports a variable that does not stand for one value.
    fn has_type(&mut self, name: &Name, sort: Option<Sort>) {
        if let Some(Sort::Attr | Sort::Rest) = sort {
            let message = format_args!("`{}` is not one value of the model", name.text);
            self.fault(RuleCode::Use, name.span, message, "use a variable that stands for an argument");
        }
    }

    fn expr(&mut self, expr: &Computation) -> Kind {
        match expr {
            Computation::Number(..) => Kind::Number,
            Computation::String(..) => Kind::String,
            Computation::List(items, _) => {
                items.iter().for_each(|item| {
                    self.expr(item);
                });
                Kind::List
            }
            Computation::Var(name) => {
                let is_bound = self.bound.iter().any(|(other, _)| other.text == name.text);
                if !is_bound && ELEMS.contains(&name.text.as_str()) {
                    return Kind::Elem;
                }
                match self.sort(name) {
                    Some(Sort::Attr) | None => Kind::Unknown,
                    Some(Sort::Const) => Kind::Number,
                    Some(_) => {
                        self.not_constant(name);
                        Kind::Unknown
                    }
                }
            }
            Computation::Call(name, args) => {
                if !self.function(name, args.len(), FUNCTIONS) {
                    return Kind::Unknown;
                }
                if let [Computation::Var(value), rest @ ..] = args.as_slice() {
                    let sort = self.sort(value);
                    self.has_type(value, sort);
                    for arg in rest {
                        let kind = self.expr(arg);
                        self.number(kind, arg.span());
                    }
                } else {
                    let message = format_args!("`{}` is a function of a variable", name.text);
                    self.fault(
                        RuleCode::Use,
                        name.span,
                        message,
                        format_args!("write, for example, `{}(x)`", name.text),
                    );
                }
                match name.text.as_str() {
                    "elem" => Kind::Elem,
                    "shape" => Kind::List,
                    _ => Kind::Number,
                }
            }
            Computation::Neg(inner, span) => {
                let kind = self.expr(inner);
                self.number(kind, *span);
                Kind::Number
            }
            Computation::Binary(_, sides) => {
                for side in [&sides.0, &sides.1] {
                    let kind = self.expr(side);
                    self.number(kind, side.span());
                }
                Kind::Number
            }
        }
    }

    fn number(&mut self, kind: Kind, span: TextSpan) {
        if !is_number(kind) {
            self.fault(RuleCode::Use, span, format_args!("{} is not a number", kind.name()), "write a number");
        }
    }
}

const fn is_number(kind: Kind) -> bool {
    matches!(kind, Kind::Number | Kind::Unknown)
}
