//! The numbers of the ship format, and its records.

use crate::{AttrRec, BlockRec, DimRec, ElemType, NodeId, NodeRec, OpRec, StrId, TypeRec};

/// The first bytes of everything that is shipped.
pub const MAGIC: [u8; 8] = *b"\x89RelShip";

/// The format described here.
pub const FORMAT: u32 = 1;

/// Where a list may start: at a multiple of this.
pub const ALIGNMENT: usize = 64;

/// The kinds of content. Append-only.
pub mod shipped {
    /// A function or a loop program.
    pub const FUNCTION: u32 = 0;
    /// A module.
    pub const MODULE: u32 = 1;
}

/// The lists. Append-only: a number never changes its meaning.
pub mod ship_list {
    /// The bit of a list without which the others would be misunderstood: a reader that does not know it fails.
    pub const CRITICAL: u32 = 1 << 31;
    /// The nodes of a function: `NodeRec`.
    pub const NODES: u32 = 1;
    /// Operands, the words before them, and bindings of blocks: node ids.
    pub const POOL: u32 = 2;
    /// Attributes: `AttrRec`.
    pub const ATTRS: u32 = 3;
    /// Values of attributes that do not fit their records: words of 32 bits.
    pub const WORDS: u32 = 4;
    /// Blocks: `BlockRec`, with `room` as `len`; it is not read.
    pub const BLOCKS: u32 = 5;
    /// Operators: `OpRec`.
    pub const OPS: u32 = 6;
    /// Types: `TypeRec`. No two are equal.
    pub const TYPES: u32 = 7;
    /// Parts of types: type ids.
    pub const TYPE_WORDS: u32 = 8;
    /// Dimensions of types: `DimRec`.
    pub const TYPE_DIMS: u32 = 9;
    /// Strings: four bytes of length, then the bytes. The empty one is first.
    pub const STRINGS: u32 = 10;
    /// Tensors: element type, form of storage (1 byte each), two zeros, rank, first dimension in `SIZES`, four zeros (4
    /// each), the place of the elements, and that of the encoded tensor.
    pub const TENSORS: u32 = 11;
    /// Dimensions of tensors: 64 bits each.
    pub const SIZES: u32 = 12;
    /// The bytes of places that are in what is shipped.
    pub const DATA: u32 = 13;
    /// A side table, one entry for each table: its key, its policy, and as many bytes for each node as the entry says. The
    /// first three are `types`, `names` and `spans`.
    pub const TABLE: u32 = 14;
    /// A side list, one entry for each list: its key, its policy, and its elements.
    pub const LIST: u32 = 15;
    /// The keys of entries.
    pub const KEYS: u32 = 16;
    /// The reserved words, if one is not zero.
    pub const RESERVED: u32 = 17;
    /// A global of a module, one entry for each, in order: its name, its kind, and its body, a shipped function.
    pub const GLOBAL: u32 = 18;
    /// An attribute of a module, one entry for each, in order: its name, its kind, an integer of 64 bits, a number of tensors
    /// (4 bytes), that many entries of `TENSORS` (4 bytes each), and the bytes of its value.
    pub const ATTRIBUTE: u32 = 19;
    /// A file that a module was read from, one entry for each, in order: its name, and the place of its bytes.
    pub const SOURCE: u32 = 20;
}

/// The number in a place of bytes that are in the list `DATA`; others count the shared bytes.
pub const HERE: u32 = u32::MAX;

/// Where bytes are: what they are in (4 bytes), four zeros, the first byte and their number (8 bytes each).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The number of the shared bytes, or [`HERE`].
    pub of: u32,
    /// The first byte.
    pub start: u64,
    /// The number of bytes.
    pub len: u64,
}

/// A tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TensorRec {
    /// The element type.
    pub elem: u8,
    /// How the elements are stored.
    pub storage: u8,
    /// Zero.
    pub zero: u16,
    /// The number of dimensions.
    pub rank: u32,
    /// The first of them.
    pub dims: u32,
    /// Zero.
    pub pad: u32,
    /// The elements.
    pub data: Place,
    /// The `TensorProto` that it was read from.
    pub encoded: Place,
}

/// An element of a list.
pub trait Record: Sized {
    /// Its bytes.
    const SIZE: usize;
    /// Appends them.
    fn put(&self, out: &mut Vec<u8>);
    /// Reads it from as many bytes.
    fn get(bytes: &[u8]) -> Self;
}

