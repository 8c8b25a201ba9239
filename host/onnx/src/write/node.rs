//! Writing `NodeProto`: copied if unchanged, otherwise encoded again.

use super::{
    data::{IsWeight, Place, Placement, source_location},
    plan::Header,
    steps::{Scene, Step, Writer},
    tensor::About,
};
use crate::{
    encode::{default_tensor, field_of, put_plain},
    error::{ErrorKind, OnnxError, Result},
    meta,
    schema::{attribute, entry, node},
    wire::{Field, Part, Scan, put_bytes, put_float, put_int},
};
use relais_plugin_api::ir::{
    AttrRec, AttrValue, Attrs, ConstForm, ConstId, ElemType, Expr, Function, NodeId, Tensor, attr_flag, attr_kind,
    kind, normal_domain,
};

/// Returns the operator that a node of this kind is written as.
pub(super) fn op_name(f: &Function, id: NodeId) -> &str {
    match f.expr(id) {
        Expr::Call(call) => call.op_name(),
        Expr::If(_) => "If",
        Expr::Constant(_) => "Constant",
        _ => "",
    }
}

/// Alternating keys and values as `StringStringEntryProto`s.
pub(super) fn put_entries(out: &mut Vec<u8>, number: u32, value: Option<AttrValue<'_>>) {
    let Some(AttrValue::Strings(strings)) = value else { return };
    let strings: Vec<&[u8]> = strings.strings().collect();
    for pair in strings.chunks_exact(2) {
        let mut bytes = Vec::new();
        put_bytes(&mut bytes, entry::KEY, pair[0]);
        put_bytes(&mut bytes, entry::VALUE, pair[1]);
        put_bytes(out, number, &bytes);
    }
}

/// The header of a length-delimited field.
pub(super) fn header(field: &Field<'_>) -> Result<Header> {
    let part = field.part()?;
    Ok(Header { part: Part { at: field.at, len: part.at - field.at }, len: part.len })
}

/// An attribute to be written: the fields before its value, the value, the fields after it.
struct AttrParts {
    name: String,
    value: Vec<Step>,
    kind: u8,
    /// Not written for attributes that did not state it.
    states_kind: bool,
}

