//! The printer: nodes and attributes.

use super::{
    literal, prim,
    print::{Printer, Types, Work},
    print_prim,
};
use crate::ir::*;

/// Words that begin an expression of their own, so that an operator of that name is quoted.
pub(super) const EXPRESSIONS: &[&str] = &[
    "let", "if", "else", "fn", "const", "splat", "node", "leaf", "opaque", "hex", "true", "false", "inf", "nan", "_",
    "def", "prim", "global",
];
/// The metadata that represents the operator sets a function imports.
pub(super) const OPSET: [&str; 2] = ["opset_domains", "opset_versions"];
/// The metadata that names a function's results.
pub(super) const OUTPUT_NAMES: &str = "output_names";
/// Names of attribute kinds, where an attribute refers to one of the enclosing function.
pub(super) const KINDS: &[(&str, u8)] = &[
    ("float", attr_kind::FLOAT),
    ("int", attr_kind::INT),
    ("string", attr_kind::STRING),
    ("tensor", attr_kind::TENSOR),
    ("graph", attr_kind::GRAPH),
    ("floats", attr_kind::FLOATS),
    ("ints", attr_kind::INTS),
    ("strings", attr_kind::STRINGS),
    ("tensors", attr_kind::TENSORS),
    ("graphs", attr_kind::GRAPHS),
    ("sparse_tensor", attr_kind::SPARSE_TENSOR),
    ("sparse_tensors", attr_kind::SPARSE_TENSORS),
    ("type", attr_kind::TYPE),
    ("types", attr_kind::TYPES),
];
/// Names of the forms of a constant.
pub(super) const FORMS: &[(&str, ConstForm)] = &[
    ("initializer", ConstForm::INITIALIZER),
    ("value", ConstForm::VALUE),
    ("value_float", ConstForm::VALUE_FLOAT),
    ("value_floats", ConstForm::VALUE_FLOATS),
    ("value_int", ConstForm::VALUE_INT),
    ("value_ints", ConstForm::VALUE_INTS),
    ("value_string", ConstForm::VALUE_STRING),
    ("value_strings", ConstForm::VALUE_STRINGS),
];

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
        _ => !print_prim::is_implied(p, node),
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
            print_prim::tuple_of_item(p, *tuple);
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

pub(super) fn is_plain_if(function: &Function, node: NodeId) -> bool {
    function.kind(node) == kind::IF && function.n_regions(node) == 2 && function.operands(node).len() == 3
}

/// The operands of a node from one on, functions excepted.
pub(super) fn list(p: &mut Printer<'_>, node: NodeId, first: usize) {
    let n_values = p.function.operands(node).len() - p.function.n_regions(node);
    for at in first..n_values {
        p.out.push_str(if at > first { ", " } else { "" });
        print_prim::operand(p, node, at, prim::WEAKEST);
    }
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

/// Prints the parts after a binding's expression: the number of results, and metadata.
pub(super) fn tail(p: &mut Printer<'_>, node: NodeId) {
    let function = p.function;
    if let Some(n_results) = function.n_results(node) {
        literal::push(&mut p.out, format_args!(" -> {n_results}"));
    }
    if function.kind(node) != kind::FUNCTION {
        metadata(p, node, &[]);
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
            parameter(p, param);
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
        return metadata(p, node, skip);
    }
    let shown = outputs(p, node);
    metadata(p, node, if shown { &[OUTPUT_NAMES] } else { &[] });
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
