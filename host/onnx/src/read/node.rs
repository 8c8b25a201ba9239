//! `NodeProto`: from the fields of a node to a call, a conditional or a constant.

use super::{
    Cx,
    attr::{AttrRead, read_attribute},
    metadata_props,
    scope::Scope,
    tensor::TensorRead,
};
use crate::{
    error::{ErrorKind, OnnxError, Result},
    meta,
    names::NameTable,
    schema::node,
    wire::{Part, Scan},
};
use relais_plugin_api::ir::{
    Attr, AttrData, ConstForm, ElemType, Function, NodeId, OpRec, Span, Tensor, attr_flag, normal_domain,
};
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// A node whose graphs are still to be read.
#[derive(Default)]
pub(super) struct Pending<'a> {
    part: Part,
    op_type: &'a [u8],
    domain: Option<&'a str>,
    overload: Option<&'a str>,
    /// Its name, if it has one.
    name: Option<&'a [u8]>,
    inputs: SmallVec<[NodeId; 4]>,
    /// The names of its outputs.
    pub outputs: SmallVec<[&'a [u8]; 2]>,
    attrs: Vec<Attr>,
    metadata: Vec<Attr>,
    /// How the tensor of the only attribute stood in the file.
    tensor: Option<TensorRead<'a>>,
    has_implicit: bool,
    /// The parts of each graph, in reverse order.
    pub graphs: Vec<Vec<Part>>,
    /// The functions of the graphs read so far.
    pub regions: Vec<NodeId>,
}

/// Which node an error is about.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    at: u64,
    op_type: &'a [u8],
    name: &'a [u8],
}

impl Place<'_> {
    /// Returns the description of the node for errors.
    pub fn text(&self) -> String {
        format!("node `{}` ({})", String::from_utf8_lossy(self.name), String::from_utf8_lossy(self.op_type))
    }

    /// The error, at this node.
    pub fn of(&self, error: OnnxError) -> OnnxError {
        error.or_at(self.at).within(|| self.text())
    }
}

impl<'a> Pending<'a> {
    /// Forgets the node, but keeps the memory: most nodes need no more than the one before.
    fn reset(&mut self, part: Part) {
        self.part = part;
        self.op_type = b"";
        (self.domain, self.overload, self.name) = (None, None, None);
        self.inputs.clear();
        self.outputs.clear();
        self.attrs.clear();
        self.metadata.clear();
        self.tensor = None;
        self.has_implicit = false;
        self.graphs.clear();
        self.regions.clear();
    }

    /// Which node it is.
    pub fn place(&self) -> Place<'a> {
        let name = self.name.filter(|name| !name.is_empty());
        let name = name.unwrap_or_else(|| self.outputs.first().copied().unwrap_or_default());
        Place { at: self.part.at, op_type: self.op_type, name }
    }
}

/// The callees of operators that are written by their name alone.
#[derive(Default)]
pub(super) struct Callees {
    names: NameTable,
    /// By the operator's number.
    nodes: Vec<NodeId>,
}

/// Reads the `NodeProto` at `part`, its graphs excepted, into `pending`, which may have held another node.
pub(super) fn read_node<'a>(
    cx: &mut Cx<'a>,
    f: &mut Function,
    scope: &Scope,
    part: Part,
    pending: &mut Pending<'a>,
) -> Result<()> {
    pending.reset(part);
    let mut attributes: SmallVec<[Part; 4]> = SmallVec::new();
    let mut undefined: Option<(&str, u64)> = None;
    let mut props = Vec::new();
    let mut extra = Vec::new();
    let mut doc: Option<&[u8]> = None;
    let mut scan = Scan::part(cx.bytes, part);
    while let Some(field) = scan.field()? {
        match field.number {
            node::INPUT => {
                let name = field.bytes()?;
                let value = if name.is_empty() { Some(NodeId::ABSENT) } else { scope.find(f, name) };
                // A name that is defined was checked where it is.
                if value.is_none() {
                    let name = field.str()?;
                    undefined.get_or_insert((name, field.at));
                }
                pending.inputs.push(value.unwrap_or(NodeId::ABSENT));
            }
            node::OUTPUT => pending.outputs.push(field.text()?),
            node::NAME => pending.name = Some(field.bytes()?),
            node::OP_TYPE => pending.op_type = field.text()?,
            node::ATTRIBUTE => attributes.push(field.part()?),
            node::DOC_STRING => doc = Some(field.bytes()?),
            node::DOMAIN => pending.domain = Some(field.str()?),
            node::OVERLOAD => pending.overload = Some(field.str()?),
            node::METADATA_PROPS => props.push(field),
            _ => extra.extend_from_slice(field.raw),
        }
    }
    for (key, value) in [(meta::NAME, pending.name), (meta::DOC, doc)] {
        if let Some(value) = value {
            pending.metadata.push(Attr::meta(key, AttrData::String(value.to_vec())));
        }
    }
    if !props.is_empty() {
        pending.metadata.extend(metadata_props(&props, &mut extra)?);
    }
    if !extra.is_empty() {
        pending.metadata.push(Attr::meta(meta::EXTRA, AttrData::Raw(extra)));
    }
    if pending.op_type.is_empty() {
        return Err(OnnxError::at(part.at, ErrorKind::Missing("operator type")).within(|| pending.place().text()));
    }
    if let Some((input, at)) = undefined {
        return Err(OnnxError::at(at, ErrorKind::UndefinedName(input.into())).within(|| pending.place().text()));
    }
    if attributes.is_empty() { Ok(()) } else { read_attributes(cx, f, pending, &attributes) }
}

