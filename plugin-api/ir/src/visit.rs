//! TVM's traversers over expressions, without recursion: [`ExprFunctor`], [`ExprVisitor`], [`ExprMutator`].
//!
//! A node's children: of a function, the bindings of its block in order, then the results; of any other node, its
//! operands in order. A node is visited once, however often it is used.

use super::*;

/// Which children of a node a traversal visits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Children {
    /// All, in order.
    All,
    /// None.
    None,
    /// These, in this order.
    These(Vec<NodeId>),
}

/// Visits nodes to collect information. Override the methods of interest: `visit_…` acts before a node's children and
/// chooses them, `between` acts after each child, `leave` after the last.
pub trait ExprVisitor {
    /// Visits any node, before its kind is examined; the default calls the method of its kind.
    fn visit_expr(&mut self, function: &Function, id: NodeId) -> Children {
        self.dispatch(function, id)
    }

    /// Goes to the method of the node's kind.
    fn dispatch(&mut self, function: &Function, id: NodeId) -> Children {
        match function.expr(id) {
            Expr::Absent => Children::None,
            Expr::Var(_) => self.visit_var(function, id),
            Expr::GlobalVar(name) => self.visit_global_var(function, id, name),
            Expr::Op(op) => self.visit_op(function, id, op),
            Expr::Constant(tensor) => self.visit_constant(function, id, tensor),
            Expr::Imm(imm) => self.visit_imm(function, id, imm),
            Expr::Tuple(fields) => self.visit_tuple(function, id, fields),
            Expr::TupleGetItem { tuple, index } => self.visit_tuple_get_item(function, id, tuple, index),
            Expr::Call(call) => self.visit_call(function, call),
            Expr::If(branch) => self.visit_if(function, branch),
            Expr::Function(nested) => self.visit_function(function, nested),
            Expr::Unknown(_) => Children::All,
        }
    }

    /// A parameter.
    fn visit_var(&mut self, _function: &Function, _id: NodeId) -> Children {
        Children::None
    }

    /// A module-level function's name.
    fn visit_global_var(&mut self, _function: &Function, _id: NodeId, _name: &str) -> Children {
        Children::None
    }

    /// An operator.
    fn visit_op(&mut self, _function: &Function, _id: NodeId, _op: OpId) -> Children {
        Children::None
    }

    /// A number of a loop program.
    fn visit_imm(&mut self, _function: &Function, _id: NodeId, _imm: Imm) -> Children {
        Children::None
    }

    /// A constant.
    fn visit_constant(&mut self, _function: &Function, _id: NodeId, _tensor: &Tensor) -> Children {
        Children::None
    }

    /// A tuple.
    fn visit_tuple(&mut self, _function: &Function, _id: NodeId, _fields: &[NodeId]) -> Children {
        Children::All
    }

    /// An item of a tuple.
    fn visit_tuple_get_item(&mut self, _function: &Function, _id: NodeId, _tuple: NodeId, _index: usize) -> Children {
        Children::All
    }

    /// A call.
    fn visit_call(&mut self, _function: &Function, _call: CallView<'_>) -> Children {
        Children::All
    }

    /// A conditional.
    fn visit_if(&mut self, _function: &Function, _branch: IfView<'_>) -> Children {
        Children::All
    }

    /// A function, nested or the root.
    fn visit_function(&mut self, _function: &Function, _nested: FunctionView<'_>) -> Children {
        Children::All
    }

    /// Child number `child` of `id` has been visited.
    fn between(&mut self, _function: &Function, _id: NodeId, _child: usize) {}

    /// All chosen children of `id` have been visited.
    fn leave(&mut self, _function: &Function, _id: NodeId) {}

    /// Visits `root` and, by default, everything below it.
    fn visit(&mut self, function: &Function, root: NodeId) {
        traverse(function, root, &mut vec![false; function.n_nodes()], self);
    }
}

/// Computes a value for each node from those of its children, as far as they were visited.
pub trait ExprFunctor {
    /// The value.
    type Output;

