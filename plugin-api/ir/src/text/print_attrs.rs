//! The printer: attributes, metadata, and the functions among them.

use super::{
    literal,
    printer::{Header, Printer, Work, is_plain_if},
    words::{FORMS, KINDS, OPSET},
};
use crate::*;

/// The attributes and functions of a binding, in the order of the text, with the parenthesis that closes them.
pub(super) fn regions(p: &mut Printer<'_>, node: NodeId, work: &mut Vec<Work>) {
    let function = p.function;
    let regions = function.regions(node);
    match function.kind(node) {
        kind::FUNCTION => return work.push(Work::Function(node, Header::Bound)),
        kind::IF if is_plain_if(function, node) => {
            work.push(Work::Function(regions[0], Header::Branch));
            work.push(Work::Text(" else".to_owned()));
            let second = if p.prim.is_some() { Header::Else(regions[0]) } else { Header::Branch };
            return work.push(Work::Function(regions[1], second));
        }
        kind::CONSTANT | kind::TUPLE | kind::TUPLE_GET_ITEM => return,
        _ => {}
    }
    // Text before the first function is output at once; later text waits for the function.
    let mut text =
        Text { work: None, is_first: function.operands(node).len() - regions.len() <= first_arg(function, node) };
    let mut next = 0;
    for rec in function.attr_recs(node).iter().filter(|rec| rec.flags & attr_flag::META == 0) {
        let (first, count) = (rec.a as usize, rec.b as usize);
        let inline = match rec.kind {
            attr_kind::GRAPH if first == next => regions.get(next..next + 1),
            attr_kind::GRAPHS if first == next && count > 0 => regions.get(next..).and_then(|rest| rest.get(..count)),
            _ => None,
        };
        text.separate(p);
        attr_name(p, rec);
        match inline {
            None => value(p, node, *rec),
            Some(inline) => {
                let is_list = rec.kind == attr_kind::GRAPHS;
                for (at, &region) in inline.iter().enumerate() {
                    p.out.push_str(match at {
                        0 if is_list => "[fn",
                        0 => "fn",
                        _ => ", fn",
                    });
                    text.region(p, region, work);
                }
                p.out.push_str(if is_list { "]" } else { "" });
                next += inline.len();
            }
        }
    }
    for &region in &regions[next.min(regions.len())..] {
        text.separate(p);
        p.out.push_str("fn");
        text.region(p, region, work);
    }
    p.out.push(')');
    text.rest(p, work);
}

fn first_arg(function: &Function, node: NodeId) -> usize {
    usize::from(function.kind(node) == kind::CALL)
}

/// Text that waits for a function: `work` is its position in `out`.
struct Text {
    work: Option<usize>,
    is_first: bool,
}

impl Text {
    fn separate(&mut self, p: &mut Printer<'_>) {
        p.out.push_str(if std::mem::take(&mut self.is_first) { "" } else { ", " });
    }

    fn region(&mut self, p: &mut Printer<'_>, region: NodeId, work: &mut Vec<Work>) {
        self.rest(p, work);
        self.work = Some(p.out.len());
        work.push(Work::Function(region, Header::Function));
    }

    fn rest(&mut self, p: &mut Printer<'_>, work: &mut Vec<Work>) {
        if let Some(start) = self.work {
            work.push(Work::Text(p.out.split_off(start)));
        }
    }
}

/// `#[…]`, unless it is empty. `skip` are the names of metadata printed elsewhere.
pub(super) fn metadata(p: &mut Printer<'_>, node: NodeId, skip: &[&str]) {
    let function = p.function;
    let rec = *function.node(node);
    let is_call = !matches!(rec.kind, kind::VAR | kind::CONSTANT | kind::TUPLE | kind::TUPLE_GET_ITEM | kind::FUNCTION)
        && !is_plain_if(function, node);
    let mut separator = " #[";
    let mut next = |p: &mut Printer<'_>| p.out.push_str(std::mem::replace(&mut separator, ", "));
    if rec.kind == kind::CONSTANT && rec.aux != 0 {
        next(p);
        match FORMS.iter().find(|(_, form)| form.0 == rec.aux) {
            Some((name, _)) => literal::push(&mut p.out, format_args!("form = {name}")),
            None => literal::push(&mut p.out, format_args!("form = form{}", rec.aux)),
        }
    }
    if let Some(name) = p.hidden_name(node) {
        next(p);
        p.out.push_str("as %");
        literal::name(&mut p.out, name);
    }
    if rec.flags & flag::LISTED_INPUT != 0 {
        next(p);
        p.out.push_str("listed_input");
    }
    let opset = if rec.kind == kind::FUNCTION { opset(function, node) } else { None };
    if let Some(imports) = &opset {
        next(p);
        p.out.push_str("opset = {");
        for (at, &(domain, version)) in imports.iter().enumerate() {
            p.out.push_str(if at > 0 { ", " } else { "" });
            literal::quoted(&mut p.out, domain);
            literal::push(&mut p.out, format_args!(": {version}"));
        }
        p.out.push('}');
    }
    for attr in function.attr_recs(node) {
        let is_meta = attr.flags & attr_flag::META != 0;
        let is_named = |names: &[&str]| names.iter().any(|name| function.bytes(attr.name) == name.as_bytes());
        if (!is_meta && is_call) || (is_meta && (is_named(skip) || opset.is_some() && is_named(&OPSET))) {
            continue;
        }
        next(p);
        p.out.push_str(if is_meta { "" } else { "!" });
        attr_name(p, attr);
        value(p, node, *attr);
    }
    if separator == ", " {
        p.out.push(']');
    }
}

