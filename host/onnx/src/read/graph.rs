//! `GraphProto` and `FunctionProto`: values, names and blocks. Nested graphs are read with a stack of our own.

use super::{
    Cx, add_attrs,
    attr::{AttrRead, read_attribute},
    node::{Callees, Pending, finish_node, read_node, span},
    parts::{Form, GraphParts, Nodes, collect, sparse_name},
    read_opsets,
    scope::{Defined, Scope},
    sort,
    tensor::{NameUse, read_tensor},
};
use crate::{
    encode::{encode_default, renamed_annotation},
    error::{ErrorKind, OnnxError, Result, Warning},
    meta,
    names::FastMap,
    schema::{attribute, graph},
    types::{Sizes, ValueInfo, agree, decode_value_info},
    wire::{Part, put_bytes, put_int},
};
use relais_plugin_api::ir::{Attr, AttrData, ConstForm, Function, NodeId, TypeId, kind};

/// The last version of the format that requires every initializer to be listed as an input.
pub(crate) const LAST_WITH_LISTED_INITIALIZERS: i64 = 3;

/// The most values to make room for at once: a small file can state many empty nodes.
const MAX_RESERVED: usize = 1 << 22;

/// An open graph.
struct Frame<'a> {
    function: NodeId,
    segments: Vec<Part>,
    parts: GraphParts<'a>,
    nodes: Nodes<'a>,
    /// The nodes in another order than the file's.
    sorted: Option<std::vec::IntoIter<Part>>,
    bindings: Vec<NodeId>,
    pending: Option<Pending<'a>>,
}

struct Builder<'a, 'c> {
    cx: &'c mut Cx<'a>,
    f: Function,
    scope: Scope,
    callees: Callees,
    form: Form,
    orders: &'c FastMap<u64, Vec<u32>>,
}

/// Reads a model's graph or one of its functions, which is encoded in `segments`.
pub(super) fn read_global(cx: &mut Cx<'_>, segments: &[Part], form: Form, opsets: &[Part]) -> Result<Function> {
    let n_warnings = cx.warnings.len();
    let none = FastMap::default();
    let error = match build(cx, segments, form, opsets, &none) {
        Ok(function) => return Ok(function),
        Err(error) if matches!(error.kind(), ErrorKind::UndefinedName(_)) => error,
        Err(error) => return Err(error),
    };
    // The name may be defined by a later node.
    let orders = sort::orders(cx.bytes, segments, form)?;
    if orders.is_empty() {
        return Err(error);
    }
    cx.warnings.truncate(n_warnings);
    build(cx, segments, form, opsets, &orders)
}

fn build<'a>(
    cx: &mut Cx<'a>,
    segments: &[Part],
    form: Form,
    opsets: &[Part],
    orders: &FastMap<u64, Vec<u32>>,
) -> Result<Function> {
    let mut builder =
        Builder { cx, f: Function::new(), scope: Scope::default(), callees: Callees::default(), form, orders };
    builder.read(segments.to_vec(), opsets)?;
    Ok(builder.f)
}

