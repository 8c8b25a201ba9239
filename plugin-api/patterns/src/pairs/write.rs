//! From rules to functions.

use super::{
    AttrKinds, CONSTANT, IDENTITY, PATTERN, PairFault, REPLACEMENT,
    proto::{AttrValue, Attribute, Function, Model, Node, Tensor, elem, kind},
};
use crate::{MAX_FAULTS, Sort, ast::*, variables};
use std::collections::{BTreeMap, BTreeSet};

/// The domain of the functions.
const DOMAIN: &str = "rules";

type Written<T> = Result<T, PairFault>;

/// Writes rules as the functions of a model. A rule without a name is given one.
///
/// # Errors
/// Returns a fault for each rule that functions cannot say, at most [`MAX_FAULTS`].
pub fn write(rules: &[Rule], kinds: &AttrKinds<'_>) -> Result<Vec<u8>, Vec<PairFault>> {
    let mut names: BTreeSet<String> = rules.iter().filter_map(|rule| Some(rule.name.as_ref()?.text.clone())).collect();
    let mut imports = BTreeMap::from([(DOMAIN.to_owned(), 1)]);
    let (mut functions, mut faults) = (Vec::new(), Vec::new());
    for (index, rule) in rules.iter().enumerate() {
        let name = match &rule.name {
            Some(name) => name.text.clone(),
            None => fresh(&mut names, "rule_", index + 1),
        };
        match pair(&name, rule, kinds) {
            Ok(pair) => {
                for (domain, version) in pair.iter().flat_map(|function| &function.imports) {
                    let newest = imports.entry(domain.clone()).or_insert(*version);
                    *newest = (*newest).max(*version);
                }
                functions.extend(pair);
            }
            Err(fault) if faults.len() < MAX_FAULTS => faults.push(fault.at(format_args!("rule `{name}`"))),
            Err(_) => break,
        }
    }
    let imports: Vec<_> = imports.into_iter().collect();
    if faults.is_empty() { Ok(Model::write(&functions, &imports)) } else { Err(faults) }
}

/// A name that is not taken: a stem with the least number from `first` on.
fn fresh(taken: &mut BTreeSet<String>, stem: &str, first: usize) -> String {
    let mut number = first;
    loop {
        let name = format!("{stem}{number}");
        if taken.insert(name.clone()) {
            return name;
        }
        number += 1;
    }
}

/// Functions have no means to say what.
fn cannot(what: impl std::fmt::Display) -> PairFault {
    PairFault::new(
        format_args!("functions cannot say {what}"),
        "the text of the rule can: keep it in a file whose name does not end in `.onnx`",
    )
}

fn pair(name: &str, rule: &Rule, kinds: &AttrKinds<'_>) -> Written<[Function; 2]> {
    if let Some(condition) = rule.conditions.first() {
        return Err(cannot(format_args!("condition `{condition}`")));
    }
    let [pattern] = rule.patterns.as_slice() else { return Err(cannot("alternatives")) };
    let bound = variables(rule);
    let taken = bound.iter().map(|(name, _)| name.text.clone()).collect();
    let mut left = Body { kinds, bound: &bound, taken, function: Function::default() };
    left.function.name = format!("{name}{PATTERN}");
    let names = |wanted| bound.iter().filter(move |(_, sort)| *sort == wanted).map(|(name, _)| name.text.clone());
    left.function.inputs = names(Sort::Value).collect();
    left.function.attributes = names(Sort::Attr).collect();
    let is_several = !rule.others.is_empty();
    let outputs: Vec<String> = match is_several {
        true => rule.roots().filter_map(|root| Some(root.bind.as_ref()?.text.clone())).collect(),
        false => (1..=rule.results.len()).map(|at| fresh(&mut left.taken, "y", at)).collect(),
    };
    let is_used = |at: &usize| is_several || !matches!(rule.results[*at], NewValue::Absent(_));
    let used: Vec<String> = (0..outputs.len()).filter(is_used).map(|at| outputs[at].clone()).collect();
    if is_several {
        left.roots(rule)?;
    } else {
        let results = (0..outputs.len()).map(|at| if is_used(&at) { outputs[at].clone() } else { String::new() });
        left.call(pattern, results.collect())?;
    }
    left.function.outputs.clone_from(&used);

    let mut right = Body { kinds, bound: &bound, taken: left.taken.clone(), function: Function::default() };
    right.function.name = format!("{name}{REPLACEMENT}");
    right.function.inputs.clone_from(&left.function.inputs);
    right.function.attributes.clone_from(&left.function.attributes);
    match rule.results.as_slice() {
        [NewValue::Call { op, attrs, args }] if is_several => right.made(op, attrs, args, used.clone())?,
        results => {
            for (value, output) in results.iter().filter(|value| !matches!(value, NewValue::Absent(_))).zip(&used) {
                right.result(value, output)?;
            }
        }
    }
    right.function.outputs = used;

    let mut pair = [left.function, right.function];
    let mut domains: BTreeSet<String> =
        pair.iter().flat_map(|function| &function.nodes).map(|node| node.domain.clone()).collect();
    // The version is that of the rule, even if only other domains are used.
    domains.insert(String::new());
    for function in &mut pair {
        function.domain = DOMAIN.to_owned();
        let version = |domain: &String| if domain.is_empty() { rule.opset.unwrap_or(1) } else { 1 };
        function.imports = domains.iter().map(|domain| (domain.clone(), version(domain))).collect();
    }
    Ok(pair)
}

