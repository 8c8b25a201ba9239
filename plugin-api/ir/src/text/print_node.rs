//! The printer: bindings of graphs.

use super::{
    literal,
    options::Types,
    prim, print_attrs, print_forms, print_operands,
    printer::{Printer, is_plain_if},
};
use crate::*;

/// A binding up to its first function.
pub(super) fn binding(p: &mut Printer<'_>, node: NodeId) {
    target(p, node);
    expression(p, node);
}

/// The target of a binding, up to its right-hand side.
pub(super) fn target(p: &mut Printer<'_>, node: NodeId) {
    if p.function.node(node).flags & flag::LET != 0 {
        p.out.push_str("let ");
    }
    typed(p, node);
    p.out.push_str(" = ");
}

/// A binding's name, with its type unless that is implied.
pub(super) fn typed(p: &mut Printer<'_>, node: NodeId) {
    p.value(node);
    let ty = p.function.type_id(node);
    let is_shown = match p.function.kind(node) {
        kind::CONSTANT => !has_own_type(p.function, node),
        kind::FUNCTION => false,
        _ => !print_forms::is_implied(p, node),
    };
    if is_shown && p.options.types == Types::All {
        p.out.push_str(": ");
        p.ty(ty);
    }
}

/// Whether a constant's type is the one that its tensor implies.
fn has_own_type(function: &Function, constant: NodeId) -> bool {
    let (Some(tensor), Some((elem, shape))) =
        (function.stored_constant(constant), function.type_of(constant).as_tensor())
    else {
        return false;
    };
    let dims = tensor.dims().iter().map(|&dim| DimRec::from(Dim::Static(dim)));
    elem == tensor.elem() && dims.eq(shape.iter().copied())
}

pub(super) fn expression(p: &mut Printer<'_>, node: NodeId) {
    let function = p.function;
    let rec = *function.node(node);
    let operands = function.operands(node);
    let (values, _) = operands.split_at(operands.len() - function.n_regions(node));
    match (rec.kind, values) {
        (kind::CONSTANT, _) => {
            if let Some(tensor) = function.stored_constant(node) {
                literal::tensor(&mut p.out, tensor, p.options, p.side_file);
            }
        }
        (kind::TUPLE, fields) => {
            p.out.push('(');
            list(p, node, 0);
            p.out.push_str(if fields.len() == 1 { ",)" } else { ")" });
        }
        (kind::TUPLE_GET_ITEM, [tuple]) => {
            print_operands::tuple_of_item(p, *tuple);
            literal::push(&mut p.out, format_args!("[{}]", rec.aux));
        }
        (kind::CALL, [callee, ..]) => {
            let callee_rec = function.node(*callee);
            match callee_rec.kind {
                kind::OP => p.op(OpId(callee_rec.a)),
                _ => p.value(*callee),
            }
            p.out.push('(');
            list(p, node, 1);
        }
        (kind::IF, [_]) if is_plain_if(function, node) => {
            p.out.push_str("if (");
            list(p, node, 0);
            p.out.push(')');
        }
        (kind::FUNCTION, _) => p.out.push_str("fn"),
        _ => {
            literal::push(&mut p.out, format_args!("node({}, {}", rec.kind, rec.aux));
            let mut flags = rec.flags & !(flag::LET | flag::LISTED_INPUT | flag::PRISTINE);
            if function.n_regions(node) > 0 {
                flags &= !flag::EXTRA;
            }
            literal::push(&mut p.out, format_args!(", {flags})("));
            list(p, node, 0);
        }
    }
}

/// The operands of a node from one on, functions excepted.
fn list(p: &mut Printer<'_>, node: NodeId, first: usize) {
    let n_values = p.function.operands(node).len() - p.function.n_regions(node);
    for at in first..n_values {
        p.out.push_str(if at > first { ", " } else { "" });
        print_operands::operand(p, node, at, prim::WEAKEST);
    }
}

/// Prints the parts after a binding's expression: the number of results, and metadata.
pub(super) fn tail(p: &mut Printer<'_>, node: NodeId) {
    let function = p.function;
    if let Some(n_results) = function.n_results(node) {
        literal::push(&mut p.out, format_args!(" -> {n_results}"));
    }
    if function.kind(node) != kind::FUNCTION {
        print_attrs::metadata(p, node, &[]);
    }
}

/// A block's result.
pub(super) fn result(p: &mut Printer<'_>, result: NodeId) {
    let function = p.function;
    let rec = function.node(result);
    if rec.kind != kind::TUPLE || rec.aux != 1 {
        p.value(result);
        return p.out.push('\n');
    }
    let fields = function.operands(result);
    p.out.push('(');
    list(p, result, 0);
    p.out.push_str(if fields.len() == 1 { ",)" } else { ")" });
    let ty = function.type_id(result);
    if ty != TypeId::UNKNOWN && p.options.types == Types::All {
        p.out.push_str(": ");
        p.ty(ty);
    }
    p.out.push('\n');
}
