//! A global function: one arena that owns its nodes, those of nested functions included.

mod raw;

pub(super) use raw::Parts;

use super::{
    node::{self, attr_kind, flag, kind, table, table_policy},
    *,
};
use abi_stable::{
    StableAbi,
    std_types::{RArc, RVec},
};

/// A graph function: parameters, a block of bindings, a result, and everything nested in it, in flat pools.
///
/// Cloning is a handful of memory copies. Nodes that nothing refers to any more stay until [`compact`](Function::compact).
/// Building methods (`add_…`) make nodes that stand nowhere yet; a binding is placed in a block with
/// [`append`](Function::append), or by an [`Editor`].
#[repr(C)]
#[derive(StableAbi, Clone)]
pub struct Function {
    nodes: RVec<NodeRec>,
    /// Operands, extra words and the lists of blocks.
    pool: RVec<NodeId>,
    /// Attribute lists: a record whose `a` counts, then that many records.
    attrs: RVec<AttrRec>,
    /// Attribute values that do not fit their record.
    words: RVec<u32>,
    blocks: RVec<BlockRec>,
    ops: RVec<OpRec>,
    types: RVec<TypeRec>,
    type_words: RVec<u32>,
    type_dims: RVec<DimRec>,
    constants: RVec<Tensor>,
    /// Strings: four little-endian bytes of length, then the bytes.
    strings: RVec<u8>,
    tables: RVec<SideTable>,
    string_index: InternTable,
    type_index: InternTable,
    op_index: InternTable,
    root: NodeId,
}

/// The well-known side tables.
pub mod table_key {
    /// A node's type, as a type id.
    pub const TYPES: &str = "types";
    /// A node's name, as a string id.
    pub const NAMES: &str = "names";
    /// Where a node was read from, as a [`Span`](super::Span).
    pub const SPANS: &str = "spans";
}

fn next_id(len: usize) -> u32 {
    u32::try_from(len).expect("an arena holds fewer than 2^32 entries")
}

impl Function {
    /// A hash of the layout, for the boundary's fingerprint.
    pub(crate) const LAYOUT_HASH: u64 = crate::__layout_hash!(Function {
        nodes,
        pool,
        attrs,
        words,
        blocks,
        ops,
        types,
        type_words,
        type_dims,
        constants,
        strings,
        tables,
        string_index,
        type_index,
        op_index,
        root
    });

    /// A function without parameters and with an empty block whose result is still the empty tuple.
    pub fn new() -> Self {
        let mut function = Self {
            nodes: RVec::new(),
            pool: RVec::new(),
            attrs: RVec::new(),
            words: RVec::new(),
            blocks: RVec::new(),
            ops: RVec::new(),
            types: RVec::new(),
            type_words: RVec::new(),
            type_dims: RVec::new(),
            constants: RVec::new(),
            strings: vec![0; 4].into(),
            tables: RVec::new(),
            string_index: InternTable::default(),
            type_index: InternTable::default(),
            op_index: InternTable::default(),
            root: NodeId::ABSENT,
        };
        function.string_index.insert(Hash64::new().bytes(b"").finish(), 0, |_| 0);
        function.tables.push(SideTable::new(table_key::TYPES, 4, table_policy::DERIVED));
        function.tables.push(SideTable::new(table_key::NAMES, 4, table_policy::VALUE));
        function.tables.push(SideTable::new(table_key::SPANS, Span::STRIDE, table_policy::PROVENANCE));
        function.add_type(Type::Unknown);
        function.push_node(NodeRec { kind: kind::ABSENT, flags: 0, aux: 0, a: 0, b: 0, c: 0 });
        function.root = function.add_function(&[]);
        function
    }

    // ---- whole ----------------------------------------------------------------------------------------------------

    /// The function node of the function itself.
    pub fn root(&self) -> NodeId {
        self.root
    }

    /// The block of the function itself.
    pub fn body(&self) -> BlockId {
        self.block_of(self.root)
    }

