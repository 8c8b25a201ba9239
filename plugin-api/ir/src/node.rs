//! How a node is stored.

use super::{NodeId, StrId, TypeId};
use abi_stable::{
    StableAbi,
    std_types::{RString, RVec},
};

/// The kinds of node. Append-only: a number never changes its meaning.
pub mod kind {
    /// The absent operand; only node 0.
    pub const ABSENT: u8 = 0;
    /// A parameter. `a` is its default value's constant plus one, or 0.
    pub const VAR: u8 = 1;
    /// A module-level function, by name. `a` is the name.
    pub const GLOBAL_VAR: u8 = 2;
    /// An operator. `a` is its entry in the function's operator table.
    pub const OP: u8 = 3;
    /// A constant. `a` is its entry in the constant table; `aux` is its [`ConstForm`](super::ConstForm).
    pub const CONSTANT: u8 = 4;
    /// A tuple of its operands.
    pub const TUPLE: u8 = 5;
    /// Item `aux` of its one operand.
    pub const TUPLE_GET_ITEM: u8 = 6;
    /// A call: the callee, then the arguments, then the functions of graph-valued attributes. `aux` is the number
    /// of results; 0 is one result that is not a tuple.
    pub const CALL: u8 = 7;
    /// A condition, then the functions of the two branches. `aux` as for a call.
    pub const IF: u8 = 8;
    /// A function: its operands are its parameters.
    pub const FUNCTION: u8 = 9;
    /// The first number without a meaning here.
    pub const N_KINDS: u8 = 10;
    /// Kinds from here on are leaves, whether they have a meaning here or not: they have no operands, `aux`, `a` and `b`
    /// are plain numbers and never ids, and they are bound in no block.
    pub const FIRST_LEAF: u8 = 128;
    /// A number of a loop program: `aux` is its element type, `a` the low and `b` the high half of its bits.
    pub const IMM: u8 = 128;
}

/// Whether nodes of a kind have no operands.
#[inline]
pub(crate) const fn is_leaf(kind: u8) -> bool {
    kind <= kind::CONSTANT || kind >= kind::FIRST_LEAF
}

/// The bits of [`NodeRec::flags`].
pub mod flag {
    /// A named binding (`let %x = …`).
    pub const LET: u8 = 1;
    /// The word before the operands holds the number of operands at the end that are functions (calls, `If`), or the
    /// block (functions).
    pub const EXTRA: u8 = 2;
    /// An initializer that is also listed as a graph input (ONNX up to IR version 3).
    pub const LISTED_INPUT: u8 = 4;
    /// The bytes this node was read from still describe it: no pass touched it.
    pub const PRISTINE: u8 = 8;
}

/// One node, 16 bytes. It contains no `bool` and no enum: an unknown value must not be undefined behaviour.
///
/// For every kind, `pool[a..a + b]` are the operands (leaves have none and use `a` for their contents), and `c` is the
/// node's attribute list.
#[repr(C)]
#[derive(StableAbi, Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeRec {
    /// One of [`kind`].
    pub kind: u8,
    /// Bits of [`flag`].
    pub flags: u8,
    /// By kind.
    pub aux: u16,
    /// First operand, or the contents of a leaf.
    pub a: u32,
    /// Number of operands.
    pub b: u32,
    /// Attribute list: `attrs[c - 1]` counts the records that follow it; 0 is none.
    pub c: u32,
}

/// The form of a constant in an ONNX graph. Append-only.
#[repr(transparent)]
#[derive(StableAbi, Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct ConstForm(pub u16);

