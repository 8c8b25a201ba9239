//! Where two modules differ, whatever the names and the order of what is inside them.

use crate::{
    interface::output_names,
    numbers::{TensorComparison, Tolerance, compare_tensors},
};
use relais_plugin_api::{
    ir::{
        AttrValue, Expr, Function, IR_VERSION, IRModule, NodeId, Tensor, attr_flag, kind, normal_domain,
        operator_counts,
    },
    text::{display, display_type},
};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
};

/// How many nodes are shown.
const MOST_NODES: usize = 10;

/// The most elements of a constant other than floats whose values are part of the structure: shapes, axes and the like.
const MOST_ELEMENTS: u64 = 16;

/// Something that both models have, or may have, and that differs: what it is, and as it is in each of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DiffRow {
    /// Its name: `calls of Relu`, `operator set ai.onnx`.
    pub what: String,
    /// As it is on both sides; `None` where it is missing.
    pub sides: [Option<String>; 2],
}

/// Two nodes, or types of values, at one place of the computation that differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeRow {
    /// The function that they are in.
    pub function: String,
    /// Both as text; empty where only one side has it.
    pub nodes: [String; 2],
    /// In which way they differ.
    pub why: String,
}

/// The differences of two modules: what the modules and their interfaces have, then the nodes where the computations
/// part.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Diff {
    /// Differences of the modules and their interfaces.
    pub rows: Vec<DiffRow>,
    /// Where the computations part.
    pub nodes: Vec<NodeRow>,
}

impl Diff {
    /// Compares two modules. Values of weights are compared if there is a tolerance for them.
    pub fn of(left: &IRModule, right: &IRModule, numeric: Option<Tolerance>) -> Self {
        let mut diff = Self::default();
        let version = |module: &IRModule| module.attr(IR_VERSION).and_then(|attr| attr.as_int());
        diff.row("IR version", [left, right].map(|module| version(module).map(|version| version.to_string())));
        let functions = |module: &IRModule| module.bodies().map(|(name, _)| name.to_owned()).collect::<BTreeSet<_>>();
        let names = [functions(left), functions(right)];
        for name in names[0].union(&names[1]) {
            let has = [0, 1].map(|side| names[side].contains(name).then(|| "defined".to_owned()));
            diff.row(&format!("function {name}"), has);
        }
        if let (Some(f), Some(g)) = (left.main(), right.main()) {
            let sides = [f, g].map(|f| named(f, f.params().iter().map(|&id| f.name(id).to_owned()), f.params()));
            diff.values("input", &sides);
            let sides = [f, g].map(|f| named(f, output_names(f), f.results(f.body())));
            diff.values("output", &sides);
            let sets = [f, g].map(|f| f.opset_imports().into_iter().collect::<BTreeMap<_, _>>());
            for domain in sets[0].keys().chain(sets[1].keys()).collect::<BTreeSet<_>>() {
                let shown = if domain.is_empty() { "ai.onnx" } else { domain };
                let versions = [0, 1].map(|side| sets[side].get(domain).map(ToString::to_string));
                diff.row(&format!("operator set {shown}"), versions);
            }
        }
        let counts = [left, right].map(operator_counts);
        for name in counts[0].keys().chain(counts[1].keys()).collect::<BTreeSet<_>>() {
            let counts = [0, 1].map(|side| Some(counts[side].get(name).copied().unwrap_or(0).to_string()));
            diff.row(&format!("calls of {name}"), counts);
        }
        let weights = [left, right].map(|module| {
            let all = module.bodies().flat_map(|(_, f)| f.all_bindings().filter_map(|id| f.stored_constant(id)));
            let (n, elements) = all.fold((0u64, 0u64), |(n, sum), tensor| (n + 1, sum.saturating_add(tensor.len())));
            Some(format!("{n}, of {elements} elements"))
        });
        diff.row("constants", weights);
        for (name, f) in left.bodies() {
            if let Some(g) = right.body(name) {
                let mut pairs =
                    Pairs { f, g, numeric, to_right: HashMap::new(), to_left: HashMap::new(), open: vec![] };
                diff.nodes.extend(pairs.differences().into_iter().map(|(nodes, why)| NodeRow {
                    function: name.to_owned(),
                    nodes,
                    why,
                }));
            }
        }
        diff
    }