/// One of the two functions.
struct Body<'r> {
    kinds: &'r AttrKinds<'r>,
    /// The variables of the rule.
    bound: &'r [(&'r Name, Sort)],
    /// The names of values that are not free.
    taken: BTreeSet<String>,
    function: Function,
}

impl Body<'_> {
    fn sort(&self, name: &Name) -> Option<Sort> {
        self.bound.iter().find(|(other, _)| other.text == name.text).map(|(_, sort)| *sort)
    }

    fn is_made(&self, name: &String) -> bool {
        self.function.nodes.iter().any(|node| node.outputs.contains(name))
    }

    /// Adds a node after those of its arguments.
    fn node(&mut self, op: &OpName, attributes: Vec<Attribute>, inputs: Vec<String>, outputs: Vec<String>) {
        let node =
            Node { domain: op.domain.clone(), op: op.name.clone(), attributes, inputs, outputs, ..Node::default() };
        self.function.nodes.push(node);
    }

    /// Adds a constant, and returns its name.
    fn constant(&mut self, values: &[Number], is_list: bool) -> Written<String> {
        let mut tensor =
            Tensor { dims: if is_list { vec![values.len() as i64] } else { Vec::new() }, ..Tensor::default() };
        for value in values {
            match *value {
                Number::Int(value) => tensor.ints.push(value),
                Number::Float(value) => tensor.floats.push(float(value)?),
            }
        }
        tensor.elem = match (tensor.ints.is_empty(), tensor.floats.is_empty()) {
            (false, false) => return Err(cannot("a list of integers and floats")),
            (_, true) => elem::INT64,
            (true, false) => elem::FLOAT,
        };
        let name = fresh(&mut self.taken, "c", 1);
        let value = AttrValue::Tensor(tensor);
        let attr = Attribute { name: "value".to_owned(), kind: kind::TENSOR, value, ..Attribute::default() };
        let op = OpName { domain: String::new(), name: CONSTANT.to_owned(), span: TextSpan::default() };
        self.node(&op, vec![attr], Vec::new(), vec![name.clone()]);
        Ok(name)
    }

    fn list(&mut self, items: &[Literal]) -> Written<String> {
        let number = |item: &Literal| if let Literal::Number(number) = item { Some(*number) } else { None };
        let values: Vec<Number> = items.iter().filter_map(number).collect();
        self.constant(&values, true)
    }

    /// Adds the nodes of several outermost calls, each after those whose variables it uses.
    fn roots(&mut self, rule: &Rule) -> Written<()> {
        let name = |root: &CallPattern| root.bind.as_ref().map_or_else(String::new, |name| name.text.clone());
        let mut left: Vec<&CallPattern> = rule.roots().collect();
        while !left.is_empty() {
            let uses_none = |root: &&CallPattern| left.iter().all(|other| !uses(root, &name(other)));
            let Some(at) = left.iter().position(uses_none) else {
                return Err(cannot("that outermost calls use one another"));
            };
            let root = left.remove(at);
            let mut outputs = vec![String::new(); root.result.into()];
            outputs.push(name(root));
            self.call(root, outputs)?;
        }
        Ok(())
    }

    /// Adds the node of a pattern, and before it those of its arguments.
    fn call(&mut self, pattern: &CallPattern, outputs: Vec<String>) -> Written<()> {
        let CallPattern { op, versions, attrs, any_attrs, args, is_shared, .. } = pattern;
        if is_constant(op) {
            return Err(cannot("a pattern of a constant that is a call"));
        }
        if versions.is_some() {
            return Err(cannot(format_args!("the versions of one call, `{op}`")));
        }
        if *any_attrs {
            return Err(cannot(format_args!("that other attributes of `{op}` may have any value: `..`")));
        }
        if *is_shared {
            return Err(cannot(format_args!("that the result of `{op}` may have other users: `!`")));
        }
        let attrs = attrs.iter().map(|AttrPattern { key, value }| match value {
            AttrWanted::Literal(literal) => self.literal(op, key, literal),
            AttrWanted::Bind(name) => Ok(self.refers(op, key, name)),
            AttrWanted::Any => Err(cannot(format_args!("that attribute `{}` has any value or none", key.text))),
        });
        let attrs = attrs.collect::<Written<_>>()?;
        let mut inputs = Vec::new();
        for arg in args {
            inputs.push(self.arg(arg)?);
        }
        self.node(op, attrs, inputs, outputs);
        Ok(())
    }

    fn arg(&mut self, arg: &ArgPattern) -> Written<String> {
        match arg {
            ArgPattern::Var(name)
                if matches!(self.sort(name), Some(Sort::Call | Sort::Root)) && !self.is_made(&name.text) =>
            {
                Err(cannot(format_args!("`{0}` before the call that it names: write `as {0}` there first", name.text)))
            }
            ArgPattern::Var(name) => Ok(name.text.clone()),
            ArgPattern::Absent(_) => Ok(String::new()),
            ArgPattern::Any(_) => Err(cannot("`_`: give the value a name")),
            ArgPattern::Optional(name) => Err(cannot(format_args!("`?{}`, which may be absent", name.text))),
            ArgPattern::Rest(name) => Err(cannot(format_args!("`..{}`, which stands for several values", name.text))),
            ArgPattern::Const { name, .. } => Err(cannot(format_args!("that `{}` is a constant", name.text))),
            ArgPattern::Number { value, tolerance: None, .. } => self.constant(&[*value], false),
            ArgPattern::Number { value, .. } => Err(cannot(format_args!("the tolerance of {value}"))),
            ArgPattern::List(items, _) => self.list(items),
            ArgPattern::Either(..) => Err(cannot("alternatives")),
            ArgPattern::Call(call) => {
                let name = match &call.bind {
                    Some(name) => name.text.clone(),
                    None => fresh(&mut self.taken, "t", 1),
                };
                if call.bind.is_some() && self.is_made(&name) {
                    return Err(cannot(format_args!("that `{name}` is the result of two calls")));
                }
                let mut outputs = vec![String::new(); call.result.into()];
                outputs.push(name.clone());
                self.call(call, outputs)?;
                Ok(name)
            }
        }
    }

    /// Adds the nodes that make an output.
    fn result(&mut self, value: &NewValue, output: &str) -> Written<()> {
        let outputs = vec![output.to_owned()];
        match value {
            NewValue::Var(_) => {
                let input = self.value(value)?;
                let op = OpName { domain: String::new(), name: IDENTITY.to_owned(), span: TextSpan::default() };
                self.node(&op, Vec::new(), vec![input], outputs);
                Ok(())
            }
            NewValue::Call { op, attrs, args } => {
                if op.domain.is_empty() && op.name == IDENTITY && matches!(args.as_slice(), [NewValue::Var(_)]) {
                    return Err(cannot("that a variable is handed on by a call: write the variable alone"));
                }
                self.made(op, attrs, args, outputs)
            }
            NewValue::Number(..) | NewValue::List(..) => {
                Err(cannot(format_args!("`{value}` in place of the whole pattern, whose type it takes")))
            }
            _ => self.value(value).map(drop),
        }
    }

    fn value(&mut self, value: &NewValue) -> Written<String> {
        match value {
            NewValue::Absent(_) => Ok(String::new()),
            NewValue::Var(name) if self.sort(name) == Some(Sort::Value) => Ok(name.text.clone()),
            NewValue::Var(name) => Err(cannot(format_args!("`{}` on the right side, the result of a call", name.text))),
            NewValue::Number(value, _) => self.constant(&[*value], false),
            NewValue::List(items, _) => match items.iter().map(literal).collect::<Option<Vec<_>>>() {
                Some(items) => self.list(&items),
                None => Err(cannot(format_args!("`{value}`, which is computed"))),
            },
            NewValue::Call { op, attrs, args } => {
                let name = fresh(&mut self.taken, "t", 1);
                self.made(op, attrs, args, vec![name.clone()])?;
                Ok(name)
            }
            NewValue::Rest(name) => Err(cannot(format_args!("`..{}`, which stands for several values", name.text))),
            NewValue::Eval(..) => Err(cannot(format_args!("`{value}`, which is computed"))),
            NewValue::Like { call, .. } => Err(cannot(format_args!("`like {}`", call.text))),
        }
    }

    /// Adds the node of a call of the right side, and before it those of its arguments.
    fn made(&mut self, op: &OpName, attrs: &[Setting], args: &[NewValue], outputs: Vec<String>) -> Written<()> {
        if is_constant(op) {
            return Err(cannot("a constant that is a call: write its numbers"));
        }
        let attr = |Setting { key, value }: &Setting| match value {
            Computation::Var(name) if self.sort(name) == Some(Sort::Attr) => Ok(self.refers(op, key, name)),
            value => match literal(value) {
                Some(literal) => self.literal(op, key, &literal),
                None => Err(cannot(format_args!("attribute `{} = {value}`, which is computed", key.text))),
            },
        };
        let attrs = attrs.iter().map(attr).collect::<Written<_>>()?;
        let mut inputs = Vec::new();
        for arg in args {
            inputs.push(self.value(arg)?);
        }
        self.node(op, attrs, inputs, outputs);
        Ok(())
    }

    fn refers(&self, op: &OpName, key: &Name, name: &Name) -> Attribute {
        let kind = (self.kinds)(op, &key.text).unwrap_or(0);
        Attribute { name: key.text.clone(), refers: name.text.clone(), kind, value: AttrValue::Other }
    }

    fn literal(&self, op: &OpName, key: &Name, literal: &Literal) -> Written<Attribute> {
        let value = attr_value(literal)?;
        let kind = value.kind();
        match (self.kinds)(op, &key.text) {
            // An empty list has no kind of its own.
            Some(kind @ (kind::FLOATS | kind::STRINGS)) if matches!(literal, Literal::List(items) if items.is_empty()) => {
                Ok(Attribute { name: key.text.clone(), kind, ..Attribute::default() })
            }
            Some(known) if known != kind => {
                let message =
                    format_args!("attribute `{}` of `{op}` is not {literal}: it is of another kind", key.text);
                Err(PairFault::new(message, "a float has a point: `1.0`"))
            }
            _ => Ok(Attribute { name: key.text.clone(), kind, value, ..Attribute::default() }),
        }
    }
}

