//! Writing `GraphProto` and `FunctionProto`: the contents of the IR, field by field.

use super::{
    StatedTypes,
    data::IsWeight,
    merge::{Content, ExtraFields, Item, Sections},
    names::{Names, is_listed},
    node::{constant_node, constant_of_shape, identity, put_entries},
    steps::{Step, Writer},
    tensor::{About, renamed_initializer},
};
use crate::{
    encode::{encode_default, encode_opset, renamed_annotation},
    error::{ErrorKind, OnnxError, Result},
    meta,
    names::{FastMap, FastSet},
    read::{Form, LAST_WITH_LISTED_INITIALIZERS, collect},
    schema::{attribute, function, graph, opset},
    types::{agree, renew_value_info, whole},
    wire::{Part, Scan, put_bytes},
};
use relais_plugin_api::ir::{
    AttrValue, Attrs, BlockId, ConstForm, ElemType, Function, NodeId, Tensor, Type, TypeId, Walk, WalkStep, attr_flag,
    kind,
};

const GRAPH_FIELDS: [u32; 10] = [
    graph::NODE,
    graph::NAME,
    graph::INITIALIZER,
    graph::DOC_STRING,
    graph::INPUT,
    graph::OUTPUT,
    graph::VALUE_INFO,
    graph::QUANTIZATION_ANNOTATION,
    graph::SPARSE_INITIALIZER,
    graph::METADATA_PROPS,
];

const FUNCTION_FIELDS: [u32; 12] = [
    function::NAME,
    function::INPUT,
    function::OUTPUT,
    function::ATTRIBUTE,
    function::NODE,
    function::DOC_STRING,
    function::OPSET_IMPORT,
    function::DOMAIN,
    function::ATTRIBUTE_PROTO,
    function::VALUE_INFO,
    function::OVERLOAD,
    function::METADATA_PROPS,
];

/// A graph being described.
struct Described<'a> {
    scene: usize,
    f: &'a Function,
    function: NodeId,
    form: Form,
    /// The source up to the end of the graph, if it has all of the graph's fields together.
    rows: &'a [u8],
    sections: Sections,
    /// Initializers that are nodes of the block; those that are defaults of parameters join them by position.
    initializers: Vec<Item>,
    /// Names of the shapes of `ConstantOfShape` nodes.
    shapes: FastMap<Vec<u64>, String>,
}

fn bytes_field(number: u32, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_bytes(&mut out, number, bytes);
    out
}

pub(super) fn strings<'a>(attrs: Attrs<'a>, key: &str) -> Vec<&'a [u8]> {
    match attrs.meta(key) {
        Some(AttrValue::Strings(strings)) => strings.strings().collect(),
        _ => Vec::new(),
    }
}

pub(super) fn types(attrs: Attrs<'_>, key: &str) -> Vec<TypeId> {
    match attrs.meta(key) {
        Some(AttrValue::Types(types)) => types.types().collect(),
        _ => Vec::new(),
    }
}

/// Inserts items among others, each at its position, or at the end.
pub(super) fn weave<T>(others: Vec<T>, mut placed: Vec<(i64, T)>) -> Vec<T> {
    placed.sort_by_key(|(position, _)| *position);
    let mut placed = placed.into_iter().peekable();
    let mut woven = Vec::new();
    for item in others {
        while let Some((_, item)) = placed.next_if(|(position, _)| *position <= woven.len() as i64) {
            woven.push(item);
        }
        woven.push(item);
    }
    woven.extend(placed.map(|(_, item)| item));
    woven
}

impl<'w> Writer<'w> {
    pub fn has_regions(&self, node: NodeId) -> bool {
        // Only called for nodes of the scene being planned; a node without graphs has none in any scene.
        self.scenes[self.current].f.n_regions(node) > 0
    }

