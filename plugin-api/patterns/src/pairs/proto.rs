//! The messages of ONNX that functions consist of, as far as rules can say the same.

/// The field numbers.
mod field {
    pub mod model {
        pub const IR_VERSION: u32 = 1;
        pub const PRODUCER_NAME: u32 = 2;
        pub const GRAPH: u32 = 7;
        pub const OPSET_IMPORT: u32 = 8;
        pub const FUNCTIONS: u32 = 25;
    }
    pub mod graph {
        pub const NODE: u32 = 1;
        pub const NAME: u32 = 2;
    }
    pub mod opset {
        pub const DOMAIN: u32 = 1;
        pub const VERSION: u32 = 2;
    }
    pub mod function {
        pub const NAME: u32 = 1;
        pub const INPUT: u32 = 4;
        pub const OUTPUT: u32 = 5;
        pub const ATTRIBUTE: u32 = 6;
        pub const NODE: u32 = 7;
        pub const OPSET_IMPORT: u32 = 9;
        pub const DOMAIN: u32 = 10;
        pub const ATTRIBUTE_PROTO: u32 = 11;
    }
    pub mod node {
        pub const INPUT: u32 = 1;
        pub const OUTPUT: u32 = 2;
        pub const NAME: u32 = 3;
        pub const OP_TYPE: u32 = 4;
        pub const ATTRIBUTE: u32 = 5;
        pub const DOMAIN: u32 = 7;
        pub const OVERLOAD: u32 = 8;
    }
    pub mod attribute {
        pub const NAME: u32 = 1;
        pub const F: u32 = 2;
        pub const I: u32 = 3;
        pub const S: u32 = 4;
        pub const T: u32 = 5;
        pub const FLOATS: u32 = 7;
        pub const INTS: u32 = 8;
        pub const STRINGS: u32 = 9;
        pub const TYPE: u32 = 20;
        pub const REF_ATTR_NAME: u32 = 21;
    }
    pub mod tensor {
        pub const DIMS: u32 = 1;
        pub const DATA_TYPE: u32 = 2;
        pub const FLOAT_DATA: u32 = 4;
        pub const INT64_DATA: u32 = 7;
        pub const RAW_DATA: u32 = 9;
        pub const DATA_LOCATION: u32 = 14;
    }
}

/// The numbers of `AttributeProto.AttributeType`.
pub(super) mod kind {
    pub const FLOAT: u8 = 1;
    pub const INT: u8 = 2;
    pub const STRING: u8 = 3;
    pub const TENSOR: u8 = 4;
    pub const GRAPH: u8 = 5;
    pub const FLOATS: u8 = 6;
    pub const INTS: u8 = 7;
    pub const STRINGS: u8 = 8;
    pub const GRAPHS: u8 = 10;
}

/// The numbers of element types that constants of rules have.
pub(super) mod elem {
    pub const FLOAT: i64 = 1;
    pub const INT64: i64 = 7;
}

/// The version of the format in which models are written: the first one that has functions.
const IR_VERSION: u64 = 8;

#[derive(Default)]
pub(super) struct Model {
    pub functions: Vec<Function>,
    /// The number of nodes in its graph.
    pub n_nodes: usize,
}

#[derive(Default)]
pub(super) struct Function {
    pub domain: String,
    pub name: String,
    pub inputs: Vec<String>,
    pub outputs: Vec<String>,
    /// The names of attributes without a default.
    pub attributes: Vec<String>,
    /// Whether it has attributes with a default.
    pub has_defaults: bool,
    pub nodes: Vec<Node>,
    pub imports: Vec<(String, i64)>,
}

#[derive(Default)]
pub(super) struct Node {
    pub domain: String,
    pub op: String,
    pub overload: String,
    pub name: String,
    pub inputs: Vec<String>,
    pub outputs: Vec<String>,
    pub attributes: Vec<Attribute>,
}

#[derive(Default)]
pub(super) struct Attribute {
    pub name: String,
    /// The attribute of the function that it refers to; empty for none.
    pub refers: String,
    /// One of [`kind`]; 0 if none is stated.
    pub kind: u8,
    pub value: AttrValue,
}

#[derive(Default)]
pub(super) enum AttrValue {
    /// None, or one that rules do not have.
    #[default]
    Other,
    Float(f32),
    Int(i64),
    String(String),
    Floats(Vec<f32>),
    Ints(Vec<i64>),
    Strings(Vec<String>),
    Tensor(Tensor),
}

#[derive(Clone, Default)]
pub(super) struct Tensor {
    pub dims: Vec<i64>,
    pub elem: i64,
    pub floats: Vec<f32>,
    pub ints: Vec<i64>,
    /// The elements as bytes, in place of those lists.
    pub raw: Option<Vec<u8>>,
    /// Whether the elements are in another file.
    pub is_external: bool,
}

