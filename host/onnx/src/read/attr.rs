//! `AttributeProto`.

use super::{
    Cx,
    tensor::{NameUse, TensorRead, read_tensor},
};
use crate::{
    encode::{field_of, kind_of},
    error::{ErrorKind, OnnxError, Result},
    meta,
    schema::attribute,
    types::{decode_type, encode_type},
    wire::{Field, Part, Scan},
};
use relais_plugin_api::ir::{Attr, AttrData, Function, attr_flag, attr_kind};

/// An attribute's value as read.
pub(super) enum AttrRead {
    Data(AttrData),
    /// One graph, in as many parts as the field occurs.
    Graph(Vec<Part>),
    Graphs(Vec<Part>),
}

/// An attribute as read.
pub(super) struct Attribute<'a> {
    pub name: &'a str,
    pub value: AttrRead,
    pub flags: u8,
    /// Whether the file left the value out.
    pub is_implicit: bool,
    /// The properties of the attribute other than its value.
    pub metadata: Vec<Attr>,
    /// How its tensor stood in the file.
    pub tensor: Option<TensorRead<'a>>,
}

/// The result of the first look at an attribute.
struct Head<'a> {
    name: &'a str,
    reference: &'a str,
    stated: i64,
    /// The first field with a value.
    field: Option<u32>,
    n_tensors: usize,
    has_graph: bool,
    has_graphs: bool,
}

/// Reads the `AttributeProto` at `part`.
pub(super) fn read_attribute<'a>(cx: &mut Cx<'a>, f: &mut Function, part: Part) -> Result<Attribute<'a>> {
    let mut head =
        Head { name: "", reference: "", stated: 0, field: None, n_tensors: 0, has_graph: false, has_graphs: false };
    let mut scan = Scan::part(cx.bytes, part);
    while let Some(field) = scan.field()? {
        match field.number {
            attribute::NAME => head.name = field.str()?,
            attribute::REF_ATTR_NAME => head.reference = field.str()?,
            attribute::TYPE => head.stated = field.int()?,
            number if kind_of(number).is_some() => {
                head.field = head.field.or(Some(number));
                head.n_tensors += usize::from(number == attribute::T || number == attribute::TP);
                head.has_graph |= number == attribute::G;
                head.has_graphs |= number == attribute::GRAPHS;
            }
            _ => {}
        }
    }
    if head.name.is_empty() {
        return Err(OnnxError::at(part.at, ErrorKind::Missing("attribute name")));
    }
    let place = head.name;
    read_value(cx, f, part, head).map_err(|error| error.or_at(part.at).within(|| format!("attribute `{place}`")))
}

fn read_value<'a>(cx: &mut Cx<'a>, f: &mut Function, part: Part, head: Head<'a>) -> Result<Attribute<'a>> {
    let name = head.name;
    let stated = u8::try_from(head.stated).unwrap_or(u8::MAX);
    let kind = if stated == 0 { head.field.and_then(kind_of).unwrap_or(0) } else { stated };
    let mut read = Attribute {
        name,
        value: AttrRead::Data(AttrData::Raw(Vec::new())),
        flags: if stated == 0 { attr_flag::UNTYPED } else { 0 },
        is_implicit: false,
        metadata: Vec::new(),
        tensor: None,
    };
    let is = |wanted: u8| head.reference.is_empty() && kind == wanted;
    if head.has_graph && !is(attr_kind::GRAPH) || head.has_graphs && !is(attr_kind::GRAPHS) {
        return Err(OnnxError::at(part.at, ErrorKind::StrayGraph(name.into())));
    }
    let value_field = if head.reference.is_empty() { field_of(kind) } else { None };
    let mut collect = Collected::default();
    let mut extra = Vec::new();
    let mut scan = Scan::part(cx.bytes, part);
    while let Some(field) = scan.field()? {
        match field.number {
            attribute::NAME => {}
            attribute::TYPE if stated != 0 => {}
            attribute::REF_ATTR_NAME if !head.reference.is_empty() => {}
            number if Some(number) == value_field => collect.add(field)?,
            _ => extra.extend_from_slice(field.raw),
        }
    }
    let value = if !head.reference.is_empty() {
        AttrRead::Data(AttrData::Ref { name: head.reference.into(), kind })
    } else if head.n_tensors > 1 && matches!(kind, attr_kind::TENSOR | attr_kind::TYPE) {
        raw(cx, part)
    } else {
        match collect.value(cx, f, kind, &mut read)? {
            Some(value) => value,
            None => raw(cx, part),
        }
    };
    let is_raw = matches!(value, AttrRead::Data(AttrData::Raw(_)));
    if !extra.is_empty() && !is_raw {
        read.metadata.push(Attr::meta(meta::about(meta::ATTR_EXTRA, name), AttrData::Raw(extra)));
    }
    if is_raw {
        read.flags = 0;
        read.is_implicit = false;
        read.metadata.clear();
        read.tensor = None;
    }
    read.value = value;
    Ok(read)
}

