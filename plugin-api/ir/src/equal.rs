//! Structural equality of modules, functions and bindings: their contents, not the layout of their arenas in memory.

use super::*;
use std::{collections::HashMap, fmt};

/// Where two modules first differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The global function; empty when the modules themselves differ.
    pub global: String,
    /// The node in the left function and in the right one.
    pub nodes: Option<(NodeId, NodeId)>,
    /// The difference.
    pub what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.global.is_empty() {
            write!(f, "in `@{}`", self.global)?;
            if let Some((left, right)) = self.nodes {
                write!(f, ", `{left}` and `{right}`")?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&self.what)
    }
}

impl std::error::Error for Difference {}

/// Whether two modules have the same contents: attributes, functions in order, and in each function names, types,
/// bindings in order, attributes and metadata. Node numbers, provenance, other data in the arenas, the order of pieces
/// of metadata with different names, and side tables other than names and types do not matter.
///
/// # Errors
/// Returns the first difference.
pub fn equal(left: &IRModule, right: &IRModule) -> Result<(), Difference> {
    let differ = |what: String| Err(Difference { global: String::new(), nodes: None, what });
    if left.attrs != right.attrs {
        return differ(format!("module attributes {:?} and {:?}", left.attrs, right.attrs));
    }
    let (a, b) = (left.globals(), right.globals());
    for (x, y) in a.iter().zip(b) {
        if x.name != y.name || x.kind != y.kind {
            return differ(format!("globals `@{}` and `@{}`, of kinds {} and {}", x.name, y.name, x.kind, y.kind));
        }
        let within = |difference| Difference { global: x.name.to_string(), ..difference };
        equal_functions(x.body(), y.body()).map_err(within)?;
    }
    if a.len() != b.len() {
        return differ(format!("{} and {} global functions", a.len(), b.len()));
    }
    Ok(())
}

/// Whether two functions have the same contents; see [`equal`].
///
/// # Errors
/// Returns the first difference.
pub fn equal_functions(left: &Function, right: &Function) -> Result<(), Difference> {
    let mut comparer = Comparer::new(left, right);
    comparer.function(left.root(), right.root())?;
    while let Some((f, g)) = comparer.functions.pop() {
        comparer.block(f, g)?;
    }
    Ok(())
}

impl Function {
    /// Whether two bindings of this function compute the same, calls of operators that are random or keep state aside:
    /// operator, operands, attributes and constants are equal, by their bits. Names and metadata do not matter. Bindings
    /// with functions of their own, such as `If`, are never the same.
    ///
    /// ```
    /// use relais_plugin_api::text;
    ///
    /// let text = "def @main(%x) { %a = Elu(%x, alpha = 0.5); %b = Elu(%x, alpha = 0.5); Elu(%b) }";
    /// let module = text::parse_str(text).unwrap();
    /// let f = module.main().unwrap();
    /// let calls = f.bindings(f.body());
    /// assert!(f.is_same(calls[0], calls[1]) && f.structural_hash(calls[0]) == f.structural_hash(calls[1]));
    /// assert!(!f.is_same(calls[1], calls[2]));
    /// ```
    pub fn is_same(&self, a: NodeId, b: NodeId) -> bool {
        if let (Some(x), Some(y)) = (self.constant(a), self.constant(b)) {
            return x == y;
        }
        let (x, y) = (self.node(a), self.node(b));
        (x.kind, x.aux) == (y.kind, y.aux) && self.operands(a) == self.operands(b) && self.has_same_attrs(a, b)
    }

    /// Whether the operators of two bindings have equal attributes, by their bits and in the same order. Metadata does not
    /// matter. Attributes that are functions are never equal.
    pub fn has_same_attrs(&self, a: NodeId, b: NodeId) -> bool {
        operator_attrs(self, a).count() == operator_attrs(self, b).count()
            && operator_attrs(self, a).zip(operator_attrs(self, b)).all(|(p, q)| {
                p.name == q.name
                    && p.kind == q.kind
                    && is_same_value(self.attrs(a).decode(*p), self.attrs(b).decode(*q))
            })
    }

