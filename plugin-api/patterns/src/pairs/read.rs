//! From functions to rules.

use super::{
    IDENTITY, PATTERN, PairFault, REPLACEMENT,
    proto::{self, AttrValue, Attribute, Function, Model, Node, Tensor, elem, kind},
};
use crate::{MAX_DEPTH, MAX_FAULTS, MAX_PARTS, ast::*, parse::KEYWORDS};
use std::collections::{BTreeMap, BTreeSet};

type Read<T> = Result<T, PairFault>;

/// Reads the rules that the functions of a model are, in the order of their patterns.
///
/// # Errors
/// Returns at most one fault for each function, and at most [`MAX_FAULTS`].
pub fn read(bytes: &[u8]) -> Result<Vec<Rule>, Vec<PairFault>> {
    let model = Model::read(bytes)
        .map_err(|_| vec![PairFault::new("it is not an ONNX model", "rules as text are in a file of another name")])?;
    let mut faults = Vec::new();
    if model.n_nodes > 0 {
        let message = format_args!("its graph has {} nodes", model.n_nodes);
        faults.push(PairFault::new(message, "rules are the functions of a model whose graph is empty"));
    } else if model.functions.is_empty() {
        faults.push(PairFault::new("it has no functions", "a rule is a pair of functions"));
    }
    let functions = &model.functions;
    let partner = |function: &Function, stem: &str, end: &str| {
        let name = format!("{stem}{end}");
        functions.iter().find(|other| other.domain == function.domain && other.name == name).ok_or_else(|| {
            PairFault::new(
                format_args!("there is no function `{name}`"),
                format_args!(
                    "a rule is a pair of functions of one domain: `{stem}{PATTERN}` and `{stem}{REPLACEMENT}`"
                ),
            )
        })
    };
    let (mut rules, mut names, mut stems) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for function in functions {
        let mut read = || {
            if !names.insert((&function.domain, &function.name)) {
                return Err(PairFault::new("there are two functions of this name", "rename one of them"));
            }
            if let Some(stem) = function.name.strip_suffix(REPLACEMENT) {
                return partner(function, stem, PATTERN).map(|_| None);
            }
            let stem = function.name.strip_suffix(PATTERN).ok_or_else(|| {
                PairFault::new(
                    "it is not one of a pair",
                    format_args!("the names of a pair end in `{PATTERN}` and `{REPLACEMENT}`"),
                )
            })?;
            let replacement = partner(function, stem, REPLACEMENT)?;
            if !is_name(stem) {
                let help = "it begins with a letter or `_`, has letters, digits and `_`, and is not a keyword";
                return Err(PairFault::new(format_args!("`{stem}` cannot be the name of a rule"), help));
            }
            if !stems.insert(stem) {
                return Err(PairFault::new(format_args!("two rules are named `{stem}`"), "rename one of them"));
            }
            rule(functions, stem, function, replacement).map(Some)
        };
        match read() {
            Ok(rule) => rules.extend(rule),
            Err(fault) if faults.len() < MAX_FAULTS => {
                // A fault of the other function of the pair has its place already.
                let place = format!("function `{}`", function.name);
                faults.push(if fault.place.is_empty() { fault.at(place) } else { fault });
            }
            Err(_) => break,
        }
    }
    if faults.is_empty() { Ok(rules) } else { Err(faults) }
}

/// Whether a text is a name in rules.
fn is_name(text: &str) -> bool {
    let is_part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    text.split('.').all(is_part) && !KEYWORDS.contains(&text)
}

fn word(text: &str) -> Name {
    Name { text: text.to_owned(), span: TextSpan::default() }
}

