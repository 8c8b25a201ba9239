//! Writing what is shipped.

use super::layout::*;
use crate::{Blob, BlockRec, Function, IRModule, SideList, Tensor};
use std::collections::HashMap;

/// The bytes that are not copied, each once.
#[derive(Default)]
pub struct SharedBytes {
    all: Vec<Blob>,
    known: HashMap<usize, u32>,
}

impl SharedBytes {
    /// The place of bytes: those that their blob itself holds are copied to `data`.
    fn place(&mut self, blob: &Blob, data: &mut Vec<u8>) -> Place {
        let len = blob.len() as u64;
        let Some((key, whole)) = blob.whole() else {
            let start = data.len() as u64;
            data.extend_from_slice(blob);
            data.resize(data.len().next_multiple_of(8), 0);
            return Place { of: HERE, start, len };
        };
        let all = &mut self.all;
        let of = *self.known.entry(key).or_insert_with(|| {
            all.push(whole);
            (all.len() - 1) as u32
        });
        Place { of, start: blob.start(), len }
    }

    /// Adds bytes that come from the other side.
    pub fn add(&mut self, blob: Blob) {
        if let Some((key, _)) = blob.whole() {
            self.known.insert(key, self.all.len() as u32);
        }
        self.all.push(blob);
    }

    /// The bytes, by number.
    pub fn all(&self) -> &[Blob] {
        &self.all
    }

    /// Returns them, by number.
    pub fn into_vec(self) -> Vec<Blob> {
        self.all
    }
}

/// Tensors as they are shipped.
#[derive(Default)]
struct Tensors {
    recs: Vec<TensorRec>,
    sizes: Vec<u64>,
    data: Vec<u8>,
}

impl Tensors {
    fn push(&mut self, tensor: &Tensor, shared: &mut SharedBytes) {
        let (storage, data) = tensor.stored();
        let rec = TensorRec {
            elem: tensor.elem().0,
            storage,
            zero: 0,
            rank: tensor.dims().len() as u32,
            dims: self.sizes.len() as u32,
            pad: 0,
            data: shared.place(data, &mut self.data),
            encoded: shared.place(tensor.encoded(), &mut self.data),
        };
        self.sizes.extend_from_slice(tensor.dims());
        self.recs.push(rec);
    }

    fn write(self, lists: &mut Lists) {
        lists.records(ship_list::TENSORS, &self.recs);
        lists.records(ship_list::SIZES, &self.sizes);
        lists.add(ship_list::DATA, 1, &self.data);
    }
}

/// The lists of what is shipped, which are written together.
#[derive(Default)]
struct Lists {
    entries: Vec<Entry>,
    keys: Vec<u8>,
    /// The lists; offsets of entries are within it until the header is written.
    bytes: Vec<u8>,
}

impl Lists {
    fn add(&mut self, list: u32, size: usize, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.keyed(list, size as u32, bytes, "", 0);
        }
    }

    fn records<R: Record>(&mut self, list: u32, records: &[R]) {
        self.add(list, R::SIZE, &put_all(records));
    }

    fn keyed(&mut self, list: u32, size: u32, bytes: &[u8], key: &str, kind: u8) {
        self.bytes.resize(self.bytes.len().next_multiple_of(ALIGNMENT), 0);
        let (offset, len) = (self.bytes.len() as u64, bytes.len() as u64);
        let (at, key_len) = (self.keys.len() as u32, key.len() as u32);
        self.bytes.extend_from_slice(bytes);
        self.keys.extend_from_slice(key.as_bytes());
        self.entries.push(Entry { list, size, offset, len, key: at, key_len, kind: kind.into() });
    }

    fn side_lists(&mut self, lists: &[SideList]) {
        for list in lists {
            self.keyed(ship_list::LIST, list.size, &list.bytes, &list.key, list.policy);
        }
    }

    fn reserved(&mut self, words: &[u64]) {
        if words.iter().any(|&word| word != 0) {
            self.records(ship_list::RESERVED, words);
        }
    }

    fn finish(mut self, kind: u32, root: crate::NodeId) -> Vec<u8> {
        let keys = std::mem::take(&mut self.keys);
        self.add(ship_list::KEYS, 1, &keys);
        let first = (Header::SIZE + self.entries.len() * Entry::SIZE).next_multiple_of(ALIGNMENT);
        let len = first + self.bytes.len();
        let n_lists = self.entries.len() as u32;
        let mut out = Vec::with_capacity(len);
        Header { magic: u64::from_le_bytes(MAGIC), format: FORMAT, kind, len: len as u64, n_lists, root }.put(&mut out);
        for entry in &self.entries {
            Entry { offset: entry.offset + first as u64, ..*entry }.put(&mut out);
        }
        out.resize(first, 0);
        out.extend_from_slice(&self.bytes);
        out
    }
}

/// Writes a function; its constants come first among the shared bytes.
pub fn function(f: &Function, shared: &mut SharedBytes) -> Vec<u8> {
    let parts = f.parts();
    let mut lists = Lists::default();
    let mut tensors = Tensors::default();
    for id in 0..parts.n_constants {
        tensors.push(f.tensor(crate::ConstId(id as u32)), shared);
    }
    lists.records(ship_list::NODES, parts.nodes);
    lists.records(ship_list::POOL, parts.pool);
    lists.records(ship_list::ATTRS, parts.attrs);
    lists.records(ship_list::WORDS, parts.words);
    let blocks: Vec<BlockRec> = parts.blocks.iter().map(|block| BlockRec { room: block.len, ..*block }).collect();
    lists.records(ship_list::BLOCKS, &blocks);
    lists.records(ship_list::OPS, parts.ops);
    lists.records(ship_list::TYPES, parts.types);
    lists.records(ship_list::TYPE_WORDS, parts.type_words);
    lists.records(ship_list::TYPE_DIMS, parts.type_dims);
    lists.add(ship_list::STRINGS, 1, parts.strings);
    tensors.write(&mut lists);
    for table in parts.tables {
        let len = table.bytes.len().min(parts.nodes.len() * table.stride as usize);
        lists.keyed(ship_list::TABLE, table.stride, &table.bytes[..len], &table.key, table.policy);
    }
    lists.side_lists(parts.lists);
    lists.reserved(parts.reserved);
    lists.finish(shipped::FUNCTION, parts.root)
}

/// Writes a module.
pub fn module(module: &IRModule, shared: &mut SharedBytes) -> Vec<u8> {
    let mut lists = Lists::default();
    let mut tensors = Tensors::default();
    for global in module.globals() {
        lists.keyed(ship_list::GLOBAL, 1, &function(global.body(), shared), &global.name, global.kind);
    }
    for attr in &module.attrs {
        let (kind, int, value, of_attr) = attr.stored();
        let mut bytes = Vec::new();
        int.put(&mut bytes);
        (of_attr.len() as u32).put(&mut bytes);
        for tensor in of_attr {
            (tensors.recs.len() as u32).put(&mut bytes);
            tensors.push(tensor, shared);
        }
        bytes.extend_from_slice(value);
        lists.keyed(ship_list::ATTRIBUTE, 1, &bytes, &attr.name, kind);
    }
    for source in &module.sources {
        let place = shared.place(&source.bytes, &mut tensors.data);
        lists.keyed(ship_list::SOURCE, Place::SIZE as u32, &put_all(&[place]), &source.name, 0);
    }
    tensors.write(&mut lists);
    lists.side_lists(&module.lists);
    lists.reserved(module.reserved());
    lists.finish(shipped::MODULE, crate::NodeId::ABSENT)
}