macro_rules! number {
    ($($number:ty),*) => {$(
        impl Record for $number {
            const SIZE: usize = size_of::<$number>();

            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn get(bytes: &[u8]) -> Self {
                let mut number = [0; Self::SIZE];
                number.copy_from_slice(bytes);
                Self::from_le_bytes(number)
            }
        }
    )*};
}

number!(u8, u16, u32, u64, i64);

/// Reads a field, and goes on to the next one.
#[inline]
fn take<R: Record>(rest: &mut &[u8]) -> R {
    let (field, after) = rest.split_at(R::SIZE);
    *rest = after;
    R::get(field)
}

macro_rules! record {
    ($name:ident { $($field:tt: $ty:ty),* $(,)? } $(then $zeros:literal)?) => {
        impl Record for $name {
            const SIZE: usize = 0 $(+ <$ty as Record>::SIZE)* $(+ $zeros)?;

            #[inline]
            fn put(&self, out: &mut Vec<u8>) {
                $(self.$field.put(out);)*
                $(out.extend_from_slice(&[0; $zeros]);)?
            }

            #[inline]
            fn get(mut bytes: &[u8]) -> Self {
                let rest = &mut bytes;
                Self { $($field: take::<$ty>(rest)),* }
            }
        }
    };
}

record!(NodeId { 0: u32 });
record!(StrId { 0: u32 });
record!(ElemType { 0: u8 });
record!(DimRec { 0: i64 });
record!(NodeRec { kind: u8, flags: u8, aux: u16, a: u32, b: u32, c: u32 });
record!(AttrRec { name: StrId, kind: u8, flags: u8, aux: u16, a: u32, b: u32 });
record!(BlockRec { start: u32, len: u32, room: u32, result: NodeId, owner: NodeId });
record!(OpRec { domain: StrId, name: StrId, overload: StrId, version: u32, node: NodeId });
record!(TypeRec { kind: u8, elem: ElemType, aux: u16, a: u32, b: u32 });
record!(TensorRec { elem: u8, storage: u8, zero: u16, rank: u32, dims: u32, pad: u32, data: Place, encoded: Place });

impl Record for Place {
    const SIZE: usize = 24;

    fn put(&self, out: &mut Vec<u8>) {
        self.of.put(out);
        0u32.put(out);
        self.start.put(out);
        self.len.put(out);
    }

    fn get(mut bytes: &[u8]) -> Self {
        let rest = &mut bytes;
        let (of, _zero) = (take(rest), take::<u32>(rest));
        Self { of, start: take(rest), len: take(rest) }
    }
}

/// An entry of the directory, with the key that it points at.
#[derive(Clone, Copy)]
pub struct Entry {
    /// One of [`ship_list`].
    pub list: u32,
    /// Bytes of an element.
    pub size: u32,
    /// Where the list starts.
    pub offset: u64,
    /// Its bytes.
    pub len: u64,
    /// Where its key starts in `KEYS`.
    pub key: u32,
    /// The bytes of the key.
    pub key_len: u32,
    /// The policy of a table or list, the kind of a global or attribute.
    pub kind: u32,
}

record!(Entry { list: u32, size: u32, offset: u64, len: u64, key: u32, key_len: u32, kind: u32 } then 4);

/// The header, which precedes the directory.
pub struct Header {
    /// [`MAGIC`].
    pub magic: u64,
    /// [`FORMAT`].
    pub format: u32,
    /// One of [`shipped`].
    pub kind: u32,
    /// All bytes, these included.
    pub len: u64,
    /// The number of entries.
    pub n_lists: u32,
    /// The function node of a function.
    pub root: NodeId,
}

record!(Header { magic: u64, format: u32, kind: u32, len: u64, n_lists: u32, root: NodeId } then 32);

/// The bytes of records, one after another.
pub fn put_all<R: Record>(records: &[R]) -> Vec<u8> {
    let mut out = Vec::with_capacity(records.len() * R::SIZE);
    for record in records {
        record.put(&mut out);
    }
    out
}

/// The records of bytes, of which there are a multiple of a record's.
pub fn get_all<R: Record>(bytes: &[u8]) -> Vec<R> {
    bytes.chunks_exact(R::SIZE).map(R::get).collect()
}
