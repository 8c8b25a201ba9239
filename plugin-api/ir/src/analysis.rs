//! Facts about the structure of functions, as lists of numbers that cross the boundary without a copy.

use super::{cast::node_ids, *};
use std::collections::BTreeMap;

/// How often each node is used; see [`Function::use_counts`].
#[derive(Clone, PartialEq, Debug)]
pub struct UseCounts(pub Numbers<u32>);

impl UseCounts {
    /// Counts the uses.
    pub fn compute(function: &Function) -> Self {
        Self(function.use_counts().into())
    }

    /// Returns them as lists: `counts`.
    pub fn lists(&self) -> Lists {
        Lists::new().with("counts", &self.0)
    }

    /// Reads what [`lists`](Self::lists) wrote.
    pub fn of_lists(lists: &Lists) -> Option<Self> {
        lists.narrow("counts").cloned().map(Self)
    }
}

/// How often a module calls each operator, in all its functions and their nested graphs. Outside ONNX's own domain a name
/// is preceded by its domain. Constants that are nodes count, and so do conditionals and calls of functions.
pub fn operator_counts(module: &IRModule) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    let mut add = |name: String, n: u64| *counts.entry(name).or_default() += n;
    for (_, f) in module.bodies() {
        // By the function's own operator ids first: a name is looked at once, not for each call.
        let mut calls = vec![0; f.n_ops()];
        let [mut n_constants, mut n_conditionals, mut n_function_calls] = [0; 3];
        for id in f.all_bindings() {
            match f.kind(id) {
                kind::CALL => match f.call(id).and_then(CallView::op) {
                    Some(op) => calls[op.index()] += 1,
                    None => n_function_calls += 1,
                },
                kind::IF => n_conditionals += 1,
                kind::CONSTANT if !is_initializer(f, id) => n_constants += 1,
                _ => {}
            }
        }
        for (op, n) in f.ops().iter().zip(calls) {
            add(
                match normal_domain(f.str(op.domain)) {
                    "" => f.str(op.name).to_owned(),
                    domain => format!("{domain}::{}", f.str(op.name)),
                },
                n,
            );
        }
        add("Constant".to_owned(), n_constants);
        add("If".to_owned(), n_conditionals);
        add("(function call)".to_owned(), n_function_calls);
    }
    counts.retain(|_, &mut n| n > 0);
    counts
}

/// Whether a constant is stored apart from the nodes of its graph.
pub fn is_initializer(f: &Function, id: NodeId) -> bool {
    matches!(ConstForm(f.node(id).aux), ConstForm::INITIALIZER | ConstForm::ANY)
}

/// Which bindings use each node. Uses as a block's result are not listed.
#[derive(Clone, PartialEq, Debug)]
pub struct Users {
    /// By node, and one more: where its users begin.
    starts: Numbers<u32>,
    users: Numbers<u32>,
    /// By node: whether it is a block's result.
    is_result: Numbers<u32>,
}

impl Users {
    /// Returns the binding that alone uses a node, once; `None` if there are others, or the node is a block's result.
    pub fn only(&self, id: NodeId) -> Option<NodeId> {
        match *self.of(id) {
            [user] if !self.is_result(id) => Some(user),
            _ => None,
        }
    }

    /// The number of nodes that the function had.
    pub fn n_nodes(&self) -> usize {
        self.is_result.len()
    }

    /// Whether a node is a block's result.
    pub fn is_result(&self, id: NodeId) -> bool {
        self.is_result[id.index()] != 0
    }

    /// Whether something uses a node: a binding, or a block, as its result.
    pub fn is_used(&self, id: NodeId) -> bool {
        self.is_result(id) || !self.of(id).is_empty()
    }

    /// The bindings that use a node, in program order, once for each use.
    pub fn of(&self, id: NodeId) -> &[NodeId] {
        let starts = &self.starts[id.index()..id.index() + 2];
        &node_ids(&self.users)[starts[0] as usize..starts[1] as usize]
    }

    /// Returns them as lists: `starts` (by node, and one more: where its users begin in `users`), `users`, and
    /// `is_result` (by node: 1 if it is a block's result).
    pub fn lists(&self) -> Lists {
        Lists::new().with("starts", &self.starts).with("users", &self.users).with("is_result", &self.is_result)
    }

    /// Reads what [`lists`](Self::lists) wrote.
    pub fn of_lists(lists: &Lists) -> Option<Self> {
        let list = |name| lists.narrow(name).cloned();
        Some(Self { starts: list("starts")?, users: list("users")?, is_result: list("is_result")? })
    }

