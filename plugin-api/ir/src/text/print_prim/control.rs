//! The printer: the heads of loops, their results, and the outputs of loop programs.

use super::*;
use crate::{
    prim::LoopKind,
    text::{
        literal,
        print_forms::{args, made},
        print_operands::{has_suffix, nested_operand},
        printer::number,
    },
};

/// The bindings behind one that are its results, where `(%a, _) = …` stands for all of them; empty otherwise.
pub(super) fn items(p: &Printer<'_>, block: BlockId, at: usize) -> Range<usize> {
    let f = p.function;
    let bindings = f.bindings(block);
    let (none, node) = (at + 1..at + 1, bindings[at]);
    let Some(prim) = &p.prim else { return none };
    let is_plain = |id: NodeId| f.node(id).flags & (flag::LET | flag::LISTED_INPUT) == 0;
    let has_results = f.n_results(node).is_some() && f.n_regions(node) > 0;
    let has_form = form(p, node) != Form::General || is_plain_if(f, node);
    if p.options.flat
        || !has_results
        || !has_form
        || !is_plain(node)
        || f.name_id(node) != StrId::EMPTY
        || !is_implied(p, node)
    {
        return none;
    }
    let mut names: Vec<&[u8]> = Vec::new();
    let mut next = 0;
    let mut end = at + 1;
    while let Some(&item) = bindings.get(end)
        && f.kind(item) == kind::TUPLE_GET_ITEM
        && f.operands(item) == [node]
    {
        let name = f.bytes(f.name_id(item));
        let is_named = !name.is_empty();
        if f.node(item).aux < next
            || !is_plain(item)
            || !f.attr_recs(item).is_empty()
            || is_named && (names.contains(&name) || p.is_taken(name))
        {
            return none;
        }
        names.push(name);
        next = f.node(item).aux + 1;
        end += 1;
    }
    let is_whole = prim.uses(node) as usize == names.len() && f.n_results(node).is_some_and(|n| n >= usize::from(next));
    if is_whole { at + 1..end } else { none }
}

/// `(%a, _) = `
pub(super) fn targets(p: &mut Printer<'_>, node: NodeId, items: &[NodeId]) {
    p.out.push('(');
    let mut items = items.iter().copied().peekable();
    for at in 0..p.function.n_results(node).unwrap_or(0) {
        p.out.push_str(if at > 0 { ", " } else { "" });
        match items.next_if(|&item| usize::from(p.function.node(item).aux) == at) {
            Some(item) => print_node::typed(p, item),
            None => p.out.push('_'),
        }
    }
    p.out.push_str(") = ");
}

pub(in crate::text) fn end_control(p: &mut Printer<'_>, node: NodeId, block: BlockId, items: Range<usize>) {
    print_attrs::metadata(p, node, &[]);
    p.out.push_str(if is_effect(p, node) { "\n" } else { ";\n" });
    p.define(node);
    for &item in &p.function.bindings(block)[items] {
        p.define(item);
    }
}

pub(super) fn for_head(p: &mut Printer<'_>, node: NodeId) {
    let f = p.function;
    let params = f.operands(f.regions(node)[0]);
    p.out.push_str("for ");
    param(p, params[0], args(f, node)[0]);
    p.out.push_str(" in ");
    let [first, extent] = [1, 2].map(|at| f.imm(f.operands(node)[at]).filter(|imm| imm.elem().is_integer()));
    operand(p, node, 1, WEAKEST);
    if first.is_some_and(|first| first.bits() == 0) {
        p.out.push_str("..");
        operand(p, node, 2, WEAKEST);
    } else if let (Some(first), Some(extent), Some(prim)) = (first, extent, &p.prim)
        && let Some(end) = sum(first, extent)
    {
        let has_suffix = has_suffix(f, prim, node, 2, extent);
        p.out.push_str("..");
        number(&mut p.out, end, has_suffix);
    } else if is_difference(p, node) {
        p.out.push_str("..");
        nested_operand(p, f.operands(node)[2], 1, WEAKEST, 1);
    } else {
        literal::push(&mut p.out, format_args!(" {COUNT} "));
        operand(p, node, 2, WEAKEST);
    }
    if let Some(AttrValue::String(kind)) = f.attrs(node).get("kind")
        && let Some(kind) = LoopKind::from_name(kind)
    {
        literal::push(&mut p.out, format_args!(" {}", kind.name()));
    }
    carried(p, node, &params[1..], 3);
}

/// Whether the number of turns is a nested `end - first`, which `first..end` stands for.
fn is_difference(p: &Printer<'_>, node: NodeId) -> bool {
    let f = p.function;
    let (first, extent) = (args(f, node)[0], args(f, node)[1]);
    let is_nested = |id| p.prim.as_ref().is_some_and(|prim| prim.is_nested(id));
    let is_sub = matches!(form(p, extent), Form::Infix("-", _));
    match *args(f, extent) {
        [end, other] if is_sub && is_nested(extent) && !is_nested(first) && made(p, extent).is_some() => {
            // Of two numbers the difference is a number.
            let is_number = f.imm(end).is_some() && f.imm(first).is_some();
            !is_number && (first == other || f.imm(first).is_some() && f.imm(first) == f.imm(other))
        }
        _ => false,
    }
}

