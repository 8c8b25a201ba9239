//! The printer: operands, and the expressions of loop programs that are nested in them.

use super::{
    literal,
    prim::{PREFIX, PRIMARY, WEAKEST, default_elem, elem_of, partners},
    print_attrs,
    print_forms::{Form, MOST_NESTED, args, form, is_plain},
    printer::{Prim, Printer, number},
};
use crate::{prim::CoreOp, *};
use std::ops::Range;

/// The text of an operand, counted over all operands of its user.
pub(super) fn operand(p: &mut Printer<'_>, user: NodeId, at: usize, least: u8) {
    nested_operand(p, user, at, least, 0);
}

pub(super) fn nested_operand(p: &mut Printer<'_>, user: NodeId, at: usize, least: u8, depth: usize) {
    let id = p.function.operands(user)[at];
    let Some(prim) = &p.prim else { return p.value(id) };
    if let Some(imm) = p.function.imm(id) {
        let has_suffix = has_suffix(p.function, prim, user, at, imm);
        return number(&mut p.out, imm, has_suffix);
    }
    // In a broken function, depth could be without a bound.
    match prim.is_nested(id) && depth <= MOST_NESTED {
        true => expression(p, id, form(p, id), least, depth + 1),
        false => p.value(id),
    }
}

/// Whether an immediate would be read with another element type without a suffix.
pub(super) fn has_suffix(f: &Function, prim: &Prim, user: NodeId, at: usize, imm: Imm) -> bool {
    let is_default = |imm: Imm| imm.elem() == default_elem(imm.elem());
    let first = usize::from(f.kind(user) == kind::CALL);
    let args = args(f, user);
    let range = match prim.ops.of(f, user) {
        Some(op) => partners(op, at - first, args.len()),
        None => 0..0,
    };
    let partners = args.get(range).unwrap_or_default();
    match partners.iter().find_map(|&id| elem_of(f, id)) {
        Some(elem) => imm.elem() != elem,
        None => !is_default(imm) || partners.iter().any(|&id| f.imm(id).is_some_and(|imm| !is_default(imm))),
    }
}

/// The tuple of a projection. `%b[0]` of memory would be its element.
pub(super) fn tuple_of_item(p: &mut Printer<'_>, tuple: NodeId) {
    let f = p.function;
    let is_value = is_plain(f, tuple) && f.kind(tuple) != kind::IMM;
    match &p.prim {
        Some(prim) if !is_value || prim.ops.is_memory(f, tuple) => {
            p.out.push('(');
            p.value(tuple);
            p.out.push(')');
        }
        _ => p.value(tuple),
    }
}

/// The operands from one on, separated by commas.
pub(super) fn list(p: &mut Printer<'_>, user: NodeId, range: Range<usize>, depth: usize) {
    for at in range.clone() {
        p.out.push_str(if at > range.start { ", " } else { "" });
        nested_operand(p, user, at, WEAKEST, depth);
    }
}

/// An expression without functions; in parentheses if it binds more weakly than its place asks for.
pub(super) fn expression(p: &mut Printer<'_>, id: NodeId, form: Form<'_>, least: u8, depth: usize) {
    let f = p.function;
    let n_operands = f.operands(id).len();
    let level = match form {
        Form::Infix(_, level) => level,
        Form::Prefix(_) => PREFIX,
        _ => PRIMARY,
    };
    if level < least {
        p.out.push('(');
    }
    match form {
        Form::Infix(mark, level) => {
            nested_operand(p, id, 1, level, depth);
            literal::push(&mut p.out, format_args!(" {mark} "));
            nested_operand(p, id, 2, level + 1, depth);
        }
        Form::Prefix(mark) => {
            p.out.push(char::from(mark));
            nested_operand(p, id, 1, PRIMARY, depth);
        }
        Form::Load => {
            nested_operand(p, id, 1, PRIMARY, depth);
            p.out.push('[');
            list(p, id, 2..n_operands, depth);
            p.out.push(']');
        }
        Form::Cast(elem) => {
            literal::push(&mut p.out, format_args!("{elem}("));
            list(p, id, 1..n_operands, depth);
            p.out.push(')');
        }
        Form::Alloc => alloc(p, id),
        Form::Call(op) => call(p, id, op, depth),
        Form::Store => call(p, id, CoreOp::Store, depth),
        Form::General | Form::For | Form::While | Form::When => p.value(id),
    }
    if level < least {
        p.out.push(')');
    }
}

fn call(p: &mut Printer<'_>, id: NodeId, op: CoreOp, depth: usize) {
    literal::push(&mut p.out, format_args!("{}(", op.name()));
    list(p, id, 1..p.function.operands(id).len(), depth);
    print_attrs::regions(p, id, &mut Vec::new());
}

fn alloc(p: &mut Printer<'_>, id: NodeId) {
    let f = p.function;
    let attrs = f.attrs(id);
    let text = |name| match attrs.get(name) {
        Some(AttrValue::String(text)) => std::str::from_utf8(text).ok(),
        _ => None,
    };
    p.out.push_str("alloc ");
    if let Some(scope) = text("scope") {
        literal::push(&mut p.out, format_args!("{scope} "));
    }
    literal::push(&mut p.out, format_args!("{}[", text("elem").unwrap_or_default()));
    if let Some(AttrValue::Ints(sizes)) = attrs.get("shape") {
        for (at, size) in sizes.ints().enumerate() {
            literal::push(&mut p.out, format_args!("{}{size}", if at > 0 { ", " } else { "" }));
        }
    }
    p.out.push(']');
}