    /// Returns a hash that is equal for bindings that compute the same; see [`is_same`](Self::is_same).
    pub fn structural_hash(&self, id: NodeId) -> u64 {
        let rec = self.node(id);
        let mut hash = Hash64::new().word(u64::from(rec.kind) << 16);
        if let Some(tensor) = self.constant(id) {
            return hash.word(tensor.bucket_hash()).finish();
        }
        hash = hash.word(rec.aux.into());
        for operand in self.operands(id) {
            hash = hash.word(operand.0.into());
        }
        for attr in operator_attrs(self, id) {
            hash = hash.word(attr.name.0.into()).word(attr.kind.into());
            // Other kinds keep a place in the pools here, which two equal values need not share.
            if matches!(attr.kind, attr_kind::INT | attr_kind::FLOAT) {
                hash = hash.word(u64::from(attr.a) | u64::from(attr.b) << 32);
            }
        }
        hash.finish()
    }
}

/// The attributes that take part in what a call computes.
fn operator_attrs(f: &Function, id: NodeId) -> impl Iterator<Item = &AttrRec> {
    f.attr_recs(id).iter().filter(|rec| rec.flags & attr_flag::META == 0)
}

/// Equality of attribute values by their contents, floats by their bits.
fn is_same_value(a: AttrValue<'_>, b: AttrValue<'_>) -> bool {
    match (a, b) {
        (AttrValue::Float(a), AttrValue::Float(b)) => a.to_bits() == b.to_bits(),
        (AttrValue::Floats(a), AttrValue::Floats(b)) | (AttrValue::Ints(a), AttrValue::Ints(b)) => a.raw() == b.raw(),
        (AttrValue::Types(a), AttrValue::Types(b)) => a.raw() == b.raw(),
        (AttrValue::Strings(a), AttrValue::Strings(b)) | (AttrValue::SparseTensors(a), AttrValue::SparseTensors(b)) => {
            a.strings().eq(b.strings())
        }
        (AttrValue::Tensors(a), AttrValue::Tensors(b)) => a.tensors().eq(b.tensors()),
        (AttrValue::Graph(_) | AttrValue::Graphs(_) | AttrValue::Other(_), _) => false,
        (a, b) => a == b,
    }
}

/// Whether nodes of two functions compute the same, pair by pair, of inputs that correspond and have the same types.
pub(super) fn same_parts(
    left: &Function,
    right: &Function,
    inputs: &[(NodeId, NodeId)],
    nodes: &[(NodeId, NodeId)],
    results: &[(NodeId, NodeId)],
) -> bool {
    let few = || Known::Few(HashMap::new());
    let types = Known::Few(HashMap::new());
    let mut comparer = Comparer { left, right, to_right: few(), to_left: few(), types, functions: Vec::new() };
    // Inputs of different kinds, such as a constant and a parameter, may correspond.
    for &(x, y) in inputs {
        comparer.to_right.set(x.index(), y);
        comparer.to_left.set(y.index(), x);
    }
    inputs.iter().all(|&(x, y)| comparer.same_type(x, y).is_ok())
        && nodes.iter().all(|&(x, y)| comparer.computes_same(x, y))
        && results.iter().all(|&(x, y)| comparer.to_right.get(x.index()) == Some(y))
}

/// The counterparts that are known so far, by index.
enum Known<T> {
    All(Vec<Option<T>>),
    /// Of a few, however many there are.
    Few(HashMap<usize, T>),
}

impl<T: Copy> Known<T> {
    fn all(n: usize) -> Self {
        Self::All(vec![None; n])
    }

    fn get(&self, index: usize) -> Option<T> {
        match self {
            Self::All(all) => all[index],
            Self::Few(few) => few.get(&index).copied(),
        }
    }

    fn set(&mut self, index: usize, to: T) {
        match self {
            Self::All(all) => all[index] = Some(to),
            Self::Few(few) => drop(few.insert(index, to)),
        }
    }

    fn forget(&mut self, index: usize) {
        match self {
            Self::All(all) => all[index] = None,
            Self::Few(few) => drop(few.remove(&index)),
        }
    }
}

struct Comparer<'a> {
    left: &'a Function,
    right: &'a Function,
    /// By node, the corresponding node of the other function.
    to_right: Known<NodeId>,
    to_left: Known<NodeId>,
    /// Types found equal.
    types: Known<TypeId>,
    /// Functions whose blocks are still to be compared.
    functions: Vec<(NodeId, NodeId)>,
}

type Compared = Result<(), Difference>;

fn differ(x: NodeId, y: NodeId, what: impl Into<String>) -> Compared {
    Err(Difference { global: String::new(), nodes: Some((x, y)), what: what.into() })
}

impl<'a> Comparer<'a> {
    fn new(left: &'a Function, right: &'a Function) -> Self {
        Self {
            left,
            right,
            to_right: Known::all(left.n_nodes()),
            to_left: Known::all(right.n_nodes()),
            types: Known::all(left.n_types()),
            functions: Vec::new(),
        }
    }