/// The sum of two numbers of one type, if that type has it.
fn sum(a: Imm, b: Imm) -> Option<Imm> {
    let sum = a.as_int()?.checked_add(b.as_int()?)?;
    Imm::int(a.elem(), sum).filter(|imm| a.elem() == b.elem() && imm.as_int() == Some(sum))
}

/// ` with %a = …`: the parameters of carried values, and the operands from one on that they begin with.
pub(super) fn carried(p: &mut Printer<'_>, node: NodeId, params: &[NodeId], first: usize) {
    for (at, &id) in params.iter().enumerate() {
        p.out.push_str(if at > 0 { ", " } else { " with " });
        param(p, id, p.function.operands(node)[first + at]);
        p.out.push_str(" = ");
        // Nothing else gives a literal here a type.
        operand(p, node, first + at, WEAKEST);
    }
}

/// A parameter whose type, unless it is written, is that of a value.
fn param(p: &mut Printer<'_>, id: NodeId, like: NodeId) {
    p.choose_name(id);
    p.define(id);
    p.value(id);
    let ty = p.function.type_id(id);
    if ty != p.function.type_id(like) && p.options.types == Types::All {
        p.out.push_str(": ");
        p.ty(ty);
    }
    print_attrs::metadata(p, id, &[]);
}

/// ` do`, and the parameters of the body unless they are named as those of the condition.
pub(in crate::text) fn do_header(p: &mut Printer<'_>, node: NodeId, condition: NodeId) {
    let f = p.function;
    let (params, outer) = (f.operands(node), f.operands(condition));
    p.out.push_str(" do");
    let start = p.out.len();
    let mut is_same = true;
    for (at, (&id, &like)) in params.iter().zip(outer).enumerate() {
        p.out.push_str(if at > 0 { ", " } else { " (" });
        param(p, id, like);
        let (name, other) = (f.bytes(f.name_id(id)), f.bytes(f.name_id(like)));
        is_same &= !name.is_empty()
            && name == other
            && p.hidden_name(id).is_none()
            && p.hidden_name(like).is_none()
            && f.type_id(id) == f.type_id(like)
            && f.attr_recs(id).is_empty()
            && f.node(id).flags & flag::LISTED_INPUT == 0;
    }
    match is_same {
        true => p.out.truncate(start),
        false => p.out.push(')'),
    }
}

/// The end of a block: its results, or nothing if there are none.
pub(super) fn result(p: &mut Printer<'_>, block: BlockId, header: Header) {
    let f = p.function;
    let result = f.result(block);
    let is_list = f.kind(result) == kind::TUPLE && f.node(result).aux == 1;
    let fields = if is_list { f.operands(result) } else { std::slice::from_ref(&result) };
    let ty = f.type_id(result);
    let has_type = is_list && ty != TypeId::UNKNOWN && p.options.types == Types::All;
    if fields.is_empty() && !has_type {
        return;
    }
    p.line();
    p.out.push_str(if is_list { "(" } else { "" });
    for (at, &id) in fields.iter().enumerate() {
        p.out.push_str(if at > 0 { ", " } else { "" });
        if f.imm(id).is_some() {
            immediate(p, id, expected(f, block, header, at));
        } else if p.prim.as_ref().is_some_and(|prim| prim.is_nested(id)) {
            expression(p, id, form(p, id), WEAKEST, 0);
        } else {
            p.value(id);
        }
    }
    p.out.push_str(match (is_list, fields.len()) {
        (true, 1) => ",)",
        (true, _) => ")",
        _ => "",
    });
    if has_type {
        p.out.push_str(": ");
        p.ty(ty);
    }
    p.out.push('\n');
}

/// The element type that literals have as a result of a block.
fn expected(f: &Function, block: BlockId, header: Header, at: usize) -> Option<ElemType> {
    let params = f.operands(f.block(block).owner);
    let like = match header {
        Header::Block(n_bounds) => params.get(n_bounds.checked_add(at)?),
        Header::Do(_) => params.get(at),
        Header::Else(then) if f.kind(then) == kind::FUNCTION => f.results(f.block_of(then)).get(at),
        _ => None,
    };
    scalar_elem(f, f.type_id(*like?))
}

/// The number of inputs before `->`, for the root of a loop program that says how many outputs it has; and the metadata
/// that says so.
pub(in crate::text) fn outputs(p: &Printer<'_>, node: NodeId) -> (Option<usize>, &'static [&'static str]) {
    let f = p.function;
    if p.prim.is_none() || node != f.root() {
        return (None, &[]);
    }
    let attrs = f.attrs(node);
    let mut recs = attrs.recs().iter().filter(|rec| f.bytes(rec.name) == OUTPUTS.as_bytes());
    let (Some(rec), None) = (recs.next(), recs.next()) else { return (None, &[]) };
    let n_outputs = match attrs.decode(*rec) {
        AttrValue::Int(n) if rec.flags == attr_flag::META => usize::try_from(n).ok(),
        _ => None,
    };
    match n_outputs.and_then(|n| f.operands(node).len().checked_sub(n)) {
        Some(n_inputs) => (Some(n_inputs), &[OUTPUTS]),
        None => (None, &[]),
    }
}