    /// Adds a row if the sides differ.
    fn row(&mut self, what: &str, sides: [Option<String>; 2]) {
        if sides[0] != sides[1] {
            self.rows.push(DiffRow { what: what.to_owned(), sides });
        }
    }

    /// Compares values of an interface by name, and the order of the names.
    fn values(&mut self, what: &str, sides: &[Vec<(String, String)>; 2]) {
        let names = sides.each_ref().map(|side| side.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>());
        let mut all = names[0].clone();
        all.extend(names[1].iter().filter(|name| !names[0].contains(name)));
        for name in all {
            let ty = |side: &Vec<(String, String)>| side.iter().find(|(known, _)| known == name).map(|it| it.1.clone());
            self.row(&format!("{what} {name}"), sides.each_ref().map(ty));
        }
        let sorted = names.each_ref().map(|names| names.iter().copied().collect::<BTreeSet<_>>());
        if sorted[0] == sorted[1] {
            self.row(&format!("order of {what}s"), names.map(|names| Some(names.join(", "))));
        }
    }

    /// Whether the modules are the same.
    pub fn is_same(&self) -> bool {
        self.rows.is_empty() && self.nodes.is_empty()
    }
}

/// The text of `relais diff`, with the first nodes.
impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for DiffRow { what, sides } in &self.rows {
            let [left, right] = sides.each_ref().map(|side| side.as_deref().unwrap_or("none"));
            writeln!(f, "{what}: {left} -> {right}")?;
        }
        for NodeRow { function, nodes: [left, right], why } in self.nodes.iter().take(MOST_NODES) {
            writeln!(f, "in @{function}: {why}")?;
            for (sign, node) in [('-', left), ('+', right)].iter().filter(|(_, node)| !node.is_empty()) {
                writeln!(f, "  {sign} {node}")?;
            }
        }
        match self.nodes.len().saturating_sub(MOST_NODES) {
            0 => Ok(()),
            1 => writeln!(f, "and one more node"),
            n => writeln!(f, "and {n} more nodes"),
        }
    }
}

/// Names with the types of values.
fn named(f: &Function, names: impl IntoIterator<Item = String>, values: &[NodeId]) -> Vec<(String, String)> {
    let mut names = names.into_iter();
    let name = |at: usize, name: Option<String>| name.filter(|name| !name.is_empty()).unwrap_or_else(|| at.to_string());
    let types = values.iter().map(|&id| display_type(f, f.type_id(id)).to_string());
    types.enumerate().map(|(at, ty)| (name(at, names.next()), ty)).collect()
}

/// The nodes of two functions that correspond: from the results backwards, and each to one other.
struct Pairs<'a> {
    f: &'a Function,
    g: &'a Function,
    numeric: Option<Tolerance>,
    to_right: HashMap<NodeId, NodeId>,
    to_left: HashMap<NodeId, NodeId>,
    open: Vec<(NodeId, NodeId)>,
}

type Found = (NodeId, NodeId, String);