    /// The steps for the graph of a function node, one list for each segment it has in the source.
    pub fn graph_steps(&mut self, scene: usize, function: NodeId, segments: &[Part]) -> Result<Vec<Vec<Step>>> {
        self.current = scene;
        let Some(segments) = self.valid_segments(segments) else {
            return self.graph_steps(scene, function, &[]);
        };
        let f = self.scenes[scene].f;
        let form = if function == f.root() { self.scenes[scene].form } else { Form::Graph };
        let described = Described {
            scene,
            f,
            function,
            form,
            rows: match segments {
                [one] => &self.source[..(one.at + one.len) as usize],
                _ => &[],
            },
            sections: Sections::default(),
            initializers: Vec::new(),
            shapes: FastMap::default(),
        };
        let sections = self.describe(described)?;
        let known: &[u32] = if form == Form::Graph { &GRAPH_FIELDS } else { &FUNCTION_FIELDS };
        let source = self.source;
        let parts = collect(source, segments, form)?;
        let props = if form == Form::Graph { graph::METADATA_PROPS } else { function::METADATA_PROPS };
        let extra = ExtraFields { bytes: &parts.extra, also: parts.props.is_none().then_some(props), known };
        self.merge(sections, segments, Some(&extra))
    }

    fn valid_segments<'s>(&self, segments: &'s [Part]) -> Option<&'s [Part]> {
        let len = self.source.len() as u64;
        segments.iter().all(|part| part.at.checked_add(part.len).is_some_and(|end| end <= len)).then_some(segments)
    }

    fn describe(&mut self, mut d: Described<'w>) -> Result<Sections> {
        let attrs = d.f.attrs(d.function);
        match d.form {
            Form::Graph => {
                self.graph_head(&mut d, attrs);
                self.annotations(&mut d, attrs)?;
                self.bindings(&mut d)?;
                self.graph_inputs(&mut d)?;
                self.graph_outputs(&mut d, attrs)?;
            }
            Form::Function => {
                self.function_head(&mut d, attrs)?;
                self.bindings(&mut d)?;
            }
        }
        self.value_info(&mut d, attrs)?;
        let props = if d.form == Form::Graph { graph::METADATA_PROPS } else { function::METADATA_PROPS };
        let mut entries = Vec::new();
        put_entries(&mut entries, props, attrs.meta(meta::METADATA_PROPS));
        let mut scan = Scan::new(&entries, 0);
        while let Some(field) = scan.field()? {
            d.sections.add(props, Item::field(field.raw.to_vec()));
        }
        if let Some(AttrValue::Raw(extra)) = attrs.meta(meta::EXTRA) {
            d.sections.extra = extra.to_vec();
        }
        Ok(d.sections)
    }

    /// The name of a graph. One that never was ONNX has a name, too, since every reader wants one.
    pub fn graph_name<'n>(&self, attrs: Attrs<'n>) -> Option<&'n [u8]> {
        match attrs.meta(meta::GRAPH_NAME) {
            Some(AttrValue::String(name)) => Some(name),
            _ if !self.source.is_empty() && attrs.meta(meta::OUTPUT_NAMES).is_some() => None,
            _ => Some(b"graph"),
        }
    }

    fn graph_head(&self, d: &mut Described<'_>, attrs: Attrs<'_>) {
        if let Some(name) = self.graph_name(attrs) {
            d.sections.add_one(graph::NAME, bytes_field(graph::NAME, name));
        }
        if let Some(AttrValue::String(doc)) = attrs.meta(meta::DOC) {
            d.sections.add_one(graph::DOC_STRING, bytes_field(graph::DOC_STRING, doc));
        }
    }

    /// The quantisation annotations of tensors that still exist, under the names that these have.
    fn annotations(&self, d: &mut Described<'_>, attrs: Attrs<'_>) -> Result<()> {
        let annotations = strings(attrs, meta::QUANTIZATION_ANNOTATION);
        if annotations.is_empty() {
            return Ok(());
        }
        let names = &self.scenes[d.scene].names;
        let values = named_values(d.f, d.function, names);
        let renamed = |name: &[u8]| {
            let name = std::str::from_utf8(name).ok()?;
            Some(names.name(*values.get(name)?)?.as_bytes().to_vec())
        };
        let unbound: Vec<i64> = match attrs.meta(meta::QUANTIZATION_UNBOUND) {
            Some(AttrValue::Ints(list)) => list.ints().collect(),
            _ => Vec::new(),
        };
        for (index, annotation) in annotations.into_iter().enumerate() {
            let number = graph::QUANTIZATION_ANNOTATION;
            if unbound.contains(&(index as i64)) {
                d.sections.add(number, Item::field(bytes_field(number, annotation)));
                continue;
            }
            if let Some(bytes) = renamed_annotation(annotation, renamed)? {
                d.sections.add(number, Item::field(bytes_field(number, &bytes)));
            }
        }
        Ok(())
    }

    fn function_head(&self, d: &mut Described<'_>, attrs: Attrs<'_>) -> Result<()> {
        let key = &self.functions[self.global_of(d.scene)];
        let one = |key: &str, default: &str| match attrs.meta(key) {
            Some(AttrValue::String(text)) => Some(text.to_vec()),
            _ => (!default.is_empty()).then(|| default.as_bytes().to_vec()),
        };
        let singles = [
            (function::NAME, one(meta::FUNCTION_NAME, &key.name)),
            (function::DOMAIN, one(meta::DOMAIN, &key.domain)),
            (function::OVERLOAD, one(meta::OVERLOAD, &key.overload)),
            (function::DOC_STRING, one(meta::DOC, "")),
        ];
        for (number, text) in singles {
            if let Some(text) = text {
                d.sections.add_one(number, bytes_field(number, &text));
            }
        }
        let names = &self.scenes[d.scene].names;
        for &param in d.f.params() {
            let name = names.name(param).unwrap_or_default();
            d.sections.add(function::INPUT, Item::field(bytes_field(function::INPUT, name.as_bytes())));
        }
        for output in names.outputs(d.f.body()) {
            let field = bytes_field(function::OUTPUT, output.name.as_bytes());
            d.sections.add(function::OUTPUT, Item::field(field));
        }
        for name in strings(attrs, meta::ATTRIBUTES) {
            d.sections.add(function::ATTRIBUTE, Item::field(bytes_field(function::ATTRIBUTE, name)));
        }
        let prefix = meta::about(meta::DEFAULT, "");
        for &rec in attrs.recs().iter().filter(|rec| rec.flags & attr_flag::META != 0) {
            let Some(name) = d.f.str(rec.name).strip_prefix(&prefix) else { continue };
            let mut bytes = encode_default(d.f, name, rec, attrs.decode(rec))?;
            if let [usual, raw] = strings(attrs, &meta::about(meta::DEFAULT_RAW, name))[..]
                && usual == bytes
            {
                bytes = raw.to_vec();
            }
            let number = function::ATTRIBUTE_PROTO;
            d.sections.add(number, Item::field(bytes_field(number, &bytes)));
        }
        for import in encoded_imports(d.f, &self.scenes[d.scene].imports) {
            d.sections.add(function::OPSET_IMPORT, Item::field(bytes_field(function::OPSET_IMPORT, &import)));
        }
        Ok(())
    }

    /// Nodes and initializers, in order.
    fn bindings(&mut self, d: &mut Described<'_>) -> Result<()> {
        let f = d.f;
        let block = f.block_of(d.function);
        let outputs: FastSet<NodeId> =
            f.results(block).iter().map(|&result| self.scenes[d.scene].names.value(result)).collect();
        let number = if d.form == Form::Graph { graph::NODE } else { function::NODE };
        for &id in f.bindings(block) {
            match f.kind(id) {
                kind::CONSTANT => self.constant(d, id, number, outputs.contains(&id))?,
                kind::CALL | kind::IF => match f.attrs(id).meta(meta::INITIALIZER_LIST) {
                    Some(AttrValue::Int(list)) if d.form == Form::Graph => self.listed_call(d, id, list)?,
                    _ => {
                        let at = self.node_in_source(d.scene, id)?;
                        Self::add_node(d, id, number, at);
                    }
                },
                // Neither is a node: projections are the outputs of one, and tuples vanish where they are taken apart.
                kind::TUPLE_GET_ITEM | kind::TUPLE => {}
                _ => {
                    return Err(
                        OnnxError::new(ErrorKind::NotExpressible("such a binding")).within(|| format!("`{id}`"))
                    );
                }
            }
        }
        let names = &self.scenes[d.scene].names;
        let mut identities = Vec::new();
        for output in names.outputs(block) {
            if let Some(value) = output.identity_of {
                let fault = || OnnxError::new(ErrorKind::NotExpressible("a tuple as an output"));
                let from = names.name(value).ok_or_else(fault)?;
                is_carried(self.scenes[d.scene].f, value)?;
                identities.push(bytes_field(number, &identity(from, &output.name)));
            }
        }
        for bytes in identities {
            self.n_encoded += 1;
            d.sections.add(number, Item::field(bytes));
        }
        Ok(())
    }

    /// Adds a node, which the source has at `at`.
    fn add_node(d: &mut Described<'_>, id: NodeId, number: u32, at: Option<Part>) {
        let rows = if d.f.n_regions(id) == 0 { d.rows } else { &[] };
        d.sections.add_node(number, id, at, rows);
    }

    fn constant(&mut self, d: &mut Described<'_>, id: NodeId, number: u32, is_output: bool) -> Result<()> {
        let f = d.f;
        let form = ConstForm(f.node(id).aux);
        let Some(tensor) = f.stored_constant(id) else { return Ok(()) };
        if form == ConstForm::ANY
            && let Some(element) = tensor.as_splat().filter(|_| is_worth_a_node(f, tensor, f.name(id)))
        {
            let shape = self.shape_name(d, tensor.dims(), number);
            let name = self.scenes[d.scene].names.name(id).unwrap_or_default();
            let bytes = constant_of_shape(&shape, name, tensor.elem(), element);
            d.sections.add(number, Item::field(bytes_field(number, &bytes)));
            self.n_encoded += 1;
            return Ok(());
        }
        let is_node = match form {
            _ if d.form == Form::Function => true,
            ConstForm::INITIALIZER => false,
            ConstForm::ANY if !self.takes_initializers(d) => true,
            // A constant that no node of the version makes is an output as an initializer.
            ConstForm::ANY => is_output && is_made(f, tensor.elem()),
            _ => true,
        };
        if is_node {
            let at = self.node_in_source(d.scene, id)?.filter(|_| form != ConstForm::INITIALIZER);
            if d.form == Form::Function && at.is_none() && !is_made(f, tensor.elem()) {
                let what = "a constant of this type in a function in this version of its operators";
                return Err(OnnxError::new(ErrorKind::NotExpressible(what)).within(|| format!("`{id}`")));
            }
            Self::add_node(d, id, number, at);
            return Ok(());
        }
        let name = self.scenes[d.scene].names.name(id).unwrap_or_default().to_owned();
        let item = self.initializer(tensor, &name, f.attrs(id))?;
        d.initializers.push(item);
        Ok(())
    }

    fn initializer(&mut self, tensor: &Tensor, name: &str, attrs: Attrs<'_>) -> Result<Item> {
        let about = About { name: Some(name), attrs, attribute: None, is_weight: IsWeight::Yes };
        let at = self.tensor_in_source(tensor, &about)?;
        let steps = match at {
            Some(part) => vec![Step::Source(part)],
            None => self.tensor_steps(tensor, &about)?,
        };
        Ok(Item { content: Content::Message(steps), at })
    }

    /// Whether new constants may be initializers: up to IR version 3 a graph's are inputs.
    fn takes_initializers(&self, d: &Described<'_>) -> bool {
        d.form == Form::Graph && self.ir_version > LAST_WITH_LISTED_INITIALIZERS
    }

    /// An initializer that the IR holds as a call.
    fn listed_call(&self, d: &mut Described<'_>, id: NodeId, list: i64) -> Result<()> {
        let attrs = d.f.attrs(id);
        let number = u32::try_from(list).unwrap_or(graph::INITIALIZER);
        let message = listed_initializer(attrs)?;
        let name = self.scenes[d.scene].names.name(id).unwrap_or_default();
        let item = Item::field(bytes_field(number, &renamed_initializer(number, &message, name)?));
        if number == graph::INITIALIZER {
            d.initializers.push(item);
        } else {
            d.sections.add(number, item);
        }
        Ok(())
    }

    /// The name of a constant that holds a shape, made when it is first needed.
    fn shape_name(&mut self, d: &mut Described<'_>, dims: &[u64], number: u32) -> String {
        if let Some(name) = d.shapes.get(dims) {
            return name.clone();
        }
        let name = self.scenes[d.scene].names.make_fresh("shape");
        d.shapes.insert(dims.to_vec(), name.clone());
        let values: Vec<i64> = dims.iter().map(|&dim| dim as i64).collect();
        let tensor = Tensor::from_i64(&[values.len() as u64], &values);
        if self.takes_initializers(d) {
            use crate::schema::tensor as field;
            let mut bytes = Vec::new();
            crate::wire::put_int(&mut bytes, field::DIMS, values.len() as i64);
            crate::wire::put_int(&mut bytes, field::DATA_TYPE, ElemType::INT64.0.into());
            put_bytes(&mut bytes, field::NAME, name.as_bytes());
            put_bytes(&mut bytes, field::RAW_DATA, &tensor.to_bytes());
            d.initializers.push(Item::field(bytes_field(graph::INITIALIZER, &bytes)));
        } else {
            d.sections.add(number, Item::field(bytes_field(number, &constant_node(&name, &tensor))));
        }
        name
    }

    fn graph_inputs(&mut self, d: &mut Described<'_>) -> Result<()> {
        let f = d.f;
        let index = |attrs: Attrs<'_>, key| match attrs.meta(key) {
            Some(AttrValue::Int(index)) => index,
            _ => i64::MAX,
        };
        let mut inputs = Vec::new();
        let mut defaults = Vec::new();
        for &param in f.operands(d.function) {
            inputs.push(self.input(d, param)?);
            if let Some(value) = f.default_value(param) {
                let name = self.scenes[d.scene].names.name(param).unwrap_or_default().to_owned();
                let attrs = f.attrs(param);
                defaults.push((index(attrs, meta::INITIALIZER_INDEX), self.initializer(value, &name, attrs)?));
            }
        }
        let mut listed = Vec::new();
        for &id in f.bindings(f.block_of(d.function)) {
            if f.kind(id) == kind::CONSTANT && is_listed(f, id) {
                listed.push((index(f.attrs(id), meta::INPUT_INDEX), self.input(d, id)?));
            }
        }
        let inputs = weave(inputs, listed);
        inputs.into_iter().for_each(|item| d.sections.add(graph::INPUT, item));
        let initializers = weave(std::mem::take(&mut d.initializers), defaults);
        initializers.into_iter().for_each(|item| d.sections.add(graph::INITIALIZER, item));
        Ok(())
    }

    fn input(&self, d: &Described<'_>, id: NodeId) -> Result<Item> {
        let raw = match d.f.attrs(id).meta(meta::INPUT_RAW) {
            Some(AttrValue::Raw(raw)) => raw,
            _ => &[],
        };
        let name = self.scenes[d.scene].names.name(id).unwrap_or_default();
        let mut ty = d.f.type_id(id);
        if d.f.kind(id) == kind::CONSTANT && !raw.is_empty() {
            // The constant has the type of its tensor, whatever the input's type.
            return Ok(Item::field(bytes_field(graph::INPUT, &renamed(raw, name)?)));
        }
        let info = match renew_value_info(d.f, name, ty, raw)? {
            Some(info) => info,
            None => {
                ty = TypeId::UNKNOWN;
                renew_value_info(d.f, name, ty, raw)?.unwrap_or_default()
            }
        };
        Ok(Item::field(bytes_field(graph::INPUT, &info)))
    }

    fn graph_outputs(&self, d: &mut Described<'_>, attrs: Attrs<'_>) -> Result<()> {
        let f = d.f;
        let (declared, raws) = (types(attrs, meta::OUTPUT_TYPES), strings(attrs, meta::OUTPUT_RAW));
        let n_declared = strings(attrs, meta::OUTPUT_NAMES).len();
        let is_read = !self.source.is_empty();
        let block = f.block_of(d.function);
        let stated = result_types(f, d.function);
        for (index, output) in self.scenes[d.scene].names.outputs(block).iter().enumerate() {
            let own = match whole(f, f.type_id(f.results(block)[index])) {
                TypeId::UNKNOWN => stated.get(index).map_or(TypeId::UNKNOWN, |&ty| whole(f, ty)),
                own => own,
            };
            // The declared interface changes only where a pass changed it, not where more was inferred about it.
            let ty = match declared.get(index) {
                Some(&ty) if is_read || ty != TypeId::UNKNOWN => ty,
                None if is_read && index < n_declared => TypeId::UNKNOWN,
                _ => own,
            };
            let raw = raws.get(index).copied().unwrap_or_default();
            let info = match renew_value_info(f, &output.name, ty, raw)? {
                Some(info) => info,
                None => renew_value_info(f, &output.name, TypeId::UNKNOWN, &[])?.unwrap_or_default(),
            };
            d.sections.add(graph::OUTPUT, Item::field(bytes_field(graph::OUTPUT, &info)));
        }
        Ok(())
    }

    /// The types of inner values: those that the file stated, of the values that still exist, and the known ones of
    /// others if they are wanted.
    fn value_info(&self, d: &mut Described<'_>, attrs: Attrs<'_>) -> Result<()> {
        let is_wanted = self.stated_types == StatedTypes::Known && d.form == Form::Graph;
        let stated = strings(attrs, meta::VALUE_INFO);
        if stated.is_empty() && !is_wanted {
            return Ok(());
        }
        let f = d.f;
        let number = if d.form == Form::Graph { graph::VALUE_INFO } else { function::VALUE_INFO };
        let (types, raws) = (types(attrs, meta::VALUE_INFO_TYPES), strings(attrs, meta::VALUE_INFO_RAW));
        let unbound: FastSet<usize> = match attrs.meta(meta::VALUE_INFO_UNBOUND) {
            Some(AttrValue::Ints(list)) => list.ints().filter_map(|index| usize::try_from(index).ok()).collect(),
            _ => FastSet::default(),
        };
        let names = &self.scenes[d.scene].names;
        let block = f.block_of(d.function);
        let values = named_values(f, d.function, names);
        let mut written: FastSet<&str> = FastSet::default();
        for (index, name) in stated.into_iter().enumerate() {
            let mut name = std::str::from_utf8(name).unwrap_or_default();
            let mut ty = types.get(index).copied().unwrap_or(TypeId::UNKNOWN);
            if !unbound.contains(&index) {
                let Some(&value) = values.get(name) else { continue };
                let Some(written) = names.name(value) else { continue };
                name = written;
                let own = f.type_id(value);
                if !agree(f, ty, own) || is_wanted && is_known(f, own) {
                    ty = own;
                }
            }
            let raw = raws.get(index).copied().unwrap_or_default();
            if let Some(info) = renew_value_info(f, name, ty, raw)? {
                d.sections.add(number, Item::field(bytes_field(number, &info)));
                written.insert(name);
            }
        }
        if !is_wanted {
            return Ok(());
        }
        // Inputs, outputs and initializers have their types elsewhere.
        written.extend(names.outputs(block).iter().map(|output| output.name.as_str()));
        // Checkers take the type of a name for that of a value in an inner graph, too.
        written.extend(inner_values(f, block).filter_map(|id| names.name(id)));
        for &id in f.bindings(block) {
            let is_inner = names.value(id) == id && f.kind(id) != kind::CONSTANT && is_known(f, f.type_id(id));
            let Some(name) = names.name(id).filter(|name| is_inner && !name.is_empty()) else { continue };
            if written.insert(name)
                && let Some(info) = renew_value_info(f, name, f.type_id(id), &[])?
            {
                d.sections.add(number, Item::field(bytes_field(number, &info)));
            }
        }
        Ok(())
    }
}