    /// Whether two bindings without functions of their own compute the same; names and metadata do not matter.
    fn computes_same(&mut self, x: NodeId, y: NodeId) -> bool {
        let (left, right) = (self.left, self.right);
        let (a, b) = (left.node(x), right.node(y));
        let is_constant = a.kind == kind::CONSTANT;
        if !self.same(x, y) || a.kind == kind::FUNCTION || left.n_regions(x) + right.n_regions(y) > 0 {
            return false;
        }
        let version = |f: &Function, id| f.call(id).map_or(0, CallView::version);
        let (p, q) = (left.operands(x), right.operands(y));
        (is_constant || a.aux == b.aux)
            && left.stored_constant(x) == right.stored_constant(y)
            && version(left, x) == version(right, y)
            && self.same_type(x, y).is_ok()
            && p.len() == q.len()
            && p.iter().zip(q).all(|(&p, &q)| self.same_operand(p, q))
            && operator_attrs(left, x).count() == operator_attrs(right, y).count()
            && operator_attrs(left, x).zip(operator_attrs(right, y)).all(|(&p, &q)| self.same_attr((x, p), (y, q)))
    }

    /// Whether two operands are the same operator or global, or correspond already.
    fn same_operand(&mut self, x: NodeId, y: NodeId) -> bool {
        let is_value =
            |f: &Function, id| !matches!(f.kind(id), kind::ABSENT | kind::OP | kind::GLOBAL_VAR | kind::FIRST_LEAF..);
        match (is_value(self.left, x), is_value(self.right, y)) {
            (true, true) => self.to_right.get(x.index()) == Some(y) && self.to_left.get(y.index()) == Some(x),
            (false, false) => self.same(x, y),
            _ => false,
        }
    }

    /// A node and its counterpart, as an operand, binding or parameter: one to one throughout.
    fn same(&mut self, x: NodeId, y: NodeId) -> bool {
        let (a, b) = (self.left.node(x), self.right.node(y));
        if a.kind != b.kind {
            return false;
        }
        match a.kind {
            kind::ABSENT => x.is_absent() == y.is_absent(),
            kind::GLOBAL_VAR => self.left.bytes(StrId(a.a)) == self.right.bytes(StrId(b.a)),
            kind::OP => self.same_op(OpId(a.a), OpId(b.a)),
            kind::FIRST_LEAF.. => (a.aux, a.a, a.b) == (b.aux, b.a, b.b),
            _ => {
                let known = (self.to_right.get(x.index()), self.to_left.get(y.index()));
                if known == (None, None) {
                    self.to_right.set(x.index(), y);
                    self.to_left.set(y.index(), x);
                }
                known == (None, None) || known == (Some(y), Some(x))
            }
        }
    }

    fn same_op(&self, x: OpId, y: OpId) -> bool {
        let (a, b) = (self.left.op(x), self.right.op(y));
        let pairs = [(a.domain, b.domain), (a.name, b.name), (a.overload, b.overload)];
        a.version == b.version && pairs.iter().all(|&(p, q)| self.left.bytes(p) == self.right.bytes(q))
    }

    fn function(&mut self, x: NodeId, y: NodeId) -> Compared {
        if self.left.kind(x) != kind::FUNCTION || self.right.kind(y) != kind::FUNCTION || !self.same(x, y) {
            return differ(x, y, "not both are functions, in one place each");
        }
        self.described(x, y)?;
        let (p, q) = (self.left.operands(x), self.right.operands(y));
        if p.len() != q.len() {
            return differ(x, y, format!("{} and {} parameters", p.len(), q.len()));
        }
        for (&p, &q) in p.iter().zip(q) {
            if !self.same(p, q) {
                return differ(p, q, "not the same parameter");
            }
            if self.left.default_value(p) != self.right.default_value(q) {
                return differ(p, q, "different default values");
            }
            self.described(p, q)?;
        }
        self.functions.push((x, y));
        Ok(())
    }