fn read_attributes<'a>(cx: &mut Cx<'a>, f: &mut Function, pending: &mut Pending<'a>, parts: &[Part]) -> Result<()> {
    let mut seen = BTreeSet::new();
    let mut implicit = Vec::new();
    for &part in parts {
        let read = read_attribute(cx, f, part).map_err(|error| error.within(|| pending.place().text()))?;
        if !seen.insert(read.name) {
            let fault = ErrorKind::DuplicateAttribute(read.name.into());
            return Err(OnnxError::at(part.at, fault).within(|| pending.place().text()));
        }
        let first = pending.graphs.len() as u32;
        let value = match read.value {
            AttrRead::Data(value) => value,
            AttrRead::Graph(parts) => {
                pending.graphs.push(parts);
                AttrData::Graph(first)
            }
            AttrRead::Graphs(parts) => {
                let count = parts.len() as u32;
                pending.graphs.extend(parts.into_iter().map(|part| vec![part]));
                AttrData::Graphs { first, count }
            }
        };
        pending.attrs.push(Attr { name: read.name.to_owned().into(), value, flags: read.flags });
        pending.metadata.extend(read.metadata);
        pending.tensor = read.tensor;
        if read.is_implicit {
            implicit.push(read.name.as_bytes().to_vec());
        }
    }
    pending.has_implicit = !implicit.is_empty();
    if pending.has_implicit {
        pending.metadata.push(Attr::meta(meta::IMPLICIT, AttrData::Strings(implicit)));
    }
    // Graphs are taken from the end, the first one first.
    pending.graphs.reverse();
    Ok(())
}

/// Where a node was read from; nothing if it is too long to be represented.
pub(super) fn span(part: Part) -> Option<Span> {
    Some(Span { offset: part.at, len: u32::try_from(part.len).ok()?, source: 1 })
}

/// Makes the node, now that its graphs are read.
pub(super) fn finish_node<'a>(
    cx: &Cx<'a>,
    f: &mut Function,
    callees: &mut Callees,
    pending: &mut Pending<'a>,
) -> Result<NodeId> {
    let n_results = match pending.outputs[..] {
        [] => None,
        [name] if !name.is_empty() => None,
        _ => match u16::try_from(pending.outputs.len()) {
            Ok(count) => Some(count),
            Err(_) => {
                return Err(pending.place().of(OnnxError::new(ErrorKind::TooManyOutputs(pending.outputs.len()))));
            }
        },
    };
    if pending.outputs.is_empty() {
        pending.metadata.push(Attr::meta(meta::N_OUTPUTS, 0));
    }
    let node = if let Some(node) = as_constant(f, pending) {
        node
    } else if is_if(f, pending, n_results) {
        make_if(f, pending, n_results)
    } else {
        make_call(cx, f, callees, pending, n_results)
    };
    pending.attrs.append(&mut pending.metadata);
    if !pending.attrs.is_empty() {
        f.set_attrs(node, &pending.attrs);
    }
    if let Some(span) = span(pending.part) {
        f.set_span(node, span);
    }
    Ok(node)
}

/// Keeps a domain and an overload that differ from the operator's own.
fn keep_spelling(pending: &mut Pending<'_>, domain: &str, overload: &str) {
    if let Some(written) = pending.domain.filter(|&written| written != domain || written.is_empty()) {
        pending.metadata.push(Attr::meta(meta::DOMAIN, written));
    }
    if let Some(written) = pending.overload.filter(|&written| written != overload || written.is_empty()) {
        pending.metadata.push(Attr::meta(meta::OVERLOAD, written));
    }
}

fn is_plain_operator(pending: &Pending<'_>, name: &str) -> bool {
    pending.op_type == name.as_bytes()
        && pending.domain.is_none_or(|domain| normal_domain(domain).is_empty())
        && pending.overload.is_none_or(str::is_empty)
}

/// Whether a node is a conditional whose branches are where they belong. One whose branches have other numbers of
/// values than the node stays a call.
fn is_if(f: &Function, pending: &Pending<'_>, n_results: Option<u16>) -> bool {
    let n_results = n_results.map_or(1, usize::from);
    let branch = |name: &str| {
        let is_it = |attr: &&Attr| attr.name == name && attr.flags & attr_flag::UNTYPED == 0;
        pending.attrs.iter().find(is_it).is_some_and(|attr| matches!(attr.value, AttrData::Graph(_)))
    };
    is_plain_operator(pending, "If")
        && matches!(pending.inputs[..], [cond] if !cond.is_absent())
        && pending.regions.len() == 2
        && pending.regions.iter().all(|&region| f.results(f.block_of(region)).len() == n_results)
        && branch("then_branch")
        && branch("else_branch")
}

