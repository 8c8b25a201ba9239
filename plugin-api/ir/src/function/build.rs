//! Making nodes and blocks, and changing them.

use super::*;

impl Function {
    pub(super) fn push_node(&mut self, rec: NodeRec) -> NodeId {
        let id = NodeId(next_id(self.nodes.len()));
        self.nodes.push(rec);
        id
    }

    pub(super) fn push_operands(&mut self, extra: Option<u32>, operands: &[NodeId]) -> (u32, u32) {
        if let Some(extra) = extra {
            self.pool.push(NodeId(extra));
        }
        let start = next_id(self.pool.len());
        match operands {
            // `extend_from_slice` of a few elements costs several times a push.
            [] => {}
            [a] => self.pool.push(*a),
            [a, b] => {
                self.pool.push(*a);
                self.pool.push(*b);
            }
            _ => self.pool.extend_from_slice(operands),
        }
        (start, next_id(operands.len()))
    }

    fn push_branching(&mut self, kind: u8, aux: u16, extra: u32, operands: &[NodeId]) -> NodeId {
        let (a, b) = self.push_operands(Some(extra), operands);
        self.push_node(NodeRec { kind, flags: flag::EXTRA, aux, a, b, c: 0 })
    }

    /// Makes room for further nodes with about as many operands as most have, and their names and spans.
    pub fn reserve(&mut self, n_nodes: usize) {
        const N_OPERANDS: usize = 4;
        self.nodes.reserve(n_nodes);
        self.pool.reserve(n_nodes * N_OPERANDS);
        for table in [table::NAMES, table::SPANS] {
            let SideTable { stride, bytes, .. } = &mut self.tables[table];
            bytes.reserve(n_nodes * *stride as usize);
        }
    }

    /// A clone that has room for some more nodes.
    pub(crate) fn clone_to_grow(&self) -> Self {
        fn with_room<T: Copy>(list: &RVec<T>) -> RVec<T> {
            let mut copy = Vec::with_capacity(list.len() + list.len() / 8);
            copy.extend_from_slice(list);
            copy.into()
        }
        let table = |table: &SideTable| SideTable {
            key: table.key.clone(),
            stride: table.stride,
            policy: table.policy,
            bytes: with_room(&table.bytes),
        };
        Self {
            nodes: with_room(&self.nodes),
            pool: with_room(&self.pool),
            attrs: with_room(&self.attrs),
            tables: self.tables.iter().map(table).collect(),
            words: self.words.clone(),
            blocks: self.blocks.clone(),
            ops: self.ops.clone(),
            types: self.types.clone(),
            type_words: self.type_words.clone(),
            type_dims: self.type_dims.clone(),
            constants: self.constants.clone(),
            strings: self.strings.clone(),
            lists: self.lists.clone(),
            string_index: self.string_index.clone(),
            type_index: self.type_index.clone(),
            op_index: self.op_index.clone(),
            root: self.root,
            reserved: self.reserved,
        }
    }

    /// A parameter, of no function yet.
    pub fn add_var(&mut self, name: &str, ty: TypeId) -> NodeId {
        let id = self.push_node(NodeRec { kind: kind::VAR, flags: 0, aux: 0, a: 0, b: 0, c: 0 });
        self.set_name(id, name);
        self.set_type(id, ty);
        id
    }

    /// Sets the value of a parameter if the caller passes none.
    pub fn set_default_value(&mut self, var: NodeId, value: Tensor) {
        let value = self.add_tensor(value);
        self.nodes[var.index()].a = value.0 + 1;
    }

    /// A module-level function, by name.
    pub fn add_global_var(&mut self, name: &str) -> NodeId {
        let a = self.intern(name).0;
        self.push_node(NodeRec { kind: kind::GLOBAL_VAR, flags: 0, aux: 0, a, b: 0, c: 0 })
    }

    /// Adds an entry to the constant table; the entry is not a node.
    pub fn add_tensor(&mut self, tensor: Tensor) -> ConstId {
        let id = next_id(self.constants.len());
        self.constants.push(tensor);
        ConstId(id)
    }