/// The encoding of an initializer that the IR holds as a call.
pub(super) fn listed_initializer(attrs: Attrs<'_>) -> Result<Vec<u8>> {
    let mut message = Vec::new();
    match attrs.get("sparse_value").or_else(|| attrs.get("value")) {
        Some(AttrValue::SparseTensor(bytes)) => message = bytes.to_vec(),
        Some(AttrValue::Raw(raw)) => {
            let mut scan = Scan::new(raw, 0);
            while let Some(field) = scan.field()? {
                if field.number == attribute::T {
                    message = field.bytes()?.to_vec();
                }
            }
        }
        _ => {}
    }
    Ok(message)
}

/// The values of the graphs within a block.
fn inner_values(f: &Function, block: BlockId) -> impl Iterator<Item = NodeId> {
    let mut walk = Walk::block(block);
    let mut open = Vec::new();
    std::iter::from_fn(move || {
        loop {
            if let Some(id) = open.pop() {
                return Some(id);
            }
            match walk.next(f)? {
                WalkStep::Enter(inner) if inner != block => open.extend(f.bindings(inner)),
                WalkStep::Binding(id) => {
                    let functions = f.regions(id).iter().filter(|&&region| f.kind(region) == kind::FUNCTION);
                    open.extend(functions.flat_map(|&region| f.operands(region)));
                }
                _ => {}
            }
        }
    })
}