    fn block(&mut self, f: NodeId, g: NodeId) -> Compared {
        let (block, other) = (self.left.block_of(f), self.right.block_of(g));
        let (bindings, others) = (self.left.bindings(block), self.right.bindings(other));
        for (&x, &y) in bindings.iter().zip(others) {
            self.binding(x, y)?;
        }
        if bindings.len() != others.len() {
            return differ(f, g, format!("{} and {} bindings", bindings.len(), others.len()));
        }
        let (x, y) = (self.left.result(block), self.right.result(other));
        let is_tuple = |function: &Function, id| function.kind(id) == kind::TUPLE && function.node(id).aux == 1;
        match (is_tuple(self.left, x), is_tuple(self.right, y)) {
            (true, true) => {
                self.operands(x, y)?;
                self.same_type(x, y)
            }
            (false, false) if self.same(x, y) => Ok(()),
            _ => differ(f, g, format!("the results `{x}` and `{y}`")),
        }
    }

    fn binding(&mut self, x: NodeId, y: NodeId) -> Compared {
        let (a, b) = (self.left.node(x), self.right.node(y));
        if a.kind != b.kind || !self.same(x, y) {
            return differ(x, y, "different bindings, or a binding that stands in two places");
        }
        if a.kind == kind::FUNCTION {
            return self.function(x, y);
        }
        if self.left.stored_constant(x) != self.right.stored_constant(y) {
            return differ(x, y, "different constants");
        }
        if a.aux != b.aux {
            return differ(x, y, format!("{} and {}, as form, index or number of results", a.aux, b.aux));
        }
        self.described(x, y)?;
        if self.left.n_regions(x) != self.right.n_regions(y) {
            return differ(x, y, "different numbers of functions");
        }
        self.operands(x, y)?;
        for (&x, &y) in self.left.regions(x).iter().zip(self.right.regions(y)) {
            // As an operand it was counted already; as a function it is visited here.
            self.function(x, y)?;
        }
        Ok(())
    }

    fn operands(&mut self, x: NodeId, y: NodeId) -> Compared {
        let (p, q) = (self.left.operands(x), self.right.operands(y));
        if p.len() != q.len() {
            return differ(x, y, format!("{} and {} operands", p.len(), q.len()));
        }
        for (at, (&p, &q)) in p.iter().zip(q).enumerate() {
            if !self.same(p, q) {
                return differ(x, y, format!("operand {at} is `{p}` and `{q}`"));
            }
        }
        Ok(())
    }

    /// Name, type, flags and attributes.
    fn described(&mut self, x: NodeId, y: NodeId) -> Compared {
        let (left, right) = (self.left, self.right);
        let name = |function: &Function, id| String::from_utf8_lossy(function.bytes(function.name_id(id))).into_owned();
        if left.bytes(left.name_id(x)) != right.bytes(right.name_id(y)) {
            return differ(x, y, format!("the names `{}` and `{}`", name(left, x), name(right, y)));
        }
        let (a, b) = (left.node(x), right.node(y));
        if (a.flags ^ b.flags) & !(flag::PRISTINE | flag::EXTRA) != 0 {
            return differ(x, y, format!("the flags {} and {}", a.flags, b.flags));
        }
        self.same_type(x, y)?;
        let (p, q) = (left.attr_recs(x), right.attr_recs(y));
        if p.len() == q.len() && p.iter().zip(q).all(|(&p, &q)| self.same_attr((x, p), (y, q))) {
            return Ok(());
        }
        let sorted = |function: &Function, recs: &[AttrRec]| {
            let mut recs = recs.to_vec();
            // Attributes of operators stay in order; metadata is looked up by name.
            recs.sort_by(|p, q| {
                let key = |rec: &AttrRec| (rec.flags & attr_flag::META != 0).then_some(rec.name);
                let (p, q) = (key(p), key(q));
                p.map(|name| function.bytes(name)).cmp(&q.map(|name| function.bytes(name)))
            });
            recs
        };
        let (p, q) = (sorted(left, p), sorted(right, q));
        for (&p, &q) in p.iter().zip(&q) {
            if !self.same_attr((x, p), (y, q)) {
                let names = [left.bytes(p.name), right.bytes(q.name)].map(String::from_utf8_lossy);
                return differ(x, y, format!("the attributes `{}` and `{}`", names[0], names[1]));
            }
        }
        if p.len() != q.len() {
            return differ(x, y, format!("{} and {} attributes", p.len(), q.len()));
        }
        Ok(())
    }