fn raw(cx: &Cx<'_>, part: Part) -> AttrRead {
    AttrRead::Data(AttrData::Raw(part.of(cx.bytes).to_vec()))
}

/// The values met in the field for an attribute's kind.
#[derive(Default)]
struct Collected<'a> {
    float: Option<f32>,
    int: Option<i64>,
    floats: Vec<f32>,
    ints: Vec<i64>,
    bytes: Vec<&'a [u8]>,
    parts: Vec<Part>,
}

impl<'a> Collected<'a> {
    fn add(&mut self, field: Field<'a>) -> Result<()> {
        match field.number {
            attribute::F => self.float = Some(field.float()?),
            attribute::I => self.int = Some(field.int()?),
            attribute::FLOATS => {
                let floats = &mut self.floats;
                field.fixed(4, |bytes| {
                    floats
                        .extend(bytes.chunks_exact(4).filter_map(|b| b.first_chunk().copied().map(f32::from_le_bytes)));
                })?;
            }
            attribute::INTS => field.ints(|value| self.ints.push(value))?,
            _ => {
                self.bytes.push(field.bytes()?);
                self.parts.push(field.part()?);
            }
        }
        Ok(())
    }

    /// The value, unless the IR has no form for it.
    fn value(self, cx: &mut Cx<'a>, f: &mut Function, kind: u8, read: &mut Attribute<'a>) -> Result<Option<AttrRead>> {
        let owned = |bytes: &[&[u8]]| bytes.iter().map(|bytes| bytes.to_vec()).collect::<Vec<_>>();
        Ok(Some(AttrRead::Data(match kind {
            attr_kind::FLOAT => {
                read.is_implicit = self.float.is_none();
                AttrData::Float(self.float.unwrap_or_default())
            }
            attr_kind::INT => {
                read.is_implicit = self.int.is_none();
                AttrData::Int(self.int.unwrap_or_default())
            }
            attr_kind::STRING => {
                read.is_implicit = self.bytes.is_empty();
                AttrData::String(self.bytes.last().copied().unwrap_or_default().to_vec())
            }
            attr_kind::FLOATS => AttrData::Floats(self.floats),
            attr_kind::INTS => AttrData::Ints(self.ints),
            attr_kind::STRINGS => AttrData::Strings(owned(&self.bytes)),
            attr_kind::TENSOR => {
                let [part] = self.parts[..] else { return Ok(None) };
                let tensor = read_tensor(cx, part, NameUse::Carried)?;
                let Some(value) = tensor.tensor.clone() else { return Ok(None) };
                read.metadata.extend(tensor.metadata(Some(read.name)));
                read.tensor = Some(tensor);
                AttrData::Tensor(value)
            }
            attr_kind::TENSORS => {
                let mut values = Vec::new();
                for (index, &part) in self.parts.iter().enumerate() {
                    let tensor = read_tensor(cx, part, NameUse::Carried)?;
                    read.metadata.extend(tensor.metadata(Some(&format!("{}:{index}", read.name))));
                    let Some(value) = tensor.tensor else { return Ok(None) };
                    values.push(value);
                }
                AttrData::Tensors(values)
            }
            attr_kind::GRAPH if !self.parts.is_empty() => return Ok(Some(AttrRead::Graph(self.parts))),
            attr_kind::GRAPHS => return Ok(Some(AttrRead::Graphs(self.parts))),
            attr_kind::SPARSE_TENSOR => match self.bytes[..] {
                [bytes] => AttrData::SparseTensor(bytes.to_vec()),
                _ => return Ok(None),
            },
            attr_kind::SPARSE_TENSORS => AttrData::SparseTensors(owned(&self.bytes)),
            attr_kind::TYPE | attr_kind::TYPES => {
                let mut types = Vec::new();
                for (bytes, part) in self.bytes.iter().zip(&self.parts) {
                    let ty = decode_type(f, bytes, part.at)?;
                    if encode_type(f, ty).as_deref() != Some(*bytes) {
                        return Ok(None);
                    }
                    types.push(ty);
                }
                match (kind, &types[..]) {
                    (attr_kind::TYPE, [ty]) => AttrData::Type(*ty),
                    (attr_kind::TYPES, _) => AttrData::Types(types),
                    _ => return Ok(None),
                }
            }
            _ => return Ok(None),
        })))
    }
}
