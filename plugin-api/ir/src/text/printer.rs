//! The state of the printer, and the parts of a line that consist of one word.

use super::{
    literal,
    options::PrintOptions,
    prim::{self, default_elem, suffix},
    print_type,
    words::EXPRESSIONS,
};
use crate::{prim::LoopOps, *};
use std::collections::{HashMap, HashSet};

/// Deeper blocks are indented no further, so that the text of nested blocks stays linear in their number.
const MOST_INDENTS: usize = 32;

/// The header to print for a function.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Header {
    /// With its parameters.
    Function,
    /// The same, its name already printed.
    Bound,
    /// Without parameters, where it has none.
    Branch,
    /// In a loop program, the second branch of an `If`; with the first one.
    Else(NodeId),
    /// The block of a loop program's statement, which names that many parameters before those that it carries.
    Block(usize),
    /// The body of a `while`, with its condition.
    Do(NodeId),
}

/// The items still to be printed, the next last.
pub(super) enum Work {
    Text(String),
    /// A function, from its name or parameters on.
    Function(NodeId, Header),
    /// The bindings of a block from one on, then its result; the header is that of its function.
    Bindings(BlockId, usize, Header),
    /// The end of a function's block.
    Close(NodeId),
    /// The end of a binding.
    End(NodeId),
    /// The end of a `for`, `while`, `when` or `if` of a loop program, whose results are that many of the bindings behind it.
    EndControl(NodeId, BlockId, std::ops::Range<usize>),
}

pub(super) struct Printer<'a> {
    pub function: &'a Function,
    pub options: &'a PrintOptions,
    pub side_file: &'a mut Vec<(String, Tensor)>,
    pub out: String,
    /// Types as text, by id.
    pub types: Vec<Option<Box<str>>>,
    /// Operators as text, by id.
    pub ops: Vec<Option<Box<str>>>,
    /// The named values that are visible at the place that is being printed.
    pub visible: HashMap<&'a [u8], NodeId>,
    /// Values whose name was taken where they are defined: they are printed with their number.
    pub numbered: HashSet<NodeId>,
    /// Functions that were printed: in a broken function, one may belong to two nodes.
    pub is_printed: Vec<bool>,
    pub indent: usize,
    /// In a loop program, what is known about its bindings.
    pub prim: Option<Prim>,
}

impl<'a> Printer<'a> {
    pub fn new(function: &'a Function, options: &'a PrintOptions, side_file: &'a mut Vec<(String, Tensor)>) -> Self {
        Self {
            function,
            options,
            side_file,
            out: String::new(),
            types: Vec::new(),
            ops: Vec::new(),
            visible: HashMap::new(),
            numbered: HashSet::new(),
            is_printed: Vec::new(),
            indent: 0,
            prim: None,
        }
    }

    pub fn line(&mut self) {
        for _ in 0..self.indent.min(MOST_INDENTS) {
            self.out.push_str("  ");
        }
    }

    pub fn define(&mut self, node: NodeId) {
        let name = self.function.bytes(self.function.name_id(node));
        if !name.is_empty() {
            self.visible.entry(name).or_insert(node);
        }
    }

    /// Decides whether a value that is about to be defined is printed with its name or its number.
    pub fn choose_name(&mut self, node: NodeId) {
        let name = self.function.bytes(self.function.name_id(node));
        if !name.is_empty() && self.visible.get(name).is_some_and(|&other| other != node) {
            self.numbered.insert(node);
        }
    }

    /// Whether a visible value has that name.
    pub fn is_taken(&self, name: &[u8]) -> bool {
        self.visible.contains_key(name)
    }

    /// Returns the name of a value that is printed with its number.
    pub fn hidden_name(&self, node: NodeId) -> Option<&'a [u8]> {
        let is_numbered = !self.numbered.is_empty() && self.numbered.contains(&node);
        is_numbered.then(|| self.function.bytes(self.function.name_id(node)))
    }

    /// The name or number of a value.
    pub fn value(&mut self, id: NodeId) {
        let function = self.function;
        let rec = function.node(id);
        match rec.kind {
            _ if id.is_absent() => return self.out.push('_'),
            kind::GLOBAL_VAR => {
                self.out.push('@');
                return literal::name(&mut self.out, function.bytes(StrId(rec.a)));
            }
            kind::OP => {
                self.out.push('&');
                return self.op(OpId(rec.a));
            }
            kind::IMM if self.prim.is_some() && function.imm(id).is_some() => {
                return immediate(self, id, None);
            }
            kind::FIRST_LEAF.. => {
                let (kind, aux, flags) = (rec.kind, rec.aux, rec.flags & !flag::PRISTINE);
                return literal::push(
                    &mut self.out,
                    format_args!("leaf({kind}, {aux}, {flags}, {}, {})", rec.a, rec.b),
                );
            }
            _ => {}
        }
        let name = function.bytes(function.name_id(id));
        if name.is_empty() || self.hidden_name(id).is_some() {
            self.out.push('%');
            return literal::number(&mut self.out, id.0);
        }
        self.out.push('%');
        literal::name(&mut self.out, name);
    }

    pub fn op(&mut self, id: OpId) {
        let is_reserved = if self.prim.is_some() { prim::is_reserved } else { |_: &str| false };
        let Some(text) = self.ops.get_mut(id.index()) else {
            return op(&mut self.out, self.function, id, is_reserved);
        };
        let text = text.get_or_insert_with(|| {
            let mut text = String::new();
            op(&mut text, self.function, id, is_reserved);
            text.into()
        });
        self.out.push_str(text);
    }

    pub fn ty(&mut self, id: TypeId) {
        let Some(text) = self.types.get_mut(id.index()) else {
            return print_type::ty(&mut self.out, self.function, id);
        };
        let text = text.get_or_insert_with(|| {
            let mut text = String::new();
            print_type::ty(&mut text, self.function, id);
            text.into()
        });
        self.out.push_str(text);
    }
}

