//! Parts of a block: what they use, what uses them, and whether two of them compute the same.

use super::{node::attr_flag, *};
use crate::diagnostics::PassError;
use crate::walk::each_used;
use std::collections::{HashMap, HashSet};

/// Bindings of one block, with the values that they use and those that others use of them.
///
/// ```
/// use relais_plugin_api::{ir::{BlockTree, Subgraph, Users}, prelude::*, text};
///
/// let text = "def @main(%x, %y) { %a = Relu(%x); %b = Add(%a, %y); %c = Neg(%b); %d = Mul(%c, %x); %d }";
/// let module = text::parse_str(text).unwrap();
/// let f = module.main().unwrap();
/// let (users, places) = (Users::compute(f), BlockTree::compute(f));
/// let [a, b, c, _] = *f.bindings(f.body()) else { panic!() };
/// let part = Subgraph::between(f, &users, &places, &[a], &[c]).unwrap();
/// assert_eq!((part.nodes(), part.inputs(), part.results()), (&[b, c][..], &[a, f.params()[1]][..], &[c][..]));
/// assert!(part.is_closed() && part.is_convex(f, &users, &places));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subgraph {
    nodes: Vec<NodeId>,
    inputs: Vec<NodeId>,
    results: Vec<NodeId>,
    is_closed: bool,
}

impl Subgraph {
    /// Returns the sub-graph of these bindings of one block, in their order. Its results are those that something else
    /// uses; a constant is none of them, because it can be copied.
    pub fn of(f: &Function, users: &Users, nodes: &[NodeId]) -> Self {
        let inside: HashSet<NodeId> = nodes.iter().copied().collect();
        let (mut inputs, mut known) = (Vec::new(), inside.clone());
        for &node in nodes {
            each_used(f, node, |used| {
                if known.insert(used) {
                    inputs.push(used);
                }
            });
        }
        let within = Within::of(f, nodes, &inside);
        let escapes = |&node: &NodeId| f.kind(node) != kind::CONSTANT && within.is_used_outside(users, node);
        let results = nodes.iter().copied().filter(escapes).collect();
        Self { nodes: nodes.to_vec(), inputs, results, is_closed: true }
    }

    /// Returns everything that values depend on, without the values in `inputs` and what lies before them. `None` if the
    /// results are not bindings of one block.
    ///
    /// The inputs of the sub-graph are those that it uses. Parameters and values of outer blocks are inputs, too.
    pub fn between(
        f: &Function,
        users: &Users,
        places: &BlockTree,
        inputs: &[NodeId],
        results: &[NodeId],
    ) -> Option<Self> {
        let block = places.block_of(*results.first()?)?;
        let is_bound = |id: NodeId| places.block_of(id) == Some(block) && f.kind(id) != kind::VAR;
        if !results.iter().all(|&id| is_bound(id)) {
            return None;
        }
        let mut inside: HashSet<NodeId> = HashSet::new();
        let mut open: Vec<NodeId> = results.iter().copied().filter(|id| !inputs.contains(id)).collect();
        while let Some(id) = open.pop() {
            if inside.insert(id) {
                each_used(f, id, |used| {
                    if is_bound(used) && !inputs.contains(&used) {
                        open.push(used);
                    }
                });
            }
        }
        let nodes: Vec<NodeId> = f.bindings(block).iter().copied().filter(|id| inside.contains(id)).collect();
        let part = Self::of(f, users, &nodes);
        let is_closed = part.results.iter().all(|id| results.contains(id));
        Some(Self { results: results.to_vec(), is_closed, ..part })
    }

