//! Named analyses: computed on demand, kept until the function changes, open to plugins.

use super::*;
use std::{any::Any, collections::BTreeMap, rc::Rc};

/// Something computed from a function and nothing else.
pub trait Analysis: Sized + 'static {
    /// Its name, for remarks and statistics.
    const NAME: &'static str;

    /// Computes it.
    fn compute(function: &Function) -> Self;
}

/// How often each node is used; see [`Function::use_counts`].
pub struct UseCounts(pub Vec<u32>);

impl Analysis for UseCounts {
    const NAME: &'static str = "use-counts";

    fn compute(function: &Function) -> Self {
        Self(function.use_counts())
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
pub struct Users {
    starts: Vec<u32>,
    users: Vec<NodeId>,
    /// By node: whether it is a block's result.
    is_result: Vec<bool>,
}

impl Users {
    /// Returns the binding that alone uses a node, once; `None` if there are others, or the node is a block's result.
    pub fn only(&self, id: NodeId) -> Option<NodeId> {
        match *self.of(id) {
            [user] if !self.is_result[id.index()] => Some(user),
            _ => None,
        }
    }

    /// The number of nodes that the function had.
    pub fn n_nodes(&self) -> usize {
        self.is_result.len()
    }

    /// Whether a node is a block's result.
    pub fn is_result(&self, id: NodeId) -> bool {
        self.is_result[id.index()]
    }

    /// Whether something uses a node: a binding, or a block, as its result.
    pub fn is_used(&self, id: NodeId) -> bool {
        self.is_result[id.index()] || !self.of(id).is_empty()
    }

    /// The bindings that use a node, in program order, once for each use.
    pub fn of(&self, id: NodeId) -> &[NodeId] {
        &self.users[self.starts[id.index()] as usize..self.starts[id.index() + 1] as usize]
    }
}

impl Analysis for Users {
    const NAME: &'static str = "users";

    fn compute(function: &Function) -> Self {
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
        let mut is_result = vec![false; function.n_nodes()];
        let mut walk = Walk::new(function);
        while let Some(step) = walk.next(function) {
            if let WalkStep::Exit(block) = step {
                function.results(block).iter().for_each(|result| is_result[result.index()] = true);
            }
        }
        let mut next = starts.clone();
        let mut users = vec![NodeId::ABSENT; starts[function.n_nodes()] as usize];
        each_use(&mut |operand, id| {
            let slot = &mut next[operand.index()];
            users[*slot as usize] = id;
            *slot += 1;
        });
        Self { starts, users, is_result }
    }
}

/// The place of each node: the structured form of a dominator tree, since a value is visible in the rest of its block
/// and in everything nested there.
pub struct BlockTree {
    /// By node: the block that contains it (parameters: the function's block), if any.
    block: Vec<Option<BlockId>>,
    /// By block: the block it is nested in.
    parent: Vec<Option<BlockId>>,
    /// By block: how many blocks it is nested in.
    depth: Vec<u32>,
}

impl BlockTree {
    /// Returns the block that contains a binding or parameter.
    pub fn block_of(&self, id: NodeId) -> Option<BlockId> {
        self.block[id.index()]
    }

    /// The block that a block is nested in.
    pub fn parent(&self, block: BlockId) -> Option<BlockId> {
        self.parent[block.index()]
    }

    /// How many blocks a block is nested in.
    pub fn depth(&self, block: BlockId) -> u32 {
        self.depth[block.index()]
    }
}

impl Analysis for BlockTree {
    const NAME: &'static str = "block-tree";

    fn compute(function: &Function) -> Self {
        let mut tree = Self {
            block: vec![None; function.n_nodes()],
            parent: vec![None; function.n_blocks()],
            depth: vec![0; function.n_blocks()],
        };
        let mut open: Vec<BlockId> = Vec::new();
        let mut walk = Walk::new(function);
        while let Some(step) = walk.next(function) {
            match step {
                WalkStep::Enter(block) => {
                    tree.parent[block.index()] = open.last().copied();
                    tree.depth[block.index()] = open.len() as u32;
                    for param in function.operands(function.block(block).owner) {
                        tree.block[param.index()] = Some(block);
                    }
                    open.push(block);
                }
                WalkStep::Binding(id) => tree.block[id.index()] = open.last().copied(),
                WalkStep::Exit(_) => {
                    open.pop();
                }
                WalkStep::Leave(_) => {}
            }
        }
        tree
    }
}

/// Analyses that were computed for one version of a function.
#[derive(Default)]
pub(super) struct Cache {
    known: BTreeMap<&'static str, Rc<dyn Any>>,
}

impl Cache {
    pub(super) fn get<A: Analysis>(&mut self, function: &Function) -> Rc<A> {
        let known = self.known.entry(A::NAME).or_insert_with(|| Rc::new(A::compute(function)));
        // Two analyses of one name: the second is computed each time rather than mistaken for the first.
        known.clone().downcast().unwrap_or_else(|_| Rc::new(A::compute(function)))
    }

    pub(super) fn clear(&mut self) {
        self.known.clear();
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
    fn an_analysis_is_kept_until_the_function_is_written() {
        let (f, [x, a, b]) = relu_twice();
        let mut editor = Editor::new(f.into());
        let first = editor.analysis::<UseCounts>();
        assert!(Rc::ptr_eq(&first, &editor.analysis::<UseCounts>()));
        assert_eq!((first.0[x.index()], first.0[b.index()]), (2, 1));
        editor.function_mut().map_operands(b, |id| if id == x { a } else { id });
        assert_eq!(editor.analysis::<UseCounts>().0[x.index()], 1);
    }
}