/// The values of a graph by their names in the function.
pub(super) fn named_values<'f>(f: &'f Function, function: NodeId, names: &Names<'_>) -> FastMap<&'f str, NodeId> {
    let values = f.operands(function).iter().chain(f.bindings(f.block_of(function))).copied();
    let named = values.filter(|&id| names.value(id) == id && !f.name(id).is_empty());
    named.map(|id| (f.name(id), id)).collect()
}

/// Whether a type says what the value is: of a tensor, with its rank, and with no part that ONNX cannot leave open.
pub(super) fn is_known(f: &Function, ty: TypeId) -> bool {
    !matches!(f.ty(ty), Type::Unknown | Type::Tensor { shape: None, .. } | Type::Tuple(_)) && whole(f, ty) == ty
}

/// An encoded `ValueInfoProto` under another name.
fn renamed(raw: &[u8], name: &str) -> Result<Vec<u8>> {
    use crate::schema::value_info;
    let mut bytes = Vec::new();
    let mut has_name = false;
    let mut scan = Scan::new(raw, 0);
    while let Some(field) = scan.field()? {
        has_name |= field.number == value_info::NAME && field.bytes()? == name.as_bytes();
        if field.number != value_info::NAME {
            bytes.extend_from_slice(field.raw);
        }
    }
    if has_name {
        return Ok(raw.to_vec());
    }
    put_bytes(&mut bytes, value_info::NAME, name.as_bytes());
    Ok(bytes)
}