/// The facts about the bindings of a loop program.
pub(super) struct Prim {
    pub ops: LoopOps,
    /// By node, how often it is used.
    pub uses: Vec<u32>,
    /// By node, whether it is nested in the binding that uses it.
    pub is_nested: Vec<bool>,
}

impl Prim {
    pub fn of(f: &Function) -> Self {
        Self { ops: LoopOps::new(f), uses: use_counts(f), is_nested: vec![false; f.n_nodes()] }
    }

    /// As much as one node on its own needs.
    pub fn of_one(f: &Function) -> Self {
        Self { ops: LoopOps::new(f), uses: Vec::new(), is_nested: Vec::new() }
    }

    pub fn uses(&self, id: NodeId) -> u32 {
        self.uses.get(id.index()).copied().unwrap_or(0)
    }

    pub fn is_nested(&self, id: NodeId) -> bool {
        self.is_nested.get(id.index()) == Some(&true)
    }
}

/// How often each node is used. Each function is visited once: a broken one may contain itself.
fn use_counts(f: &Function) -> Vec<u32> {
    let mut uses = vec![0u32; f.n_nodes()];
    let mut is_seen = vec![false; f.n_nodes()];
    let mut functions = vec![f.root()];
    while let Some(function) = functions.pop() {
        if f.kind(function) != kind::FUNCTION || std::mem::replace(&mut is_seen[function.index()], true) {
            continue;
        }
        let block = f.block_of(function);
        for &id in f.bindings(block) {
            match f.kind(id) {
                kind::FUNCTION => functions.push(id),
                _ => f.operands(id).iter().for_each(|operand| uses[operand.index()] += 1),
            }
            functions.extend(f.regions(id));
        }
        f.results(block).iter().for_each(|result| uses[result.index()] += 1);
    }
    uses
}

/// An operator's name. `is_reserved` are words that are quoted as operators of the default domain.
pub(super) fn op(out: &mut String, function: &Function, id: OpId, is_reserved: fn(&str) -> bool) {
    let rec = *function.op(id);
    let [domain, name, overload] = [rec.domain, rec.name, rec.overload].map(|id| function.bytes(id));
    if !domain.is_empty() {
        literal::word(out, domain, EXPRESSIONS);
        out.push_str("::");
    }
    match std::str::from_utf8(name) {
        Ok(word) if domain.is_empty() && is_reserved(word) => literal::quoted(out, name),
        _ => literal::word(out, name, EXPRESSIONS),
    }
    if !overload.is_empty() {
        out.push(':');
        literal::word(out, overload, &[]);
    }
    if rec.version != 0 {
        literal::push(out, format_args!("@{}", rec.version));
    }
}

/// A number, as a literal.
pub(super) fn number(out: &mut String, imm: Imm, has_suffix: bool) {
    let start = out.len();
    let n_bytes = imm.elem().bits().div_ceil(8) as usize;
    literal::element(out, imm.elem(), &imm.bits().to_le_bytes()[..n_bytes]);
    let suffix = suffix(imm.elem());
    if !has_suffix || suffix.is_empty() {
        return;
    }
    if !out[start..].contains(['n', 'i']) {
        return out.push_str(suffix);
    }
    let end = out[start..].find('(').map_or(out.len(), |at| start + at);
    out.insert_str(end, &format!("_{suffix}"));
}

/// An immediate where nothing gives it a type, or a type with this element type does.
pub(super) fn immediate(p: &mut Printer<'_>, id: NodeId, wanted: Option<ElemType>) {
    if let Some(imm) = p.function.imm(id) {
        number(&mut p.out, imm, imm.elem() != wanted.unwrap_or(default_elem(imm.elem())));
    }
}

pub(super) fn is_plain_if(function: &Function, node: NodeId) -> bool {
    function.kind(node) == kind::IF && function.n_regions(node) == 2 && function.operands(node).len() == 3
}