/// The operator sets a function imports, where they can be printed as a map.
fn opset(function: &Function, node: NodeId) -> Option<Vec<(&[u8], i64)>> {
    let attrs = function.attrs(node);
    let is_opset = |rec: &&AttrRec| OPSET.iter().any(|name| function.bytes(rec.name) == name.as_bytes());
    let recs: Vec<&AttrRec> = attrs.recs().iter().filter(is_opset).collect();
    let [domains, versions] = recs[..] else {
        return None;
    };
    if recs.iter().any(|rec| rec.flags != attr_flag::META) {
        return None;
    }
    match (attrs.decode(*domains), attrs.decode(*versions)) {
        (AttrValue::Strings(domains), AttrValue::Ints(versions)) if domains.raw().len() == versions.ints().len() => {
            Some(domains.strings().zip(versions.ints()).collect())
        }
        _ => None,
    }
}

pub(super) fn parameter(p: &mut Printer<'_>, param: NodeId) {
    p.value(param);
    let ty = p.function.type_id(param);
    if ty != TypeId::UNKNOWN {
        p.out.push_str(": ");
        p.ty(ty);
    }
    if let Some(tensor) = p.function.default_value(param) {
        p.out.push_str(" = ");
        literal::tensor(&mut p.out, tensor, p.options, p.side_file);
    }
    metadata(p, param, &[]);
}

fn attr_name(p: &mut Printer<'_>, rec: &AttrRec) {
    literal::word(&mut p.out, p.function.bytes(rec.name), &[]);
    match rec.flags & !attr_flag::META {
        0 => p.out.push_str(" = "),
        attr_flag::UNTYPED => p.out.push_str(" ?= "),
        flags => literal::push(&mut p.out, format_args!(" ?{flags} = ")),
    }
}

/// An attribute's value. Functions are named by their place among the node's.
fn value(p: &mut Printer<'_>, node: NodeId, rec: AttrRec) {
    let function = p.function;
    match (function.attrs(node).decode(rec), rec.kind) {
        (_, attr_kind::GRAPH) => literal::push(&mut p.out, format_args!("region({})", rec.a)),
        (_, attr_kind::GRAPHS) if rec.b == 0 => p.out.push_str("graphs[]"),
        (_, attr_kind::GRAPHS) => literal::push(&mut p.out, format_args!("regions({}, {})", rec.a, rec.b)),
        (AttrValue::Float(value), _) => literal::float(&mut p.out, value),
        (AttrValue::Int(value), _) => literal::push(&mut p.out, format_args!("{value}")),
        (AttrValue::String(value), _) => literal::quoted(&mut p.out, value),
        (AttrValue::Tensor(value), _) => literal::tensor(&mut p.out, value, p.options, p.side_file),
        (AttrValue::Floats(values), _) => items(p, "floats", values.floats(), |p, v| literal::float(&mut p.out, v)),
        (AttrValue::Ints(values), _) => {
            items(p, "ints", values.ints(), |p, v| literal::push(&mut p.out, format_args!("{v}")));
        }
        (AttrValue::Strings(values), _) => {
            items(p, "strings", values.strings(), |p, v| literal::quoted(&mut p.out, v));
        }
        (AttrValue::Tensors(values), _) => items(p, "tensors", values.tensors(), |p, v| {
            literal::tensor(&mut p.out, v, p.options, p.side_file);
        }),
        (AttrValue::SparseTensor(value), _) => wrapped_hex(p, "sparse", value),
        (AttrValue::SparseTensors(values), _) => {
            items(p, "sparse_tensors", values.strings(), |p, v| wrapped_hex(p, "sparse", v));
        }
        (AttrValue::Type(ty), _) => wrapped_type(p, ty),
        (AttrValue::Types(types), _) => items(p, "types", types.types(), wrapped_type),
        (AttrValue::Ref { kind, .. }, _) => {
            p.out.push('$');
            literal::name(&mut p.out, function.bytes(StrId(rec.a)));
            match KINDS.iter().find(|&&(_, known)| known == kind) {
                Some((name, _)) => literal::push(&mut p.out, format_args!(": {name}")),
                None => literal::push(&mut p.out, format_args!(": kind{}", rec.b)),
            }
        }
        (AttrValue::Raw(bytes), _) => wrapped_hex(p, "raw", bytes),
        _ => literal::push(&mut p.out, format_args!("unknown({}, {}, {})", rec.kind, rec.a, rec.b)),
    }
}

fn items<T>(
    p: &mut Printer<'_>,
    empty: &str,
    items: impl ExactSizeIterator<Item = T>,
    mut print: impl FnMut(&mut Printer<'_>, T),
) {
    if items.len() == 0 {
        p.out.push_str(empty);
    }
    p.out.push('[');
    for (at, item) in items.enumerate() {
        p.out.push_str(if at > 0 { ", " } else { "" });
        print(p, item);
    }
    p.out.push(']');
}

fn wrapped_hex(p: &mut Printer<'_>, head: &str, bytes: &[u8]) {
    p.out.push_str(head);
    p.out.push('(');
    literal::hex(&mut p.out, bytes);
    p.out.push(')');
}

fn wrapped_type(p: &mut Printer<'_>, ty: TypeId) {
    p.out.push_str("type(");
    p.ty(ty);
    p.out.push(')');
}