/// The first operator set whose `ConstantOfShape` makes elements of a type; `None` when none does.
fn constant_of_shape_since(elem: ElemType) -> Option<i64> {
    Some(match elem {
        ElemType::FLOAT16 | ElemType::FLOAT | ElemType::DOUBLE | ElemType::BOOL => 9,
        ElemType::INT8 | ElemType::INT16 | ElemType::INT32 | ElemType::INT64 => 9,
        ElemType::UINT8 | ElemType::UINT16 | ElemType::UINT32 | ElemType::UINT64 => 9,
        ElemType::BFLOAT16 => 20,
        ElemType::FLOAT8E4M3FN | ElemType::FLOAT8E4M3FNUZ | ElemType::FLOAT8E5M2 | ElemType::FLOAT8E5M2FNUZ => 20,
        ElemType::INT4 | ElemType::UINT4 => 21,
        ElemType::FLOAT4E2M1 => 23,
        ElemType::FLOAT8E8M0 => 24,
        ElemType::INT2 | ElemType::UINT2 => 25,
        _ => return None,
    })
}

/// Checks that the operator set that a function imports has an `Identity` for the type of a value.
fn is_carried(f: &Function, value: NodeId) -> Result<()> {
    let (since, what) = match f.type_of(value) {
        Type::Sequence(_) => (14, "a sequence as two outputs before version 14 of the operators"),
        Type::Optional(_) => (16, "an optional as two outputs before version 16 of the operators"),
        _ => return Ok(()),
    };
    match f.opset_version("").is_none_or(|version| version >= since) {
        true => Ok(()),
        false => Err(OnnxError::new(ErrorKind::NotExpressible(what)).within(|| format!("`{value}`"))),
    }
}