    /// The bindings, in program order.
    pub fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }

    /// The values that the bindings use and that are none of them, in the order of their first use.
    pub fn inputs(&self) -> &[NodeId] {
        &self.inputs
    }

    /// The results, in order.
    pub fn results(&self) -> &[NodeId] {
        &self.results
    }

    /// Whether nothing else uses a binding that is not a result. Constants do not count.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Whether no input depends on a binding, so that all bindings can be computed at one place.
    pub fn is_convex(&self, f: &Function, users: &Users, places: &BlockTree) -> bool {
        let Some(block) = self.nodes.first().and_then(|&node| places.block_of(node)) else { return true };
        let inputs: HashSet<NodeId> = self.inputs.iter().copied().collect();
        let mut seen: HashSet<NodeId> = self.nodes.iter().copied().collect();
        let mut open = self.nodes.clone();
        while let Some(id) = open.pop() {
            for &user in users.of(id) {
                let Some(user) = in_block(f, users, places, block, user) else { continue };
                if inputs.contains(&user) {
                    return false;
                }
                if seen.insert(user) {
                    open.push(user);
                }
            }
        }
        true
    }

    /// Returns a hash that is equal for sub-graphs that compute the same; see [`is_same`](Self::is_same).
    pub fn structural_hash(&self, f: &Function) -> u64 {
        let numbers: HashMap<NodeId, u64> = self.inputs.iter().chain(&self.nodes).copied().zip(1..).collect();
        let mut hash = self.inputs.iter().fold(Hash64::new(), |hash, &input| hash_type(hash, f, f.type_id(input)));
        for &node in &self.nodes {
            hash = hash_type(hash_node(hash, f, node), f, f.type_id(node));
            let operands = f.operands(node).iter().filter_map(|operand| numbers.get(operand));
            hash = operands.fold(hash, |hash, &number| hash.word(number));
        }
        self.results
            .iter()
            .filter_map(|result| numbers.get(result))
            .fold(hash, |hash, &number| hash.word(number))
            .finish()
    }

    /// Whether two sub-graphs compute the same of their inputs, which correspond in order: operators in the same
    /// version, attributes, constants and types are equal, and the same bindings are results. Names and metadata do not matter. Sub-graphs with functions
    /// of their own, such as the branches of `If`, are never the same.
    pub fn is_same(&self, f: &Function, other: &Self, g: &Function) -> bool {
        let is_as_large = self.nodes.len() == other.nodes.len()
            && self.inputs.len() == other.inputs.len()
            && self.results.len() == other.results.len();
        is_as_large && {
            let pairs = |a: &[NodeId], b: &[NodeId]| a.iter().copied().zip(b.iter().copied()).collect::<Vec<_>>();
            let inputs = pairs(&self.inputs, &other.inputs);
            let (nodes, results) = (pairs(&self.nodes, &other.nodes), pairs(&self.results, &other.results));
            equal::same_parts(f, g, &inputs, &nodes, &results)
        }
    }

    /// Returns a function that computes the sub-graph: its parameters are the inputs, with their names and types, and it
    /// imports the operator sets of the function that the sub-graph is a part of.
    ///
    /// # Errors
    /// Returns an error if the sub-graph has a binding of a kind that cannot be copied.
    pub fn to_function(&self, f: &Function) -> Result<Function, PassError> {
        let mut function = Function::new();
        function.set_opset_imports(&f.opset_imports());
        let mut copier = Copier::new(f).keep_symbols();
        let mut params = Vec::new();
        for &input in &self.inputs {
            let ty = copier.add_type(&mut function, f.type_id(input));
            let param = function.add_var(f.name(input), ty);
            copier.set(input, param);
            params.push(param);
        }
        function.set_params(function.root(), &params);
        let body = function.body();
        for &node in &self.nodes {
            let copy = copier.copy(&mut function, node)?;
            function.append(body, copy);
        }
        let results: Vec<NodeId> = self.results.iter().filter_map(|&result| copier.get(result)).collect();
        function.set_results(body, &results);
        Ok(function)
    }
}

/// Bindings and everything in their functions.
struct Within {
    /// How often they use each of the bindings.
    uses: HashMap<NodeId, usize>,
}