impl ConstForm {
    /// Made by a pass: the writer chooses the form.
    pub const ANY: Self = Self(0);
    /// An entry of the graph's `initializer` list.
    pub const INITIALIZER: Self = Self(1);
    /// A `Constant` node with attribute `value`.
    pub const VALUE: Self = Self(2);
    /// A `Constant` node with attribute `value_float`.
    pub const VALUE_FLOAT: Self = Self(3);
    /// A `Constant` node with attribute `value_floats`.
    pub const VALUE_FLOATS: Self = Self(4);
    /// A `Constant` node with attribute `value_int`.
    pub const VALUE_INT: Self = Self(5);
    /// A `Constant` node with attribute `value_ints`.
    pub const VALUE_INTS: Self = Self(6);
    /// A `Constant` node with attribute `value_string`.
    pub const VALUE_STRING: Self = Self(7);
    /// A `Constant` node with attribute `value_strings`.
    pub const VALUE_STRINGS: Self = Self(8);
}

/// One attribute, 16 bytes. The meaning of `a` and `b` depends on the kind.
#[repr(C)]
#[derive(StableAbi, Clone, Copy, PartialEq, Eq, Debug)]
pub struct AttrRec {
    /// Name.
    pub name: StrId,
    /// One of [`attr_kind`].
    pub kind: u8,
    /// Bits of [`attr_flag`].
    pub flags: u8,
    /// Zero; for later use.
    pub aux: u16,
    /// By kind: the value, or where it starts.
    pub a: u32,
    /// By kind: the value's other half, or how many there are.
    pub b: u32,
}

/// The kinds of attribute, numbered as ONNX's `AttributeProto.AttributeType` where that has one. Append-only.
pub mod attr_kind {
    /// No attribute: the record before a node's attributes, which counts them in `a`, and one whose value is still to come.
    pub const NONE: u8 = 0;
    /// A 32-bit float: its bits are `a`.
    pub const FLOAT: u8 = 1;
    /// A 64-bit integer: `a` is the low half.
    pub const INT: u8 = 2;
    /// A byte string `a`.
    pub const STRING: u8 = 3;
    /// The tensor at `a` of the constant table.
    pub const TENSOR: u8 = 4;
    /// The function at operand `a`, counted from the first of the node's function operands.
    pub const GRAPH: u8 = 5;
    /// `b` floats from word `a` of the attribute words.
    pub const FLOATS: u8 = 6;
    /// `b` integers from word `a` of the attribute words.
    pub const INTS: u8 = 7;
    /// `b` strings, their ids from word `a`.
    pub const STRINGS: u8 = 8;
    /// `b` tensors, their constant ids from word `a`.
    pub const TENSORS: u8 = 9;
    /// `b` functions from operand `a`, counted from the first of the node's function operands.
    pub const GRAPHS: u8 = 10;
    /// A sparse tensor, kept as the encoded `SparseTensorProto` in string `a`.
    pub const SPARSE_TENSOR: u8 = 11;
    /// `b` encoded sparse tensors, their string ids from word `a`.
    pub const SPARSE_TENSORS: u8 = 12;
    /// The type `a`.
    pub const TYPE: u8 = 13;
    /// `b` types, their ids from word `a`.
    pub const TYPES: u8 = 14;
    /// A reference to attribute `a` of the enclosing function; `b` is the attribute kind it stands for.
    pub const REF: u8 = 32;
    /// Bytes `a` of a kind that only the reader knows.
    pub const RAW: u8 = 33;

    /// Returns the name of a kind.
    pub const fn name(kind: u8) -> &'static str {
        match kind {
            FLOAT => "float",
            INT => "int",
            STRING => "string",
            TENSOR => "tensor",
            GRAPH => "graph",
            FLOATS => "floats",
            INTS => "ints",
            STRINGS => "strings",
            TENSORS => "tensors",
            GRAPHS => "graphs",
            SPARSE_TENSOR => "sparse tensor",
            SPARSE_TENSORS => "sparse tensors",
            TYPE => "type",
            TYPES => "types",
            REF => "reference",
            _ => "unknown",
        }
    }
}

/// The bits of [`AttrRec::flags`].
pub mod attr_flag {
    /// Metadata about the node (its name, documentation, …), not an attribute of the operator: nothing that computes
    /// with the node reads it, and two nodes that differ only in it compute the same.
    pub const META: u8 = 1;
    /// The file did not state the attribute's type.
    pub const UNTYPED: u8 = 2;
}