    /// Makes clones of this function share its constants.
    pub(crate) fn share_constants(&mut self) {
        self.constants.share();
    }

    /// A constant, typed.
    pub fn add_constant(&mut self, tensor: Tensor, form: ConstForm) -> NodeId {
        let dims: Dims = tensor.dims().iter().map(|&dim| Dim::Static(dim)).collect();
        let ty = self.tensor_type(tensor.elem(), &dims);
        let a = self.add_tensor(tensor).0;
        let id = self.push_node(NodeRec { kind: kind::CONSTANT, flags: 0, aux: form.0, a, b: 0, c: 0 });
        self.set_type(id, ty);
        id
    }

    /// A tuple.
    pub fn add_tuple(&mut self, fields: &[NodeId]) -> NodeId {
        let (a, b) = self.push_operands(None, fields);
        self.push_node(NodeRec { kind: kind::TUPLE, flags: 0, aux: 0, a, b, c: 0 })
    }

    /// Item `index` of a tuple.
    pub fn add_tuple_get_item(&mut self, tuple: NodeId, index: u16) -> NodeId {
        let (a, b) = self.push_operands(None, &[tuple]);
        self.push_node(NodeRec { kind: kind::TUPLE_GET_ITEM, flags: 0, aux: index, a, b, c: 0 })
    }

    /// A call of an operator without function-valued attributes and with one result.
    pub fn add_call(&mut self, op: OpId, args: &[NodeId]) -> NodeId {
        let callee = self.op(op).node;
        self.add_call_with(callee, args, &[], None)
    }

    /// A call of any callee (operator, global, or value); `regions` are the functions of its graph-valued attributes,
    /// `n_results` the number of results when they are a tuple.
    pub fn add_call_with(
        &mut self,
        callee: NodeId,
        args: &[NodeId],
        regions: &[NodeId],
        n_results: Option<u16>,
    ) -> NodeId {
        self.pool.push(NodeId(next_id(regions.len())));
        let a = next_id(self.pool.len());
        self.pool.push(callee);
        for &operand in args.iter().chain(regions) {
            self.pool.push(operand);
        }
        let b = next_id(1 + args.len() + regions.len());
        let aux = n_results.unwrap_or(0);
        self.push_node(NodeRec { kind: kind::CALL, flags: flag::EXTRA, aux, a, b, c: 0 })
    }

    /// A conditional; the branches are functions without parameters.
    pub fn add_if(&mut self, cond: NodeId, then: NodeId, otherwise: NodeId, n_results: Option<u16>) -> NodeId {
        self.push_branching(kind::IF, n_results.unwrap_or(0), 2, &[cond, then, otherwise])
    }

    /// A nested function with an empty block.
    pub fn add_function(&mut self, params: &[NodeId]) -> NodeId {
        let block = next_id(self.blocks.len());
        let id = self.push_branching(kind::FUNCTION, 0, block, params);
        self.blocks.push(BlockRec { start: 0, len: 0, room: 0, result: NodeId::ABSENT, owner: id });
        id
    }

    /// Sets the parameters of a function node.
    pub fn set_params(&mut self, function: NodeId, params: &[NodeId]) {
        let block = self.block_of(function);
        let (a, b) = self.push_operands(Some(block.0), params);
        let rec = &mut self.nodes[function.index()];
        (rec.a, rec.b) = (a, b);
    }

    /// A copy of a node: kind, operands, attributes, and the entries of value-describing tables; no provenance.
    pub fn add_copy(&mut self, of: NodeId) -> NodeId {
        let mut rec = *self.node(of);
        rec.flags &= !flag::PRISTINE;
        if !is_leaf(rec.kind) {
            let operands = self.operands(of).to_vec();
            let extra = (rec.flags & flag::EXTRA != 0).then(|| self.extra(of));
            (rec.a, rec.b) = self.push_operands(extra, &operands);
        }
        let id = self.push_node(rec);
        self.inherit_value(id, of);
        let ty = self.type_id(of);
        self.set_type(id, ty);
        id
    }