    /// Finds the users of all nodes.
    pub fn compute(function: &Function) -> Self {
        let mut starts = vec![0u32; function.n_nodes() + 1];
        let each_use = |visit: &mut dyn FnMut(NodeId, NodeId)| {
            for id in function.all_bindings().filter(|&id| function.kind(id) != kind::FUNCTION) {
                for &operand in function.operands(id) {
                    visit(operand, id);
                }
            }
        };
        each_use(&mut |operand, _| starts[operand.index() + 1] += 1);
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut is_result = vec![0; function.n_nodes()];
        let mut walk = Walk::new(function);
        while let Some(step) = walk.next(function) {
            if let WalkStep::Exit(block) = step {
                function.results(block).iter().for_each(|result| is_result[result.index()] = 1);
            }
        }
        let mut next = starts.clone();
        let mut users = vec![0; starts[function.n_nodes()] as usize];
        each_use(&mut |operand, id| {
            let slot = &mut next[operand.index()];
            users[*slot as usize] = id.0;
            *slot += 1;
        });
        Self { starts: starts.into(), users: users.into(), is_result: is_result.into() }
    }
}

/// The place of each node: the structured form of a dominator tree, since a value is visible in the rest of its block
/// and in everything nested there.
#[derive(Clone, PartialEq, Debug)]
pub struct BlockTree {
    /// By node: one more than the number of the block that contains it (parameters: the function's block); 0 if none does.
    block: Numbers<u32>,
    /// By block: one more than the number of the block it is nested in; 0 if there is none.
    parent: Numbers<u32>,
    /// By block: how many blocks it is nested in.
    depth: Numbers<u32>,
}

/// A block behind one more than its number.
fn block_at(number: u32) -> Option<BlockId> {
    number.checked_sub(1).map(BlockId)
}

impl BlockTree {
    /// Returns the block that contains a binding or parameter.
    pub fn block_of(&self, id: NodeId) -> Option<BlockId> {
        block_at(self.block[id.index()])
    }

    /// The block that a block is nested in.
    pub fn parent(&self, block: BlockId) -> Option<BlockId> {
        block_at(self.parent[block.index()])
    }

    /// How many blocks a block is nested in.
    pub fn depth(&self, block: BlockId) -> u32 {
        self.depth[block.index()]
    }

    /// Returns it as lists: `block` (by node: one more than the number of its block, or 0), `parent` (by block: the same),
    /// and `depth` (by block).
    pub fn lists(&self) -> Lists {
        Lists::new().with("block", &self.block).with("parent", &self.parent).with("depth", &self.depth)
    }

    /// Reads what [`lists`](Self::lists) wrote.
    pub fn of_lists(lists: &Lists) -> Option<Self> {
        let list = |name| lists.narrow(name).cloned();
        Some(Self { block: list("block")?, parent: list("parent")?, depth: list("depth")? })
    }

    /// Finds the places of all nodes.
    pub fn compute(function: &Function) -> Self {
        let mut block_of = vec![0; function.n_nodes()];
        let mut parent = vec![0; function.n_blocks()];
        let mut depth = vec![0; function.n_blocks()];
        let mut open: Vec<u32> = Vec::new();
        let mut walk = Walk::new(function);
        while let Some(step) = walk.next(function) {
            match step {
                WalkStep::Enter(block) => {
                    parent[block.index()] = open.last().copied().unwrap_or(0);
                    depth[block.index()] = open.len() as u32;
                    for param in function.operands(function.block(block).owner) {
                        block_of[param.index()] = block.0 + 1;
                    }
                    open.push(block.0 + 1);
                }
                WalkStep::Binding(id) => block_of[id.index()] = open.last().copied().unwrap_or(0),
                WalkStep::Exit(_) => {
                    open.pop();
                }
                WalkStep::Leave(_) => {}
            }
        }
        Self { block: block_of.into(), parent: parent.into(), depth: depth.into() }
    }
}

/// The order in which bindings are computed, and when each value is used last.
#[derive(Clone, PartialEq, Debug)]
pub struct Liveness {
    /// By node: its place among all bindings in program order, from 1 on; 0 for what is not bound.
    place: Numbers<u32>,
    /// By node: the place of its last use; 0 if nothing uses it.
    last_use: Numbers<u32>,
}