impl Within {
    fn of(f: &Function, nodes: &[NodeId], inside: &HashSet<NodeId>) -> Self {
        let mut uses = HashMap::new();
        for &node in nodes {
            let mut count = |used: &NodeId| {
                if inside.contains(used) {
                    *uses.entry(*used).or_default() += 1;
                }
            };
            if f.kind(node) != kind::FUNCTION {
                f.operands(node).iter().for_each(&mut count);
            }
            for &region in f.regions(node) {
                let mut walk = Walk::block(f.block_of(region));
                while let Some(step) = walk.next(f) {
                    if let WalkStep::Binding(id) = step
                        && f.kind(id) != kind::FUNCTION
                    {
                        f.operands(id).iter().for_each(&mut count);
                    }
                }
            }
        }
        Self { uses }
    }

    /// A result of one of their own functions counts as a use outside, which is on the safe side.
    fn is_used_outside(&self, users: &Users, id: NodeId) -> bool {
        users.is_result(id) || users.of(id).len() > self.uses.get(&id).copied().unwrap_or(0)
    }
}

/// The binding of a block that is `id` or has it in one of its functions.
fn in_block(f: &Function, users: &Users, places: &BlockTree, block: BlockId, mut id: NodeId) -> Option<NodeId> {
    loop {
        let home = places.block_of(id)?;
        if home == block {
            return Some(id);
        }
        let owner = f.block(home).owner;
        id = if places.block_of(owner).is_some() { owner } else { *users.of(owner).first()? };
    }
}

/// Adds the operator and attributes of a node, or its constant, but not its operands.
fn hash_node(hash: Hash64, f: &Function, id: NodeId) -> Hash64 {
    let mut hash = hash.word(f.kind(id).into());
    if let Some(tensor) = f.stored_constant(id) {
        return hash.word(tensor.bucket_hash());
    }
    hash = hash.word(f.node(id).aux.into());
    if let Some(call) = f.call(id) {
        hash = match f.expr(call.callee()) {
            Expr::Op(op) => {
                let rec = f.op(op);
                let names = [rec.domain, rec.name, rec.overload];
                names.iter().fold(hash, |hash, &name| hash.bytes(f.bytes(name))).word(f.op_version(op) as u64)
            }
            Expr::GlobalVar(name) => hash.bytes(name.as_bytes()),
            _ => hash,
        };
    }
    let attrs = f.attrs(id);
    for rec in attrs.recs().iter().filter(|rec| rec.flags & attr_flag::META == 0) {
        hash = hash.bytes(f.bytes(rec.name)).word(rec.kind.into());
        hash = match attrs.decode(*rec) {
            AttrValue::Float(value) => hash.word(value.to_bits().into()),
            AttrValue::Int(value) => hash.word(value as u64),
            AttrValue::String(value) | AttrValue::SparseTensor(value) => hash.bytes(value),
            AttrValue::Tensor(tensor) => hash.word(tensor.bucket_hash()),
            AttrValue::Floats(words) | AttrValue::Ints(words) => {
                words.raw().iter().fold(hash, |hash, &word| hash.word(word.into()))
            }
            AttrValue::Strings(words) => words.strings().fold(hash, Hash64::bytes),
            _ => hash,
        };
    }
    hash
}

