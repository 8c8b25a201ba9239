//! The printer: modules, functions and blocks.

use super::{
    literal,
    options::PrintOptions,
    prim, print_attrs, print_forms, print_header, print_node, print_prim,
    printer::{Header, Prim, Printer, Work},
};
use crate::*;
use std::fmt;

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
    let typed = print_forms::with_typed_immediates(function);
    let function = typed.as_ref().unwrap_or(function);
    let mut printer = Printer::new(function, options, side_file);
    printer.prim = Some(Prim::of(function));
    printer.out = out;
    literal::name(&mut printer.out, name.as_bytes());
    printer.run(function.root(), sink)?;
    printer.out.push('\n');
    Ok(printer.out)
}

impl<'a> Printer<'a> {
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
            kind::VAR => return print_attrs::parameter(self, node),
            kind::ABSENT | kind::OP | kind::GLOBAL_VAR | kind::FIRST_LEAF.. => return self.value(node),
            _ => print_node::binding(self, node),
        }
        print_attrs::regions(self, node, &mut work);
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
        print_header::header(self, node, header);
        self.out.push_str(" {\n");
        self.indent += 1;
        work.push(Work::Close(node));
        let block = self.function.block_of(node);
        print_forms::plan(self, block);
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
        print_attrs::regions(self, node, work);
        // The pieces were pushed in the order of the text.
        work[before + 1..].reverse();
    }
}
