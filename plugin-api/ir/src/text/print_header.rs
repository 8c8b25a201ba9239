//! The printer: functions up to their blocks.

use super::{
    literal, print_attrs, print_prim,
    printer::{Header, Printer},
};
use crate::*;

/// A function from its name on, up to its block.
pub(super) fn header(p: &mut Printer<'_>, node: NodeId, header: Header) {
    let function = p.function;
    let params = function.operands(node);
    let name = function.bytes(function.name_id(node));
    match header {
        Header::Block(_) => return,
        Header::Do(condition) => return print_prim::do_header(p, node, condition),
        _ => {}
    }
    let (n_inputs, skip) = print_prim::outputs(p, node);
    if !name.is_empty() && header != Header::Bound {
        p.out.push_str(" %");
        literal::name(&mut p.out, name);
    }
    let is_branch = matches!(header, Header::Branch | Header::Else(_));
    if !is_branch || !params.is_empty() {
        p.out.push_str(if is_branch { " (" } else { "(" });
        for (at, &param) in params.iter().enumerate() {
            p.out.push_str(match at {
                _ if Some(at) == n_inputs => ") -> (",
                0 => "",
                _ => ", ",
            });
            p.choose_name(param);
            print_attrs::parameter(p, param);
            p.define(param);
        }
        p.out.push_str(if n_inputs == Some(params.len()) { ") -> ()" } else { ")" });
    }
    if p.prim.is_some() && node == function.root() {
        let ty = function.type_id(node);
        if ty != TypeId::UNKNOWN {
            p.out.push_str(": ");
            p.ty(ty);
        }
        return print_attrs::metadata(p, node, skip);
    }
    let shown = outputs(p, node);
    print_attrs::metadata(p, node, if shown { &[OUTPUT_NAMES] } else { &[] });
}

/// The names and types of a function's results; returns whether names were printed.
fn outputs(p: &mut Printer<'_>, node: NodeId) -> bool {
    let function = p.function;
    let ty = function.type_id(node);
    let names = output_names(function, node);
    let one;
    let types: Option<&[TypeId]> = match function.ty(ty) {
        Type::Func { params, result } if params_have(function, node, params) => match function.ty(result) {
            Type::Tuple(types) if types.len() != 1 => Some(types),
            _ => {
                one = [result];
                Some(&one)
            }
        },
        _ => None,
    };
    let types = types.filter(|types| names.as_ref().is_none_or(|names| names.len() == types.len()));
    if let Some(n_outputs) = names.as_ref().map(Vec::len).or(types.map(<[_]>::len)) {
        p.out.push_str(" -> (");
        for at in 0..n_outputs {
            p.out.push_str(if at > 0 { ", " } else { "" });
            if let Some(names) = &names {
                p.out.push('%');
                literal::name(&mut p.out, names[at]);
            }
            if let Some(types) = types {
                p.out.push_str(if names.is_some() { ": " } else { "" });
                p.ty(types[at]);
            }
        }
        p.out.push(')');
    }
    if types.is_none() && ty != TypeId::UNKNOWN {
        p.out.push_str(": ");
        p.ty(ty);
    }
    names.is_some()
}

fn params_have(function: &Function, node: NodeId, types: &[TypeId]) -> bool {
    let params = function.operands(node);
    params.len() == types.len() && params.iter().zip(types).all(|(&param, &ty)| function.type_id(param) == ty)
}

/// The names of a function's results, if they can be written in its header.
fn output_names(function: &Function, node: NodeId) -> Option<Vec<&[u8]>> {
    let attrs = function.attrs(node);
    let mut recs = attrs.recs().iter().filter(|rec| function.bytes(rec.name) == OUTPUT_NAMES.as_bytes());
    let (Some(rec), None) = (recs.next(), recs.next()) else {
        return None;
    };
    match attrs.decode(*rec) {
        AttrValue::Strings(names) if rec.flags == attr_flag::META && !names.raw().is_empty() => {
            Some(names.strings().collect())
        }
        _ => None,
    }
}
