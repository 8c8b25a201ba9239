//! The representation of the arena in memory: for checks that must not rely on it, and for readers that choose node
//! ids.

use super::*;
use std::collections::HashMap;

/// Everything in the arena, as slices.
pub(crate) struct Parts<'a> {
    pub nodes: &'a [NodeRec],
    pub pool: &'a [NodeId],
    pub attrs: &'a [AttrRec],
    pub words: &'a [u32],
    pub blocks: &'a [BlockRec],
    pub ops: &'a [OpRec],
    pub types: &'a [TypeRec],
    pub type_words: &'a [u32],
    pub type_dims: &'a [DimRec],
    pub n_constants: usize,
    pub strings: &'a [u8],
    pub tables: &'a [SideTable],
    pub lists: &'a [SideList],
    /// The indices of strings, types and operators.
    pub indices: [&'a InternTable; 3],
    pub reserved: &'a [u64],
    pub root: NodeId,
}

/// Everything in an arena but the indices, as lists that were read and are not checked.
pub(crate) struct FunctionLists {
    pub nodes: Vec<NodeRec>,
    pub pool: Vec<NodeId>,
    pub attrs: Vec<AttrRec>,
    pub words: Vec<u32>,
    pub blocks: Vec<BlockRec>,
    pub ops: Vec<OpRec>,
    pub types: Vec<TypeRec>,
    pub type_words: Vec<u32>,
    pub type_dims: Vec<DimRec>,
    pub strings: Vec<u8>,
    pub tensors: Vec<Tensor>,
    pub tables: Vec<SideTable>,
    pub lists: Vec<SideList>,
    pub reserved: [u64; 8],
    pub root: NodeId,
}

impl Function {
    /// A leaf of a kind from [`kind::FIRST_LEAF`] on, with its three numbers.
    ///
    /// # Panics
    /// Panics if the kind is below that.
    pub fn add_leaf(&mut self, kind: u8, flags: u8, aux: u16, a: u32, b: u32) -> NodeId {
        assert!(kind >= kind::FIRST_LEAF, "kind {kind} is not one of the leaves that are only numbers");
        self.push_node(NodeRec { kind, flags: flags & !flag::EXTRA, aux, a, b, c: 0 })
    }

    /// A node of any kind, including one that this version of the library does not know. The last `n_regions` operands
    /// are functions that belong to the node; `None` is for kinds that never have any.
    ///
    /// # Panics
    /// Panics if the kind has no operands.
    pub fn add_raw(&mut self, kind: u8, flags: u8, aux: u16, operands: &[NodeId], n_regions: Option<u32>) -> NodeId {
        assert!(!is_leaf(kind), "a node of kind {kind} has no operands");
        let (a, b) = self.push_operands(n_regions, operands);
        let extra = if n_regions.is_some() { flag::EXTRA } else { 0 };
        self.push_node(NodeRec { kind, flags: flags & !flag::EXTRA | extra, aux, a, b, c: 0 })
    }

    /// Moves each node `i` to the id `ids[i]`. Ids below `n_nodes` that no node moves to become dead nodes.
    ///
    /// # Panics
    /// Panics if `ids` has not one id below `n_nodes` for each node, two nodes move to one id, or the absent operand
    /// moves.
    pub fn renumber(&mut self, ids: &[NodeId], n_nodes: usize) {
        assert!(ids.len() == self.nodes.len() && ids[0].is_absent(), "one id for each node, the absent one staying");
        let dead = NodeRec { kind: kind::ABSENT, flags: 0, aux: 0, a: 0, b: 0, c: 0 };
        let mut nodes = vec![dead; n_nodes];
        let mut is_taken = vec![0u8; n_nodes];
        let pool = self.pool.as_mut_slice();
        for (rec, &id) in self.nodes.iter().zip(ids) {
            assert!(is_taken[id.index()] == 0, "{id} is given to two nodes");
            is_taken[id.index()] = 1;
            nodes[id.index()] = *rec;
            if !is_leaf(rec.kind) {
                move_ids(&mut pool[rec.a as usize..][..rec.b as usize], ids);
            }
        }
        for block in self.blocks.as_mut_slice() {
            move_ids(&mut pool[block.start as usize..][..block.len as usize], ids);
            block.result = ids[block.result.index()];
            block.owner = ids[block.owner.index()];
        }
        for op in self.ops.as_mut_slice() {
            op.node = ids[op.node.index()];
        }
        for list in self.lists.as_mut_slice() {
            list.renumber(|id| ids.get(id.index()).copied().unwrap_or(NodeId::ABSENT));
        }
        for table in self.tables.as_mut_slice() {
            let stride = table.stride as usize;
            let mut bytes = vec![0; n_nodes * stride];
            for (entry, id) in table.bytes.chunks_exact(stride).zip(ids) {
                bytes[id.index() * stride..][..stride].copy_from_slice(entry);
            }
            table.bytes = bytes.into();
        }
        self.nodes = nodes.into();
        self.root = ids[self.root.index()];
    }