fn rule(functions: &[Function], stem: &str, pattern: &Function, replacement: &Function) -> Read<Rule> {
    let at_replacement = |fault: PairFault| {
        let place = format!("function `{}`", replacement.name);
        if fault.place.is_empty() { fault.at(place) } else { fault }
    };
    let mut left = Side::new(functions, pattern)?;
    let mut right = Side::new(functions, replacement).map_err(at_replacement)?;
    if left.function.outputs.len() != right.function.outputs.len() {
        let (n, other) = (right.function.outputs.len(), left.function.outputs.len());
        let message = format_args!("it has {n} outputs, and `{}` has {other}", pattern.name);
        return Err(at_replacement(PairFault::new(message, "the outputs replace one another in their order")));
    }
    let opset = opset(pattern, replacement)?;
    let names = Names::of(pattern);
    let (call, others, places) = left.roots(&names)?;
    let values = right.results(&names, pattern, others.len() + 1).map_err(at_replacement)?;
    let results = if others.is_empty() {
        let n_results = places.iter().max().map_or(0, |&last| last + 1);
        let mut replaced = vec![NewValue::Absent(TextSpan::default()); n_results];
        for (index, value) in places.into_iter().zip(values) {
            replaced[index] = value;
        }
        replaced
    } else {
        values
    };
    Ok(Rule {
        name: Some(word(stem)),
        opset,
        others,
        patterns: vec![call],
        results,
        conditions: Vec::new(),
        span: TextSpan::default(),
    })
}

/// The version of the default domain that two functions are written for, if they are not for all.
fn opset(pattern: &Function, replacement: &Function) -> Read<Option<i64>> {
    let version = |function: &Function| {
        for (domain, version) in function.imports.iter().filter(|(domain, _)| !domain.is_empty()) {
            if *version != 1 {
                let message = format_args!("it imports version {version} of domain `{domain}`");
                let fault = PairFault::new(message, "a rule needs a version of the default domain only; others are 1");
                return Err(fault.at(format_args!("function `{}`", function.name)));
            }
        }
        Ok(function.imports.iter().find(|(domain, _)| domain.is_empty()).map(|(_, version)| *version))
    };
    match (version(pattern)?, version(replacement)?) {
        (Some(one), Some(other)) if one != other => Err(PairFault::new(
            format_args!("it imports version {one} of the default domain, and `{}` version {other}", replacement.name),
            "both are for the models that import this version or a later one",
        )),
        (Some(version), _) | (None, Some(version)) if version < 1 => Err(PairFault::new(
            format_args!("it imports version {version} of the default domain"),
            "versions are counted from 1",
        )),
        (version, other) => Ok(version.or(other).filter(|&version| version > 1)),
    }
}

/// The variables that stand for the inputs, inner values and attributes of a pattern.
struct Names<'f> {
    values: BTreeMap<&'f str, String>,
    attrs: BTreeMap<&'f str, String>,
}

impl<'f> Names<'f> {
    /// Names that the language has are kept, and others are replaced; values and attributes have no name in common.
    fn of(pattern: &'f Function) -> Self {
        let outputs = pattern.nodes.iter().flat_map(|node| &node.outputs).filter(|name| !name.is_empty());
        let values: Vec<&str> = pattern.inputs.iter().chain(outputs).map(String::as_str).collect();
        let mut taken: BTreeSet<String> = values.iter().filter(|name| is_name(name)).map(|&name| name.into()).collect();
        let mut next = 0;
        let mut free = |taken: &mut BTreeSet<String>| loop {
            next += 1;
            let name = format!("v{next}");
            if taken.insert(name.clone()) {
                return name;
            }
        };
        let value = |&name: &&'f str| {
            let is_taken = taken.contains(name);
            (name, if is_taken { name.to_owned() } else { free(&mut taken) })
        };
        let values: BTreeMap<_, _> = values.iter().map(value).collect();
        let attr = |name: &'f String| {
            let is_free = is_name(name) && taken.insert(name.clone());
            (name.as_str(), if is_free { name.clone() } else { free(&mut taken) })
        };
        let attrs = pattern.attributes.iter().map(attr).collect();
        Self { values, attrs }
    }

    fn value(&self, name: &str) -> Name {
        word(self.values.get(name).map_or("", String::as_str))
    }
}