    /// The parameters of the function itself.
    pub fn params(&self) -> &[NodeId] {
        self.operands(self.root)
    }

    /// The number of nodes in the arena, dead ones included: every node id is below it.
    pub fn n_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// The number of blocks in the arena, dead ones included.
    pub fn n_blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The number of operators in the operator table.
    pub fn n_ops(&self) -> usize {
        self.ops.len()
    }

    /// The number of types in the type table.
    pub fn n_types(&self) -> usize {
        self.types.len()
    }

    /// The number of constants in the constant table.
    pub fn n_constants(&self) -> usize {
        self.constants.len()
    }

    // ---- nodes ----------------------------------------------------------------------------------------------------

    /// The record of a node.
    #[inline]
    pub fn node(&self, id: NodeId) -> &NodeRec {
        &self.nodes.as_slice()[id.index()]
    }

    /// All records, by id.
    #[inline]
    pub fn nodes(&self) -> &[NodeRec] {
        self.nodes.as_slice()
    }

    /// A node's kind, one of [`kind`](super::kind).
    #[inline]
    pub fn kind(&self, id: NodeId) -> u8 {
        self.node(id).kind
    }

    /// All operands: of a call, the callee, the arguments and the functions; of a function, its parameters.
    #[inline]
    pub fn operands(&self, id: NodeId) -> &[NodeId] {
        let rec = self.node(id);
        if is_leaf(rec.kind) {
            return &[];
        }
        &self.pool.as_slice()[rec.a as usize..][..rec.b as usize]
    }

    #[inline]
    fn extra(&self, id: NodeId) -> u32 {
        let rec = self.node(id);
        if rec.flags & flag::EXTRA == 0 {
            return 0;
        }
        self.pool.as_slice()[rec.a as usize - 1].0
    }

    /// How many operands at the end are functions that belong to this node: branches, and bodies in graph-valued
    /// attributes.
    #[inline]
    pub fn n_regions(&self, id: NodeId) -> usize {
        if self.kind(id) == kind::FUNCTION { 0 } else { self.extra(id) as usize }
    }

    /// The functions that belong to a call or an `If`.
    #[inline]
    pub fn regions(&self, id: NodeId) -> &[NodeId] {
        let operands = self.operands(id);
        &operands[operands.len() - self.n_regions(id)..]
    }

    /// The number of results of a call or an `If` as a tuple; `None` when it has one that is no tuple.
    #[inline]
    pub fn n_results(&self, id: NodeId) -> Option<usize> {
        let rec = self.node(id);
        (matches!(rec.kind, kind::CALL | kind::IF) && rec.aux != 0).then_some(rec.aux as usize)
    }