impl Pairs<'_> {
    /// The differences, in the order of the left function.
    fn differences(&mut self) -> Vec<([String; 2], String)> {
        let (f, g) = (self.f, self.g);
        let mut found: Vec<Found> = Vec::new();
        self.params(f.params(), g.params(), &mut found);
        self.results(&mut found);
        self.follow(&mut found);
        // Bindings that no result depends on, in order.
        let (mut rest, mut others) = (Vec::new(), Vec::new());
        rest.extend(f.all_bindings().filter(|id| !self.to_right.contains_key(id)));
        others.extend(g.all_bindings().filter(|id| !self.to_left.contains_key(id)));
        // Behind a difference, nodes have no counterpart either.
        if found.is_empty() {
            for at in 0..rest.len().max(others.len()) {
                match (rest.get(at), others.get(at)) {
                    (Some(&x), Some(&y)) => self.open.push((x, y)),
                    (x, y) => {
                        let side = |id: Option<&NodeId>| id.copied().unwrap_or(NodeId::ABSENT);
                        found.push((side(x), side(y), "only one of them has this".to_owned()));
                    }
                }
            }
            self.follow(&mut found);
        }
        let places: HashMap<NodeId, usize> = f.all_bindings().enumerate().map(|(at, id)| (id, at)).collect();
        found.sort_by_key(|(x, _, _)| places.get(x).copied());
        let shown = |f: &Function, id: NodeId| match f.kind(id) {
            kind::ABSENT => String::new(),
            kind::FUNCTION => "the function itself".to_owned(),
            kind::VAR => format!("%{}: {}", f.name(id), display_type(f, f.type_id(id))),
            _ => display(f, id).to_string(),
        };
        found.into_iter().map(|(x, y, why)| ([shown(f, x), shown(g, y)], why)).collect()
    }

    /// Pairs results by the names of the outputs; if none is the same, in their order.
    fn results(&mut self, found: &mut Vec<Found>) {
        let (f, g) = (self.f, self.g);
        let (results, others) = (f.results(f.body()), g.results(g.body()));
        let (names, other_names) = (output_names(f), output_names(g));
        let at = |name: &String| other_names.iter().position(|other| other == name && !name.is_empty());
        let by_name = results.iter().zip(&names).filter_map(|(&x, name)| Some((x, *others.get(at(name)?)?)));
        let mut pairs: Vec<(NodeId, NodeId)> = by_name.collect();
        if pairs.is_empty() {
            if results.len() != others.len() {
                found.push((f.root(), g.root(), format!("{} -> {} results", results.len(), others.len())));
            }
            pairs.extend(results.iter().copied().zip(others.iter().copied()));
        }
        // The first one is followed first.
        self.open.extend(pairs.into_iter().rev());
    }

    /// Pairs parameters by name, and others in their order.
    fn params(&mut self, left: &[NodeId], right: &[NodeId], found: &mut Vec<Found>) {
        let (f, g) = (self.f, self.g);
        let mut others: Vec<NodeId> = right.to_vec();
        let mut unnamed = Vec::new();
        for &x in left {
            match others.iter().position(|&y| g.name(y) == f.name(x)) {
                Some(at) => self.param(x, others.remove(at), found),
                None => unnamed.push(x),
            }
        }
        for (x, y) in unnamed.into_iter().zip(others) {
            self.param(x, y, found);
        }
    }

    fn param(&mut self, x: NodeId, y: NodeId, found: &mut Vec<Found>) {
        self.pair(x, y);
        match (self.f.default_value(x), self.g.default_value(y)) {
            (Some(a), Some(b)) => found.extend(self.constants(a, b).map(|why| (x, y, why))),
            (None, None) => {}
            _ => found.push((x, y, "only one of them has a default value".to_owned())),
        }
    }

    fn pair(&mut self, x: NodeId, y: NodeId) {
        self.to_right.insert(x, y);
        self.to_left.insert(y, x);
    }

    fn follow(&mut self, found: &mut Vec<Found>) {
        while let Some((x, y)) = self.open.pop() {
            match (self.to_right.get(&x), self.to_left.get(&y)) {
                (Some(&known), _) if known == y => continue,
                (None, None) => {}
                // How often a constant is stored does not matter.
                _ if self.f.kind(x) == kind::CONSTANT && self.g.kind(y) == kind::CONSTANT => {}
                _ if x.is_absent() && y.is_absent() => continue,
                _ => {
                    let (a, b) = (does(self.f, x), does(self.g, y));
                    let why = if a == b {
                        "two values of one model are one of the other".into()
                    } else {
                        format!("{a} -> {b}")
                    };
                    found.push((x, y, why));
                    continue;
                }
            }
            if !x.is_absent() && !y.is_absent() {
                self.pair(x, y);
            }
            found.extend(self.compare(x, y).map(|why| (x, y, why)));
        }
    }

    /// Compares two nodes. Those that they use are compared afterwards, unless the nodes do something different.
    fn compare(&mut self, x: NodeId, y: NodeId) -> Option<String> {
        let (f, g) = (self.f, self.g);
        match (f.expr(x), g.expr(y)) {
            _ if x.is_absent() && y.is_absent() => return None,
            (Expr::Constant(_), Expr::Constant(_)) => {
                let (a, b) = (f.stored_constant(x)?, g.stored_constant(y)?);
                return self.constants(a, b);
            }
            _ if does(f, x) != does(g, y) => return Some(format!("{} -> {}", does(f, x), does(g, y))),
            _ if f.kind(x) == kind::VAR => return Some("another input".to_owned()),
            _ => {}
        }
        if f.kind(x) == kind::FUNCTION {
            return self.nested(x, y);
        }
        let (operands, others) = (f.operands(x), g.operands(y));
        let (n, m) = (f.n_regions(x), g.n_regions(y));
        if operands.len() != others.len() || n != m {
            let n_callees = usize::from(f.kind(x) == kind::CALL);
            return Some(format!("{} -> {} arguments", operands.len() - n - n_callees, others.len() - m - n_callees));
        }
        if f.n_results(x) != g.n_results(y) {
            let [a, b] = [f.n_results(x), g.n_results(y)].map(|n| n.unwrap_or(1));
            return Some(format!("{a} -> {b} results"));
        }
        let is_value = |f: &Function, id: NodeId| !matches!(f.kind(id), kind::OP | kind::GLOBAL_VAR);
        let (own, regions) = operands.split_at(operands.len() - n);
        let own = own.iter().copied().zip(others.iter().copied());
        self.open.extend(own.filter(|&(x, y)| is_value(f, x) && is_value(g, y)));
        let mut why = self.attributes(x, y);
        for (&x, &y) in regions.iter().zip(g.regions(y)) {
            why = why.or_else(|| self.nested(x, y));
        }
        why
    }

    /// Compares functions within functions.
    fn nested(&mut self, x: NodeId, y: NodeId) -> Option<String> {
        let (f, g) = (self.f, self.g);
        if f.kind(x) != kind::FUNCTION || g.kind(y) != kind::FUNCTION {
            return (f.kind(x) != g.kind(y)).then(|| "only one of them has a nested graph".to_owned());
        }
        let (params, others) = (f.operands(x), g.operands(y));
        let (results, other_results) = (f.results(f.block_of(x)), g.results(g.block_of(y)));
        if params.len() != others.len() || results.len() != other_results.len() {
            return Some("a nested graph has another number of inputs or outputs".to_owned());
        }
        for (&x, &y) in params.iter().zip(others) {
            self.pair(x, y);
        }
        self.open.extend(results.iter().copied().zip(other_results.iter().copied()));
        None
    }

    fn attributes(&self, x: NodeId, y: NodeId) -> Option<String> {
        let all = |f: &Function, id: NodeId| -> BTreeMap<String, String> {
            let attrs = f.attrs(id);
            let own = attrs.recs().iter().filter(|rec| rec.flags & attr_flag::META == 0);
            own.map(|&rec| (f.str(rec.name).to_owned(), self.shown(f, attrs.decode(rec)))).collect()
        };
        let (a, b) = (all(self.f, x), all(self.g, y));
        let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
        let changes = names.into_iter().filter(|name| a.get(*name) != b.get(*name)).map(|name| {
            let [a, b] = [&a, &b].map(|attrs| attrs.get(name).map_or("not set", String::as_str));
            format!("`{name}`: {a} -> {b}")
        });
        let changes: Vec<String> = changes.collect();
        (!changes.is_empty()).then(|| changes.join(", "))
    }

    /// An attribute's value, so that equal ones are written alike.
    fn shown(&self, f: &Function, value: AttrValue<'_>) -> String {
        let list = |items: Vec<String>| format!("[{}]", items.join(", "));
        let text = |bytes: &[u8]| format!("{:?}", String::from_utf8_lossy(bytes));
        let tensor = |tensor: &Tensor| match tensor.to_i64s().filter(|_| !tensor.elem().is_float()) {
            Some(values) if tensor.len() <= MOST_ELEMENTS => format!("{} {values:?}", type_of(tensor)),
            _ if self.numeric.is_some() => format!("{} {:016x}", type_of(tensor), tensor.bucket_hash()),
            _ => type_of(tensor),
        };
        match value {
            AttrValue::Float(value) => value.to_string(),
            AttrValue::Int(value) => value.to_string(),
            AttrValue::String(value) => text(value),
            AttrValue::Tensor(value) => tensor(value),
            AttrValue::Floats(values) => list(values.floats().map(|value| value.to_string()).collect()),
            AttrValue::Ints(values) => list(values.ints().map(|value| value.to_string()).collect()),
            AttrValue::Strings(values) => list(values.strings().map(text).collect()),
            AttrValue::Tensors(values) => list(values.tensors().map(tensor).collect()),
            AttrValue::Type(ty) => display_type(f, ty).to_string(),
            AttrValue::Types(types) => list(types.types().map(|ty| display_type(f, ty).to_string()).collect()),
            AttrValue::Ref { name, kind } => format!("the caller's `{name}`, of kind {kind}"),
            AttrValue::SparseTensor(bytes) | AttrValue::Raw(bytes) => format!("{bytes:02x?}"),
            AttrValue::SparseTensors(values) => list(values.strings().map(|bytes| format!("{bytes:02x?}")).collect()),
            // Nested graphs are compared as such.
            _ => "a graph".to_owned(),
        }
    }

    /// Compares constants: types, and values as far as they matter.
    fn constants(&self, a: &Tensor, b: &Tensor) -> Option<String> {
        if (a.elem(), a.dims()) != (b.elem(), b.dims()) {
            return Some(format!("the constant `{}` -> `{}`", type_of(a), type_of(b)));
        }
        let is_structure = a.len() <= MOST_ELEMENTS && !a.elem().is_float();
        let exact = Tolerance { relative: 0.0, absolute: Some(0.0) };
        let tolerance = self.numeric.or(is_structure.then_some(exact))?;
        match compare_tensors(a, b, tolerance) {
            TensorComparison::Close(_) => None,
            TensorComparison::OtherType => Some("constants of different types".to_owned()),
            TensorComparison::Differ(worst) => {
                let elements = if a.len() == 1 { "element" } else { "elements" };
                let mut why = format!("{} of {} {elements} of the constant differ", worst.count, a.len());
                if !worst.values[0].is_empty() {
                    let index: Vec<String> = worst.index.iter().map(u64::to_string).collect();
                    let [a, b] = &worst.values;
                    why.push_str(&format!(", most at [{}]: {a} -> {b}", index.join(", ")));
                }
                Some(why)
            }
        }
    }
}

