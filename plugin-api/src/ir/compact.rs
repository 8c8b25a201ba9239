//! Compaction: the same function in a fresh arena, without what nothing refers to.

use super::{node::kind, *};

impl Function {
    /// The number of nodes that the function still refers to.
    pub fn n_live(&self) -> usize {
        Renumber::of(self).order.len()
    }

    /// The same function without dead nodes, operands, attributes and tensors. Ids change, so this runs between passes
    /// only; bindings keep their order, and ids follow it.
    pub fn compacted(&self) -> Self {
        let Renumber { order, new } = Renumber::of(self);
        let mut out = self.clone();
        out.start_compaction();
        let mut tensors = vec![None; self.n_constants()];
        for &old in &order {
            out.adopt_node(self, old, &new, &mut tensors);
        }
        out.finish_compaction(self, &order, &new);
        out
    }
}

/// The live nodes in their new order, and the new id of each.
struct Renumber {
    order: Vec<NodeId>,
    new: Vec<NodeId>,
}

impl Renumber {
    fn of(f: &Function) -> Self {
        let mut out = Self { order: vec![NodeId::ABSENT], new: vec![NodeId::ABSENT; f.n_nodes()] };
        out.add(f, f.root());
        // The operator table is kept whole, so each of its nodes must be.
        for op in f.ops() {
            out.add(f, op.node);
        }
        let mut walk = Walk::new(f);
        while let Some(step) = walk.next(f) {
            match step {
                WalkStep::Binding(id) => out.add(f, id),
                WalkStep::Exit(block) => {
                    out.add(f, f.result(block));
                }
                WalkStep::Enter(_) | WalkStep::Leave(_) => {}
            }
        }
        out
    }

    /// Adds a node after the floating ones it refers to.
    fn add(&mut self, f: &Function, id: NodeId) {
        for &operand in f.operands(id) {
            // Only functions, and the tuples that are results, have operands that float; theirs are bound or leaves.
            if f.kind(operand) == kind::FUNCTION {
                for &param in f.operands(operand) {
                    self.number(param);
                }
            }
            self.number(operand);
        }
        self.number(id);
    }

    fn number(&mut self, id: NodeId) {
        if !id.is_absent() && self.new[id.index()].is_absent() {
            self.new[id.index()] = NodeId::from_index(self.order.len());
            self.order.push(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_nodes_and_tensors_go_and_the_rest_stays() {
        let mut f = Function::new();
        let x = f.add_var("x", TypeId::UNKNOWN);
        f.set_params(f.root(), &[x]);
        let relu = f.add_op("", "Relu", "", 0);
        f.add_constant(Tensor::from_f32(&[2], &[1.0, 2.0]), ConstForm::ANY);
        for _ in 0..100 {
            f.add_call(relu, &[x]);
        }
        let w = f.add_constant(Tensor::from_f32(&[], &[3.0]), ConstForm::INITIALIZER);
        let then = f.add_function(&[]);
        let call = f.add_call(relu, &[w]);
        f.set_name(call, "inner");
        f.append(f.block_of(then), call);
        f.set_results(f.block_of(then), &[call]);
        let otherwise = f.add_function(&[]);
        f.set_results(f.block_of(otherwise), &[w]);
        let branch = f.add_if(x, then, otherwise, None);
        f.append(f.body(), w);
        f.append(f.body(), branch);
        f.set_results(f.body(), &[branch, x]);
        f.set_attrs(branch, &[Attr::new("t", Tensor::from_i64(&[1], &[7]))]);

        let g = f.compacted();
        assert_eq!(g.n_nodes(), f.n_live());
        assert_eq!((g.n_constants(), g.params().len(), g.results(g.body()).len()), (2, 1, 2));
        let [w, branch] = g.bindings(g.body()) else { panic!("two bindings") };
        assert_eq!(g.constant(*w).and_then(Tensor::to_f32s), Some(vec![3.0]));
        assert_eq!(g.attrs(*branch).tensor("t").and_then(Tensor::to_i64s), Some(vec![7]));
        let Expr::If(view) = g.expr(*branch) else { panic!("a conditional") };
        let [inner] = g.bindings(g.block_of(view.then_branch())) else { panic!("one binding") };
        assert_eq!(g.name(*inner), "inner");
        assert_eq!(g.call(*inner).map(|call| call.args().to_vec()), Some(vec![*w]));
        assert_eq!(g.compacted().n_nodes(), g.n_nodes());
    }
}