/// One of the two functions.
struct Side<'f> {
    function: &'f Function,
    /// The nodes and the numbers of their results, by the names of values.
    made: BTreeMap<&'f str, (usize, usize)>,
    /// How often each value is used: by nodes, and as an output.
    uses: BTreeMap<&'f str, usize>,
    /// Of a pattern: the nodes that are outermost calls.
    roots: Vec<usize>,
    /// The nodes that the rule has already.
    seen: BTreeSet<usize>,
    depth: usize,
    n_parts: usize,
}

impl<'f> Side<'f> {
    /// Checks the parts of a function that do not depend on the other one.
    fn new(functions: &[Function], function: &'f Function) -> Read<Self> {
        let mut side = Side {
            function,
            made: BTreeMap::new(),
            uses: BTreeMap::new(),
            roots: Vec::new(),
            seen: BTreeSet::new(),
            depth: 0,
            n_parts: 0,
        };
        if function.has_defaults {
            return Err(PairFault::new("it has attributes with defaults", "let the calls state the attributes"));
        }
        if function.outputs.is_empty() {
            return Err(no_outputs());
        }
        let mut known = BTreeSet::new();
        for input in &function.inputs {
            if input.is_empty() || !known.insert(input.as_str()) {
                return Err(PairFault::new(format_args!("it has two inputs `{input}`"), "rename one of them"));
            }
        }
        for (at, node) in function.nodes.iter().enumerate() {
            side.node(at, node, functions, &mut known).map_err(|fault| fault.at(side.place(at)))?;
        }
        for output in &function.outputs {
            if !known.contains(output.as_str()) {
                return Err(PairFault::new(format_args!("its output `{output}` is not computed"), "add its node"));
            }
            *side.uses.entry(output).or_default() += 1;
        }
        Ok(side)
    }

    fn place(&self, at: usize) -> String {
        let node = &self.function.nodes[at];
        let name = if node.name.is_empty() { &node.op } else { &node.name };
        format!("function `{}`, node {at} (`{name}`)", self.function.name)
    }

    fn node(&mut self, at: usize, node: &'f Node, all: &[Function], known: &mut BTreeSet<&'f str>) -> Read<()> {
        if all.iter().any(|function| function.domain == node.domain && function.name == node.op)
            || !node.overload.is_empty()
        {
            return Err(PairFault::new(
                "it calls a function",
                "a rule has operators only: write what the function does",
            ));
        }
        if !is_name(&node.op) {
            return Err(PairFault::new(format_args!("`{}` cannot be an operator", node.op), "name an operator"));
        }
        if !self.function.imports.iter().any(|(domain, _)| *domain == node.domain) {
            let message = match node.domain.as_str() {
                "" => "the function does not import the default domain".to_owned(),
                domain => format!("the function does not import domain `{domain}`"),
            };
            return Err(PairFault::new(message, "add it to `opset_import`"));
        }
        for input in node.inputs.iter().filter(|input| !input.is_empty()) {
            if !known.contains(input.as_str()) {
                let help = "a node follows those whose results it uses";
                return Err(PairFault::new(format_args!("`{input}` is not known here"), help));
            }
            *self.uses.entry(input).or_default() += 1;
        }
        for (index, output) in node.outputs.iter().enumerate().filter(|(_, output)| !output.is_empty()) {
            if !known.insert(output) {
                return Err(PairFault::new(format_args!("`{output}` is computed twice"), "rename one of them"));
            }
            self.made.insert(output, (at, index));
        }
        let mut keys = BTreeSet::new();
        match node.attributes.iter().find(|attr| !keys.insert(&attr.name)) {
            Some(Attribute { name, .. }) => {
                Err(PairFault::new(format_args!("it has two attributes `{name}`"), "remove one of them"))
            }
            None => Ok(()),
        }
    }