    /// Which children are visited first.
    fn children(&mut self, _function: &Function, _id: NodeId) -> Children {
        Children::All
    }

    /// The value of a node whose kind has no method of its own here.
    fn visit_default(&mut self, function: &Function, id: NodeId, memo: &Memo<Self::Output>) -> Self::Output;

    /// The value of a parameter.
    fn visit_var(&mut self, function: &Function, id: NodeId, memo: &Memo<Self::Output>) -> Self::Output {
        self.visit_default(function, id, memo)
    }

    /// The value of a constant.
    fn visit_constant(&mut self, function: &Function, id: NodeId, memo: &Memo<Self::Output>) -> Self::Output {
        self.visit_default(function, id, memo)
    }

    /// The value of a tuple.
    fn visit_tuple(&mut self, function: &Function, id: NodeId, memo: &Memo<Self::Output>) -> Self::Output {
        self.visit_default(function, id, memo)
    }

    /// The value of an item of a tuple.
    fn visit_tuple_get_item(&mut self, function: &Function, id: NodeId, memo: &Memo<Self::Output>) -> Self::Output {
        self.visit_default(function, id, memo)
    }

    /// The value of a call.
    fn visit_call(&mut self, function: &Function, id: NodeId, memo: &Memo<Self::Output>) -> Self::Output {
        self.visit_default(function, id, memo)
    }

    /// The value of a conditional.
    fn visit_if(&mut self, function: &Function, id: NodeId, memo: &Memo<Self::Output>) -> Self::Output {
        self.visit_default(function, id, memo)
    }

    /// The value of a function.
    fn visit_function(&mut self, function: &Function, id: NodeId, memo: &Memo<Self::Output>) -> Self::Output {
        self.visit_default(function, id, memo)
    }

    /// Fills `memo` for `root` and everything below it, each node after its children; nodes that have a value keep it.
    fn run(&mut self, function: &Function, root: NodeId, memo: &mut Memo<Self::Output>) {
        memo.values.resize_with(function.n_nodes().max(memo.values.len()), || None);
        let mut visited: Vec<bool> = memo.values.iter().map(Option::is_some).collect();
        let mut visitor = FunctorVisitor { functor: self, memo };
        traverse(function, root, &mut visited, &mut visitor);
    }
}

/// The values that an [`ExprFunctor`] computed, by node.
pub struct Memo<R> {
    values: Vec<Option<R>>,
}

impl<R> Default for Memo<R> {
    fn default() -> Self {
        Self { values: Vec::new() }
    }
}

impl<R> Memo<R> {
    /// The value of a node, if it was visited.
    pub fn get(&self, id: NodeId) -> Option<&R> {
        self.values.get(id.index())?.as_ref()
    }

    /// Sets the value of a node.
    pub fn set(&mut self, id: NodeId, value: R) {
        if self.values.len() <= id.index() {
            self.values.resize_with(id.index() + 1, || None);
        }
        self.values[id.index()] = Some(value);
    }
}

/// Rewrites a function, binding by binding, in program order: operands have their final form. Override the kinds that
/// change; the others stay.
pub trait ExprMutator {
    /// Visits any binding, before its kind is examined; the default calls the method of its kind.
    fn mutate(&mut self, cx: &mut RebuildCx<'_>, id: NodeId) -> Action {
        self.dispatch(cx, id)
    }

    /// Goes to the method of the node's kind.
    fn dispatch(&mut self, cx: &mut RebuildCx<'_>, id: NodeId) -> Action {
        match cx.function().kind(id) {
            kind::CONSTANT => self.mutate_constant(cx, id),
            kind::TUPLE => self.mutate_tuple(cx, id),
            kind::TUPLE_GET_ITEM => self.mutate_tuple_get_item(cx, id),
            kind::CALL => self.mutate_call(cx, id),
            kind::IF => self.mutate_if(cx, id),
            kind::FUNCTION => self.mutate_function(cx, id),
            _ => Action::Keep,
        }
    }