/// The bytes are not a message of ONNX.
pub(super) struct Damaged;

type Read<T> = Result<T, Damaged>;

/// The value of a field.
enum NewValue<'a> {
    Varint(u64),
    Fixed64,
    Fixed32(u32),
    Bytes(&'a [u8]),
}

impl<'a> NewValue<'a> {
    fn bytes(&self) -> Read<&'a [u8]> {
        if let Self::Bytes(bytes) = self { Ok(bytes) } else { Err(Damaged) }
    }

    fn text(&self) -> Read<String> {
        String::from_utf8(self.bytes()?.to_vec()).map_err(|_| Damaged)
    }

    fn int(&self) -> Read<i64> {
        if let Self::Varint(value) = self { Ok(*value as i64) } else { Err(Damaged) }
    }

    fn float(&self) -> Read<f32> {
        if let Self::Fixed32(bits) = self { Ok(f32::from_bits(*bits)) } else { Err(Damaged) }
    }

    /// Adds the values of a repeated integer, packed or not.
    fn ints(&self, to: &mut Vec<i64>) -> Read<()> {
        let &Self::Bytes(mut bytes) = self else { return self.int().map(|value| to.push(value)) };
        while !bytes.is_empty() {
            to.push(varint(&mut bytes)? as i64);
        }
        Ok(())
    }

    /// Adds the values of a repeated float, packed or not.
    fn floats(&self, to: &mut Vec<f32>) -> Read<()> {
        let Self::Bytes(bytes) = self else { return self.float().map(|value| to.push(value)) };
        to.extend(floats(bytes)?);
        Ok(())
    }
}

/// The floats that bytes are.
pub(super) fn floats(bytes: &[u8]) -> Read<Vec<f32>> {
    let (floats, rest) = bytes.as_chunks::<4>();
    if rest.is_empty() { Ok(floats.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()) } else { Err(Damaged) }
}

/// The integers that bytes are.
pub(super) fn ints(bytes: &[u8]) -> Read<Vec<i64>> {
    let (ints, rest) = bytes.as_chunks::<8>();
    if rest.is_empty() { Ok(ints.iter().map(|&bytes| i64::from_le_bytes(bytes)).collect()) } else { Err(Damaged) }
}

fn take<'a>(bytes: &mut &'a [u8], n: u64) -> Read<&'a [u8]> {
    let (taken, rest) = usize::try_from(n).ok().and_then(|n| bytes.split_at_checked(n)).ok_or(Damaged)?;
    *bytes = rest;
    Ok(taken)
}

fn varint(bytes: &mut &[u8]) -> Read<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = take(bytes, 1)?[0];
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(Damaged)
}

/// Visits the fields of a message, by number.
fn fields<'a>(mut bytes: &'a [u8], mut visit: impl FnMut(u32, NewValue<'a>) -> Read<()>) -> Read<()> {
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        let value = match tag & 7 {
            0 => NewValue::Varint(varint(&mut bytes)?),
            1 => take(&mut bytes, 8).map(|_| NewValue::Fixed64)?,
            2 => {
                let n = varint(&mut bytes)?;
                NewValue::Bytes(take(&mut bytes, n)?)
            }
            5 => {
                let mut bits = [0; 4];
                bits.copy_from_slice(take(&mut bytes, 4)?);
                NewValue::Fixed32(u32::from_le_bytes(bits))
            }
            _ => return Err(Damaged),
        };
        visit(u32::try_from(tag >> 3).map_err(|_| Damaged)?, value)?;
    }
    Ok(())
}