/// Whether a variable is an argument in a pattern.
fn uses(pattern: &CallPattern, variable: &str) -> bool {
    pattern.args.iter().any(|arg| match arg {
        ArgPattern::Var(name) => name.text == variable,
        ArgPattern::Call(call) => uses(call, variable),
        _ => false,
    })
}

fn is_constant(op: &OpName) -> bool {
    op.domain.is_empty() && op.name == CONSTANT
}

/// The literal that a computation is.
fn literal(expr: &Computation) -> Option<Literal> {
    match expr {
        Computation::Number(number, _) => Some(Literal::Number(*number)),
        Computation::String(text, _) => Some(Literal::String(text.clone())),
        Computation::List(items, _) => items.iter().map(literal).collect::<Option<_>>().map(Literal::List),
        _ => None,
    }
}

fn attr_value(literal: &Literal) -> Written<AttrValue> {
    let items = match literal {
        Literal::Number(Number::Int(value)) => return Ok(AttrValue::Int(*value)),
        Literal::Number(Number::Float(value)) => return float(*value).map(AttrValue::Float),
        Literal::String(text) => return Ok(AttrValue::String(text.clone())),
        Literal::List(items) => items,
    };
    let (mut ints, mut floats, mut strings) = (Vec::new(), Vec::new(), Vec::new());
    for item in items {
        match item {
            Literal::Number(Number::Int(value)) => ints.push(*value),
            Literal::Number(Number::Float(value)) => floats.push(float(*value)?),
            Literal::String(text) => strings.push(text.clone()),
            Literal::List(_) => return Err(cannot(format_args!("{literal}, a list of lists"))),
        }
    }
    match items.len() {
        n if n == ints.len() => Ok(AttrValue::Ints(ints)),
        n if n == floats.len() => Ok(AttrValue::Floats(floats)),
        n if n == strings.len() => Ok(AttrValue::Strings(strings)),
        _ => Err(cannot(format_args!("{literal}, a list of several kinds"))),
    }
}

/// The float that has the digits of a number.
fn float(value: f64) -> Written<f32> {
    let rounded = value as f32;
    if rounded.is_finite() && format!("{rounded:?}").parse() == Ok(value) {
        return Ok(rounded);
    }
    let message = format_args!("{value:?} has more digits than float32");
    Err(PairFault::new(message, format_args!("functions have constants of float32: write {rounded:?}")))
}