/// The values that something with blocks uses from around them.
struct Outer {
    owner: NodeId,
    uses: Vec<NodeId>,
}

impl Liveness {
    /// Returns the place of a binding among all of the function, in program order, from 1 on; 0 for what is not bound.
    pub fn place(&self, id: NodeId) -> u32 {
        self.place[id.index()]
    }

    /// Returns the place of the last use of a binding or a parameter; 0 if nothing uses it, and for other nodes.
    ///
    /// A binding uses its operands at its place; one that has blocks uses them, and all that its blocks use from around them,
    /// until the last place within the blocks, since these may run again. A closure uses what it captures until it is itself
    /// used last. The result of a block is used at the block's last place, and that of the function at [`u32::MAX`].
    pub fn last_use(&self, id: NodeId) -> u32 {
        self.last_use[id.index()]
    }

    /// Returns it as lists: `place` and `last_use`, both by node.
    pub fn lists(&self) -> Lists {
        Lists::new().with("place", &self.place).with("last_use", &self.last_use)
    }

    /// Reads what [`lists`](Self::lists) wrote.
    pub fn of_lists(lists: &Lists) -> Option<Self> {
        Some(Self { place: lists.narrow("place").cloned()?, last_use: lists.narrow("last_use").cloned()? })
    }

    /// Finds the places and the last uses of all nodes.
    pub fn compute(function: &Function) -> Self {
        let mut place = vec![0; function.n_nodes()];
        let mut last_use = vec![0; function.n_nodes()];
        // By node: how many blocks are open where it is bound; 0 for what is not bound.
        let mut depth = vec![0; function.n_nodes()];
        let (mut n_open, mut n_bound) = (0, 0);
        let (mut open, mut closures): (Vec<Outer>, Vec<Outer>) = (Vec::new(), Vec::new());
        let mut walk = Walk::new(function);
        while let Some(step) = walk.next(function) {
            match step {
                WalkStep::Enter(block) => {
                    n_open += 1;
                    for param in function.operands(function.block(block).owner) {
                        depth[param.index()] = n_open;
                    }
                }
                WalkStep::Binding(id) => {
                    n_bound += 1;
                    place[id.index()] = n_bound;
                    depth[id.index()] = n_open;
                    // The operands of a function are its own parameters.
                    let is_closure = function.kind(id) == kind::FUNCTION;
                    let operands = if is_closure { &[][..] } else { function.operands(id) };
                    let used = operands.iter().filter(|used| depth[used.index()] > 0);
                    if is_closure || function.n_regions(id) > 0 {
                        open.push(Outer { owner: id, uses: used.copied().collect() });
                        continue;
                    }
                    for &used in used {
                        last_use[used.index()] = n_bound;
                        if let Some(outer) = open.last_mut().filter(|_| depth[used.index()] < n_open) {
                            outer.uses.push(used);
                        }
                    }
                }
                WalkStep::Exit(block) => {
                    let end = if block == function.body() { u32::MAX } else { n_bound };
                    for &result in function.results(block).iter().filter(|result| depth[result.index()] > 0) {
                        last_use[result.index()] = end;
                        if let Some(outer) = open.last_mut().filter(|_| depth[result.index()] < n_open) {
                            outer.uses.push(result);
                        }
                    }
                    n_open -= 1;
                }
                WalkStep::Leave(_) => {
                    let Some(Outer { owner, uses }) = open.pop() else { continue };
                    for &used in &uses {
                        last_use[used.index()] = n_bound;
                    }
                    if let Some(outer) = open.last_mut() {
                        outer.uses.extend(uses.iter().filter(|used| depth[used.index()] < n_open));
                    }
                    if function.kind(owner) == kind::FUNCTION {
                        closures.push(Outer { owner, uses });
                    }
                }
            }
        }
        // One that captures another is bound later.
        for Outer { owner, uses } in closures.into_iter().rev() {
            let end = last_use[owner.index()];
            uses.iter().for_each(|used| last_use[used.index()] = last_use[used.index()].max(end));
        }
        Self { place: place.into(), last_use: last_use.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relu_twice() -> (Function, [NodeId; 3]) {
        let mut f = Function::new();
        let x = f.add_var("x", TypeId::UNKNOWN);
        f.set_params(f.root(), &[x]);
        let relu = f.add_op("", "Relu", "", 0);
        let (a, b) = (f.add_call(relu, &[x]), f.add_call(relu, &[x]));
        f.append(f.body(), a);
        f.append(f.body(), b);
        f.set_results(f.body(), &[a, b]);
        (f, [x, a, b])
    }

    #[test]
    fn users_are_listed_in_program_order() {
        let (f, [x, a, b]) = relu_twice();
        let users = Users::compute(&f);
        assert_eq!(users.of(x), [a, b]);
        assert!(users.of(a).is_empty());
        assert!(users.is_used(a) && users.is_used(x));
        assert_eq!((users.only(x), users.only(a)), (None, None));
        assert_eq!(BlockTree::compute(&f).block_of(b), Some(f.body()));
    }

    #[test]
    fn the_only_user_of_a_value_uses_it_once() {
        let (mut f, [x, a, b]) = relu_twice();
        f.set_operand(b, 1, a);
        f.set_results(f.body(), &[b]);
        let users = Users::compute(&f);
        assert_eq!((users.only(x), users.only(a), users.only(b)), (Some(a), Some(b), None));
        let add = f.add_op("", "Add", "", 0);
        let twice = f.add_call(add, &[b, b]);
        f.append(f.body(), twice);
        f.set_results(f.body(), &[twice, a]);
        let users = Users::compute(&f);
        assert_eq!((users.only(b), users.only(a)), (None, None));
        f.set_results(f.body(), &[b]);
        assert!(!Users::compute(&f).is_used(twice));
    }
    #[test]
    fn a_value_lives_until_the_last_block_that_uses_it_ends() {
        let module = text::parse_str(
            "def @main(%c: Tensor[(), bool], %x: Tensor[(2), float32]) { \
               %a = Relu(%x); \
               %b = if (%c) { %d = Neg(%a); %e = Abs(%d); %e } else { %x }; \
               Neg(%b) }",
        );
        let module = module.unwrap();
        let f = module.function("main").unwrap();
        let id = |name: &str| f.all_bindings().find(|&id| f.name(id) == name).unwrap();
        let lives = Liveness::compute(f);
        let [x] = [f.params()[1]];
        let places = ["a", "b", "d", "e"].map(|name| lives.place(id(name)));
        assert_eq!(places, [1, 2, 3, 4]);
        // `%a` is used up to the end of the branch, and `%x` up to that of the other one.
        assert_eq!([id("a"), x, id("d"), id("e"), id("b")].map(|id| lives.last_use(id)), [4, 4, 4, 4, 5]);
        assert_eq!(lives.last_use(f.result(f.body())), u32::MAX);
        assert_eq!(Liveness::of_lists(&lives.lists()).unwrap(), lives);
    }

    fn parsed(body: &str) -> RArc<Function> {
        let module =
            text::parse_str(&format!("def @main(%c: Tensor[(), bool], %x: Tensor[(2), float32]) {{ {body} }}"));
        module.unwrap().function("main").unwrap().clone()
    }

    #[test]
    fn a_closure_holds_what_it_captures_until_it_is_used_last() {
        let f = parsed(
            "%k = Neg(%x); %g = fn(%p: Tensor[(2), float32]) { %q = Add(%p, %k); %q }; %m = Abs(%x); %r = %g(%m); \
             Relu(%r)",
        );
        let id = |name: &str| f.all_bindings().find(|&id| f.name(id) == name).unwrap();
        let lives = Liveness::compute(&f);
        assert_eq!(["k", "g", "q", "m", "r"].map(|name| lives.place(id(name))), [1, 2, 3, 4, 5]);
        assert_eq!([lives.last_use(id("k")), lives.last_use(id("g"))], [5, 5]);
        let p = f.operands(id("g"))[0];
        assert_eq!(lives.last_use(p), 3, "a parameter of a closure is used in it");
        let op = f.call(id("m")).unwrap().callee();
        assert_eq!(lives.last_use(op), 0, "an operator is no value");
    }

    #[test]
    fn lists_read_back_unless_one_is_missing() {
        let (f, [x, ..]) = relu_twice();
        let users = Users::compute(&f);
        assert_eq!(Users::of_lists(&users.lists()), Some(users.clone()));
        assert_eq!(Users::of_lists(&UseCounts::compute(&f).lists()), None);
        assert_eq!(UseCounts::of_lists(&UseCounts::compute(&f).lists()).unwrap().0[x.index()], 2);
        let places = BlockTree::compute(&f);
        assert_eq!(BlockTree::of_lists(&places.lists()), Some(places));
    }
}