fn hash_type(hash: Hash64, f: &Function, ty: TypeId) -> Hash64 {
    let Type::Tensor { elem, shape } = f.ty(ty) else { return hash.word(1) };
    let hash = hash.word(elem.0.into()).word(shape.map_or(u64::MAX, |shape| shape.len() as u64));
    let dims = shape.into_iter().flatten().map(|&dim| Dim::from(dim));
    dims.fold(hash, |hash, dim| match dim {
        Dim::Static(size) => hash.word(size),
        Dim::Symbol(name) => hash.bytes(f.bytes(name)),
        _ => hash.word(u64::MAX),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    fn parse(text: &str) -> IRModule {
        let module = text::parse_str(text).unwrap();
        assert!(verify(&module).is_empty());
        module
    }

    /// The bindings of these names.
    fn named(f: &Function, names: &str) -> Vec<NodeId> {
        names.split(' ').map(|name| f.all_bindings().find(|&id| f.name(id) == name).unwrap()).collect()
    }

    fn part(f: &Function, names: &str) -> Subgraph {
        Subgraph::of(f, &Users::compute(f), &named(f, names))
    }

    fn between(f: &Function, inputs: &str, results: &str) -> Option<Subgraph> {
        Subgraph::between(f, &Users::compute(f), &BlockTree::compute(f), &named(f, inputs), &named(f, results))
    }

    const DIAMOND: &str = "def @main(%x, %c) #[opset = {\"\": 17}] {
        %a = Relu(%x); %b = Neg(%a); %d = Exp(%a); %e = Add(%b, %d);
        %f = if (%c) { %g = Abs(%b); %g } else { %x };
        (%e, %f)
    }";

    #[test]
    fn results_are_what_something_else_uses() {
        let module = parse(DIAMOND);
        let f = module.main().unwrap();
        let whole = part(f, "a b d e f");
        assert_eq!((whole.inputs(), whole.results().to_vec()), (f.params(), named(f, "e f")));
        // A use in a branch of another binding is a use outside.
        let inner = part(f, "b d e");
        assert_eq!((inner.inputs().to_vec(), inner.results().to_vec()), (named(f, "a"), named(f, "b e")));
        assert_eq!(part(f, "f").inputs(), [f.params()[1], named(f, "b")[0], f.params()[0]]);
    }

    #[test]
    fn what_lies_between_is_closed_if_only_its_results_are_used() {
        let module = parse(DIAMOND);
        let f = module.main().unwrap();
        let open = between(f, "a", "e").unwrap();
        assert_eq!((open.nodes().to_vec(), open.is_closed()), (named(f, "b d e"), false));
        assert!(between(f, "a b", "e").unwrap().is_closed());
        assert!(between(f, "a", "b e").unwrap().is_closed());
        assert_eq!(between(f, "a", "g").unwrap().inputs(), named(f, "b"));
        assert!(between(f, "a", "e g").is_none());
        assert!(between(f, "a", "a").unwrap().nodes().is_empty());
    }

    #[test]
    fn it_is_convex_if_no_path_leaves_and_returns() {
        let module = parse(DIAMOND);
        let f = module.main().unwrap();
        let is_convex = |names| part(f, names).is_convex(f, &Users::compute(f), &BlockTree::compute(f));
        assert!(is_convex("a b d e") && is_convex("b d") && is_convex("e"));
        assert!(!is_convex("a e") && !is_convex("a b e"));
        // Through a branch.
        let module =
            parse("def @main(%x, %c) { %a = Relu(%x); %b = if (%c) { Neg(%a) } else { %x }; %d = Add(%a, %b); %d }");
        let f = module.main().unwrap();
        assert!(!part(f, "a d").is_convex(f, &Users::compute(f), &BlockTree::compute(f)));
    }

    /// Whether `left` and `right` of two functions are the same, by their hashes, too.
    fn is_same(text: &str) -> bool {
        let head = "(%x: Tensor[(2, N), float32], %y: Tensor[(2, N), float32]) #[opset = {\"\": 17}]";
        let (left, right) = text.split_once('|').unwrap();
        let module = parse(&format!("def @main{head} {{ {left} }} def @other{head} {{ {right} }}"));
        let [f, g] = ["main", "other"].map(|name| module.function(name).unwrap());
        let calls = |f: &Function| f.bindings(f.body()).to_vec();
        let [a, b] = [f, g].map(|f| Subgraph::of(f, &Users::compute(f), &calls(f)));
        let is_same = a.is_same(f, &b, g);
        assert_eq!(is_same, b.is_same(g, &a, f));
        assert!(!is_same || a.structural_hash(f) == b.structural_hash(g), "{text}");
        is_same
    }

    #[test]
    fn names_metadata_and_other_inputs_make_no_difference() {
        assert!(is_same("%a = Relu(%x); %b = Add(%a, %y); %b | %p = Relu(%y) #[name = \"n\"]; %q = Add(%p, %x); %q"));
        assert!(is_same("%a = Concat(%x, %x, axis = 1); %a | %a = Concat(%y, %y, axis = 1); %a"));
        assert!(is_same("%a = Add(%x, 1.0); %a | %a = Add(%x, 1.0); %a"));
    }

    #[test]
    fn whatever_is_computed_makes_one() {
        for text in [
            "%a = Relu(%x); %a | %a = Neg(%x); %a",
            "%a = Sub(%x, %y); %b = Sub(%a, %y); %b | %a = Sub(%x, %y); %b = Sub(%y, %a); %b",
            "%a = Add(%x, %x); %a | %a = Add(%x, %y); %a",
            "%a = Softmax(%x, axis = 0); %a | %a = Softmax(%x, axis = 1); %a",
            "%a = Softmax(%x, axis = 0); %a | %a = Softmax(%x); %a",
            "%a = LeakyRelu(%x, alpha = 0.0); %a | %a = LeakyRelu(%x, alpha = -0.0); %a",
            "%a = Transpose(%x, perm = [0, 1]); %a | %a = Transpose(%x, perm = [1, 0]); %a",
            "%a = Add(%x, 1.0); %a | %a = Add(%x, 2.0); %a",
            "%a = Relu(%x); %b = Neg(%a); (%a, %b) | %a = Relu(%x); %b = Neg(%a); %b",
            "%a: Tensor[(2, N), float32] = Relu(%x); %a | %a: Tensor[(2, M), float32] = Relu(%x); %a",
            "%a = acme::Relu(%x); %a | %a = Relu(%x); %a",
            "%a = if (true) { %x } else { %y }; %a | %a = if (true) { %x } else { %y }; %a",
        ] {
            assert!(!is_same(text), "{text}");
        }
    }

    #[test]
    fn versions_and_types_of_inputs_count() {
        let text = "def @main(%x: Tensor[(2), float32]) #[opset = {\"\": 17}] { %a = Relu(%x); %a }
            def @old(%x: Tensor[(2), float32]) #[opset = {\"\": 13}] { %a = Relu(%x); %a }
            def @wide(%x: Tensor[(3), float32]) #[opset = {\"\": 17}] { %a = Relu(%x); %a }
            def @same(%y: Tensor[(2), float32]) #[opset = {\"\": 17}] { %b = Relu(%y); %b }";
        let module = parse(text);
        let whole = |name: &str| {
            let f = module.function(name).unwrap();
            (f, Subgraph::of(f, &Users::compute(f), f.bindings(f.body())))
        };
        let (f, main) = whole("main");
        let is_same = |name| main.is_same(f, &whole(name).1, whole(name).0);
        assert!(is_same("same") && !is_same("old") && !is_same("wide"));
    }

    #[test]
    fn a_function_of_it_keeps_names_types_branches_and_operator_sets() {
        let module = parse(
            "def @main(%x: Tensor[(N), float32], %c: Tensor[(), bool]) #[opset = {\"\": 17, \"acme\": 2}] {
                %a: Tensor[(N), float32] = Relu(%x);
                %b: Tensor[(N), float32] = if (%c) { %in = acme::Fast(%a); %in } else { Add(%a, 2.0) };
                %d = Neg(%b);
                (%b, %d)
            }",
        );
        let f = module.main().unwrap();
        let function = part(f, "b d").to_function(f).unwrap();
        let mut made = IRModule::new();
        made.set_function(MAIN, function);
        assert!(verify(&made).is_empty());
        let printed = text::print(&made, &text::PrintOptions::default());
        for line in [
            "def @main(%c: Tensor[(), bool], %a: Tensor[(N), float32]) #[opset = {\"\": 17, \"acme\": 2}]",
            "%b: Tensor[(N), float32] = if (%c) {",
            "%in = acme::Fast(%a);",
            "(%b, %d)",
        ] {
            assert!(printed.contains(line), "{line}\n{printed}");
        }
    }
}