    /// A constant.
    fn mutate_constant(&mut self, _cx: &mut RebuildCx<'_>, _id: NodeId) -> Action {
        Action::Keep
    }

    /// A tuple.
    fn mutate_tuple(&mut self, _cx: &mut RebuildCx<'_>, _id: NodeId) -> Action {
        Action::Keep
    }

    /// An item of a tuple.
    fn mutate_tuple_get_item(&mut self, _cx: &mut RebuildCx<'_>, _id: NodeId) -> Action {
        Action::Keep
    }

    /// A call.
    fn mutate_call(&mut self, _cx: &mut RebuildCx<'_>, _id: NodeId) -> Action {
        Action::Keep
    }

    /// A conditional.
    fn mutate_if(&mut self, _cx: &mut RebuildCx<'_>, _id: NodeId) -> Action {
        Action::Keep
    }

    /// A nested function.
    fn mutate_function(&mut self, _cx: &mut RebuildCx<'_>, _id: NodeId) -> Action {
        Action::Keep
    }

    /// Rewrites the function.
    fn run(&mut self, editor: &mut Editor)
    where
        Self: Sized,
    {
        match editor.rebuild(&mut MutatorRebuild(self)) {
            Ok(()) => {}
        }
    }
}

struct MutatorRebuild<'a, M>(&'a mut M);

impl<M: ExprMutator> Rebuild for MutatorRebuild<'_, M> {
    type Error = std::convert::Infallible;

    fn binding(&mut self, cx: &mut RebuildCx<'_>, id: NodeId) -> Result<Action, Self::Error> {
        Ok(self.0.mutate(cx, id))
    }
}

struct FunctorVisitor<'a, F: ExprFunctor + ?Sized> {
    functor: &'a mut F,
    memo: &'a mut Memo<F::Output>,
}

impl<F: ExprFunctor + ?Sized> ExprVisitor for FunctorVisitor<'_, F> {
    fn visit_expr(&mut self, function: &Function, id: NodeId) -> Children {
        self.functor.children(function, id)
    }

    fn leave(&mut self, function: &Function, id: NodeId) {
        let (functor, memo) = (&mut *self.functor, &*self.memo);
        let value = match function.kind(id) {
            kind::VAR => functor.visit_var(function, id, memo),
            kind::CONSTANT => functor.visit_constant(function, id, memo),
            kind::TUPLE => functor.visit_tuple(function, id, memo),
            kind::TUPLE_GET_ITEM => functor.visit_tuple_get_item(function, id, memo),
            kind::CALL => functor.visit_call(function, id, memo),
            kind::IF => functor.visit_if(function, id, memo),
            kind::FUNCTION => functor.visit_function(function, id, memo),
            _ => functor.visit_default(function, id, memo),
        };
        self.memo.set(id, value);
    }
}

/// A node whose children are being visited.
struct Frame {
    id: NodeId,
    children: Children,
    next: usize,
}

fn child(function: &Function, frame: &Frame) -> Option<NodeId> {
    match &frame.children {
        Children::None => None,
        Children::These(children) => children.get(frame.next).copied(),
        Children::All if function.kind(frame.id) == kind::FUNCTION => {
            let block = function.block_of(frame.id);
            let bindings = function.bindings(block);
            match frame.next.checked_sub(bindings.len()) {
                None => Some(bindings[frame.next]),
                Some(at) => function.results(block).get(at).copied(),
            }
        }
        Children::All => function.operands(frame.id).get(frame.next).copied(),
    }
}