/// An operator that a function uses.
#[repr(C)]
#[derive(StableAbi, Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpRec {
    /// Domain, as written; empty and `ai.onnx` are the same domain.
    pub domain: StrId,
    /// Name.
    pub name: StrId,
    /// ONNX's overload of a function; usually empty.
    pub overload: StrId,
    /// The operator-set version a call was written for, where that is not the one its function imports; else 0.
    pub version: u32,
    /// The `Op` node.
    pub node: NodeId,
}

/// A block: `pool[start..start + len]` are its bindings, in order.
#[repr(C)]
#[derive(StableAbi, Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockRec {
    /// First binding.
    pub start: u32,
    /// Number of bindings.
    pub len: u32,
    /// Number of bindings that there is room for at `start`.
    pub room: u32,
    /// The value of the block.
    pub result: NodeId,
    /// The function node whose block this is.
    pub owner: NodeId,
}

/// Where a node was read from: bytes `offset..offset + len` of source `source - 1` of the module; `source` 0 is
/// nowhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Span {
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub len: u32,
    /// The module's source, counted from 1; 0 is none.
    pub source: u32,
}

/// The treatment of a side table's entry when its node changes or is replaced.
pub mod table_policy {
    /// The entry describes the value: a replacement takes it over, an edit keeps it.
    pub const VALUE: u8 = 0;
    /// The entry describes where the node came from: an edit clears it.
    pub const PROVENANCE: u8 = 1;
    /// The entry was computed from the node: an edit clears it, and it can be computed again.
    pub const DERIVED: u8 = 2;
}

/// Data beside the nodes: `stride` bytes for each node, all zero if there is no entry. Tables are copied, cleared and
/// remapped by stride and policy alone, so a version that does not know a table carries it along.
#[repr(C)]
#[derive(StableAbi, Clone)]
pub struct SideTable {
    /// The purpose of the table.
    pub key: RString,
    /// Bytes for each node.
    pub stride: u32,
    /// One of [`table_policy`].
    pub policy: u8,
    /// May be shorter than the number of nodes requires: the rest is zero.
    pub bytes: RVec<u8>,
}

impl SideTable {
    /// An empty table.
    pub fn new(key: &str, stride: u32, policy: u8) -> Self {
        Self { key: key.into(), stride, policy, bytes: RVec::new() }
    }

    /// The entry of `node`, if one was ever set at or after it.
    #[inline]
    pub fn get(&self, node: NodeId) -> Option<&[u8]> {
        let stride = self.stride as usize;
        let at = node.index() * stride;
        self.bytes.as_slice().get(at..at + stride)
    }

    /// The entry of `node`, to be written.
    #[inline]
    pub fn get_mut(&mut self, node: NodeId) -> &mut [u8] {
        let stride = self.stride as usize;
        let at = node.index() * stride;
        if self.bytes.len() < at + stride {
            // Entries for some nodes at once; the vector doubles its room by itself.
            self.bytes.resize((at + stride).next_multiple_of(64 * stride), 0);
        }
        &mut self.bytes.as_mut_slice()[at..at + stride]
    }

    /// Gives a node the entry of another one, if that has one.
    pub(crate) fn copy(&mut self, from: NodeId, to: NodeId) {
        let stride = self.stride as usize;
        let at = from.index() * stride;
        if self.get(from).is_some() {
            self.get_mut(to);
            self.bytes.as_mut_slice().copy_within(at..at + stride, to.index() * stride);
        }
    }

    /// Clears the entry of `node`.
    #[inline]
    pub fn clear(&mut self, node: NodeId) {
        let stride = self.stride as usize;
        let at = node.index() * stride;
        if let Some(entry) = self.bytes.as_mut_slice().get_mut(at..at + stride) {
            entry.fill(0);
        }
    }
}

