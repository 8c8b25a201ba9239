//! A global function: one arena that owns its nodes, those of nested functions included.

mod attributes;
mod build;
mod changes;
mod compact;
mod constants;
mod operators;
mod raw;
mod strings;
mod tables;
#[cfg(test)]
mod tests;
pub(crate) mod types;

pub use changes::Changes;
pub(super) use changes::Stated;
pub(super) use raw::{FunctionLists, Parts};

use super::{
    node::{self, attr_kind, flag, is_leaf, kind, list_policy, table, table_policy},
    *,
};
use abi_stable::{
    StableAbi,
    std_types::{RArc, RVec},
};
use constants::ConstantTable;

/// A graph function: parameters, a block of bindings, a result, and everything nested in it, in flat pools.
///
/// Cloning is a handful of memory copies. Nodes that are no longer referenced stay until
/// [`compacted`](Function::compacted). Building methods (`add_…`) make nodes that are not in a block yet; a binding is
/// placed in a block with [`append`](Function::append), or by an [`Editor`].
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
    constants: ConstantTable,
    /// Strings: four little-endian bytes of length, then the bytes.
    strings: RVec<u8>,
    tables: RVec<SideTable>,
    lists: RVec<SideList>,
    string_index: InternTable,
    type_index: InternTable,
    op_index: InternTable,
    root: NodeId,
    /// Zero; carried along.
    reserved: [u64; 8],
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
    pub const LAYOUT_HASH: u64 = crate::__layout_hash!(Function {
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
        lists,
        string_index,
        type_index,
        op_index,
        root,
        reserved
    }) ^ ConstantTable::LAYOUT_HASH;

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
            constants: ConstantTable::default(),
            strings: vec![0; 4].into(),
            tables: RVec::new(),
            lists: RVec::new(),
            string_index: InternTable::default(),
            type_index: InternTable::default(),
            op_index: InternTable::default(),
            root: NodeId::ABSENT,
            reserved: [0; 8],
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

    /// The number of nodes in the arena, including dead ones: every node id is below it.
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

    /// Returns the number of results of a call or an `If` as a tuple; `None` if it has one result that is not a tuple.
    #[inline]
    pub fn n_results(&self, id: NodeId) -> Option<usize> {
        let rec = self.node(id);
        (matches!(rec.kind, kind::CALL | kind::IF) && rec.aux != 0).then_some(rec.aux as usize)
    }

    /// The tensor of a constant node; `None` if its elements are stored in a form of a later version, so that their
    /// values are unknown.
    #[inline]
    pub fn constant(&self, id: NodeId) -> Option<&Tensor> {
        self.stored_constant(id).filter(|tensor| tensor.opaque_form().is_none())
    }

    /// The tensor of a constant node, whether its elements can be read or not.
    #[inline]
    pub fn stored_constant(&self, id: NodeId) -> Option<&Tensor> {
        let rec = self.node(id);
        (rec.kind == kind::CONSTANT).then(|| self.constants.get(rec.a))
    }

    /// The tensor at an entry of the constant table.
    pub fn tensor(&self, id: ConstId) -> &Tensor {
        self.constants.get(id.0)
    }

    /// Returns the tensor of a parameter if the caller passes none.
    pub fn default_value(&self, id: NodeId) -> Option<&Tensor> {
        let rec = self.node(id);
        (rec.kind == kind::VAR && rec.a != 0).then(|| self.constants.get(rec.a - 1))
    }

    // ---- blocks ---------------------------------------------------------------------------------------------------

    /// The block of a function node.
    ///
    /// # Panics
    /// Panics if the node is not a function.
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

    /// Returns the value of a block: a single node, or a tuple that is not bound in any block.
    #[inline]
    pub fn result(&self, id: BlockId) -> NodeId {
        self.block(id).result
    }

    /// Returns the values of a block, one for each output: the fields of its result if that is a tuple that is not
    /// bound in any block, otherwise the result alone.
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
}

impl Default for Function {
    fn default() -> Self {
        Self::new()
    }
}

/// The form of a binding: numbered or named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LetForm {
    /// A graph binding, `%3 = …`.
    Graph,
    /// A named binding, `let %x = …`.
    Let,
}

impl From<Function> for RArc<Function> {
    fn from(function: Function) -> Self {
        Self::new(function)
    }
}
