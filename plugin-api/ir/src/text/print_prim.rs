//! The printer: loop programs. The text is read back as the same bindings; a binding that has no form of its own is printed
//! as in graphs.

mod control;

use super::{
    options::Types,
    prim::{COUNT, PRIMARY, WEAKEST, scalar_elem},
    print_attrs,
    print_forms::{Form, form, is_effect, is_implied},
    print_node,
    print_operands::{expression, list, operand},
    printer::{Header, Printer, Work, immediate, is_plain_if},
};
use crate::{prim::OUTPUTS, *};
use control::{carried, for_head, items, result, targets};
pub(super) use control::{do_header, end_control, outputs};
use std::ops::Range;

/// A statement from its name on up to its first function, or the end of a block.
pub(super) fn binding(p: &mut Printer<'_>, block: BlockId, at: usize, header: Header, work: &mut Vec<Work>) {
    let bindings = p.function.bindings(block);
    let is_nested = |&&id: &&NodeId| p.prim.as_ref().is_some_and(|prim| prim.is_nested(id));
    let at = at + bindings[at.min(bindings.len())..].iter().take_while(is_nested).count();
    let Some(&node) = bindings.get(at) else {
        return result(p, block, header);
    };
    p.line();
    p.choose_name(node);
    let form = form(p, node);
    let items = items(p, block, at);
    work.push(Work::Bindings(block, items.end, header));
    let before = work.len();
    let is_control = matches!(form, Form::For | Form::While | Form::When) || !items.is_empty();
    work.push(if is_control { Work::EndControl(node, block, items.clone()) } else { Work::End(node) });
    if !items.is_empty() {
        targets(p, node, &bindings[items]);
    } else if !is_effect(p, node) {
        print_node::target(p, node);
    }
    right_side(p, node, form, work);
    // The pieces were pushed in the order of the text.
    work[before + 1..].reverse();
}

/// One node on one line, without blocks.
pub(super) fn line(p: &mut Printer<'_>, node: NodeId) {
    if p.function.kind(node) == kind::IMM {
        return p.value(node);
    }
    let form = form(p, node);
    if !is_effect(p, node) {
        print_node::target(p, node);
    }
    let mut work = Vec::new();
    right_side(p, node, form, &mut work);
    for piece in work {
        match piece {
            Work::Text(text) => p.out.push_str(&text),
            Work::Function(_, Header::Do(_)) => p.out.push_str(" do {…}"),
            _ => p.out.push_str(" {…}"),
        }
    }
    match form {
        Form::For | Form::While | Form::When => print_attrs::metadata(p, node, &[]),
        _ => print_node::tail(p, node),
    }
}

/// A right-hand side; its functions and the text between them are added in the order of the text.
fn right_side(p: &mut Printer<'_>, node: NodeId, form: Form<'_>, work: &mut Vec<Work>) {
    let f = p.function;
    let regions = f.regions(node);
    match form {
        Form::General => {
            print_node::expression(p, node);
            print_attrs::regions(p, node, work);
        }
        Form::For => {
            for_head(p, node);
            work.push(Work::Function(regions[0], Header::Block(1)));
        }
        Form::While => {
            p.out.push_str("while");
            carried(p, node, f.operands(regions[0]), 1);
            work.push(Work::Function(regions[0], Header::Block(usize::MAX)));
            work.push(Work::Function(regions[1], Header::Do(regions[0])));
        }
        Form::When => {
            p.out.push_str("when (");
            operand(p, node, 1, WEAKEST);
            p.out.push(')');
            work.push(Work::Function(regions[0], Header::Block(0)));
            if let Some(&otherwise) = regions.get(1) {
                work.push(Work::Text(" else".to_owned()));
                work.push(Work::Function(otherwise, Header::Block(0)));
            }
        }
        Form::Store if is_effect(p, node) => {
            operand(p, node, 1, PRIMARY);
            p.out.push('[');
            list(p, node, 3..f.operands(node).len(), 0);
            p.out.push_str("] = ");
            operand(p, node, 2, WEAKEST);
        }
        _ => expression(p, node, form, WEAKEST, 0),
    }
}