    fn same_attr(&mut self, (x, p): (NodeId, AttrRec), (y, q): (NodeId, AttrRec)) -> bool {
        let (left, right) = (self.left, self.right);
        if left.bytes(p.name) != right.bytes(q.name) || (p.kind, p.flags) != (q.kind, q.flags) {
            return false;
        }
        match (left.attrs(x).decode(p), right.attrs(y).decode(q)) {
            _ if p.kind == attr_kind::GRAPH => p.a == q.a,
            _ if p.kind == attr_kind::GRAPHS => p.b == q.b && (p.a == q.a || p.b == 0),
            (AttrValue::Float(p), AttrValue::Float(q)) => p.to_bits() == q.to_bits(),
            (AttrValue::Floats(p), AttrValue::Floats(q)) | (AttrValue::Ints(p), AttrValue::Ints(q)) => {
                p.raw() == q.raw()
            }
            (AttrValue::Strings(p), AttrValue::Strings(q))
            | (AttrValue::SparseTensors(p), AttrValue::SparseTensors(q)) => p.strings().eq(q.strings()),
            (AttrValue::Tensors(p), AttrValue::Tensors(q)) => p.tensors().eq(q.tensors()),
            (AttrValue::Type(p), AttrValue::Type(q)) => self.equal_types(p, q),
            (AttrValue::Types(p), AttrValue::Types(q)) => {
                p.raw().len() == q.raw().len() && p.types().zip(q.types()).all(|(p, q)| self.equal_types(p, q))
            }
            (AttrValue::Ref { kind: k, .. }, AttrValue::Ref { kind: l, .. }) => {
                k == l && left.bytes(StrId(p.a)) == right.bytes(StrId(q.a))
            }
            (AttrValue::Other(_), AttrValue::Other(_)) => (p.a, p.b) == (q.a, q.b),
            (p, q) => p == q,
        }
    }

    fn same_type(&mut self, x: NodeId, y: NodeId) -> Compared {
        let (a, b) = (self.left.type_id(x), self.right.type_id(y));
        if self.equal_types(a, b) {
            return Ok(());
        }
        let (a, b) = (crate::text::display_type(self.left, a), crate::text::display_type(self.right, b));
        differ(x, y, format!("the types `{a}` and `{b}`"))
    }

    fn equal_types(&mut self, a: TypeId, b: TypeId) -> bool {
        let mut pairs = vec![(a, b)];
        let mut found = Vec::new();
        while let Some((a, b)) = pairs.pop() {
            match self.types.get(a.index()) {
                Some(known) if known == b => continue,
                // Types of one function are equal only when their ids are.
                Some(_) => return self.forget(&found),
                None => {}
            }
            self.types.set(a.index(), b);
            found.push(a);
            let is_equal = match (self.left.ty(a), self.right.ty(b)) {
                (Type::Tuple(p), Type::Tuple(q)) => zip(&mut pairs, p, q),
                (Type::Func { params: p, result: r }, Type::Func { params: q, result: s }) => {
                    pairs.push((r, s));
                    zip(&mut pairs, p, q)
                }
                (Type::Sequence(p), Type::Sequence(q)) | (Type::Optional(p), Type::Optional(q)) => {
                    zip(&mut pairs, &[p], &[q])
                }
                (Type::Map { key: k, value: p }, Type::Map { key: l, value: q }) => {
                    k == l && zip(&mut pairs, &[p], &[q])
                }
                (Type::Tensor { elem: e, shape: s }, Type::Tensor { elem: f, shape: t })
                | (Type::SparseTensor { elem: e, shape: s }, Type::SparseTensor { elem: f, shape: t }) => {
                    e == f && self.equal_shapes(s, t)
                }
                (Type::Opaque { domain: d, name: n }, Type::Opaque { domain: e, name: m }) => {
                    [(d, e), (n, m)].iter().all(|&(p, q)| self.left.bytes(p) == self.right.bytes(q))
                }
                (p, q) => p == q,
            };
            if !is_equal {
                return self.forget(&found);
            }
        }
        true
    }

    fn forget(&mut self, found: &[TypeId]) -> bool {
        for ty in found {
            self.types.forget(ty.index());
        }
        false
    }

    fn equal_shapes(&self, a: Option<&[DimRec]>, b: Option<&[DimRec]>) -> bool {
        let (Some(a), Some(b)) = (a, b) else {
            return a.is_none() && b.is_none();
        };
        a.len() == b.len()
            && a.iter().zip(b).all(|(&p, &q)| match (p.into(), q.into()) {
                (Dim::Symbol(p), Dim::Symbol(q)) => self.left.bytes(p) == self.right.bytes(q),
                (p, q) => p == q,
            })
    }
}

fn zip(pairs: &mut Vec<(TypeId, TypeId)>, a: &[TypeId], b: &[TypeId]) -> bool {
    pairs.extend(a.iter().copied().zip(b.iter().copied()));
    a.len() == b.len()
}