/// Whether the operator set that a function imports has a `Constant` of a type.
fn is_made(f: &Function, elem: ElemType) -> bool {
    f.opset_version("").is_none_or(|version| version >= elem.constant_since())
}

/// Whether a splat is smaller as a `ConstantOfShape` node, and the operator set has one for its type.
pub(super) fn is_worth_a_node(f: &Function, tensor: &Tensor, name: &str) -> bool {
    /// The encoding of the node and of its shape, without names and dimensions.
    const NODE_BYTES: u64 = 120;
    let version = f.opset_version("").unwrap_or(0);
    let is_known = constant_of_shape_since(tensor.elem()).is_some_and(|since| version >= since);
    let cost = NODE_BYTES + 8 * tensor.dims().len() as u64 + name.len() as u64;
    is_known && tensor.byte_len() > cost && !tensor.dims().is_empty()
}

/// The encoded operator-set imports of a function, and further ones.
pub(super) fn encoded_imports(f: &Function, further: &[(String, i64)]) -> Vec<Vec<u8>> {
    let raws = strings(f.attrs(f.root()), meta::OPSET_IMPORT_RAW);
    let imports = f.opset_imports();
    let says = |raw: &[u8], import: (&str, i64)| {
        let (mut domain, mut version): (&[u8], i64) = (b"", 0);
        let mut scan = Scan::new(raw, 0);
        while let Ok(Some(field)) = scan.field() {
            match field.number {
                opset::DOMAIN => domain = field.bytes().unwrap_or_default(),
                opset::VERSION => version = field.int().unwrap_or_default(),
                _ => {}
            }
        }
        (domain, version) == (import.0.as_bytes(), import.1)
    };
    let encode = |(index, &import): (usize, &(&str, i64))| match raws.get(index) {
        Some(&raw) if says(raw, import) => raw.to_vec(),
        _ => encode_opset(import),
    };
    let further = further.iter().map(|(domain, version)| encode_opset((domain, *version)));
    imports.iter().enumerate().map(encode).chain(further).collect()
}

/// The types of a function's results, as far as its own type states them.
fn result_types(f: &Function, function: NodeId) -> Vec<TypeId> {
    let Type::Func { result, .. } = f.ty(f.type_id(function)) else { return Vec::new() };
    match f.ty(result) {
        Type::Tuple(types) if f.results(f.block_of(function)).len() != 1 => types.to_vec(),
        _ => vec![result],
    }
}