fn traverse<V: ExprVisitor + ?Sized>(function: &Function, root: NodeId, visited: &mut [bool], visitor: &mut V) {
    if std::mem::replace(&mut visited[root.index()], true) {
        return;
    }
    let mut stack = vec![Frame { id: root, children: visitor.visit_expr(function, root), next: 0 }];
    while let Some(frame) = stack.last_mut() {
        let id = frame.id;
        if frame.next > 0 {
            visitor.between(function, id, frame.next - 1);
        }
        let Some(child) = child(function, frame) else {
            visitor.leave(function, id);
            stack.pop();
            continue;
        };
        frame.next += 1;
        if !std::mem::replace(&mut visited[child.index()], true) {
            stack.push(Frame { id: child, children: visitor.visit_expr(function, child), next: 0 });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain `Relu(Relu(… %x))` of `n` calls.
    fn chain(n: usize) -> Function {
        let mut f = Function::new();
        let ty = f.tensor_type(ElemType::FLOAT, &[]);
        let x = f.add_var("x", ty);
        f.set_params(f.root(), &[x]);
        let relu = f.add_op("", "Relu", "", 0);
        let body = f.body();
        let mut last = x;
        for _ in 0..n {
            last = f.add_call(relu, &[last]);
            f.append(body, last);
        }
        f.set_results(body, &[last]);
        f
    }

    /// `if (%c) { Relu(%x) } else { %x }`.
    fn conditional() -> (Function, NodeId) {
        let mut f = Function::new();
        let c = f.add_var("c", TypeId::UNKNOWN);
        let x = f.add_var("x", TypeId::UNKNOWN);
        f.set_params(f.root(), &[c, x]);
        let relu = f.add_op("", "Relu", "", 0);
        let (then, otherwise) = (f.add_function(&[]), f.add_function(&[]));
        let call = f.add_call(relu, &[x]);
        f.append(f.block_of(then), call);
        f.set_results(f.block_of(then), &[call]);
        f.set_results(f.block_of(otherwise), &[x]);
        let branch = f.add_if(c, then, otherwise, None);
        f.append(f.body(), branch);
        f.set_results(f.body(), &[branch]);
        (f, call)
    }

    #[derive(Default)]
    struct PrintVisitor(Vec<String>);

    impl ExprVisitor for PrintVisitor {
        fn visit_expr(&mut self, function: &Function, id: NodeId) -> Children {
            self.0.push(format!("here {}", function.kind(id)));
            self.dispatch(function, id)
        }
    }

    #[derive(Default)]
    struct CallChecker(bool);

    impl ExprVisitor for CallChecker {
        fn visit_call(&mut self, _: &Function, _: CallView<'_>) -> Children {
            self.0 = true;
            Children::None
        }
    }

    struct IfCollapser;

    impl ExprMutator for IfCollapser {
        fn mutate_if(&mut self, cx: &mut RebuildCx<'_>, id: NodeId) -> Action {
            let Expr::If(branch) = cx.function().expr(id) else { return Action::Keep };
            Action::Inline(cx.function().block_of(branch.then_branch()))
        }
    }

    #[test]
    fn print_visitor_sees_every_node_once() {
        let f = chain(3);
        let mut visitor = PrintVisitor::default();
        visitor.visit(&f, f.root());
        // The function, three calls, the operator and the parameter.
        assert_eq!(visitor.0.len(), 6);
    }

    #[test]
    fn a_visitor_sees_the_condition_and_both_branches() {
        let (f, call) = conditional();
        let mut seen = Vec::new();
        struct Seen<'a>(&'a mut Vec<NodeId>);
        impl ExprVisitor for Seen<'_> {
            fn visit_expr(&mut self, function: &Function, id: NodeId) -> Children {
                self.0.push(id);
                self.dispatch(function, id)
            }
        }
        Seen(&mut seen).visit(&f, f.root());
        let Expr::If(branch) = f.expr(f.bindings(f.body())[0]) else { panic!("it is an `If`") };
        for node in [branch.cond(), branch.then_branch(), branch.else_branch(), call] {
            assert_eq!(seen.iter().filter(|&&it| it == node).count(), 1, "{node:?}");
        }
    }

    #[test]
    fn call_checker_finds_a_call_and_none_where_none_is() {
        let mut checker = CallChecker::default();
        checker.visit(&chain(1), chain(1).root());
        assert!(checker.0);
        let mut checker = CallChecker::default();
        checker.visit(&chain(0), chain(0).root());
        assert!(!checker.0);
    }

    #[test]
    fn if_collapser_takes_the_true_branch_and_leaves_the_input_alone() {
        let (f, call) = conditional();
        let shared = abi_stable::std_types::RArc::new(f);
        let mut editor = Editor::new(shared.clone());
        IfCollapser.run(&mut editor);
        assert!(editor.is_changed());
        let after = editor.into_function();
        assert_eq!(after.bindings(after.body()), [call]);
        assert_eq!(after.result(after.body()), call);
        assert_eq!(shared.kind(shared.bindings(shared.body())[0]), kind::IF);
    }

    #[test]
    fn a_statement_is_inlined_without_results() {
        use crate::{
            PrimBuilder,
            prim::{CoreOp, LoopOps},
            prim_func,
        };
        let mut f = prim_func(&[("c", ElemType::BOOL, &[])], &[("y", ElemType::INT64, &[])]);
        let [c, y] = *f.params() else { panic!() };
        let mut b = PrimBuilder::new(&mut f);
        let (condition, one) = (b.load(c, &[]), b.index(1));
        let when = b.when(condition, |b| _ = b.store(y, one, &[]));
        b.finish().unwrap();
        let ops = LoopOps::new(&f);
        let then = f.block_of(f.regions(when)[0]);
        let mut editor = Editor::new(f.into());
        let done = editor.rebuild(&mut |_: &mut RebuildCx<'_>, id: NodeId| -> Result<Action, ()> {
            Ok(if id == when { Action::Inline(then) } else { Action::Keep })
        });
        done.unwrap();
        let f = editor.function();
        let found: Vec<_> = f.bindings(f.body()).iter().map(|&id| ops.of(f, id)).collect();
        assert_eq!(found, [Some(CoreOp::Load), Some(CoreOp::Store)]);
    }

    #[test]
    fn a_mutator_that_changes_nothing_writes_nothing() {
        let mut editor = Editor::new(chain(5).into());
        IfCollapser.run(&mut editor);
        assert!(!editor.is_changed());
    }

    /// Whether a node is a constant or a tuple of constants, as the `ConstantChecker` of TVM's tutorial.
    struct ConstantChecker;

    impl ExprFunctor for ConstantChecker {
        type Output = bool;

        fn visit_default(&mut self, _: &Function, _: NodeId, _: &Memo<bool>) -> bool {
            false
        }

        fn visit_constant(&mut self, _: &Function, _: NodeId, _: &Memo<bool>) -> bool {
            true
        }

        fn visit_tuple(&mut self, f: &Function, id: NodeId, memo: &Memo<bool>) -> bool {
            f.operands(id).iter().all(|&field| memo.get(field).copied().unwrap_or(false))
        }
    }

    #[test]
    fn functor_computes_from_children() {
        let mut f = Function::new();
        let x = f.add_var("x", TypeId::UNKNOWN);
        let one = f.add_constant(Tensor::from_f32(&[], &[1.0]), ConstForm::ANY);
        let all = f.add_tuple(&[one, one]);
        let nested = f.add_tuple(&[all, one]);
        let mixed = f.add_tuple(&[nested, x]);
        let mut memo = Memo::default();
        ConstantChecker.run(&f, mixed, &mut memo);
        assert_eq!([one, all, nested, mixed].map(|id| memo.get(id).copied()), [true, true, true, false].map(Some));
    }

    #[test]
    fn a_chain_of_a_million_calls_needs_no_stack() {
        let work = || {
            let f = chain(1_000_000);
            let mut checker = PrintVisitor::default();
            checker.visit(&f, f.result(f.body()));
            assert_eq!(checker.0.len(), 1_000_002);
        };
        std::thread::Builder::new()
            .stack_size(256 << 10)
            .spawn(work)
            .expect("a thread starts")
            .join()
            .expect("no overflow");
    }
}