    /// Adds a binding at the end of a block, in amortised constant time.
    pub fn append(&mut self, block: BlockId, binding: NodeId) {
        let BlockRec { start, len, room, .. } = *self.block(block);
        if len < room {
            self.pool.as_mut_slice()[(start + len) as usize] = binding;
        } else {
            let mut list = self.bindings(block).to_vec();
            list.push(binding);
            self.place_bindings(block, &list, next_id(list.len().max(4)) * 2);
        }
        self.blocks[block.index()].len = len + 1;
    }

    /// Sets all bindings of a block.
    pub fn set_bindings(&mut self, block: BlockId, bindings: &[NodeId]) {
        let BlockRec { start, room, .. } = *self.block(block);
        let len = next_id(bindings.len());
        if len <= room {
            self.pool.as_mut_slice()[start as usize..][..bindings.len()].copy_from_slice(bindings);
        } else {
            self.place_bindings(block, bindings, len);
        }
        self.blocks[block.index()].len = len;
    }

    fn place_bindings(&mut self, block: BlockId, bindings: &[NodeId], room: u32) {
        let start = next_id(self.pool.len());
        self.pool.extend_from_slice(bindings);
        self.pool.resize(start as usize + room as usize, NodeId::ABSENT);
        let rec = &mut self.blocks[block.index()];
        (rec.start, rec.room) = (start, room);
    }

    /// Sets the value of a block.
    pub fn set_result(&mut self, block: BlockId, result: NodeId) {
        self.blocks[block.index()].result = result;
    }

    /// Sets the values of a block, one for each output: the value itself for one, a tuple for any other number.
    pub fn set_results(&mut self, block: BlockId, results: &[NodeId]) {
        let result = match results {
            [one] => *one,
            _ => {
                let tuple = self.add_tuple(results);
                self.nodes[tuple.index()].aux = 1;
                tuple
            }
        };
        self.set_result(block, result);
    }

    /// Replaces operand `index` (counted over all operands, the callee of a call being 0) and forgets the node's
    /// provenance.
    pub fn set_operand(&mut self, id: NodeId, index: usize, operand: NodeId) {
        let rec = *self.node(id);
        assert!(index < rec.b as usize && !is_leaf(rec.kind), "{id} has no operand {index}");
        self.pool.as_mut_slice()[rec.a as usize + index] = operand;
        self.touch(id);
    }

    /// Replaces operands in place wherever `map` returns another one; returns whether any changed.
    pub fn map_operands(&mut self, id: NodeId, mut map: impl FnMut(NodeId) -> NodeId) -> bool {
        let rec = *self.node(id);
        if is_leaf(rec.kind) {
            return false;
        }
        let mut changed = false;
        for operand in &mut self.pool.as_mut_slice()[rec.a as usize..][..rec.b as usize] {
            let new = map(*operand);
            changed |= new != *operand;
            *operand = new;
        }
        if changed {
            self.touch(id);
        }
        changed
    }

    /// Marks a binding as named (`let %x = …`) or not.
    pub fn set_let(&mut self, id: NodeId, on: LetForm) {
        let flags = &mut self.nodes[id.index()].flags;
        match on {
            LetForm::Graph => *flags &= !flag::LET,
            LetForm::Let => *flags |= flag::LET,
        }
    }

    /// Sets or clears a bit of a node's flags that is not part of the structure ([`flag::LISTED_INPUT`]).
    pub fn set_listed_input(&mut self, id: NodeId) {
        self.nodes[id.index()].flags |= flag::LISTED_INPUT;
    }

    /// Returns the form of a binding.
    pub fn let_form(&self, id: NodeId) -> LetForm {
        if self.node(id).flags & flag::LET != 0 { LetForm::Let } else { LetForm::Graph }
    }
}
