//! The first stage: every range and id of the arena.

use super::{FaultCode, Report};
use crate::{
    function::{Parts, table_key},
    node::{self, flag, is_leaf, kind},
    *,
};
use std::collections::HashSet;

/// The guarantee for later stages if this one reports nothing: no accessor of [`Function`] panics for an id that the
/// function itself holds. Returns how many of the nodes are functions.
pub(super) fn check(function: &Function, report: &mut Report<'_>) -> usize {
    let parts = function.parts();
    let is_ascii = parts.strings.is_ascii();
    let mut checker = Checker { is_ascii, reads_lists: true, n_functions: 0, parts, report };
    checker.types();
    checker.ops();
    checker.nodes();
    checker.blocks();
    checker.attrs();
    checker.tables();
    checker.indices();
    checker.n_functions
}

struct Checker<'a, 'r, 'f> {
    parts: Parts<'a>,
    /// Whether all strings and their lengths are ASCII, so that every name is UTF-8.
    is_ascii: bool,
    /// Whether operands and bindings are looked at one by one: not if no entry of the pool is out of range, nor if they
    /// overlap.
    reads_lists: bool,
    /// How many functions were seen.
    n_functions: usize,
    report: &'r mut Report<'f>,
}

/// Whether `start..start + len` is within a list of `bound` entries.
fn is_within(start: u32, len: u32, bound: usize) -> bool {
    start as usize + len as usize <= bound
}

fn string(strings: &[u8], id: StrId) -> Option<&[u8]> {
    let (len, bytes) = strings.get(id.index()..)?.split_first_chunk::<4>()?;
    bytes.get(..u32::from_le_bytes(*len) as usize)
}

impl<'a> Checker<'a, '_, '_> {
    fn fault(&mut self, code: FaultCode, node: Option<NodeId>, message: impl Into<String>) {
        self.report.push(code, node, None, message);
    }