impl Writer<'_> {
    /// The names that a node takes.
    fn input_names(&self, scene: usize, id: NodeId) -> impl Iterator<Item = Result<&[u8]>> {
        let scene = &self.scenes[scene];
        let operands = scene.f.operands(id);
        let operands = &operands[..operands.len() - scene.f.n_regions(id)];
        let operands = match scene.f.kind(id) {
            kind::CALL => &operands[1..],
            kind::IF => operands,
            _ => &[],
        };
        let name = move |&operand: &NodeId| {
            let fault = || OnnxError::new(ErrorKind::NotExpressible("a tuple or a function as a value"));
            scene.names.bytes(operand).ok_or_else(fault)
        };
        operands.iter().map(name)
    }

    /// Where the source has this node as it is now, its graphs excepted.
    pub fn node_in_source(&mut self, scene: usize, id: NodeId) -> Result<Option<Part>> {
        let f = self.scenes[scene].f;
        if has_moved(f, id, &mut self.placement) {
            return Ok(None);
        }
        let Some(span) = f.span(id).filter(|span| f.is_pristine(id) && span.source == 1) else { return Ok(None) };
        let part = Part { at: span.offset, len: span.len.into() };
        if part.at.saturating_add(part.len) > self.source.len() as u64 {
            return Ok(None);
        }
        let (mut inputs, mut outputs) = (self.input_names(scene, id), self.scenes[scene].names.outputs_of(id));
        let mut scan = Scan::part(self.source, part);
        while let Some(field) = scan.field()? {
            let wanted = match field.number {
                node::INPUT => inputs.next().transpose()?,
                node::OUTPUT => outputs.next(),
                _ => continue,
            };
            if wanted != Some(field.bytes()?) {
                return Ok(None);
            }
        }
        Ok((inputs.next().transpose()?.is_none() && outputs.next().is_none()).then_some(part))
    }

    /// Copies a node with graphs from the source: everything except the graphs.
    pub fn copy_node(&mut self, scene: usize, id: NodeId, part: Part) -> Result<Vec<Step>> {
        let f = self.scenes[scene].f;
        let mut steps = Vec::new();
        let source = self.source;
        let mut scan = Scan::part(source, part);
        while let Some(field) = scan.field()? {
            let regions =
                if field.number == node::ATTRIBUTE { self.regions_of(f, id, field.part()?)? } else { Vec::new() };
            if regions.is_empty() {
                steps.push(Step::Source(field.whole()));
                continue;
            }
            steps.push(Step::Begin(node::ATTRIBUTE, Some(header(&field)?)));
            let segments = self.graph_segments(field.part()?)?;
            let mut contents = Vec::new();
            match regions[..] {
                [region] if segments.len() != 1 => contents.extend(self.graph_steps(scene, region, &segments)?),
                _ => {
                    for (&region, &segment) in regions.iter().zip(&segments) {
                        contents.extend(self.graph_steps(scene, region, &[segment])?);
                    }
                }
            }
            let mut contents = contents.into_iter();
            let mut scan = Scan::part(source, field.part()?);
            while let Some(field) = scan.field()? {
                if matches!(field.number, attribute::G | attribute::GRAPHS) {
                    steps.push(Step::Begin(field.number, Some(header(&field)?)));
                    steps.extend(contents.next().unwrap_or_default());
                    steps.push(Step::End);
                } else {
                    steps.push(Step::Source(field.whole()));
                }
            }
            steps.push(Step::End);
        }
        Ok(steps)
    }

    fn graph_segments(&self, part: Part) -> Result<Vec<Part>> {
        let mut segments = Vec::new();
        let mut scan = Scan::part(self.source, part);
        while let Some(field) = scan.field()? {
            if matches!(field.number, attribute::G | attribute::GRAPHS) {
                segments.push(field.part()?);
            }
        }
        Ok(segments)
    }

    /// The functions of the graphs in the attribute at `part`.
    fn regions_of(&self, f: &Function, id: NodeId, part: Part) -> Result<Vec<NodeId>> {
        let mut name = "";
        let mut has_graph = false;
        let mut scan = Scan::part(self.source, part);
        while let Some(field) = scan.field()? {
            match field.number {
                attribute::NAME => name = field.str()?,
                attribute::G | attribute::GRAPHS => has_graph = true,
                _ => {}
            }
        }
        if !has_graph {
            return Ok(Vec::new());
        }
        if let Expr::If(view) = f.expr(id) {
            return Ok(vec![if name == "then_branch" { view.then_branch() } else { view.else_branch() }]);
        }
        Ok(match f.attrs(id).get(name) {
            Some(AttrValue::Graph(region)) => vec![region],
            Some(AttrValue::Graphs(regions)) => regions.to_vec(),
            _ => Vec::new(),
        })
    }

    /// Encodes a node's message.
    pub fn encode_node(&mut self, scene: usize, id: NodeId) -> Result<Vec<Step>> {
        let f = self.scenes[scene].f;
        let place = || format!("node `{}` ({})", f.name(id), op_name(f, id));
        self.encode(scene, id).map_err(|error| error.within(place))
    }

    fn encode(&mut self, scene: usize, id: NodeId) -> Result<Vec<Step>> {
        let f = self.scenes[scene].f;
        let attrs = f.attrs(id);
        let mut head = Vec::new();
        for name in self.input_names(scene, id) {
            put_bytes(&mut head, node::INPUT, name?);
        }
        for name in self.scenes[scene].names.outputs_of(id) {
            put_bytes(&mut head, node::OUTPUT, name);
        }
        if let Some(name) = self.scenes[scene].node_names.get(f, id) {
            put_bytes(&mut head, node::NAME, name);
        }
        let (mut domain, name, mut overload) = self.callee(scene, id)?;
        if name.is_empty() {
            return Err(OnnxError::new(ErrorKind::NotExpressible("an operator without a name")));
        }
        put_bytes(&mut head, node::OP_TYPE, name.as_bytes());
        let mut steps = vec![Step::Bytes(head)];
        match f.expr(id) {
            Expr::Constant(tensor) => {
                let parts = self.constant_attribute(f, id, tensor)?;
                steps.extend(finish_attribute(attrs, parts));
            }
            Expr::If(view) => {
                let branches = [("then_branch", view.then_branch()), ("else_branch", view.else_branch())];
                let mut list = Vec::new();
                for (name, region) in branches {
                    list.push((name.to_owned(), self.graph_attribute(scene, attrs, name, region)?));
                }
                for &rec in attrs.recs().iter().filter(|rec| rec.flags & attr_flag::META == 0) {
                    list.push((f.str(rec.name).to_owned(), self.attribute(scene, attrs, rec)?));
                }
                if let Some(AttrValue::Strings(order)) = attrs.meta(meta::ATTRIBUTE_ORDER) {
                    let order: Vec<&[u8]> = order.strings().collect();
                    // Names that the order does not contain come last, in their own order.
                    let position = |name: &str| order.iter().position(|known| *known == name.as_bytes());
                    list.sort_by_key(|(name, _)| position(name).unwrap_or(usize::MAX));
                }
                steps.extend(list.into_iter().flat_map(|(_, steps)| steps));
            }
            _ => {
                for &rec in attrs.recs().iter().filter(|rec| rec.flags & attr_flag::META == 0) {
                    steps.extend(self.attribute(scene, attrs, rec)?);
                }
            }
        }
        let mut tail = Vec::new();
        if let Some(AttrValue::String(doc)) = attrs.meta(meta::DOC) {
            put_bytes(&mut tail, node::DOC_STRING, doc);
        }
        for (key, spelled, number) in
            [(meta::DOMAIN, &mut domain, node::DOMAIN), (meta::OVERLOAD, &mut overload, node::OVERLOAD)]
        {
            match attrs.meta(key) {
                Some(AttrValue::String(written)) => put_bytes(&mut tail, number, written),
                _ if !spelled.is_empty() => put_bytes(&mut tail, number, spelled.as_bytes()),
                _ => {}
            }
        }
        put_entries(&mut tail, node::METADATA_PROPS, attrs.meta(meta::METADATA_PROPS));
        if let Some(AttrValue::Raw(extra)) = attrs.meta(meta::EXTRA) {
            tail.extend_from_slice(extra);
        }
        steps.push(Step::Bytes(tail));
        Ok(steps)
    }

    /// Domain, name and overload of a node's callee.
    fn callee(&self, scene: usize, id: NodeId) -> Result<(String, String, String)> {
        let Scene { f, imports, .. } = &self.scenes[scene];
        let Expr::Call(call) = f.expr(id) else {
            return Ok((String::new(), op_name(f, id).to_owned(), String::new()));
        };
        if let Some(op) = call.op() {
            let rec = f.op(op);
            let [domain, name, overload] = [rec.domain, rec.name, rec.overload].map(|id| f.str(id).to_owned());
            let further =
                || imports.iter().find(|(name, _)| name == normal_domain(&domain)).map(|&(_, version)| version);
            let imported = f.opset_version(&domain).or_else(further).unwrap_or(0);
            if rec.version != 0 && i64::from(rec.version) != imported {
                let op = if normal_domain(&domain).is_empty() { name } else { format!("{domain}.{name}") };
                return Err(OnnxError::new(ErrorKind::OpsetMismatch { op, version: rec.version.into(), imported }));
            }
            return Ok((domain, name, overload));
        }
        match f.expr(call.callee()) {
            Expr::GlobalVar(global) => match self.functions.get(global) {
                Some(key) => Ok((key.domain.clone(), key.name.clone(), key.overload.clone())),
                None => Err(OnnxError::new(ErrorKind::UndefinedName(global.into()))),
            },
            _ => Err(OnnxError::new(ErrorKind::NotExpressible("a call of a value"))),
        }
    }

    fn graph_attribute(&mut self, scene: usize, attrs: Attrs<'_>, name: &str, region: NodeId) -> Result<Vec<Step>> {
        let value = self.graph_value(scene, attribute::G, region)?;
        Ok(finish_attribute(attrs, AttrParts { name: name.into(), value, kind: attr_kind::GRAPH, states_kind: true }))
    }

    fn graph_value(&mut self, scene: usize, number: u32, region: NodeId) -> Result<Vec<Step>> {
        let f = self.scenes[scene].f;
        let span = f.span(region).filter(|span| span.source == 1);
        let segments: Vec<Part> = span.map(|span| Part { at: span.offset, len: span.len.into() }).into_iter().collect();
        let mut steps = vec![Step::Begin(number, None)];
        steps.extend(self.graph_steps(scene, region, &segments)?.into_iter().flatten());
        steps.push(Step::End);
        Ok(steps)
    }

    /// One attribute of a node, as a field of the node.
    fn attribute(&mut self, scene: usize, attrs: Attrs<'_>, rec: AttrRec) -> Result<Vec<Step>> {
        let f = self.scenes[scene].f;
        let name = f.str(rec.name);
        let mut parts = AttrParts {
            name: name.into(),
            value: Vec::new(),
            kind: rec.kind,
            states_kind: rec.flags & attr_flag::UNTYPED == 0,
        };
        let number = field_of(rec.kind).unwrap_or(0);
        let value = attrs.decode(rec);
        let mut bytes = Vec::new();
        match value {
            AttrValue::Tensor(tensor) => parts.value = self.tensor_value(number, tensor, attrs, name.to_owned())?,
            AttrValue::Tensors(list) => {
                for (index, tensor) in list.tensors().enumerate() {
                    parts.value.extend(self.tensor_value(number, tensor, attrs, format!("{name}:{index}"))?);
                }
            }
            AttrValue::Graph(region) => parts.value = self.graph_value(scene, number, region)?,
            AttrValue::Graphs(regions) => {
                for &region in regions {
                    parts.value.extend(self.graph_value(scene, number, region)?);
                }
            }
            AttrValue::Raw(raw) => {
                put_bytes(&mut bytes, node::ATTRIBUTE, raw);
                return Ok(vec![Step::Bytes(bytes)]);
            }
            AttrValue::Ref { name, kind } => {
                put_bytes(&mut bytes, attribute::REF_ATTR_NAME, name.as_bytes());
                parts.kind = kind;
                parts.value.push(Step::Bytes(bytes));
            }
            value => {
                let implicit = match attrs.meta(meta::IMPLICIT) {
                    Some(AttrValue::Strings(names)) => names.strings().any(|other| other == name.as_bytes()),
                    _ => false,
                };
                if !implicit {
                    put_plain(f, &mut bytes, number, value)?;
                }
                parts.value.push(Step::Bytes(bytes));
            }
        }
        Ok(finish_attribute(attrs, parts))
    }

    fn tensor_value(&mut self, number: u32, tensor: &Tensor, attrs: Attrs<'_>, attribute: String) -> Result<Vec<Step>> {
        let about = About { name: None, attrs, attribute: Some(attribute), is_weight: IsWeight::No };
        let mut steps = vec![Step::Begin(number, None)];
        steps.extend(self.tensor_steps(tensor, &about)?);
        steps.push(Step::End);
        Ok(steps)
    }

    /// The one attribute of a `Constant` node.
    fn constant_attribute(&mut self, f: &Function, id: NodeId, tensor: &Tensor) -> Result<AttrParts> {
        let attrs = f.attrs(id);
        let mut bytes = Vec::new();
        let elem = tensor.elem();
        let fits = |wanted: ElemType, rank: usize| elem == wanted && tensor.dims().len() == rank;
        let scalar = |wanted| if fits(wanted, 0) { Ok(()) } else { Err(OnnxError::new(ErrorKind::ConstantForm)) };
        let list = |wanted| if fits(wanted, 1) { Ok(()) } else { Err(OnnxError::new(ErrorKind::ConstantForm)) };
        let (name, kind) = match ConstForm(f.node(id).aux) {
            ConstForm::VALUE_FLOAT => {
                scalar(ElemType::FLOAT)?;
                put_float(&mut bytes, attribute::F, tensor.to_f32s().unwrap_or_default()[0]);
                ("value_float", attr_kind::FLOAT)
            }
            ConstForm::VALUE_INT => {
                scalar(ElemType::INT64)?;
                put_int(&mut bytes, attribute::I, tensor.to_i64s().unwrap_or_default()[0]);
                ("value_int", attr_kind::INT)
            }
            ConstForm::VALUE_STRING => {
                scalar(ElemType::STRING)?;
                put_bytes(&mut bytes, attribute::S, tensor.strings().next().unwrap_or_default());
                ("value_string", attr_kind::STRING)
            }
            ConstForm::VALUE_FLOATS => {
                list(ElemType::FLOAT)?;
                for value in tensor.to_f32s().unwrap_or_default() {
                    put_float(&mut bytes, attribute::FLOATS, value);
                }
                ("value_floats", attr_kind::FLOATS)
            }
            ConstForm::VALUE_INTS => {
                list(ElemType::INT64)?;
                for value in tensor.to_i64s().unwrap_or_default() {
                    put_int(&mut bytes, attribute::INTS, value);
                }
                ("value_ints", attr_kind::INTS)
            }
            ConstForm::VALUE_STRINGS => {
                list(ElemType::STRING)?;
                tensor.strings().for_each(|string| put_bytes(&mut bytes, attribute::STRINGS, string));
                ("value_strings", attr_kind::STRINGS)
            }
            _ => ("value", attr_kind::TENSOR),
        };
        let mut value = vec![Step::Bytes(bytes)];
        if kind == attr_kind::TENSOR {
            let about = About { name: None, attrs, attribute: None, is_weight: IsWeight::No };
            value = vec![Step::Begin(attribute::T, None)];
            value.extend(self.tensor_steps(tensor, &about)?);
            value.push(Step::End);
        }
        let states_kind = attrs.meta(meta::UNTYPED).is_none();
        Ok(AttrParts { name: name.into(), value, kind, states_kind })
    }
}