/// The operation of a node, in a word.
fn does(f: &Function, id: NodeId) -> String {
    match f.expr(id) {
        Expr::Call(call) => match (call.op(), f.expr(call.callee())) {
            (Some(op), _) => {
                let op = f.op(op);
                match (normal_domain(f.str(op.domain)), f.str(op.name)) {
                    ("", name) => format!("`{name}`"),
                    (domain, name) => format!("`{domain}::{name}`"),
                }
            }
            (None, Expr::GlobalVar(name)) => format!("`@{name}`"),
            _ => "a call".to_owned(),
        },
        Expr::TupleGetItem { tuple, index } if f.kind(tuple) == kind::CALL => {
            format!("result {index} of {}", does(f, tuple))
        }
        Expr::TupleGetItem { index, .. } => format!("result {index}"),
        _ => match f.kind(id) {
            kind::ABSENT => "nothing",
            kind::VAR => "an input",
            kind::CONSTANT => "a constant",
            kind::IF => "`If`",
            kind::FUNCTION => "a function",
            _ => "something else",
        }
        .to_owned(),
    }
}

fn type_of(tensor: &Tensor) -> String {
    let dims: Vec<String> = tensor.dims().iter().map(u64::to_string).collect();
    format!("{}({})", tensor.elem().name().unwrap_or("?"), dims.join(", "))
}