    /// Everything in the arena, unchecked.
    pub(crate) fn parts(&self) -> Parts<'_> {
        Parts {
            nodes: self.nodes.as_slice(),
            pool: self.pool.as_slice(),
            attrs: self.attrs.as_slice(),
            words: self.words.as_slice(),
            blocks: self.blocks.as_slice(),
            ops: self.ops.as_slice(),
            types: self.types.as_slice(),
            type_words: self.type_words.as_slice(),
            type_dims: self.type_dims.as_slice(),
            n_constants: self.constants.len(),
            strings: self.strings.as_slice(),
            tables: self.tables.as_slice(),
            lists: self.lists.as_slice(),
            indices: [&self.string_index, &self.type_index, &self.op_index],
            reserved: &self.reserved,
            root: self.root,
        }
    }

    /// A function of lists that are not checked, and without indices: nothing may be added to it before
    /// [`index_again`](Self::index_again).
    pub(crate) fn from_lists(lists: FunctionLists) -> Self {
        let mut constants = ConstantTable::default();
        lists.tensors.into_iter().for_each(|tensor| constants.push(tensor));
        constants.share();
        // Only who allocated the room knows of it.
        let blocks = lists.blocks.into_iter().map(|block| BlockRec { room: block.len, ..block });
        Self {
            nodes: lists.nodes.into(),
            pool: lists.pool.into(),
            attrs: lists.attrs.into(),
            words: lists.words.into(),
            blocks: blocks.collect(),
            ops: lists.ops.into(),
            types: lists.types.into(),
            type_words: lists.type_words.into(),
            type_dims: lists.type_dims.into(),
            constants,
            strings: lists.strings.into(),
            tables: lists.tables.into(),
            lists: lists.lists.into(),
            string_index: InternTable::default(),
            type_index: InternTable::default(),
            op_index: InternTable::default(),
            root: lists.root,
            reserved: lists.reserved,
        }
    }

    /// Makes the indices again, for a function whose arena was checked. Names that are looked up get one id each,
    /// however often they were added.
    ///
    /// # Errors
    /// Returns an error if two types or two operators are equal.
    pub(crate) fn index_again(&mut self) -> Result<(), String> {
        self.string_index = InternTable::default();
        self.index_string(StrId::EMPTY);
        let mut known: HashMap<StrId, StrId> = HashMap::new();
        let mut one = |f: &mut Self, id: StrId| *known.entry(id).or_insert_with(|| f.index_string(id));
        for at in 0..self.ops.len() {
            let OpRec { domain, name, overload, .. } = self.ops[at];
            let [domain, name, overload] = [domain, name, overload].map(|id| one(self, id));
            self.ops[at] = OpRec { domain, name, overload, ..self.ops[at] };
        }
        for at in 0..self.type_dims.len() {
            if let Dim::Symbol(name) = self.type_dims[at].into() {
                self.type_dims[at] = Dim::Symbol(one(self, name)).into();
            }
        }
        for at in 0..self.types.len() {
            let rec = self.types[at];
            if rec.kind == type_kind::OPAQUE {
                let [a, b] = [rec.a, rec.b].map(|id| one(self, StrId(id)).0);
                self.types[at] = TypeRec { a, b, ..rec };
            }
        }
        for at in 0..self.nodes.len() {
            let rec = self.nodes[at];
            if rec.kind == kind::GLOBAL_VAR {
                self.nodes[at].a = one(self, StrId(rec.a)).0;
            }
            let Some(head) = rec.c.checked_sub(1) else { continue };
            let first = head as usize + 1;
            for at in first..first + self.attrs[head as usize].a as usize {
                let AttrRec { name, kind, a, .. } = self.attrs[at];
                self.attrs[at].name = one(self, name);
                if kind == attr_kind::REF {
                    self.attrs[at].a = one(self, StrId(a)).0;
                }
            }
        }
        self.index_types()?;
        self.index_ops()
    }
}