/// Whether a node has a tensor of a data file that the output does not use.
fn has_moved(f: &Function, id: NodeId, placement: &mut Placement) -> bool {
    let recs = f.attr_recs(id).iter().filter(|rec| rec.kind == attr_kind::TENSOR);
    let mut tensors = f.stored_constant(id).into_iter().chain(recs.map(|rec| f.tensor(ConstId(rec.a))));
    let mut is_kept = |tensor: &Tensor| placement.place(tensor, IsWeight::No, true) == Place::Kept;
    tensors.any(|tensor| source_location(tensor).is_some() && !is_kept(tensor))
}

/// Puts name, type and the other fields around an attribute's value.
fn finish_attribute(attrs: Attrs<'_>, parts: AttrParts) -> Vec<Step> {
    let mut head = Vec::new();
    put_bytes(&mut head, attribute::NAME, parts.name.as_bytes());
    let mut tail = Vec::new();
    let is_empty = parts.value.iter().all(|step| matches!(step, Step::Bytes(bytes) if bytes.is_empty()));
    let list = field_of(parts.kind).filter(|_| matches!(parts.kind, attr_kind::FLOATS | attr_kind::INTS));
    if let Some(number) = list.filter(|_| is_empty && !parts.states_kind) {
        // Without this, a list and its kind could not be recognised.
        put_bytes(&mut head, number, &[]);
    } else if parts.states_kind || is_empty {
        put_int(&mut tail, attribute::TYPE, parts.kind.into());
    }
    if let Some(AttrValue::Raw(extra)) = attrs.meta(&meta::about(meta::ATTR_EXTRA, &parts.name)) {
        tail.extend_from_slice(extra);
    }
    let mut steps = vec![Step::Begin(node::ATTRIBUTE, None), Step::Bytes(head)];
    steps.extend(parts.value);
    steps.extend([Step::Bytes(tail), Step::End]);
    steps
}