    fn string(&self, id: StrId) -> Option<&'a [u8]> {
        string(self.parts.strings, id)
    }

    /// Checks a name, which must be UTF-8.
    #[inline]
    fn name(&mut self, id: StrId, code: FaultCode, node: Option<NodeId>, what: &str) {
        // One long string is enough for the whole not to be ASCII, by its length.
        if !self.string(id).is_some_and(|name| self.is_ascii || name.is_ascii()) {
            self.unusual_name(id, code, node, what);
        }
    }

    #[cold]
    fn unusual_name(&mut self, id: StrId, code: FaultCode, node: Option<NodeId>, what: &str) {
        match self.string(id) {
            None => self.fault(code, node, format!("{what} is {id}, which is out of range")),
            Some(bytes) if std::str::from_utf8(bytes).is_err() => {
                self.fault(FaultCode::Utf8, node, format!("{what} is not UTF-8"));
            }
            Some(_) => {}
        }
    }

    // ---- nodes ----------------------------------------------------------------------------------------------------

    fn nodes(&mut self) {
        let nodes = self.parts.nodes;
        if nodes.first().is_none_or(|rec| rec.kind != kind::ABSENT) {
            self.fault(FaultCode::NodeRange, Some(NodeId::ABSENT), "node 0 is not the absent operand");
        }
        match nodes.get(self.parts.root.index()) {
            Some(rec) if rec.kind == kind::FUNCTION => {}
            _ => self.fault(FaultCode::NodeRange, Some(self.parts.root), "the root is not a function"),
        }
        // Every list has its own place, so together they are no longer than the pool. Only because of this is reading
        // them linear.
        let n_operands: u64 = nodes.iter().filter(|rec| !is_leaf(rec.kind)).map(|rec| u64::from(rec.b)).sum();
        let n_bindings: u64 = self.parts.blocks.iter().map(|block| u64::from(block.len)).sum();
        let is_overlapping = n_operands + n_bindings > self.parts.pool.len() as u64;
        if is_overlapping {
            let message = format!(
                "{n_operands} operands and {n_bindings} bindings in a pool of {} entries",
                self.parts.pool.len()
            );
            self.fault(FaultCode::Overlap, None, message);
        }
        // Words before operands are entries, too, and small.
        let last = self.parts.pool.iter().map(|id| id.index()).max();
        self.reads_lists = !is_overlapping && last.is_some_and(|last| last >= nodes.len());
        for (at, rec) in nodes.iter().enumerate() {
            let id = NodeId::from_index(at);
            if is_leaf(rec.kind) && rec.flags & flag::EXTRA != 0 {
                self.fault(FaultCode::ExtraWord, Some(id), "a node without operands has a word before them");
                continue;
            }
            let (entry, bound, what) = match rec.kind {
                kind::ABSENT => continue,
                kind::VAR if rec.a == 0 => continue,
                kind::VAR => (rec.a - 1, self.parts.n_constants, "the default value"),
                kind::GLOBAL_VAR => {
                    self.name(StrId(rec.a), FaultCode::NodeRange, Some(id), "the global name");
                    continue;
                }
                kind::OP => (rec.a, self.parts.ops.len(), "the operator"),
                kind::CONSTANT => (rec.a, self.parts.n_constants, "the constant"),
                kind::FIRST_LEAF.. => continue,
                _ => {
                    self.operands(id, *rec);
                    continue;
                }
            };
            if entry as usize >= bound {
                self.fault(FaultCode::NodeRange, Some(id), format!("{what} is entry {entry} of {bound}"));
            }
        }
    }

    #[inline]
    fn operands(&mut self, id: NodeId, rec: NodeRec) {
        let Parts { pool, nodes, blocks, .. } = self.parts;
        if !is_within(rec.a, rec.b, pool.len()) {
            let message = format!("operands {}..+{} in a pool of {} entries", rec.a, rec.b, pool.len());
            return self.fault(FaultCode::NodeRange, Some(id), message);
        }
        let extra = match rec.flags & flag::EXTRA {
            0 => None,
            _ => match (rec.a as usize).checked_sub(1).and_then(|at| pool.get(at)) {
                Some(extra) => Some(extra.0),
                None => return self.fault(FaultCode::ExtraWord, Some(id), "the word before the operands is missing"),
            },
        };
        match (rec.kind, extra) {
            (kind::FUNCTION, Some(block)) if block as usize >= blocks.len() => {
                self.fault(FaultCode::ExtraWord, Some(id), format!("the block is {block} of {}", blocks.len()));
            }
            (kind::FUNCTION, Some(_)) => self.n_functions += 1,
            (kind::CALL | kind::IF | kind::FUNCTION, None) => {
                self.fault(FaultCode::ExtraWord, Some(id), "the word before the operands is missing");
            }
            (_, Some(n_regions)) if n_regions > rec.b => {
                let message = format!("{n_regions} of {} operands are functions", rec.b);
                self.fault(FaultCode::ExtraWord, Some(id), message);
            }
            _ => {}
        }
        if !self.reads_lists {
            return;
        }
        for operand in &pool[rec.a as usize..][..rec.b as usize] {
            if operand.index() >= nodes.len() {
                let message = format!("operand `{operand}` in an arena of {} nodes", nodes.len());
                self.fault(FaultCode::NodeRange, Some(id), message);
            }
        }
    }

    fn blocks(&mut self) {
        let Parts { blocks, pool, nodes, .. } = self.parts;
        for (at, block) in blocks.iter().enumerate() {
            let id = Some(BlockId::from_index(at));
            let mut fault = |message: String| self.report.push(FaultCode::BlockRange, None, id, message);
            for (node, what) in [(block.result, "result"), (block.owner, "owner")] {
                if node.index() >= nodes.len() {
                    fault(format!("the {what} is `{node}` in an arena of {} nodes", nodes.len()));
                }
            }
            if !is_within(block.start, block.len, pool.len()) {
                fault(format!("bindings {}..+{} in a pool of {} entries", block.start, block.len, pool.len()));
            } else if self.reads_lists {
                for binding in &pool[block.start as usize..][..block.len as usize] {
                    if binding.index() >= nodes.len() {
                        fault(format!("binding `{binding}` in an arena of {} nodes", nodes.len()));
                    }
                }
            }
        }
    }

    // ---- types and operators ----------------------------------------------------------------------------------------

    fn types(&mut self) {
        let Parts { types, type_words, type_dims, .. } = self.parts;
        if types.first().is_none_or(|rec| rec.kind != type_kind::UNKNOWN) {
            self.fault(FaultCode::TypeRange, None, "type 0 is not the unknown one");
        }
        let (mut n_dims, mut n_parts) = (0, 0);
        // How many parts each type has, written out.
        let mut sizes: Vec<usize> = Vec::with_capacity(types.len());
        for (at, rec) in types.iter().enumerate() {
            let id = TypeId::from_index(at);
            // Parts come before the types that contain them, so no type is part of itself.
            let part = |part: u32| (part >= id.0).then(|| format!("{id} has {} as a part", TypeId(part)));
            let out_of_range = || format!("{id} has parts {}..+{}, which are out of range", rec.a, rec.b);
            let size = 1 + match rec.kind {
                type_kind::TENSOR | type_kind::SPARSE => rec.b as usize,
                type_kind::TUPLE | type_kind::FUNC if n_parts + u64::from(rec.b) <= type_words.len() as u64 => {
                    let parts = type_words.get(rec.a as usize..).and_then(|rest| rest.get(..rec.b as usize));
                    let sizes = parts.unwrap_or_default().iter().map(|&part| sizes.get(part as usize).unwrap_or(&1));
                    sizes.fold(0, |sum: usize, &size| sum.saturating_add(size))
                }
                type_kind::SEQUENCE | type_kind::OPTIONAL | type_kind::MAP => *sizes.get(rec.a as usize).unwrap_or(&1),
                _ => 0,
            };
            sizes.push(size.min(MOST_TYPE_PARTS + 1));
            if size > MOST_TYPE_PARTS {
                let message = format!("{id}, written out, has more than {MOST_TYPE_PARTS} parts");
                self.fault(FaultCode::TypeRange, None, message);
            }
            let message = match rec.kind {
                type_kind::TENSOR | type_kind::SPARSE => {
                    n_dims += u64::from(rec.b);
                    (!is_within(rec.a, rec.b, type_dims.len())).then(out_of_range)
                }
                type_kind::TUPLE | type_kind::FUNC => {
                    n_parts += u64::from(rec.b);
                    if n_parts > type_words.len() as u64 {
                        break;
                    }
                    match type_words.get(rec.a as usize..).and_then(|rest| rest.get(..rec.b as usize)) {
                        None => Some(out_of_range()),
                        Some([]) if rec.kind == type_kind::FUNC => Some(format!("{id} is a function without a result")),
                        Some(parts) => parts.iter().find_map(|&word| part(word)),
                    }
                }
                type_kind::SEQUENCE | type_kind::OPTIONAL | type_kind::MAP => part(rec.a),
                type_kind::OPAQUE => {
                    let is_string = |id| self.string(StrId(id)).is_some();
                    (!is_string(rec.a) || !is_string(rec.b)).then(|| format!("{id} has a name that is out of range"))
                }
                _ => None,
            };
            if let Some(message) = message {
                self.fault(FaultCode::TypeRange, None, message);
            }
        }
        if n_dims > type_dims.len() as u64 || n_parts > type_words.len() as u64 {
            self.fault(FaultCode::Overlap, None, "the parts of types overlap");
        }
        for dim in type_dims.iter().filter(|dim| dim.0 < -1) {
            match dim.0.checked_neg().and_then(|symbol| u32::try_from(symbol - 2).ok()) {
                Some(symbol) => self.name(StrId(symbol), FaultCode::TypeRange, None, "the symbol of a dimension"),
                None => self.fault(FaultCode::TypeRange, None, format!("{} is not a dimension", dim.0)),
            }
        }
    }

    fn ops(&mut self) {
        let Parts { ops, nodes, .. } = self.parts;
        for (at, op) in ops.iter().enumerate() {
            for (id, what) in [(op.domain, "domain"), (op.name, "name"), (op.overload, "overload")] {
                self.name(id, FaultCode::OpRange, None, &format!("the {what} of operator {at}"));
            }
            match nodes.get(op.node.index()) {
                Some(rec) if rec.kind == kind::OP && rec.a as usize == at => {}
                _ => self.fault(FaultCode::OpRange, None, format!("operator {at} has `{}` as its node", op.node)),
            }
        }
    }

    // ---- attributes -------------------------------------------------------------------------------------------------

    fn attrs(&mut self) {
        let Parts { nodes, attrs, .. } = self.parts;
        let mut is_checked = vec![false; attrs.len()];
        let mut lists = HashSet::new();
        let (mut n_recs, mut n_words) = (0, 0);
        for (at, rec) in nodes.iter().enumerate() {
            let Some(head) = rec.c.checked_sub(1) else { continue };
            let id = Some(NodeId::from_index(at));
            // Copies of a node share its list.
            if is_checked.get_mut(head as usize).is_some_and(|is_checked| std::mem::replace(is_checked, true)) {
                continue;
            }
            let list = attrs.get(head as usize).and_then(|head| attrs.get(rec.c as usize..)?.get(..head.a as usize));
            let Some(list) = list else {
                self.fault(FaultCode::AttrRange, id, format!("the attribute list at {} is out of range", rec.c));
                continue;
            };
            n_recs += list.len();
            if n_recs > attrs.len() || n_words > self.parts.words.len() {
                return self.fault(FaultCode::Overlap, id, "attribute lists overlap");
            }
            for attr in list {
                self.name(attr.name, FaultCode::AttrRange, id, "the name of an attribute");
                if let Err(what) = self.attr(*attr, &mut lists, &mut n_words) {
                    self.fault(FaultCode::AttrRange, id, format!("an attribute of kind {}: {what}", attr.kind));
                }
            }
        }
    }

    /// Checks a record; `lists` are the lists of ids that were checked, and `n_words` is their length.
    fn attr(
        &mut self,
        rec: AttrRec,
        lists: &mut HashSet<(u8, u32, u32)>,
        n_words: &mut usize,
    ) -> Result<(), &'static str> {
        let Parts { words, n_constants, types, strings, .. } = self.parts;
        let string = |id: u32| string(strings, StrId(id)).map(drop).ok_or("its string is out of range");
        let constant = |id: u32| if (id as usize) < n_constants { Ok(()) } else { Err("its tensor is out of range") };
        let ty = |id: u32| if (id as usize) < types.len() { Ok(()) } else { Err("its type is out of range") };
        match rec.kind {
            attr_kind::STRING | attr_kind::SPARSE_TENSOR | attr_kind::RAW => return string(rec.a),
            attr_kind::REF => {
                self.name(StrId(rec.a), FaultCode::AttrRange, None, "the attribute that is referred to");
                return if rec.b < 256 { Ok(()) } else { Err("its kind is out of range") };
            }
            attr_kind::TENSOR => return constant(rec.a),
            attr_kind::TYPE => return ty(rec.a),
            attr_kind::FLOATS
            | attr_kind::INTS
            | attr_kind::STRINGS
            | attr_kind::TENSORS
            | attr_kind::SPARSE_TENSORS
            | attr_kind::TYPES => {}
            // Functions are counted with the node; other kinds have their value in the record, or are unknown.
            _ => return Ok(()),
        }
        let list = words.get(rec.a as usize..).and_then(|rest| rest.get(..rec.b as usize));
        let list = list.ok_or("its values are out of range")?;
        match rec.kind {
            attr_kind::FLOATS => return Ok(()),
            attr_kind::INTS if list.len() % 2 == 0 => return Ok(()),
            attr_kind::INTS => return Err("half an integer is missing"),
            // A copied record shares its values.
            _ if !lists.insert((rec.kind, rec.a, rec.b)) => return Ok(()),
            _ => {}
        }
        *n_words += list.len();
        if *n_words > words.len() {
            return Err("its values overlap those of others");
        }
        list.iter().try_for_each(|&id| match rec.kind {
            attr_kind::TENSORS => constant(id),
            attr_kind::TYPES => ty(id),
            _ => string(id),
        })
    }

    // ---- tables and indices -----------------------------------------------------------------------------------------

    fn tables(&mut self) {
        let Parts { tables, lists, types, nodes, .. } = self.parts;
        let expected = [(table_key::TYPES, 4), (table_key::NAMES, 4), (table_key::SPANS, Span::STRIDE)];
        for (at, (key, stride)) in expected.into_iter().enumerate() {
            if !tables.get(at).is_some_and(|table| table.key == key && table.stride == stride) {
                self.fault(
                    FaultCode::SideTable,
                    None,
                    format!("side table {at} is not `{key}` with {stride} bytes each"),
                );
            }
        }
        for list in lists.iter().filter(|list| list.size == 0 || list.bytes.len() % list.size as usize != 0) {
            let message = format!("the side list `{}` has {} bytes, {} each", list.key, list.bytes.len(), list.size);
            self.fault(FaultCode::SideTable, None, message);
        }
        for list in lists.iter().filter(|list| list.policy == list_policy::NODES) {
            if list.size < 4 {
                let message = format!("elements of the side list `{}` have no room for a node", list.key);
                self.fault(FaultCode::SideTable, None, message);
            }
        }
        for table in tables.iter().filter(|table| table.stride == 0) {
            self.fault(FaultCode::SideTable, None, format!("the side table `{}` has no width", table.key));
        }
        let words = |at: usize| {
            let bytes = tables.get(at).map_or(&[][..], |table| table.bytes.as_slice());
            bytes.chunks_exact(4).take(nodes.len()).map(|entry| node::word(Some(entry))).enumerate()
        };
        for (at, ty) in words(node::table::TYPES).filter(|&(_, ty)| ty as usize >= types.len()) {
            let message = format!("the type is {} of {}", TypeId(ty), types.len());
            self.fault(FaultCode::SideTable, Some(NodeId::from_index(at)), message);
        }
        for (at, name) in words(node::table::NAMES).filter(|&(_, name)| name != 0) {
            self.name(StrId(name), FaultCode::SideTable, Some(NodeId::from_index(at)), "the name");
        }
        if self.string(StrId::EMPTY) != Some(&[]) {
            self.fault(FaultCode::SideTable, None, "string 0 is not the empty one");
        }
    }

    fn indices(&mut self) {
        let [strings, types, ops] = self.parts.indices;
        let is_string = |id: u32| self.string(StrId(id)).is_some();
        let is_type = |id: u32| (id as usize) < self.parts.types.len();
        let is_op = |id: u32| (id as usize) < self.parts.ops.len();
        let is_sound = [strings.is_sound(is_string), types.is_sound(is_type), ops.is_sound(is_op)];
        for (name, _) in ["strings", "types", "operators"].iter().zip(is_sound).filter(|(_, is_sound)| !is_sound) {
            self.fault(FaultCode::Index, None, format!("the index of {name} is broken"));
        }
    }
}
