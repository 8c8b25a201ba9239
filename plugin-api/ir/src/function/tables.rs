//! Side tables: data beside the nodes.

use super::{node::attr_flag, *};

impl Function {
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

    /// All side lists.
    pub fn lists(&self) -> &[SideList] {
        self.lists.as_slice()
    }

    /// A side list by its key.
    pub fn list(&self, key: &str) -> Option<&SideList> {
        self.lists.iter().find(|list| list.key == key)
    }

    /// A side list by its key, added when there is none. `policy` is one of [`list_policy`](super::list_policy).
    pub fn list_mut(&mut self, key: &str, size: u32, policy: u8) -> &mut SideList {
        let at = self.lists.iter().position(|list| list.key == key).unwrap_or_else(|| {
            self.lists.push(SideList::new(key, size, policy));
            self.lists.len() - 1
        });
        &mut self.lists[at]
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
    #[inline]
    pub fn set_name_id(&mut self, id: NodeId, name: StrId) {
        self.tables[table::NAMES].get_mut(id).copy_from_slice(&name.0.to_le_bytes());
    }

    /// Where a node was read from.
    #[inline]
    pub fn span(&self, id: NodeId) -> Option<Span> {
        Span::decode(self.tables.as_slice()[table::SPANS].get(id))
    }

    /// Sets where a node was read from, and that its bytes there still describe it.
    #[inline]
    pub fn set_span(&mut self, id: NodeId, span: Span) {
        self.tables[table::SPANS].get_mut(id).copy_from_slice(&span.encode());
        self.nodes[id.index()].flags |= flag::PRISTINE;
    }

    /// Whether the bytes a node was read from still describe it.
    #[inline]
    pub fn is_pristine(&self, id: NodeId) -> bool {
        self.node(id).flags & flag::PRISTINE != 0
    }

    /// Clears the data computed from a node and its attributes: its type, every other derived table entry, and derived
    /// lists.
    pub fn forget_derived(&mut self, id: NodeId) {
        for list in self.lists.iter_mut().filter(|list| list.policy == list_policy::DERIVED) {
            list.bytes.clear();
        }
        for table in self.tables.iter_mut().filter(|table| table.policy == table_policy::DERIVED) {
            table.clear(id);
        }
    }

    /// Clears where a node was read from, because the node has changed.
    pub fn touch(&mut self, id: NodeId) {
        self.nodes[id.index()].flags &= !flag::PRISTINE;
        for table in self.tables.iter_mut().filter(|table| table.policy == table_policy::PROVENANCE) {
            table.clear(id);
        }
    }

    /// Describes `new` as `old`, whose place it takes: copies the name and every other table entry that describes a value,
    /// and moves the [`description`] of the call that computes it, unless the new one has some of its own.
    pub fn inherit_value(&mut self, new: NodeId, old: NodeId) {
        for table in self.tables.iter_mut().filter(|table| table.policy == table_policy::VALUE) {
            table.copy(old, new);
        }
        self.inherit_description(new, old);
        self.inherit_shadows(new, old);
    }

    /// Lets a value hide the others of its name, as the one does that it has the name of.
    fn inherit_shadows(&mut self, new: NodeId, old: NodeId) {
        let shadows = |rec: &&AttrRec| rec.flags & attr_flag::META != 0 && self.bytes(rec.name) == SHADOWS.as_bytes();
        let Some(&shadows) = self.attr_recs(old).iter().find(shadows) else { return };
        if !self.attr_recs(new).contains(&shadows) {
            let all = [self.attr_recs(new), &[shadows]].concat();
            self.set_attr_recs(new, &all);
        }
    }

    /// Moves the description of the call that computes `old` to the one that computes `new`, unless it has one. Moved, so
    /// that no two calls have it.
    #[doc(hidden)]
    pub fn inherit_description(&mut self, new: NodeId, old: NodeId) {
        let call = |id: NodeId| if self.kind(id) == kind::TUPLE_GET_ITEM { self.operands(id)[0] } else { id };
        let (new, old) = (call(new), call(old));
        if new == old || [new, old].iter().any(|&id| !matches!(self.kind(id), kind::CALL | kind::IF)) {
            return;
        }
        let describes = |rec: &AttrRec| {
            let is_about = |name: &&str| self.bytes(rec.name) == name.as_bytes();
            rec.flags & attr_flag::META != 0 && description::ALL.iter().any(is_about)
        };
        let recs = self.attr_recs(old);
        let n_moved = recs.iter().filter(|rec| describes(rec)).count();
        if n_moved == 0 || self.attr_recs(new).iter().any(describes) {
            return;
        }
        if n_moved == recs.len() && self.attr_recs(new).is_empty() {
            // The list as it is, which is faster than another one.
            self.touch(new);
            self.touch(old);
            self.nodes[new.index()].c = std::mem::take(&mut self.nodes[old.index()].c);
            return;
        }
        let (moved, left): (Vec<AttrRec>, Vec<AttrRec>) = recs.iter().partition(|rec| describes(rec));
        let all = [self.attr_recs(new), &moved].concat();
        self.set_attr_recs(new, &all);
        self.set_attr_recs(old, &left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    #[test]
    fn what_takes_the_place_of_a_value_hides_what_it_hides() {
        let text = "def @main(%x) { %a = Abs(%x) #[shadows = 1]; %b = Exp(%x); %c = Neg(%x); (%a, %b, %c) }";
        let mut module = text::parse_str(text).unwrap();
        let f = module.function_mut(MAIN).unwrap();
        let [a, b, c] = *f.bindings(f.body()).get(..3).unwrap() else { panic!() };
        f.inherit_value(b, a);
        f.inherit_value(c, b);
        let shadows = |id: NodeId| f.attrs(id).meta(SHADOWS).is_some();
        assert_eq!([b, c].map(shadows), [true, true]);
        assert_eq!(f.name(c), "a");
        let mut plain = text::parse_str("def @main(%x) { %a = Abs(%x); %b = Exp(%x); (%a, %b) }").unwrap();
        let f = plain.function_mut(MAIN).unwrap();
        let [a, b] = *f.bindings(f.body()).get(..2).unwrap() else { panic!() };
        f.inherit_value(b, a);
        assert!(f.attr_recs(b).is_empty());
    }
}