/// The treatment of a list when its function changes. One that is not known here is emptied when nodes are renumbered.
pub mod list_policy {
    /// The elements contain no node: they are kept.
    pub const KEPT: u8 = 0;
    /// Each element begins with a node, as a little-endian 32-bit id, which is renumbered; it becomes the absent node
    /// when its node is removed. Elements keep their places.
    pub const NODES: u8 = 1;
    /// The list was computed from the function: it is emptied when a node changes, and can be computed again.
    pub const DERIVED: u8 = 2;
}

/// Data of a function or module that is not one entry for each node: scopes, regions, alias sets. Entries of a
/// [`SideTable`] may refer to elements by their places. A version that does not know a list carries it along.
#[repr(C)]
#[derive(StableAbi, Clone, PartialEq, Eq, Debug)]
pub struct SideList {
    /// The purpose of the list.
    pub key: RString,
    /// Bytes of each element.
    pub size: u32,
    /// One of [`list_policy`].
    pub policy: u8,
    /// The elements.
    pub bytes: RVec<u8>,
}

impl SideList {
    /// An empty list.
    pub fn new(key: &str, size: u32, policy: u8) -> Self {
        Self { key: key.into(), size, policy, bytes: RVec::new() }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.bytes.len().checked_div(self.size as usize).unwrap_or(0)
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An element.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let size = self.size as usize;
        let start = index.checked_mul(size)?;
        self.bytes.as_slice().get(start..start.checked_add(size)?)
    }

    /// Adds an element at the end, and returns its place.
    ///
    /// # Panics
    /// Panics if the element does not have the list's size.
    pub fn push(&mut self, element: &[u8]) -> usize {
        assert!(element.len() == self.size as usize, "an element of `{}` has {} bytes", self.key, self.size);
        self.bytes.extend_from_slice(element);
        self.len() - 1
    }

    /// Gives the elements' nodes their new ids; a node without one is removed.
    pub(super) fn renumber(&mut self, ids: impl Fn(NodeId) -> NodeId) {
        match self.policy {
            list_policy::KEPT => {}
            list_policy::NODES => {
                for element in self.bytes.as_mut_slice().chunks_exact_mut(self.size.max(4) as usize) {
                    let id = ids(NodeId(word(Some(element))));
                    element[..4].copy_from_slice(&id.0.to_le_bytes());
                }
            }
            _ => self.bytes.clear(),
        }
    }
}

/// A 32-bit word at the start of a table entry.
#[inline]
pub(super) fn word(entry: Option<&[u8]>) -> u32 {
    match entry.and_then(|bytes| bytes.first_chunk::<4>()) {
        Some(bytes) => u32::from_le_bytes(*bytes),
        None => 0,
    }
}

impl Span {
    /// The number of bytes of its encoding in a side table.
    pub const STRIDE: u32 = 16;

    /// The encoding in a side table.
    pub fn encode(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.offset.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.len.to_le_bytes());
        bytes[12..].copy_from_slice(&self.source.to_le_bytes());
        bytes
    }

    /// The span of an encoding; `None` when there is none or it names no source.
    #[inline]
    pub fn decode(bytes: Option<&[u8]>) -> Option<Self> {
        let bytes: [u8; 16] = bytes?.try_into().ok()?;
        let (offset, rest) = bytes.split_first_chunk::<8>()?;
        let (len, source) = rest.split_first_chunk::<4>()?;
        let span =
            Self { offset: u64::from_le_bytes(*offset), len: u32::from_le_bytes(*len), source: word(Some(source)) };
        (span.source != 0).then_some(span)
    }
}

/// A type of a function's operand: the positions of the three well-known tables.
pub(super) mod table {
    pub const TYPES: usize = 0;
    pub const NAMES: usize = 1;
    pub const SPANS: usize = 2;
}

const _: () = assert!(size_of::<NodeRec>() == 16 && size_of::<AttrRec>() == 16 && size_of::<TypeId>() == 4);