fn move_ids(list: &mut [NodeId], ids: &[NodeId]) {
    for id in list {
        *id = ids[id.index()];
    }
}

/// Overwrites for tests of the verifier.
#[cfg(test)]
pub(crate) mod corrupt {
    use super::*;

    impl Function {
        /// Calls `change` with one 32-bit word of the arena, chosen by `at` among all there are.
        pub(crate) fn corrupt_word(&mut self, at: usize, value: u32) {
            let (n, p, a, b) = (self.nodes.len(), self.pool.len(), self.attrs.len(), self.blocks.len());
            let (t, o, w, d) = (self.types.len(), self.ops.len(), self.words.len(), self.type_words.len());
            let total = n * 4 + p + a * 4 + b * 4 + t * 3 + o * 5 + w + d + self.type_dims.len() + 1;
            let mut at = at % total;
            let mut within = |count: usize| {
                let inside = at < count;
                let found = at;
                at = at.wrapping_sub(count);
                inside.then_some(found)
            };
            if let Some(at) = within(n * 4) {
                let rec = &mut self.nodes[at / 4];
                match at % 4 {
                    0 => (rec.kind, rec.flags, rec.aux) = (value as u8 % 12, (value >> 8) as u8, (value >> 16) as u16),
                    1 => rec.a = value,
                    2 => rec.b = value,
                    _ => rec.c = value,
                }
            } else if let Some(at) = within(p) {
                self.pool[at] = NodeId(value);
            } else if let Some(at) = within(a * 4) {
                let rec = &mut self.attrs[at / 4];
                match at % 4 {
                    0 => (rec.kind, rec.flags) = (value as u8 % 40, (value >> 8) as u8),
                    1 => rec.a = value,
                    2 => rec.b = value,
                    _ => rec.name = StrId(value),
                }
            } else if let Some(at) = within(b * 4) {
                let rec = &mut self.blocks[at / 4];
                match at % 4 {
                    0 => rec.start = value,
                    1 => rec.len = value,
                    2 => rec.result = NodeId(value),
                    _ => rec.owner = NodeId(value),
                }
            } else if let Some(at) = within(t * 3) {
                let rec = &mut self.types[at / 3];
                match at % 3 {
                    0 => (rec.kind, rec.elem) = (value as u8 % 12, ElemType((value >> 8) as u8)),
                    1 => rec.a = value,
                    _ => rec.b = value,
                }
            } else if let Some(at) = within(o * 5) {
                let rec = &mut self.ops[at / 5];
                match at % 5 {
                    0 => rec.domain = StrId(value),
                    1 => rec.name = StrId(value),
                    2 => rec.overload = StrId(value),
                    3 => rec.version = value,
                    _ => rec.node = NodeId(value),
                }
            } else if let Some(at) = within(w) {
                self.words[at] = value;
            } else if let Some(at) = within(d) {
                self.type_words[at] = value;
            } else if let Some(at) = within(self.type_dims.len()) {
                self.type_dims[at] = DimRec(i64::from(value as i32) * 3);
            } else {
                self.root = NodeId(value);
            }
        }

        /// Overwrites one byte of the strings or of a side table.
        pub(crate) fn corrupt_byte(&mut self, at: usize, value: u8) {
            let total = self.strings.len() + self.tables.iter().map(|table| table.bytes.len()).sum::<usize>();
            let mut at = at % total;
            if at < self.strings.len() {
                self.strings[at] = value;
                return;
            }
            at -= self.strings.len();
            for table in self.tables.as_mut_slice() {
                if at < table.bytes.len() {
                    table.bytes[at] = value;
                    return;
                }
                at -= table.bytes.len();
            }
        }
    }
}