    /// The node, seen by its kind.
    #[inline]
    pub fn expr(&self, id: NodeId) -> Expr<'_> {
        Expr::new(self, id)
    }

    /// The node as a call.
    #[inline]
    pub fn call(&self, id: NodeId) -> Option<CallView<'_>> {
        match self.expr(id) {
            Expr::Call(call) => Some(call),
            _ => None,
        }
    }

    /// The tensor of a constant node.
    #[inline]
    pub fn constant(&self, id: NodeId) -> Option<&Tensor> {
        let rec = self.node(id);
        (rec.kind == kind::CONSTANT).then(|| &self.constants.as_slice()[rec.a as usize])
    }

    /// The tensor at an entry of the constant table.
    pub fn tensor(&self, id: ConstId) -> &Tensor {
        &self.constants.as_slice()[id.index()]
    }

    /// The tensor a parameter has when the caller gives none.
    pub fn default_value(&self, id: NodeId) -> Option<&Tensor> {
        let rec = self.node(id);
        (rec.kind == kind::VAR && rec.a != 0).then(|| &self.constants.as_slice()[rec.a as usize - 1])
    }

    // ---- blocks ---------------------------------------------------------------------------------------------------

    /// The block of a function node.
    ///
    /// # Panics
    /// When the node is no function.
    #[inline]
    pub fn block_of(&self, function: NodeId) -> BlockId {
        assert_eq!(self.kind(function), kind::FUNCTION, "{function} is not a function");
        BlockId(self.extra(function))
    }

    /// The record of a block.
    #[inline]
    pub fn block(&self, id: BlockId) -> &BlockRec {
        &self.blocks.as_slice()[id.index()]
    }

    /// The bindings of a block, in order.
    #[inline]
    pub fn bindings(&self, id: BlockId) -> &[NodeId] {
        let rec = self.block(id);
        &self.pool.as_slice()[rec.start as usize..][..rec.len as usize]
    }

    /// The value of a block: a single node, or a tuple that stands in no block.
    #[inline]
    pub fn result(&self, id: BlockId) -> NodeId {
        self.block(id).result
    }

    /// The values of a block, one for each output: the fields of its result where that is a tuple that stands in no
    /// block, else the result alone.
    pub fn results(&self, id: BlockId) -> &[NodeId] {
        let rec = self.block(id);
        let result = rec.result;
        if self.kind(result) == kind::TUPLE && self.node(result).flags & flag::LET == 0 && self.is_result_tuple(result)
        {
            return self.operands(result);
        }
        std::slice::from_ref(&rec.result)
    }

    /// Whether a tuple was made by [`set_results`](Function::set_results).
    fn is_result_tuple(&self, id: NodeId) -> bool {
        let rec = self.node(id);
        rec.kind == kind::TUPLE && rec.aux == 1
    }

    // ---- strings --------------------------------------------------------------------------------------------------

    /// The bytes of a string.
    #[inline]
    pub fn bytes(&self, id: StrId) -> &[u8] {
        let pool = &self.strings.as_slice()[id.index()..];
        let len = node::word(Some(pool)) as usize;
        &pool[4..4 + len]
    }

    /// A string; empty when its bytes are not UTF-8 (only attribute values may be such).
    #[inline]
    pub fn str(&self, id: StrId) -> &str {
        std::str::from_utf8(self.bytes(id)).unwrap_or("")
    }

    /// Adds a string without looking for an equal one: for names, which are all different.
    pub fn add_string(&mut self, bytes: &[u8]) -> StrId {
        if bytes.is_empty() {
            return StrId::EMPTY;
        }
        let id = StrId(next_id(self.strings.len()));
        self.strings.extend_from_slice(&next_id(bytes.len()).to_le_bytes());
        self.strings.extend_from_slice(bytes);
        id
    }

    /// The id of an equal interned string, added when there is none.
    pub fn intern(&mut self, string: &str) -> StrId {
        let hash = Hash64::new().bytes(string.as_bytes()).finish();
        if let Some(id) = self.find_hashed(string, hash) {
            return id;
        }
        let id = self.add_string(string.as_bytes());
        let strings = &self.strings;
        self.string_index.insert(hash, id.0, |id| {
            let pool = &strings.as_slice()[id as usize..];
            let len = node::word(Some(pool)) as usize;
            Hash64::new().bytes(&pool[4..4 + len]).finish()
        });
        id
    }

    /// The id of an equal interned string.
    pub fn find_string(&self, string: &str) -> Option<StrId> {
        self.find_hashed(string, Hash64::new().bytes(string.as_bytes()).finish())
    }

    fn find_hashed(&self, string: &str, hash: u64) -> Option<StrId> {
        self.string_index.find(hash, |id| self.bytes(StrId(id)) == string.as_bytes()).map(StrId)
    }

    // ---- types ----------------------------------------------------------------------------------------------------

    /// The type at an entry of the type table.
    pub fn ty(&self, id: TypeId) -> Type<'_> {
        let rec = self.types.as_slice()[id.index()];
        let dims = || &self.type_dims.as_slice()[rec.a as usize..][..rec.b as usize];
        match rec.kind {
            type_kind::UNKNOWN => Type::Unknown,
            type_kind::TENSOR => Type::Tensor { elem: rec.elem, shape: Some(dims()) },
            type_kind::TENSOR_ANY_RANK => Type::Tensor { elem: rec.elem, shape: None },
            type_kind::SPARSE => Type::SparseTensor { elem: rec.elem, shape: Some(dims()) },
            type_kind::SPARSE_ANY_RANK => Type::SparseTensor { elem: rec.elem, shape: None },
            type_kind::TUPLE => Type::Tuple(self.type_list(rec)),
            type_kind::FUNC => match self.type_list(rec) {
                [result, params @ ..] => Type::Func { params, result: *result },
                [] => Type::Other(rec.kind),
            },
            type_kind::SEQUENCE => Type::Sequence(TypeId(rec.a)),
            type_kind::OPTIONAL => Type::Optional(TypeId(rec.a)),
            type_kind::MAP => Type::Map { key: rec.elem, value: TypeId(rec.a) },
            type_kind::OPAQUE => Type::Opaque { domain: StrId(rec.a), name: StrId(rec.b) },
            other => Type::Other(other),
        }
    }

    /// Type lists are stored in the pool, whose words are ids of another kind.
    fn type_list(&self, rec: TypeRec) -> &[TypeId] {
        let list = &self.type_words.as_slice()[rec.a as usize..][..rec.b as usize];
        crate::boundary::cast::type_ids(list)
    }

    /// The id of a type, added when the function has no equal one. Parts must be ids of this function.
    pub fn add_type(&mut self, ty: Type<'_>) -> TypeId {
        let mut rec = TypeRec { kind: 0, elem: ElemType::UNKNOWN, aux: 0, a: 0, b: 0 };
        let mut dims: &[DimRec] = &[];
        let mut parts: Vec<u32> = Vec::new();
        match ty {
            Type::Unknown => {}
            Type::Tensor { elem, shape } => {
                rec.kind = if shape.is_some() { type_kind::TENSOR } else { type_kind::TENSOR_ANY_RANK };
                rec.elem = elem;
                dims = shape.unwrap_or_default();
            }
            Type::SparseTensor { elem, shape } => {
                rec.kind = if shape.is_some() { type_kind::SPARSE } else { type_kind::SPARSE_ANY_RANK };
                rec.elem = elem;
                dims = shape.unwrap_or_default();
            }
            Type::Tuple(fields) => {
                rec.kind = type_kind::TUPLE;
                parts = fields.iter().map(|id| id.0).collect();
            }
            Type::Func { params, result } => {
                rec.kind = type_kind::FUNC;
                parts = std::iter::once(result).chain(params.iter().copied()).map(|id| id.0).collect();
            }
            Type::Sequence(item) => (rec.kind, rec.a) = (type_kind::SEQUENCE, item.0),
            Type::Optional(item) => (rec.kind, rec.a) = (type_kind::OPTIONAL, item.0),
            Type::Map { key, value } => {
                (rec.kind, rec.elem, rec.a) = (type_kind::MAP, key, value.0);
            }
            Type::Opaque { domain, name } => (rec.kind, rec.a, rec.b) = (type_kind::OPAQUE, domain.0, name.0),
            Type::Other(other) => rec.kind = other,
        }
        let hash = hash_type(rec, dims, &parts);
        let found = self.type_index.find(hash, |id| {
            let (other, other_dims, other_parts) = self.type_parts(id);
            (other.kind, other.elem) == (rec.kind, rec.elem)
                && other_dims == dims
                && other_parts == parts
                && (has_parts(rec.kind) || (other.a, other.b) == (rec.a, rec.b))
        });
        if let Some(id) = found {
            return TypeId(id);
        }
        if has_dims(rec.kind) {
            (rec.a, rec.b) = (next_id(self.type_dims.len()), next_id(dims.len()));
            self.type_dims.extend_from_slice(dims);
        } else if has_parts(rec.kind) {
            (rec.a, rec.b) = (next_id(self.type_words.len()), next_id(parts.len()));
            self.type_words.extend_from_slice(&parts);
        }
        let id = next_id(self.types.len());
        self.types.push(rec);
        let mut index = std::mem::take(&mut self.type_index);
        index.insert(hash, id, |id| {
            let (rec, dims, parts) = self.type_parts(id);
            hash_type(rec, dims, parts)
        });
        self.type_index = index;
        TypeId(id)
    }

    fn type_parts(&self, id: u32) -> (TypeRec, &[DimRec], &[u32]) {
        let rec = self.types.as_slice()[id as usize];
        let range = || rec.a as usize..rec.a as usize + rec.b as usize;
        let dims = if has_dims(rec.kind) { &self.type_dims.as_slice()[range()] } else { &[][..] };
        let parts = if has_parts(rec.kind) && !has_dims(rec.kind) { &self.type_words.as_slice()[range()] } else { &[] };
        (rec, dims, parts)
    }

    /// A dense tensor type.
    pub fn tensor_type(&mut self, elem: ElemType, shape: &[Dim]) -> TypeId {
        let shape: Vec<DimRec> = shape.iter().map(|&dim| dim.into()).collect();
        self.add_type(Type::Tensor { elem, shape: Some(&shape) })
    }

    // ---- operators ------------------------------------------------------------------------------------------------

    /// An entry of the operator table.
    #[inline]
    pub fn op(&self, id: OpId) -> &OpRec {
        &self.ops.as_slice()[id.index()]
    }

    /// All entries of the operator table, by id.
    pub fn ops(&self) -> &[OpRec] {
        self.ops.as_slice()
    }

    /// The operator's entry, added when there is none. `version` is 0 for the operator set that the function imports.
    pub fn add_op(&mut self, domain: &str, name: &str, overload: &str, version: u32) -> OpId {
        let [domain, name, overload] = [domain, name, overload].map(|string| self.intern(string));
        let hash = |op: &OpRec| {
            let names = Hash64::new().word(op.domain.0.into()).word(op.name.0.into()).word(op.overload.0.into());
            names.word(op.version.into()).finish()
        };
        let mut rec = OpRec { domain, name, overload, version, node: NodeId::ABSENT };
        let key = |op: &OpRec| (op.domain, op.name, op.overload, op.version);
        let found = self.op_index.find(hash(&rec), |id| key(&self.ops.as_slice()[id as usize]) == key(&rec));
        if let Some(id) = found {
            return OpId(id);
        }
        let id = next_id(self.ops.len());
        rec.node = self.push_node(NodeRec { kind: kind::OP, flags: 0, aux: 0, a: id, b: 0, c: 0 });
        self.ops.push(rec);
        let ops = &self.ops;
        self.op_index.insert(hash(&rec), id, |id| hash(&ops.as_slice()[id as usize]));
        OpId(id)
    }

    // ---- side tables ----------------------------------------------------------------------------------------------

    /// All side tables.
    pub fn tables(&self) -> &[SideTable] {
        self.tables.as_slice()
    }

    /// A side table by its key.
    pub fn table(&self, key: &str) -> Option<&SideTable> {
        self.tables.iter().find(|table| table.key == key)
    }

    /// A side table by its key, added when there is none.
    pub fn table_mut(&mut self, key: &str, stride: u32, policy: u8) -> &mut SideTable {
        let at = self.tables.iter().position(|table| table.key == key).unwrap_or_else(|| {
            self.tables.push(SideTable::new(key, stride, policy));
            self.tables.len() - 1
        });
        &mut self.tables[at]
    }

    /// The type of a node's value.
    #[inline]
    pub fn type_of(&self, id: NodeId) -> Type<'_> {
        self.ty(self.type_id(id))
    }

    /// The type of a node's value, as an id.
    #[inline]
    pub fn type_id(&self, id: NodeId) -> TypeId {
        TypeId(node::word(self.tables.as_slice()[table::TYPES].get(id)))
    }

    /// Sets the type of a node's value.
    #[inline]
    pub fn set_type(&mut self, id: NodeId, ty: TypeId) {
        self.tables[table::TYPES].get_mut(id).copy_from_slice(&ty.0.to_le_bytes());
    }

    /// A node's name; empty when it has none.
    #[inline]
    pub fn name(&self, id: NodeId) -> &str {
        self.str(self.name_id(id))
    }

    /// A node's name, as an id.
    #[inline]
    pub fn name_id(&self, id: NodeId) -> StrId {
        StrId(node::word(self.tables.as_slice()[table::NAMES].get(id)))
    }

    /// Names a node. Names of bindings and parameters are unique among all that are visible at a place.
    pub fn set_name(&mut self, id: NodeId, name: &str) {
        let name = self.add_string(name.as_bytes());
        self.set_name_id(id, name);
    }

    /// Names a node with a string that the function already has.
    pub fn set_name_id(&mut self, id: NodeId, name: StrId) {
        self.tables[table::NAMES].get_mut(id).copy_from_slice(&name.0.to_le_bytes());
    }

    /// Where a node was read from.
    pub fn span(&self, id: NodeId) -> Option<Span> {
        Span::decode(self.tables.as_slice()[table::SPANS].get(id))
    }

    /// Sets where a node was read from, and that its bytes there still say what it is.
    pub fn set_span(&mut self, id: NodeId, span: Span) {
        self.tables[table::SPANS].get_mut(id).copy_from_slice(&span.encode());
        self.nodes[id.index()].flags |= flag::PRISTINE;
    }

    /// Whether the bytes a node was read from still say what it is.
    #[inline]
    pub fn is_pristine(&self, id: NodeId) -> bool {
        self.node(id).flags & flag::PRISTINE != 0
    }

    /// Forgets what was computed from a node and its attributes: its type, and every other derived table entry.
    pub fn forget_derived(&mut self, id: NodeId) {
        for table in self.tables.iter_mut().filter(|table| table.policy == table_policy::DERIVED) {
            table.clear(id);
        }
    }

    /// Forgets where a node was read from, because it is no longer what stands there.
    pub fn touch(&mut self, id: NodeId) {
        self.nodes[id.index()].flags &= !flag::PRISTINE;
        for table in self.tables.iter_mut().filter(|table| table.policy == table_policy::PROVENANCE) {
            table.clear(id);
        }
    }

    /// Gives `new` what describes the value of `old`: name and every other table entry of that policy.
    pub fn inherit_value(&mut self, new: NodeId, old: NodeId) {
        for table in self.tables.iter_mut().filter(|table| table.policy == table_policy::VALUE) {
            if let Some(entry) = table.get(old).map(<[u8]>::to_vec) {
                table.get_mut(new).copy_from_slice(&entry);
            }
        }
    }

    // ---- building -------------------------------------------------------------------------------------------------

    fn push_node(&mut self, rec: NodeRec) -> NodeId {
        let id = NodeId(next_id(self.nodes.len()));
        self.nodes.push(rec);
        id
    }

    fn push_operands(&mut self, extra: Option<u32>, operands: &[NodeId]) -> (u32, u32) {
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

    /// A parameter, of no function yet.
    pub fn add_var(&mut self, name: &str, ty: TypeId) -> NodeId {
        let id = self.push_node(NodeRec { kind: kind::VAR, flags: 0, aux: 0, a: 0, b: 0, c: 0 });
        self.set_name(id, name);
        self.set_type(id, ty);
        id
    }

    /// The value a parameter has when the caller gives none.
    pub fn set_default_value(&mut self, var: NodeId, value: Tensor) {
        let value = self.add_tensor(value);
        self.nodes[var.index()].a = value.0 + 1;
    }

    /// A module-level function, by name.
    pub fn add_global_var(&mut self, name: &str) -> NodeId {
        let a = self.intern(name).0;
        self.push_node(NodeRec { kind: kind::GLOBAL_VAR, flags: 0, aux: 0, a, b: 0, c: 0 })
    }

    /// An entry of the constant table, which is no node.
    pub fn add_tensor(&mut self, tensor: Tensor) -> ConstId {
        let id = next_id(self.constants.len());
        self.constants.push(tensor);
        ConstId(id)
    }

    /// A constant, typed.
    pub fn add_constant(&mut self, tensor: Tensor, form: ConstForm) -> NodeId {
        let dims: Vec<Dim> = tensor.dims().iter().map(|&dim| Dim::Static(dim)).collect();
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

    /// A copy of a node: kind, operands, attributes, and what the value-describing tables say; no provenance.
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

    /// Replaces operands in place wherever `map` gives another one; returns whether any changed.
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

    /// Sets or clears a bit of a node's flags that is no structure ([`flag::LISTED_INPUT`]).
    pub fn set_listed_input(&mut self, id: NodeId) {
        self.nodes[id.index()].flags |= flag::LISTED_INPUT;
    }

    /// How a binding stands in its block.
    pub fn let_form(&self, id: NodeId) -> LetForm {
        if self.node(id).flags & flag::LET != 0 { LetForm::Let } else { LetForm::Graph }
    }

    // ---- attributes -----------------------------------------------------------------------------------------------

    pub(super) fn attr_list(&self, c: u32) -> &[AttrRec] {
        match c.checked_sub(1) {
            Some(at) => {
                let list = &self.attrs.as_slice()[at as usize..];
                &list[1..1 + list[0].a as usize]
            }
            None => &[],
        }
    }

    /// The attribute records of a node, metadata included.
    #[inline]
    pub fn attr_recs(&self, id: NodeId) -> &[AttrRec] {
        self.attr_list(self.node(id).c)
    }

    pub(super) fn attr_words(&self, rec: AttrRec) -> &[u32] {
        &self.words.as_slice()[rec.a as usize..][..rec.b as usize]
    }

    /// The attributes and metadata of a node, in order.
    pub fn attrs(&self, id: NodeId) -> Attrs<'_> {
        Attrs::new(self, id)
    }

    /// Sets all attributes and metadata of a node and forgets its provenance.
    pub fn set_attrs(&mut self, id: NodeId, attrs: &[Attr]) {
        let recs: Vec<AttrRec> = attrs.iter().map(|attr| self.encode_attr(attr)).collect();
        self.set_attr_recs(id, &recs);
    }

    /// Sets the attribute records of a node. They must come from this function.
    pub fn set_attr_recs(&mut self, id: NodeId, recs: &[AttrRec]) {
        self.touch(id);
        self.nodes[id.index()].c = if recs.is_empty() {
            0
        } else {
            let head = AttrRec { name: StrId::EMPTY, kind: 0, flags: 0, aux: 0, a: next_id(recs.len()), b: 0 };
            self.attrs.push(head);
            let c = next_id(self.attrs.len());
            for rec in recs {
                self.attrs.push(*rec);
            }
            c
        };
    }

    /// Makes an attribute record; the node that takes it must have the functions it names.
    pub fn encode_attr(&mut self, attr: &Attr) -> AttrRec {
        let name = self.intern(&attr.name);
        let (kind, a, b) = match &attr.value {
            AttrData::Float(value) => (attr_kind::FLOAT, value.to_bits(), 0),
            AttrData::Int(value) => (attr_kind::INT, *value as u32, (*value >> 32) as u32),
            AttrData::String(value) => (attr_kind::STRING, self.add_string(value).0, 0),
            AttrData::Tensor(value) => (attr_kind::TENSOR, self.add_tensor(value.clone()).0, 0),
            AttrData::Graph(region) => (attr_kind::GRAPH, *region, 0),
            AttrData::Floats(values) => self.encode_words(attr_kind::FLOATS, values.iter().map(|v| v.to_bits())),
            AttrData::Ints(values) => {
                let words = values.iter().flat_map(|&v| [v as u32, (v >> 32) as u32]);
                let (kind, a, b) = self.encode_words(attr_kind::INTS, words);
                (kind, a, b)
            }
            AttrData::Strings(values) => {
                let ids: Vec<u32> = values.iter().map(|value| self.add_string(value).0).collect();
                self.encode_words(attr_kind::STRINGS, ids)
            }
            AttrData::Tensors(values) => {
                let ids: Vec<u32> = values.iter().map(|value| self.add_tensor(value.clone()).0).collect();
                self.encode_words(attr_kind::TENSORS, ids)
            }
            AttrData::Graphs { first, count } => (attr_kind::GRAPHS, *first, *count),
            AttrData::SparseTensor(value) => (attr_kind::SPARSE_TENSOR, self.add_string(value).0, 0),
            AttrData::SparseTensors(values) => {
                let ids: Vec<u32> = values.iter().map(|value| self.add_string(value).0).collect();
                self.encode_words(attr_kind::SPARSE_TENSORS, ids)
            }
            AttrData::Type(ty) => (attr_kind::TYPE, ty.0, 0),
            AttrData::Types(types) => self.encode_words(attr_kind::TYPES, types.iter().map(|ty| ty.0)),
            AttrData::Ref { name, kind } => (attr_kind::REF, self.intern(name).0, u32::from(*kind)),
            AttrData::Raw(bytes) => (attr_kind::RAW, self.add_string(bytes).0, 0),
        };
        AttrRec { name, kind, flags: attr.flags, aux: 0, a, b }
    }

    fn encode_words(&mut self, kind: u8, values: impl IntoIterator<Item = u32>) -> (u8, u32, u32) {
        let a = next_id(self.words.len());
        for value in values {
            self.words.push(value);
        }
        (kind, a, next_id(self.words.len()) - a)
    }

    // ---- compaction -----------------------------------------------------------------------------------------------

    /// Empties what [`adopt_node`](Self::adopt_node) fills; strings, types and operators stay.
    pub(super) fn start_compaction(&mut self) {
        self.nodes = RVec::new();
        self.pool = RVec::new();
        self.attrs = RVec::new();
        self.words = RVec::new();
        self.blocks = RVec::new();
        self.constants = RVec::new();
    }

    /// Adds a node of `from`, of which this is the copy being compacted, under the next id. `new` gives the new ids,
    /// `tensors` the constants that were taken over.
    pub(super) fn adopt_node(&mut self, from: &Self, old: NodeId, new: &[NodeId], tensors: &mut [Option<u32>]) {
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
            self.attrs.push(AttrRec { name: StrId::EMPTY, kind: 0, flags: 0, aux: 0, a: next_id(recs.len()), b: 0 });
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
            self.constants.push(from.constants[old as usize].clone());
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

    /// Gives blocks, operators and side tables their new ids once every node is there.
    pub(super) fn finish_compaction(&mut self, from: &Self, order: &[NodeId], new: &[NodeId]) {
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

impl Default for Function {
    fn default() -> Self {
        Self::new()
    }
}

/// How a binding stands in its block: numbered or named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LetForm {
    /// A graph binding, `%3 = …`.
    Graph,
    /// A named binding, `let %x = …`.
    Let,
}

#[inline]
const fn is_leaf(kind: u8) -> bool {
    kind <= kind::CONSTANT
}

const fn has_dims(kind: u8) -> bool {
    matches!(kind, type_kind::TENSOR | type_kind::SPARSE)
}

const fn has_parts(kind: u8) -> bool {
    has_dims(kind) || matches!(kind, type_kind::TUPLE | type_kind::FUNC)
}

fn hash_type(rec: TypeRec, dims: &[DimRec], parts: &[u32]) -> u64 {
    let mut hash = Hash64::new().word(u64::from(rec.kind) << 8 | u64::from(rec.elem.0));
    if !has_parts(rec.kind) {
        hash = hash.word(u64::from(rec.a) << 32 | u64::from(rec.b));
    }
    for dim in dims {
        hash = hash.word(dim.0 as u64);
    }
    for &part in parts {
        hash = hash.word(part.into());
    }
    hash.word((dims.len() + parts.len()) as u64).finish()
}

impl From<Function> for RArc<Function> {
    fn from(function: Function) -> Self {
        Self::new(function)
    }
}