    /// Counts a part of this side, as the parser of the text does.
    fn part(&mut self) -> Read<()> {
        self.n_parts += 1;
        if self.n_parts <= MAX_PARTS {
            return Ok(());
        }
        Err(PairFault::new(format_args!("it has more than {MAX_PARTS} parts"), "split the rule"))
    }

    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth >= MAX_DEPTH {
            return Err(PairFault::new(format_args!("its nodes are more than {MAX_DEPTH} deep"), "split the rule"));
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    /// Refuses nodes and inputs that the rule does not have.
    fn all_seen(&self, needs_inputs: bool) -> Read<()> {
        if let Some(at) = (0..self.function.nodes.len()).find(|at| !self.seen.contains(at)) {
            let help = "the outputs are those of the outermost calls, and all other nodes lead to them";
            return Err(PairFault::new("no output of the rule depends on it", help).at(self.place(at)));
        }
        let unused = self.function.inputs.iter().find(|input| needs_inputs && !self.uses.contains_key(input.as_str()));
        match unused {
            Some(input) => {
                Err(PairFault::new(format_args!("its input `{input}` is not used"), "remove it from both functions"))
            }
            None => Ok(()),
        }
    }

    /// The patterns of the first outermost call and of the others, and the number of the result that each output is.
    fn roots(&mut self, names: &Names<'f>) -> Read<(CallPattern, Vec<CallPattern>, Vec<usize>)> {
        let (mut roots, mut results) = (Vec::new(), Vec::new());
        for output in &self.function.outputs {
            let Some(&(at, index)) = self.made.get(output.as_str()) else {
                let message = format_args!("its output `{output}` is an input");
                return Err(PairFault::new(message, "a pattern has at least one call"));
            };
            if self.function.nodes[at].is_constant() {
                let fault = PairFault::new("its output is a constant", "a pattern has at least one call");
                return Err(fault.at(self.place(at)));
            }
            if roots.contains(&(at, index)) {
                return Err(PairFault::new(format_args!("it has two outputs `{output}`"), "remove one of them"));
            }
            roots.push((at, index));
            results.push(index);
        }
        let Some((&(first, index), others)) = roots.split_first() else { return Err(no_outputs()) };
        if others.iter().all(|(at, _)| *at == first) {
            let call = self.call(first, 0, None, names)?;
            self.all_seen(true)?;
            return Ok((call, Vec::new(), results));
        }
        self.roots = roots.iter().map(|(at, _)| *at).collect();
        if let Some(at) = (1..roots.len()).find(|&at| self.roots[..at].contains(&self.roots[at])) {
            let message = format_args!("its output `{}` is a second one of a call", self.function.outputs[at]);
            let fault = PairFault::new(message, "each of several outermost calls stands for one of its results");
            return Err(fault.at(self.place(self.roots[at])));
        }
        let bind = |side: &Self, at: usize| Some(names.value(&side.function.outputs[at]));
        let call = self.call(first, index, bind(self, 0), names)?;
        let others = others.iter().enumerate();
        let others = others.map(|(at, &(node, index))| self.call(node, index, bind(self, at + 1), names));
        let others = others.collect::<Read<_>>()?;
        self.all_seen(true)?;
        Ok((call, others, results))
    }

    /// The pattern of a node of which one result is used, with the variable that it has.
    fn call(&mut self, at: usize, result: usize, bind: Option<Name>, names: &Names<'f>) -> Read<CallPattern> {
        self.part()?;
        self.seen.insert(at);
        let node = &self.function.nodes[at];
        let mut attrs = Vec::new();
        for attr in &node.attributes {
            self.part()?;
            let value = self.attr(attr, names).map_err(|fault| fault.at(self.place(at)))?;
            let value = match value {
                AttrRead::Literal(literal) => AttrWanted::Literal(literal),
                AttrRead::Refers(name) => AttrWanted::Bind(name),
            };
            attrs.push(AttrPattern { key: word(&attr.name), value });
        }
        let mut args = Vec::new();
        for input in given(node) {
            self.part()?;
            args.push(self.arg(input, names)?);
        }
        let op = OpName { domain: node.domain.clone(), name: node.op.clone(), span: TextSpan::default() };
        Ok(CallPattern {
            op,
            versions: None,
            attrs,
            any_attrs: false,
            args,
            result: u16::try_from(result).unwrap_or(u16::MAX),
            bind,
            is_shared: false,
            span: TextSpan::default(),
        })
    }

    fn arg(&mut self, input: &str, names: &Names<'f>) -> Read<ArgPattern> {
        if input.is_empty() {
            return Ok(ArgPattern::Absent(TextSpan::default()));
        }
        let Some(&(at, index)) = self.made.get(input) else { return Ok(ArgPattern::Var(names.value(input))) };
        let node = &self.function.nodes[at];
        if node.is_constant() {
            self.seen.insert(at);
            return Ok(match constant(node).map_err(|fault| fault.at(self.place(at)))? {
                Numbers::One(value) => ArgPattern::Number { value, tolerance: None, span: TextSpan::default() },
                Numbers::List(values) => ArgPattern::List(literals(values), TextSpan::default()),
            });
        }
        let others = node.outputs.iter().enumerate().filter(|(other, _)| *other != index);
        if { others }.any(|(_, other)| self.uses.contains_key(other.as_str())) {
            let message = "several of its results are used";
            let help = "a call inside a rule stands for one of its results";
            return Err(PairFault::new(message, help).at(self.place(at)));
        }
        if self.seen.contains(&at) || self.roots.contains(&at) {
            return Ok(ArgPattern::Var(names.value(input)));
        }
        let bind = self.uses.get(input).is_some_and(|&n| n > 1).then(|| names.value(input));
        self.nested(|side| Ok(ArgPattern::Call(Box::new(side.call(at, index, bind, names)?))))
    }

    fn attr(&self, attr: &'f Attribute, names: &Names<'f>) -> Read<AttrRead> {
        if !is_name(&attr.name) {
            return Err(PairFault::new(format_args!("a rule cannot name attribute `{}`", attr.name), "leave it out"));
        }
        if !attr.refers.is_empty() {
            if !self.function.attributes.contains(&attr.refers) {
                let message =
                    format_args!("attribute `{}` refers to `{}`, which the function lacks", attr.name, attr.refers);
                return Err(PairFault::new(message, "list it among the attributes of the function"));
            }
            let Some(name) = names.attrs.get(attr.refers.as_str()) else {
                let message =
                    format_args!("attribute `{}` refers to `{}`, which the pattern lacks", attr.name, attr.refers);
                return Err(PairFault::new(message, "refer to it in the pattern"));
            };
            return Ok(AttrRead::Refers(word(name)));
        }
        let all =
            |values: &[f32]| values.iter().map(|&value| finite(value).map(Literal::Number)).collect::<Option<_>>();
        let literal = match &attr.value {
            AttrValue::Float(value) => finite(*value).map(Literal::Number),
            AttrValue::Floats(values) => all(values).map(Literal::List),
            AttrValue::Int(value) => Some(Literal::Number(Number::Int(*value))),
            AttrValue::Ints(values) => {
                Some(Literal::List(literals(values.iter().map(|&value| Number::Int(value)).collect())))
            }
            AttrValue::String(text) => Some(Literal::String(text.clone())),
            AttrValue::Strings(texts) => Some(Literal::List(texts.iter().cloned().map(Literal::String).collect())),
            AttrValue::Other | AttrValue::Tensor(_) => {
                let what = match attr.kind {
                    kind::GRAPH | kind::GRAPHS => "a graph",
                    kind::TENSOR => "a tensor",
                    _ => "of a kind that rules do not have",
                };
                let help = "an attribute in a rule is a number, a string or a list of them";
                return Err(PairFault::new(format_args!("attribute `{}` is {what}", attr.name), help));
            }
        };
        literal.map(AttrRead::Literal).ok_or_else(|| {
            PairFault::new(format_args!("attribute `{}` is not finite", attr.name), "numbers in rules are finite")
        })
    }

    /// The replacements, one for each output, or a call whose results they are in place of several calls.
    fn results(&mut self, names: &Names<'f>, pattern: &Function, n_roots: usize) -> Read<Vec<NewValue>> {
        if let Some(input) = self.function.inputs.iter().find(|input| !pattern.inputs.contains(input)) {
            let message = format_args!("its input `{input}` is not one of `{}`", pattern.name);
            return Err(PairFault::new(message, "the inputs of a pair have the same names"));
        }
        let is_whole = |node: &Node| node.outputs == self.function.outputs;
        let mut values = Vec::new();
        if let Some(at) = self.function.nodes.iter().position(is_whole).filter(|_| n_roots > 1) {
            self.part()?;
            self.seen.insert(at);
            values.push(self.made(at, names)?);
        } else {
            for output in &self.function.outputs {
                values.push(self.result(output, names)?);
            }
        }
        self.all_seen(false)?;
        Ok(values)
    }

    fn result(&mut self, output: &'f str, names: &Names<'f>) -> Read<NewValue> {
        if let Some(&(at, _)) = self.made.get(output) {
            let node = &self.function.nodes[at];
            if node.is_constant() {
                let help = "a number in place of the whole pattern has the type and sizes of what it replaces";
                return Err(PairFault::new("an output is a constant", help).at(self.place(at)));
            }
            // A node is needed to hand on an input.
            if let (IDENTITY, "", [input]) = (node.op.as_str(), node.domain.as_str(), node.inputs.as_slice())
                && self.function.inputs.contains(input)
                && self.uses.get(output) == Some(&1)
            {
                self.seen.insert(at);
                self.part()?;
                return Ok(NewValue::Var(names.value(input)));
            }
        }
        self.value(output, names)
    }

    fn value(&mut self, name: &'f str, names: &Names<'f>) -> Read<NewValue> {
        self.part()?;
        if name.is_empty() {
            return Ok(NewValue::Absent(TextSpan::default()));
        }
        let Some(&(at, index)) = self.made.get(name) else { return Ok(NewValue::Var(names.value(name))) };
        let node = &self.function.nodes[at];
        let is_new = self.seen.insert(at);
        if node.is_constant() {
            return Ok(match constant(node).map_err(|fault| fault.at(self.place(at)))? {
                Numbers::One(value) => NewValue::Number(value, TextSpan::default()),
                Numbers::List(values) => {
                    NewValue::List(literals(values).into_iter().map(expr).collect(), TextSpan::default())
                }
            });
        }
        if !is_new || self.uses.get(name).is_some_and(|&n| n > 1) {
            let message = "its result is used twice";
            return Err(PairFault::new(message, "a call in the replacement of a rule has one user").at(self.place(at)));
        }
        if index > 0 {
            let message = format_args!("its result {index} is used");
            return Err(
                PairFault::new(message, "a call in a replacement stands for its first result").at(self.place(at))
            );
        }
        self.made(at, names)
    }

    /// The call that a node of the replacement is.
    fn made(&mut self, at: usize, names: &Names<'f>) -> Read<NewValue> {
        let node = &self.function.nodes[at];
        let mut attrs = Vec::new();
        for attr in &node.attributes {
            self.part()?;
            let value = match self.attr(attr, names).map_err(|fault| fault.at(self.place(at)))? {
                AttrRead::Literal(literal) => expr(literal),
                AttrRead::Refers(name) => Computation::Var(name),
            };
            attrs.push(Setting { key: word(&attr.name), value });
        }
        let args = self.nested(|side| given(node).iter().map(|input| side.value(input, names)).collect())?;
        let op = OpName { domain: node.domain.clone(), name: node.op.clone(), span: TextSpan::default() };
        Ok(NewValue::Call { op, attrs, args })
    }
}

fn no_outputs() -> PairFault {
    PairFault::new("it has no outputs", "a rule replaces the outputs of its pattern")
}

/// An attribute of a node.
enum AttrRead {
    Literal(Literal),
    Refers(Name),
}

/// The arguments of a node without those at the end that are absent.
fn given(node: &Node) -> &[String] {
    let n = node.inputs.iter().rposition(|input| !input.is_empty()).map_or(0, |last| last + 1);
    &node.inputs[..n]
}

fn literals(values: Vec<Number>) -> Vec<Literal> {
    values.into_iter().map(Literal::Number).collect()
}

fn expr(literal: Literal) -> Computation {
    let span = TextSpan::default();
    match literal {
        Literal::Number(number) => Computation::Number(number, span),
        Literal::String(text) => Computation::String(text, span),
        Literal::List(items) => Computation::List(items.into_iter().map(expr).collect(), span),
    }
}

/// The number with the fewest digits that is rounded to a float, if the float is finite.
fn finite(value: f32) -> Option<Number> {
    value.is_finite().then(|| format!("{value:?}").parse().ok().map(Number::Float)).flatten()
}

/// The numbers that a constant has.
enum Numbers {
    One(Number),
    List(Vec<Number>),
}

fn constant(node: &Node) -> Read<Numbers> {
    let numbers = |values: Option<Vec<Number>>| {
        values.ok_or_else(|| PairFault::new("the constant is not finite", "numbers in rules are finite"))
    };
    let int = |values: &[i64]| Some(values.iter().map(|&value| Number::Int(value)).collect());
    let float = |values: &[f32]| values.iter().map(|&value| finite(value)).collect();
    let one = |values: Vec<Number>| match values.as_slice() {
        &[value] => Ok(Numbers::One(value)),
        _ => Err(PairFault::new("the constant has not as many elements as its sizes say", "write it again")),
    };
    let unknown = || PairFault::new("the constant is not stated as numbers", "give it an attribute `value`");
    let [attr] = node.attributes.as_slice() else { return Err(unknown()) };
    match (attr.name.as_str(), &attr.value) {
        _ if !attr.refers.is_empty() => Err(unknown()),
        ("value_float", AttrValue::Float(value)) => one(numbers(float(&[*value]))?),
        ("value_int", AttrValue::Int(value)) => one(numbers(int(&[*value]))?),
        ("value_floats", AttrValue::Floats(values)) => Ok(Numbers::List(numbers(float(values))?)),
        ("value_ints", AttrValue::Ints(values)) => Ok(Numbers::List(numbers(int(values))?)),
        ("value", AttrValue::Tensor(tensor)) => {
            if tensor.is_external {
                return Err(PairFault::new("the constant is in another file", "keep it in the model"));
            }
            let values = numbers(match tensor.elem {
                elem::FLOAT => float(&tensor_values(tensor, &tensor.floats, proto::floats)?),
                elem::INT64 => int(&tensor_values(tensor, &tensor.ints, proto::ints)?),
                _ => {
                    let help =
                        "a number in a rule is written as float32 or int64, and matches constants of other types";
                    return Err(PairFault::new("the constant is neither of float32 nor of int64", help));
                }
            })?;
            match tensor.dims.as_slice() {
                [] => one(values),
                &[n] if usize::try_from(n) == Ok(values.len()) => Ok(Numbers::List(values)),
                [_] => Err(PairFault::new("the constant has not as many elements as its sizes say", "write it again")),
                _ => Err(PairFault::new("the constant is not a scalar or a vector", "matrices are not part of rules")),
            }
        }
        _ => Err(unknown()),
    }
}

/// The elements of a tensor, from its list or its bytes.
fn tensor_values<T: Clone>(
    tensor: &Tensor,
    list: &[T],
    decode: fn(&[u8]) -> Result<Vec<T>, proto::Damaged>,
) -> Read<Vec<T>> {
    match &tensor.raw {
        None => Ok(list.to_vec()),
        Some(bytes) => decode(bytes)
            .map_err(|_| PairFault::new("the constant has not as many bytes as its elements need", "write it again")),
    }
}
