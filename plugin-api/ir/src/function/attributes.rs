//! Giving attributes to nodes.

use super::*;

impl Function {
    #[inline]
    pub(crate) fn attr_list(&self, c: u32) -> &[AttrRec] {
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

    pub(crate) fn attr_words(&self, rec: AttrRec) -> &[u32] {
        &self.words.as_slice()[rec.a as usize..][..rec.b as usize]
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

    pub(crate) fn encode_words(&mut self, kind: u8, values: impl IntoIterator<Item = u32>) -> (u8, u32, u32) {
        let a = next_id(self.words.len());
        for value in values {
            self.words.push(value);
        }
        (kind, a, next_id(self.words.len()) - a)
    }
}
