//! The printer: modules, functions and blocks.

use super::{
    literal, prim,
    print_node::{self, Header},
    print_prim::{self, Prim},
    print_type,
};
use crate::ir::*;
use std::{
    collections::{HashMap, HashSet},
    fmt,
};

/// How a module is printed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PrintOptions {
    /// Which types are printed.
    pub types: Types,
    /// How constants of more elements than `inline_elements` are printed.
    pub large: Large,
    /// Constants of at most this many elements are printed as lists of values.
    pub inline_elements: u64,
    /// Whether each binding of a loop program has a statement of its own, instead of standing in the one that uses it.
    pub flat: bool,
}

/// Which types are printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Types {
    /// All known types: the parsed text has the same types.
    All,
    /// Those of parameters and functions.
    Signatures,
}

/// How large constants are printed. Splats are never large.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Large {
    /// As a hex string.
    Hex,
    /// As a reference into a side file.
    SideFile,
    /// As `…`: for people, not for parsing.
    Elide,
}

impl Default for PrintOptions {
    fn default() -> Self {
        Self { types: Types::All, large: Large::Hex, inline_elements: 16, flat: false }
    }
}

/// Deeper blocks are indented no further, so that the text of nested blocks stays linear in their number.
const MOST_INDENTS: usize = 32;
/// Text is handed on in pieces of about this size.
const PIECE: usize = 1 << 16;

/// Prints a module into `sink`, in pieces; large constants that go to the side file are added to `side_file` with their
/// names there.
pub(super) fn module(
    module: &IRModule,
    options: &PrintOptions,
    sink: &mut dyn fmt::Write,
    side_file: &mut Vec<(String, Tensor)>,
) -> fmt::Result {
    let mut out = String::new();
    if !module.attrs.is_empty() {
        out.push_str("#[");
        for (at, attr) in module.attrs.iter().enumerate() {
            out.push_str(if at > 0 { ", " } else { "" });
            literal::word(&mut out, attr.name.as_bytes(), &[]);
            out.push_str(" = ");
            match attr.as_int() {
                Some(value) => literal::push(&mut out, format_args!("{value}")),
                None => literal::quoted(&mut out, attr.as_bytes().unwrap_or_default()),
            }
        }
        out.push_str("]\n");
    }
    for (at, global) in module.globals().iter().enumerate() {
        if at > 0 || !module.attrs.is_empty() {
            out.push('\n');
        }
        match global.kind {
            global_kind::FUNCTION => out.push_str("def @"),
            global_kind::PRIM_FUNC => out.push_str("prim @"),
            kind => literal::push(&mut out, format_args!("global({kind}) @")),
        }
        let is_prim = global.kind == global_kind::PRIM_FUNC;
        let printed = if is_prim { print_prim_func } else { print_function };
        out = printed(&global.name, global.body(), options, side_file, out, sink)?;
    }
    sink.write_str(&out)
}

/// Prints one function as `name…`, after the existing contents of `out`, and returns the text not yet handed on.
pub(super) fn print_function(
    name: &str,
    function: &Function,
    options: &PrintOptions,
    side_file: &mut Vec<(String, Tensor)>,
    out: String,
    sink: &mut dyn fmt::Write,
) -> Result<String, fmt::Error> {
    let mut printer = Printer::new(function, options, side_file);
    printer.out = out;
    literal::name(&mut printer.out, name.as_bytes());
    printer.run(function.root(), sink)?;
    printer.out.push('\n');
    Ok(printer.out)
}

/// As [`print_function`], for a loop program.
pub(super) fn print_prim_func(
    name: &str,
    function: &Function,
    options: &PrintOptions,
    side_file: &mut Vec<(String, Tensor)>,
    out: String,
    sink: &mut dyn fmt::Write,
) -> Result<String, fmt::Error> {
    // Numbers are read back with their types, which those of their users depend on.
    let typed = print_prim::with_typed_immediates(function);
    let function = typed.as_ref().unwrap_or(function);
    let mut printer = Printer::new(function, options, side_file);
    printer.prim = Some(Prim::of(function));
    printer.out = out;
    literal::name(&mut printer.out, name.as_bytes());
    printer.run(function.root(), sink)?;
    printer.out.push('\n');
    Ok(printer.out)
}

