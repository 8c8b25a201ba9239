//! Compaction: the same function in a fresh arena, without unreferenced parts.

use super::*;

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

    /// Empties the parts that [`adopt_node`](Self::adopt_node) fills; strings, types and operators stay.
    fn start_compaction(&mut self) {
        self.nodes = RVec::new();
        self.pool = RVec::new();
        self.attrs = RVec::new();
        self.words = RVec::new();
        self.blocks = RVec::new();
        self.constants = ConstantTable::default();
    }

    /// Adds a node of `from`, whose compacted copy this function is, under the next id. `new` holds the new ids,
    /// `tensors` the constants that were taken over.
    fn adopt_node(&mut self, from: &Self, old: NodeId, new: &[NodeId], tensors: &mut [Option<u32>]) {
        let mut rec = *from.node(old);
        match rec.kind {
            kind::CONSTANT => rec.a = self.adopt_tensor(from, rec.a, tensors),
            kind::VAR if rec.a != 0 => rec.a = self.adopt_tensor(from, rec.a - 1, tensors) + 1,
            kind if is_leaf(kind) => {}
            kind::FUNCTION => {
                let block = next_id(self.blocks.len());
                self.blocks.push(*from.block(from.block_of(old)));
                let operands: Vec<NodeId> = from.operands(old).iter().map(|id| new[id.index()]).collect();
                (rec.a, rec.b) = self.push_operands(Some(block), &operands);
            }
            _ => {
                let extra = (rec.flags & flag::EXTRA != 0).then(|| from.extra(old));
                let operands: Vec<NodeId> = from.operands(old).iter().map(|id| new[id.index()]).collect();
                (rec.a, rec.b) = self.push_operands(extra, &operands);
            }
        }
        let recs = from.attr_recs(old);
        if !recs.is_empty() {
            self.attrs.push(AttrRec {
                name: StrId::EMPTY,
                kind: attr_kind::NONE,
                flags: 0,
                aux: 0,
                a: next_id(recs.len()),
                b: 0,
            });
            rec.c = next_id(self.attrs.len());
            for &attr in recs {
                let attr = self.adopt_attr(from, attr, tensors);
                self.attrs.push(attr);
            }
        }
        self.nodes.push(rec);
    }

    fn adopt_tensor(&mut self, from: &Self, old: u32, tensors: &mut [Option<u32>]) -> u32 {
        *tensors[old as usize].get_or_insert_with(|| {
            self.constants.push(from.constants.get(old).clone());
            next_id(self.constants.len()) - 1
        })
    }

    fn adopt_attr(&mut self, from: &Self, mut rec: AttrRec, tensors: &mut [Option<u32>]) -> AttrRec {
        match rec.kind {
            attr_kind::TENSOR => rec.a = self.adopt_tensor(from, rec.a, tensors),
            attr_kind::TENSORS => {
                let ids: Vec<u32> =
                    from.attr_words(rec).iter().map(|&id| self.adopt_tensor(from, id, tensors)).collect();
                (_, rec.a, rec.b) = self.encode_words(rec.kind, ids);
            }
            attr_kind::FLOATS | attr_kind::INTS | attr_kind::STRINGS | attr_kind::SPARSE_TENSORS | attr_kind::TYPES => {
                (_, rec.a, rec.b) = self.encode_words(rec.kind, from.attr_words(rec).iter().copied());
            }
            _ => {}
        }
        rec
    }

    /// Assigns blocks, operators and side tables their new ids once every node is present.
    fn finish_compaction(&mut self, from: &Self, order: &[NodeId], new: &[NodeId]) {
        for at in 0..self.blocks.len() {
            let old = self.blocks[at];
            let list = &from.pool.as_slice()[old.start as usize..][..old.len as usize];
            let bindings: Vec<NodeId> = list.iter().map(|id| new[id.index()]).collect();
            let block = BlockId::from_index(at);
            self.blocks[at] = BlockRec { start: 0, len: 0, room: 0, ..old };
            self.blocks[at].owner = new[old.owner.index()];
            self.blocks[at].result = new[old.result.index()];
            self.set_bindings(block, &bindings);
        }
        for op in self.ops.iter_mut() {
            op.node = new[op.node.index()];
        }
        self.root = new[from.root.index()];
        for list in self.lists.iter_mut() {
            list.renumber(|id| new.get(id.index()).copied().unwrap_or(NodeId::ABSENT));
        }
        for (table, old) in self.tables.iter_mut().zip(from.tables.iter()) {
            table.bytes = RVec::new();
            for (at, &id) in order.iter().enumerate() {
                if let Some(entry) = old.get(id).filter(|entry| entry.iter().any(|&byte| byte != 0)) {
                    table.get_mut(NodeId::from_index(at)).copy_from_slice(entry);
                }
            }
        }
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
            // Only functions, and the tuples that are results, have operands that float; their own operands are bound
            // or leaves.
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