impl Model {
    pub fn read(bytes: &[u8]) -> Read<Self> {
        let mut model = Self::default();
        fields(bytes, |number, value| {
            match number {
                field::model::FUNCTIONS => model.functions.push(Function::read(value.bytes()?)?),
                field::model::GRAPH => fields(value.bytes()?, |number, _| {
                    model.n_nodes += usize::from(number == field::graph::NODE);
                    Ok(())
                })?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(model)
    }

    /// Writes functions as a model whose graph is empty; `imports` are those of all functions.
    pub fn write(functions: &[Function], imports: &[(String, i64)]) -> Vec<u8> {
        let mut out = Writer::default();
        out.varint(field::model::IR_VERSION, IR_VERSION);
        out.text(field::model::PRODUCER_NAME, "relais");
        out.message(field::model::GRAPH, |out| out.text(field::graph::NAME, "rules"));
        for import in imports {
            out.import(field::model::OPSET_IMPORT, import);
        }
        for function in functions {
            out.message(field::model::FUNCTIONS, |out| function.write(out));
        }
        out.0
    }
}

impl Function {
    fn read(bytes: &[u8]) -> Read<Self> {
        let mut function = Self::default();
        fields(bytes, |number, value| {
            match number {
                field::function::NAME => function.name = value.text()?,
                field::function::DOMAIN => function.domain = value.text()?,
                field::function::INPUT => function.inputs.push(value.text()?),
                field::function::OUTPUT => function.outputs.push(value.text()?),
                field::function::ATTRIBUTE => function.attributes.push(value.text()?),
                field::function::ATTRIBUTE_PROTO => function.has_defaults = true,
                field::function::NODE => function.nodes.push(Node::read(value.bytes()?)?),
                field::function::OPSET_IMPORT => {
                    let mut import = (String::new(), 0);
                    fields(value.bytes()?, |number, value| {
                        match number {
                            field::opset::DOMAIN => import.0 = domain(value.text()?),
                            field::opset::VERSION => import.1 = value.int()?,
                            _ => {}
                        }
                        Ok(())
                    })?;
                    function.imports.push(import);
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(function)
    }

    fn write(&self, out: &mut Writer) {
        out.text(field::function::NAME, &self.name);
        self.inputs.iter().for_each(|input| out.text(field::function::INPUT, input));
        self.outputs.iter().for_each(|output| out.text(field::function::OUTPUT, output));
        self.attributes.iter().for_each(|name| out.text(field::function::ATTRIBUTE, name));
        self.nodes.iter().for_each(|node| out.message(field::function::NODE, |out| node.write(out)));
        self.imports.iter().for_each(|import| out.import(field::function::OPSET_IMPORT, import));
        out.text(field::function::DOMAIN, &self.domain);
    }
}

/// A domain by its short name.
fn domain(name: String) -> String {
    if name == "ai.onnx" { String::new() } else { name }
}

impl Node {
    fn read(bytes: &[u8]) -> Read<Self> {
        let mut node = Self::default();
        fields(bytes, |number, value| {
            match number {
                field::node::INPUT => node.inputs.push(value.text()?),
                field::node::OUTPUT => node.outputs.push(value.text()?),
                field::node::NAME => node.name = value.text()?,
                field::node::OP_TYPE => node.op = value.text()?,
                field::node::DOMAIN => node.domain = domain(value.text()?),
                field::node::OVERLOAD => node.overload = value.text()?,
                field::node::ATTRIBUTE => node.attributes.push(Attribute::read(value.bytes()?)?),
                _ => {}
            }
            Ok(())
        })?;
        Ok(node)
    }

    fn write(&self, out: &mut Writer) {
        self.inputs.iter().for_each(|input| out.text(field::node::INPUT, input));
        self.outputs.iter().for_each(|output| out.text(field::node::OUTPUT, output));
        out.text(field::node::OP_TYPE, &self.op);
        self.attributes.iter().for_each(|attr| out.message(field::node::ATTRIBUTE, |out| attr.write(out)));
        if !self.domain.is_empty() {
            out.text(field::node::DOMAIN, &self.domain);
        }
    }

    /// Whether it is a constant.
    pub fn is_constant(&self) -> bool {
        self.domain.is_empty() && self.op == super::CONSTANT
    }
}

impl Attribute {
    fn read(bytes: &[u8]) -> Read<Self> {
        let mut attr = Self::default();
        let (mut floats, mut ints, mut strings) = (Vec::new(), Vec::new(), Vec::new());
        fields(bytes, |number, value| {
            match number {
                field::attribute::NAME => attr.name = value.text()?,
                field::attribute::REF_ATTR_NAME => attr.refers = value.text()?,
                field::attribute::TYPE => attr.kind = u8::try_from(value.int()?).map_err(|_| Damaged)?,
                field::attribute::F => attr.value = AttrValue::Float(value.float()?),
                field::attribute::I => attr.value = AttrValue::Int(value.int()?),
                field::attribute::S => attr.value = value.text().map_or(AttrValue::Other, AttrValue::String),
                field::attribute::T => attr.value = AttrValue::Tensor(Tensor::read(value.bytes()?)?),
                field::attribute::FLOATS => value.floats(&mut floats)?,
                field::attribute::INTS => value.ints(&mut ints)?,
                field::attribute::STRINGS => strings.push(value.text()?),
                _ => {}
            }
            Ok(())
        })?;
        // An empty list is not written, and zero is not by some tools: the kind tells.
        attr.value = match (attr.kind, attr.value) {
            (kind::FLOATS, _) => AttrValue::Floats(floats),
            (kind::INTS, _) => AttrValue::Ints(ints),
            (kind::STRINGS, _) => AttrValue::Strings(strings),
            (kind::FLOAT, AttrValue::Other) => AttrValue::Float(0.0),
            (kind::INT, AttrValue::Other) => AttrValue::Int(0),
            (kind::FLOAT, value @ AttrValue::Float(_))
            | (kind::INT, value @ AttrValue::Int(_))
            | (kind::STRING, value @ AttrValue::String(_))
            | (kind::TENSOR, value @ AttrValue::Tensor(_)) => value,
            _ => AttrValue::Other,
        };
        Ok(attr)
    }

    fn write(&self, out: &mut Writer) {
        out.text(field::attribute::NAME, &self.name);
        match &self.value {
            AttrValue::Other => {}
            AttrValue::Float(value) => out.float(field::attribute::F, *value),
            AttrValue::Int(value) => out.varint(field::attribute::I, *value as u64),
            AttrValue::String(text) => out.text(field::attribute::S, text),
            AttrValue::Floats(values) => values.iter().for_each(|&value| out.float(field::attribute::FLOATS, value)),
            AttrValue::Ints(values) => {
                values.iter().for_each(|&value| out.varint(field::attribute::INTS, value as u64));
            }
            AttrValue::Strings(texts) => texts.iter().for_each(|text| out.text(field::attribute::STRINGS, text)),
            AttrValue::Tensor(tensor) => out.message(field::attribute::T, |out| tensor.write(out)),
        }
        if self.kind != 0 {
            out.varint(field::attribute::TYPE, self.kind.into());
        }
        if !self.refers.is_empty() {
            out.text(field::attribute::REF_ATTR_NAME, &self.refers);
        }
    }
}

impl AttrValue {
    /// The number of its kind.
    pub fn kind(&self) -> u8 {
        match self {
            Self::Other => 0,
            Self::Float(_) => kind::FLOAT,
            Self::Int(_) => kind::INT,
            Self::String(_) => kind::STRING,
            Self::Floats(_) => kind::FLOATS,
            Self::Ints(_) => kind::INTS,
            Self::Strings(_) => kind::STRINGS,
            Self::Tensor(_) => kind::TENSOR,
        }
    }
}

impl Tensor {
    fn read(bytes: &[u8]) -> Read<Self> {
        let mut tensor = Self::default();
        fields(bytes, |number, value| {
            match number {
                field::tensor::DIMS => value.ints(&mut tensor.dims)?,
                field::tensor::DATA_TYPE => tensor.elem = value.int()?,
                field::tensor::FLOAT_DATA => value.floats(&mut tensor.floats)?,
                field::tensor::INT64_DATA => value.ints(&mut tensor.ints)?,
                field::tensor::RAW_DATA => tensor.raw = Some(value.bytes()?.to_vec()),
                field::tensor::DATA_LOCATION => tensor.is_external = value.int()? != 0,
                _ => {}
            }
            Ok(())
        })?;
        Ok(tensor)
    }

    fn write(&self, out: &mut Writer) {
        self.dims.iter().for_each(|&dim| out.varint(field::tensor::DIMS, dim as u64));
        out.varint(field::tensor::DATA_TYPE, self.elem as u64);
        // In little-endian bytes, which is what constants of other tools mostly are.
        let floats = self.floats.iter().flat_map(|value| value.to_le_bytes());
        let bytes: Vec<u8> = floats.chain(self.ints.iter().flat_map(|value| value.to_le_bytes())).collect();
        out.bytes(field::tensor::RAW_DATA, &bytes);
    }
}

/// Writes the fields of a message.
#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn put(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn tag(&mut self, number: u32, wire: u64) {
        self.put(u64::from(number) << 3 | wire);
    }

    fn varint(&mut self, number: u32, value: u64) {
        self.tag(number, 0);
        self.put(value);
    }

    fn float(&mut self, number: u32, value: f32) {
        self.tag(number, 5);
        self.0.extend(value.to_le_bytes());
    }

    fn bytes(&mut self, number: u32, bytes: &[u8]) {
        self.tag(number, 2);
        self.put(bytes.len() as u64);
        self.0.extend(bytes);
    }

    fn text(&mut self, number: u32, text: &str) {
        self.bytes(number, text.as_bytes());
    }

    fn message(&mut self, number: u32, write: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        write(&mut inner);
        self.bytes(number, &inner.0);
    }

    fn import(&mut self, number: u32, (domain, version): &(String, i64)) {
        self.message(number, |out| {
            out.text(field::opset::DOMAIN, domain);
            out.varint(field::opset::VERSION, *version as u64);
        });
    }
}