fn make_if(f: &mut Function, pending: &mut Pending<'_>, n_results: Option<u16>) -> NodeId {
    let order: Vec<Vec<u8>> = pending.attrs.iter().map(|attr| attr.name.as_bytes().to_vec()).collect();
    if !order.starts_with(&[b"then_branch".to_vec(), b"else_branch".to_vec()]) {
        pending.metadata.push(Attr::meta(meta::ATTRIBUTE_ORDER, AttrData::Strings(order)));
    }
    let mut branches = [NodeId::ABSENT; 2];
    pending.attrs.retain(|attr| {
        let AttrData::Graph(region) = attr.value else { return true };
        branches[usize::from(attr.name == "else_branch")] = pending.regions[region as usize];
        false
    });
    keep_spelling(pending, "", "");
    f.add_if(pending.inputs[0], branches[0], branches[1], n_results)
}

fn make_call<'a>(
    cx: &Cx<'a>,
    f: &mut Function,
    callees: &mut Callees,
    pending: &mut Pending<'a>,
    n_results: Option<u16>,
) -> NodeId {
    let known = match (pending.domain, pending.overload) {
        (None, None) => callees.names.find(f, pending.op_type),
        _ => None,
    };
    let callee = match known {
        Some(operator) => callees.nodes[operator.index()],
        None => make_callee(cx, f, callees, pending),
    };
    f.add_call_with(callee, &pending.inputs, &pending.regions, n_results)
}

fn make_callee<'a>(cx: &Cx<'a>, f: &mut Function, callees: &mut Callees, pending: &mut Pending<'a>) -> NodeId {
    let (domain, overload) = (pending.domain.unwrap_or(""), pending.overload.unwrap_or(""));
    let op_type = std::str::from_utf8(pending.op_type).unwrap_or_default();
    if let Some(global) = cx.functions.get(&(normal_domain(domain), op_type, overload)) {
        keep_spelling(pending, normal_domain(domain), overload);
        return f.add_global_var(global);
    }
    keep_spelling(pending, domain, overload);
    let op = f.add_op(domain, op_type, overload, 0);
    let &OpRec { name, node: callee, .. } = f.op(op);
    if pending.domain.is_none() && pending.overload.is_none() {
        callees.names.intern(f, name);
        callees.nodes.push(callee);
    }
    callee
}

/// The form and the tensor of a `Constant` node.
fn constant(attr: &Attr) -> Option<(ConstForm, Tensor)> {
    let strings =
        |dims: &[u64], strings: &[Vec<u8>]| Tensor::from_strings(dims, strings.iter().map(Vec::as_slice)).ok();
    let scalar = |elem, bytes: &[u8]| Tensor::dense(elem, &[], bytes.to_vec()).ok();
    Some(match (&*attr.name, &attr.value) {
        ("value", AttrData::Tensor(tensor)) => (ConstForm::VALUE, tensor.clone()),
        ("value_float", AttrData::Float(value)) => {
            (ConstForm::VALUE_FLOAT, scalar(ElemType::FLOAT, &value.to_le_bytes())?)
        }
        ("value_int", AttrData::Int(value)) => (ConstForm::VALUE_INT, scalar(ElemType::INT64, &value.to_le_bytes())?),
        ("value_floats", AttrData::Floats(values)) => {
            (ConstForm::VALUE_FLOATS, Tensor::from_f32(&[values.len() as u64], values))
        }
        ("value_ints", AttrData::Ints(values)) => {
            (ConstForm::VALUE_INTS, Tensor::from_i64(&[values.len() as u64], values))
        }
        ("value_string", AttrData::String(value)) => {
            (ConstForm::VALUE_STRING, strings(&[], std::slice::from_ref(value))?)
        }
        ("value_strings", AttrData::Strings(values)) => {
            (ConstForm::VALUE_STRINGS, strings(&[values.len() as u64], values)?)
        }
        _ => return None,
    })
}

/// The node as a constant, if it is a `Constant` in one of the known forms.
fn as_constant(f: &mut Function, pending: &mut Pending<'_>) -> Option<NodeId> {
    let is_constant = is_plain_operator(pending, "Constant") && pending.inputs.is_empty() && !pending.has_implicit;
    if !is_constant || !matches!(pending.outputs[..], [name] if !name.is_empty()) {
        return None;
    }
    let [attr] = &pending.attrs[..] else { return None };
    let (form, tensor) = constant(attr)?;
    if attr.flags & attr_flag::UNTYPED != 0 {
        pending.metadata.push(Attr::meta(meta::UNTYPED, 1));
    }
    if let Some(read) = pending.tensor.take() {
        // The tensor is the node itself here: its properties need no attribute's name.
        let about_tensor = [meta::TENSOR_FIELD, meta::TENSOR_EXTRA, meta::EXTERNAL_DATA];
        pending.metadata.retain(|attr| !about_tensor.iter().any(|key| *attr.name == meta::about(key, "value")));
        pending.metadata.extend(read.metadata(None));
    }
    pending.attrs.clear();
    keep_spelling(pending, "", "");
    Some(f.add_constant(tensor, form))
}