/// An `Identity` from one name to another.
pub(super) fn identity(from: &str, to: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_bytes(&mut bytes, node::INPUT, from.as_bytes());
    put_bytes(&mut bytes, node::OUTPUT, to.as_bytes());
    put_bytes(&mut bytes, node::OP_TYPE, b"Identity");
    bytes
}

/// A `ConstantOfShape` for a splat.
pub(super) fn constant_of_shape(shape: &str, output: &str, elem: ElemType, element: &[u8]) -> Vec<u8> {
    use crate::schema::tensor as field;
    let mut value = Vec::new();
    put_int(&mut value, field::DIMS, 1);
    put_int(&mut value, field::DATA_TYPE, elem.0.into());
    put_bytes(&mut value, field::RAW_DATA, element);
    let mut attr = Vec::new();
    put_bytes(&mut attr, attribute::NAME, b"value");
    put_bytes(&mut attr, attribute::T, &value);
    put_int(&mut attr, attribute::TYPE, attr_kind::TENSOR.into());
    let mut bytes = Vec::new();
    put_bytes(&mut bytes, node::INPUT, shape.as_bytes());
    put_bytes(&mut bytes, node::OUTPUT, output.as_bytes());
    put_bytes(&mut bytes, node::OP_TYPE, b"ConstantOfShape");
    put_bytes(&mut bytes, node::ATTRIBUTE, &attr);
    bytes
}

/// A `Constant` node for a small tensor that is created while writing.
pub(super) fn constant_node(output: &str, tensor: &Tensor) -> Vec<u8> {
    let mut attr = Vec::new();
    put_bytes(&mut attr, attribute::NAME, b"value");
    put_bytes(&mut attr, attribute::T, &default_tensor(tensor));
    put_int(&mut attr, attribute::TYPE, attr_kind::TENSOR.into());
    let mut bytes = Vec::new();
    put_bytes(&mut bytes, node::OUTPUT, output.as_bytes());
    put_bytes(&mut bytes, node::OP_TYPE, b"Constant");
    put_bytes(&mut bytes, node::ATTRIBUTE, &attr);
    bytes
}