impl<'a> Builder<'a, '_> {
    fn read(&mut self, segments: Vec<Part>, opsets: &[Part]) -> Result<()> {
        let root = self.f.root();
        let mut frames = vec![self.open(segments, Some(root), opsets)?];
        let mut node = Pending::default();
        while let Some(frame) = frames.last_mut() {
            if let Some(pending) = &mut frame.pending {
                if let Some(segments) = pending.graphs.pop() {
                    let inner = self.open(segments, None, &[])?;
                    frames.push(inner);
                    continue;
                }
                if let Some(mut pending) = frame.pending.take() {
                    self.finish(frame, &mut pending)?;
                }
            }
            let Some(part) = frame.next_node()? else {
                let function = self.close(&mut frames)?;
                if let Some(pending) = frames.last_mut().and_then(|frame| frame.pending.as_mut()) {
                    pending.regions.push(function);
                }
                continue;
            };
            read_node(self.cx, &mut self.f, &self.scope, part, &mut node)?;
            if node.graphs.is_empty() {
                self.finish(frame, &mut node)?;
            } else {
                frame.pending = Some(std::mem::take(&mut node));
            }
        }
        Ok(())
    }

    fn finish(&mut self, frame: &mut Frame<'a>, pending: &mut Pending<'a>) -> Result<()> {
        let node = finish_node(self.cx, &mut self.f, &mut self.callees, pending)?;
        let place = pending.place();
        frame.bindings.push(node);
        if self.f.n_results(node).is_none() {
            for &name in &pending.outputs {
                let name = self.f.add_string(name);
                self.f.set_name_id(node, name);
                self.define(node).map_err(|error| place.of(error))?;
            }
            return Ok(());
        }
        for (index, &name) in pending.outputs.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            let value = self.f.add_tuple_get_item(node, index as u16);
            let name = self.f.add_string(name);
            self.f.set_name_id(value, name);
            frame.bindings.push(value);
            self.define(value).map_err(|error| place.of(error))?;
        }
        Ok(())
    }

    /// A name and the type that the file states for it.
    fn stated(&mut self, part: Part) -> Result<ValueInfo<'a>> {
        let info = decode_value_info(&mut self.f, part.of(self.cx.bytes), part.at)?;
        if info.sizes == Sizes::Negative {
            self.warn(Warning::NegativeSizes { names: vec![info.name.into()] });
        }
        Ok(info)
    }

    /// Warns, once for all names of which the same is to be said.
    fn warn(&mut self, warning: Warning) {
        if !self.cx.warnings.iter_mut().any(|other| other.join(&warning)) {
            self.cx.warnings.push(warning);
        }
    }

    /// Gives a value's name its meaning.
    fn define(&mut self, value: NodeId) -> Result<()> {
        let id = self.scope.names.intern(&self.f, self.f.name_id(value));
        match self.scope.define(id, value) {
            Defined::New => {}
            Defined::Shadows => {
                self.warn(Warning::Shadowed { names: vec![self.f.name(value).into()] });
                let span = self.f.span(value);
                add_attrs(&mut self.f, value, [Attr::meta(meta::SHADOWS, 1)]);
                if let Some(span) = span {
                    self.f.set_span(value, span);
                }
            }
            Defined::Duplicate => return Err(OnnxError::new(ErrorKind::DuplicateName(self.f.name(value).into()))),
        }
        Ok(())
    }

    /// The value that a name means.
    fn get(&self, name: &str) -> Option<NodeId> {
        self.scope.find(&self.f, name.as_bytes())
    }

    /// The value of that name in the innermost graph itself.
    fn get_local(&self, name: &str) -> Option<NodeId> {
        self.scope.get_local(self.scope.names.find(&self.f, name.as_bytes())?)
    }

    /// Begins a graph: its parameters and initializers.
    fn open(&mut self, segments: Vec<Part>, root: Option<NodeId>, opsets: &[Part]) -> Result<Frame<'a>> {
        let form = if root.is_some() { self.form } else { Form::Graph };
        let parts = collect(self.cx.bytes, &segments, form)?;
        self.scope.enter();
        let n_values = (parts.n_nodes + parts.initializers.len() + parts.inputs.len()).min(MAX_RESERVED);
        self.scope.names.reserve(n_values);
        self.f.reserve(n_values);
        let mut params = Vec::new();
        let mut constants = Vec::new();
        match form {
            Form::Graph => self.graph_inputs(&parts, root.is_some(), &mut params, &mut constants)?,
            Form::Function => self.function_inputs(&parts, &mut params)?,
        }
        let function = match root {
            Some(root) => {
                self.f.set_params(root, &params);
                read_opsets(self.cx, &mut self.f, if form == Form::Function { &parts.opsets } else { opsets })?;
                root
            }
            None => self.f.add_function(&params),
        };
        let mut nodes = Nodes::new(self.cx.bytes, &segments, form);
        let mut sorted = None;
        if let Some(order) = segments.first().and_then(|first| self.orders.get(&first.at)) {
            let mut in_file = Vec::new();
            while let Some(part) = nodes.next()? {
                in_file.push(part);
            }
            sorted = Some(order.iter().map(|&index| in_file[index as usize]).collect::<Vec<_>>().into_iter());
            let graph = String::from_utf8_lossy(parts.name.unwrap_or_default()).into_owned();
            self.cx.warnings.push(Warning::Sorted { graph });
        }
        Ok(Frame { function, segments, parts, nodes, sorted, bindings: constants, pending: None })
    }

    fn function_inputs(&mut self, parts: &GraphParts<'a>, params: &mut Vec<NodeId>) -> Result<()> {
        for &part in &parts.inputs {
            let name = std::str::from_utf8(part.of(self.cx.bytes));
            let name = name.map_err(|_| OnnxError::at(part.at, ErrorKind::NotUtf8))?;
            if name.is_empty() {
                return Err(OnnxError::at(part.at, ErrorKind::Missing("input name")));
            }
            let var = self.f.add_var(name, TypeId::UNKNOWN);
            params.push(var);
            self.define(var).map_err(|error| error.or_at(part.at))?;
        }
        Ok(())
    }

    fn graph_inputs(
        &mut self,
        parts: &GraphParts<'a>,
        is_root: bool,
        params: &mut Vec<NodeId>,
        constants: &mut Vec<NodeId>,
    ) -> Result<()> {
        let bytes = self.cx.bytes;
        let mut tensors = Vec::with_capacity(parts.initializers.len());
        for &part in &parts.initializers {
            let read = read_tensor(self.cx, part, NameUse::Value)?;
            if read.name.is_empty() {
                return Err(OnnxError::at(part.at, ErrorKind::Missing("initializer name")));
            }
            tensors.push((read, part));
        }
        // Which initializers are inputs too.
        let names = tensors.iter().enumerate().map(|(index, (read, _))| (read.name, index));
        let by_name: FastMap<&str, usize> = if parts.inputs.is_empty() { FastMap::default() } else { names.collect() };
        let is_old = is_root && self.cx.ir_version <= LAST_WITH_LISTED_INITIALIZERS;
        let mut listed: FastMap<usize, Vec<Attr>> = FastMap::default();
        for (position, &part) in parts.inputs.iter().enumerate() {
            let info = self.stated(part)?;
            if info.name.is_empty() {
                return Err(OnnxError::at(part.at, ErrorKind::Missing("input name")));
            }
            let raw = || Attr::meta(meta::INPUT_RAW, AttrData::Raw(part.of(bytes).to_vec()));
            let initializer = by_name.get(info.name).copied();
            if let Some(index) = initializer.filter(|_| is_old) {
                let mut attrs = vec![Attr::meta(meta::INPUT_INDEX, position as i64)];
                let (read, _) = &tensors[index];
                let plain = read.tensor.as_ref().map(|tensor| {
                    let dims: Vec<_> =
                        tensor.dims().iter().map(|&dim| relais_plugin_api::ir::Dim::Static(dim)).collect();
                    self.f.tensor_type(tensor.elem(), &dims)
                });
                if !info.is_plain || plain != Some(info.ty) {
                    attrs.push(raw());
                }
                if listed.insert(index, attrs).is_some() {
                    return Err(OnnxError::at(part.at, ErrorKind::DuplicateName(info.name.into())));
                }
                continue;
            }
            let var = self.f.add_var(info.name, info.ty);
            let mut attrs = Vec::new();
            if !info.is_plain {
                attrs.push(raw());
            }
            if let Some(index) = initializer {
                let (read, at) = &tensors[index];
                let Some(value) = read.tensor.clone() else {
                    return Err(OnnxError::at(at.at, ErrorKind::Missing("known element type")));
                };
                self.f.set_default_value(var, value);
                attrs.push(Attr::meta(meta::INITIALIZER_INDEX, index as i64));
                attrs.extend(read.metadata(None));
            }
            if !attrs.is_empty() {
                self.f.set_attrs(var, &attrs);
            }
            params.push(var);
            self.define(var).map_err(|error| error.or_at(part.at))?;
        }
        for (index, (read, part)) in tensors.into_iter().enumerate() {
            if !is_old && by_name.contains_key(read.name) && self.is_default(read.name, index) {
                continue;
            }
            let node = match read.tensor.clone() {
                Some(tensor) => {
                    let node = self.f.add_constant(tensor, ConstForm::INITIALIZER);
                    let mut attrs = read.metadata(None);
                    if let Some(listed) = listed.remove(&index) {
                        attrs.extend(listed);
                        self.f.set_listed_input(node);
                    }
                    if !attrs.is_empty() {
                        self.f.set_attrs(node, &attrs);
                    }
                    node
                }
                // Its entry among the inputs would have no value to belong to.
                None if listed.contains_key(&index) => {
                    return Err(OnnxError::at(part.at, ErrorKind::Missing("known element type")));
                }
                None => self.opaque_initializer(graph::INITIALIZER, part),
            };
            self.constant(node, read.name, part, constants)?;
        }
        for &part in &parts.sparse {
            let name = sparse_name(bytes, part)?;
            let node = self.opaque_initializer(graph::SPARSE_INITIALIZER, part);
            self.constant(node, name, part, constants)?;
        }
        Ok(())
    }

    /// Whether the parameter of that name has initializer `index` as its default.
    fn is_default(&self, name: &str, index: usize) -> bool {
        let Some(var) = self.get_local(name) else { return false };
        let found = self.f.attrs(var).meta(meta::INITIALIZER_INDEX);
        matches!(found, Some(relais_plugin_api::ir::AttrValue::Int(found)) if found == index as i64)
    }

    fn constant(&mut self, node: NodeId, name: &'a str, part: Part, constants: &mut Vec<NodeId>) -> Result<()> {
        self.f.set_name(node, name);
        if let Some(span) = span(part) {
            self.f.set_span(node, span);
        }
        constants.push(node);
        self.define(node).map_err(|error| error.or_at(part.at))
    }

    /// A call of `Constant` for an initializer whose elements the IR cannot hold.
    fn opaque_initializer(&mut self, list: u32, part: Part) -> NodeId {
        let bytes = part.of(self.cx.bytes);
        let attr = if list == graph::SPARSE_INITIALIZER {
            Attr::new("sparse_value", AttrData::SparseTensor(bytes.to_vec()))
        } else {
            let mut encoded = Vec::new();
            put_bytes(&mut encoded, attribute::NAME, b"value");
            put_bytes(&mut encoded, attribute::T, bytes);
            put_int(&mut encoded, attribute::TYPE, relais_plugin_api::ir::attr_kind::TENSOR.into());
            Attr::new("value", AttrData::Raw(encoded))
        };
        let op = self.f.add_op("", "Constant", "", 0);
        let node = self.f.add_call(op, &[]);
        self.f.set_attrs(node, &[attr, Attr::meta(meta::INITIALIZER_LIST, i64::from(list))]);
        node
    }

    /// Ends the innermost graph: its results and its properties.
    fn close(&mut self, frames: &mut Vec<Frame<'a>>) -> Result<NodeId> {
        let frame = frames.pop().expect("an open graph");
        let form = if frames.is_empty() { self.form } else { Form::Graph };
        let Frame { function, segments, parts, bindings, .. } = frame;
        let bytes = self.cx.bytes;
        let mut results = Vec::new();
        let (mut names, mut types, mut raws) = (Vec::new(), Vec::new(), Vec::new());
        for &part in &parts.outputs {
            let (name, ty, is_plain) = match form {
                Form::Graph => {
                    let info = self.stated(part)?;
                    (info.name, info.ty, info.is_plain)
                }
                Form::Function => {
                    let name = std::str::from_utf8(part.of(bytes));
                    (name.map_err(|_| OnnxError::at(part.at, ErrorKind::NotUtf8))?, TypeId::UNKNOWN, true)
                }
            };
            let undefined = || OnnxError::at(part.at, ErrorKind::UndefinedName(name.into()));
            let value = if name.is_empty() { Some(NodeId::ABSENT) } else { self.get(name) };
            let value = value.ok_or_else(|| undefined().within(|| "an output of the graph".into()))?;
            if value.is_absent() && parts.outputs.len() == 1 {
                return Err(OnnxError::at(part.at, ErrorKind::Missing("output name")));
            }
            if self.has_open_type(value, form) {
                self.f.set_type(value, ty);
            }
            results.push(value);
            names.push(name.as_bytes().to_vec());
            types.push(ty);
            raws.push(if is_plain { Vec::new() } else { part.of(bytes).to_vec() });
        }
        let mut attrs = Vec::new();
        let graph_name = if form == Form::Function { meta::FUNCTION_NAME } else { meta::GRAPH_NAME };
        let strings = [
            (graph_name, parts.name),
            (meta::DOMAIN, parts.domain),
            (meta::OVERLOAD, parts.overload),
            (meta::DOC, parts.doc),
        ];
        let strings = strings.into_iter().filter_map(|(key, value)| Some((key, value?)));
        attrs.extend(strings.map(|(key, value)| Attr::meta(key, AttrData::String(value.to_vec()))));
        attrs.push(Attr::meta(meta::OUTPUT_NAMES, AttrData::Strings(names)));
        if types.iter().any(|&ty| ty != TypeId::UNKNOWN) {
            attrs.push(Attr::meta(meta::OUTPUT_TYPES, AttrData::Types(types)));
        }
        if raws.iter().any(|raw| !raw.is_empty()) {
            attrs.push(Attr::meta(meta::OUTPUT_RAW, AttrData::Strings(raws)));
        }
        self.value_info(&parts, form, &mut attrs)?;
        let quantization: Vec<Vec<u8>> = parts.quantization.iter().map(|part| part.of(bytes).to_vec()).collect();
        if !quantization.is_empty() {
            let unbound = self.unbound_annotations(&quantization)?;
            attrs.push(Attr::meta(meta::QUANTIZATION_ANNOTATION, AttrData::Strings(quantization)));
            if !unbound.is_empty() {
                attrs.push(Attr::meta(meta::QUANTIZATION_UNBOUND, unbound));
            }
        }
        self.function_attributes(&parts, &mut attrs)?;
        attrs.extend(parts.props);
        if !parts.extra.is_empty() {
            attrs.push(Attr::meta(meta::EXTRA, AttrData::Raw(parts.extra)));
        }
        add_attrs(&mut self.f, function, attrs);
        let block = self.f.block_of(function);
        self.f.set_bindings(block, &bindings);
        self.f.set_results(block, &results);
        if let Some(span) = segments.first().filter(|_| segments.len() == 1).and_then(|&part| span(part)) {
            self.f.set_span(function, span);
        }
        self.scope.leave();
        Ok(function)
    }

    /// Whether a statement elsewhere can set the type of a value. A graph's input has the type of its own entry, which
    /// is written from it, even if that is empty.
    fn has_open_type(&self, value: NodeId, form: Form) -> bool {
        let is_input = form == Form::Graph && self.f.kind(value) == kind::VAR;
        !value.is_absent() && !is_input && self.f.type_id(value) == TypeId::UNKNOWN
    }

    /// The positions of annotations that name something other than values of the graph: they are carried as they are.
    fn unbound_annotations(&self, annotations: &[Vec<u8>]) -> Result<Vec<i64>> {
        let mut unbound = Vec::new();
        for (index, annotation) in annotations.iter().enumerate() {
            let known = |name: &[u8]| self.get_local(std::str::from_utf8(name).ok()?).map(|_| name.to_vec());
            if renamed_annotation(annotation, known)?.is_none() {
                unbound.push(index as i64);
            }
        }
        Ok(unbound)
    }

    /// The types that the graph states for values inside it.
    fn value_info(&mut self, parts: &GraphParts<'a>, form: Form, attrs: &mut Vec<Attr>) -> Result<()> {
        let bytes = self.cx.bytes;
        let (mut names, mut types, mut raws, mut unbound) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (index, &part) in parts.value_info.iter().enumerate() {
            let info = self.stated(part)?;
            match self.get_local(info.name) {
                Some(value) if self.has_open_type(value, form) => self.f.set_type(value, info.ty),
                // A statement that was wrong from the start is carried as one about no value.
                Some(value) if !agree(&self.f, self.f.type_id(value), info.ty) => unbound.push(index as i64),
                Some(_) => {}
                None => unbound.push(index as i64),
            }
            names.push(info.name.as_bytes().to_vec());
            types.push(info.ty);
            raws.push(if info.is_plain { Vec::new() } else { part.of(bytes).to_vec() });
        }
        if names.is_empty() {
            return Ok(());
        }
        attrs.push(Attr::meta(meta::VALUE_INFO, AttrData::Strings(names)));
        attrs.push(Attr::meta(meta::VALUE_INFO_TYPES, AttrData::Types(types)));
        if raws.iter().any(|raw| !raw.is_empty()) {
            attrs.push(Attr::meta(meta::VALUE_INFO_RAW, AttrData::Strings(raws)));
        }
        if !unbound.is_empty() {
            attrs.push(Attr::meta(meta::VALUE_INFO_UNBOUND, unbound));
        }
        Ok(())
    }

    /// The attributes of a model-local function, with and without defaults.
    fn function_attributes(&mut self, parts: &GraphParts<'a>, attrs: &mut Vec<Attr>) -> Result<()> {
        if !parts.attributes.is_empty() {
            let names = parts.attributes.iter().map(|name| name.to_vec()).collect();
            attrs.push(Attr::meta(meta::ATTRIBUTES, AttrData::Strings(names)));
        }
        let mut defaults = std::collections::BTreeSet::new();
        for &part in &parts.defaults {
            let read = read_attribute(self.cx, &mut self.f, part)?;
            if !defaults.insert(read.name) {
                return Err(OnnxError::at(part.at, ErrorKind::DuplicateAttribute(read.name.into())));
            }
            let is_plain = read.metadata.is_empty() && !read.is_implicit && read.flags == 0;
            let value = match read.value {
                AttrRead::Data(value) if is_plain => value,
                _ => AttrData::Raw(part.of(self.cx.bytes).to_vec()),
            };
            let default = Attr::meta(meta::about(meta::DEFAULT, read.name), value);
            let rec = self.f.encode_attr(&default);
            let usual = encode_default(&self.f, read.name, rec, self.f.attrs(self.f.root()).decode(rec))?;
            attrs.push(default);
            let raw = part.of(self.cx.bytes);
            if usual != raw {
                let both = AttrData::Strings(vec![usual, raw.to_vec()]);
                attrs.push(Attr::meta(meta::about(meta::DEFAULT_RAW, read.name), both));
            }
        }
        Ok(())
    }
}

impl Frame<'_> {
    fn next_node(&mut self) -> Result<Option<Part>> {
        match &mut self.sorted {
            Some(sorted) => Ok(sorted.next()),
            None => self.nodes.next(),
        }
    }
}