pub(super) struct Printer<'a> {
    pub function: &'a Function,
    pub options: &'a PrintOptions,
    pub side_file: &'a mut Vec<(String, Tensor)>,
    pub out: String,
    /// Types as text, by id.
    types: Vec<Option<Box<str>>>,
    /// Operators as text, by id.
    ops: Vec<Option<Box<str>>>,
    /// The named values that are visible at the place that is being printed.
    visible: HashMap<&'a [u8], NodeId>,
    /// Values whose name was taken where they are defined: they are printed with their number.
    numbered: HashSet<NodeId>,
    /// Functions that were printed: in a broken function, one may belong to two nodes.
    is_printed: Vec<bool>,
    indent: usize,
    /// In a loop program, what is known about its bindings.
    pub prim: Option<Prim>,
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

    fn run(&mut self, root: NodeId, sink: &mut dyn fmt::Write) -> fmt::Result {
        self.is_printed = vec![false; self.function.n_nodes()];
        self.types = vec![None; self.function.n_types()];
        self.ops = vec![None; self.function.ops().len()];
        let mut work = vec![Work::Function(root, Header::Function)];
        while let Some(next) = work.pop() {
            if self.out.len() >= PIECE {
                sink.write_str(&self.out)?;
                self.out.clear();
            }
            match next {
                Work::Text(text) => self.out.push_str(&text),
                Work::Function(node, header) => self.open(node, header, &mut work),
                Work::Bindings(block, at, header) => self.binding(block, at, header, &mut work),
                Work::Close(node) => self.close(node),
                Work::End(node) => {
                    print_node::tail(self, node);
                    self.out.push_str(";\n");
                    self.define(node);
                }
                Work::EndControl(node, block, items) => print_prim::end_control(self, node, block, items),
            }
        }
        Ok(())
    }

    /// One binding on one line, without the blocks of its functions.
    pub fn line_of(&mut self, node: NodeId) {
        let mut work = Vec::new();
        let rec = self.function.node(node);
        let callee = self.function.operands(node).first();
        let is_core =
            rec.kind == kind::CALL && callee.is_some_and(|&callee| prim::core_op(self.function, callee).is_some());
        if is_core || rec.kind == kind::IMM {
            self.prim = Some(Prim::of_one(self.function));
            return print_prim::line(self, node);
        }
        match rec.kind {
            kind::VAR => return print_node::parameter(self, node),
            kind::ABSENT | kind::OP | kind::GLOBAL_VAR | kind::FIRST_LEAF.. => return self.value(node),
            _ => print_node::binding(self, node),
        }
        print_node::regions(self, node, &mut work);
        for piece in work {
            match piece {
                Work::Text(text) => self.out.push_str(&text),
                _ => self.out.push_str(" {…}"),
            }
        }
        print_node::tail(self, node);
    }

    fn open(&mut self, node: NodeId, header: Header, work: &mut Vec<Work>) {
        if self.function.kind(node) != kind::FUNCTION || std::mem::replace(&mut self.is_printed[node.index()], true) {
            // Only in a broken function.
            return literal::push(&mut self.out, format_args!("/* {node} */"));
        }
        print_node::header(self, node, header);
        self.out.push_str(" {\n");
        self.indent += 1;
        work.push(Work::Close(node));
        let block = self.function.block_of(node);
        print_prim::plan(self, block);
        work.push(Work::Bindings(block, 0, header));
    }

    fn close(&mut self, node: NodeId) {
        self.indent -= 1;
        self.line();
        self.out.push('}');
        let function = self.function;
        for &id in function.bindings(function.block_of(node)).iter().chain(function.operands(node)) {
            let name = function.bytes(function.name_id(id));
            if !name.is_empty() && self.visible.get(name) == Some(&id) {
                self.visible.remove(name);
            }
        }
    }

    fn binding(&mut self, block: BlockId, at: usize, header: Header, work: &mut Vec<Work>) {
        if self.prim.is_some() {
            return print_prim::binding(self, block, at, header, work);
        }
        self.line();
        let Some(&node) = self.function.bindings(block).get(at) else {
            return print_node::result(self, self.function.result(block));
        };
        work.push(Work::Bindings(block, at + 1, header));
        self.choose_name(node);
        print_node::binding(self, node);
        let before = work.len();
        work.push(Work::End(node));
        print_node::regions(self, node, work);
        // The pieces were pushed in the order of the text.
        work[before + 1..].reverse();
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
                return print_prim::immediate(self, id, None);
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
            return print_node::op(&mut self.out, self.function, id, is_reserved);
        };
        let text = text.get_or_insert_with(|| {
            let mut text = String::new();
            print_node::op(&mut text, self.function, id, is_reserved);
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
