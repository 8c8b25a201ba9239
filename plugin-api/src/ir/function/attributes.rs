//! Giving attributes to nodes.

use super::*;

impl Function {
    #[inline]
    pub(in crate::ir) fn attr_list(&self, c: u32) -> &[AttrRec] {
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

    pub(in crate::ir) fn attr_words(&self, rec: AttrRec) -> &[u32] {
        &self.words.as_slice()[rec.a as usize..][..rec.b as usize]
    }

    /// The attributes and metadata of a node, in order.
    #[inline]
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
            let head =
                AttrRec { name: StrId::EMPTY, kind: attr_kind::NONE, flags: 0, aux: 0, a: next_id(recs.len()), b: 0 };
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

    pub(super) fn encode_words(&mut self, kind: u8, values: impl IntoIterator<Item = u32>) -> (u8, u32, u32) {
        let a = next_id(self.words.len());
        for value in values {
            self.words.push(value);
        }
        (kind, a, next_id(self.words.len()) - a)
    }
}
