//! `TensorProto`, written.

use super::{
    data::{IsWeight, Place, other_fields},
    plan::BY_REFERENCE,
    steps::{Step, Writer},
};
use crate::{
    encode::encode_typed,
    error::{ErrorKind, OnnxError, Result},
    meta,
    schema::{entry, graph, sparse_tensor, tensor},
    wire::{Part, Scan, put_bytes, put_int, put_tag, put_varint, wire_type},
};
use relais_plugin_api::ir::{AttrValue, Attrs, Blob, ElemType, Tensor};

/// The properties of a tensor other than its type and elements.
pub(super) struct About<'a> {
    /// The value's name, for an initializer.
    pub name: Option<&'a str>,
    pub attrs: Attrs<'a>,
    /// The attribute that holds the tensor.
    pub attribute: Option<String>,
    pub is_weight: IsWeight,
}

impl<'a> About<'a> {
    fn get(&self, key: &str) -> Option<AttrValue<'a>> {
        match &self.attribute {
            Some(attribute) => self.attrs.meta(&meta::about(key, attribute)),
            None => self.attrs.meta(key),
        }
    }
}

/// The entry of a list of initializers, which is dense or sparse, under another name.
pub(super) fn renamed_initializer(list: u32, message: &[u8], name: &str) -> Result<Vec<u8>> {
    if list != graph::SPARSE_INITIALIZER {
        return renamed_tensor(message, name);
    }
    let mut bytes = Vec::new();
    let mut scan = Scan::new(message, 0);
    while let Some(field) = scan.field()? {
        match field.number {
            sparse_tensor::VALUES => put_bytes(&mut bytes, field.number, &renamed_tensor(field.bytes()?, name)?),
            _ => bytes.extend_from_slice(field.raw),
        }
    }
    Ok(bytes)
}

fn renamed_tensor(encoded: &[u8], name: &str) -> Result<Vec<u8>> {
    if encoded_name(encoded)? == name.as_bytes() {
        return Ok(encoded.to_vec());
    }
    let mut bytes = Vec::new();
    for part in other_fields(encoded, &[tensor::NAME])? {
        bytes.extend_from_slice(part.of(encoded));
    }
    put_bytes(&mut bytes, tensor::NAME, name.as_bytes());
    Ok(bytes)
}

/// The name that an encoded tensor has.
fn encoded_name(encoded: &[u8]) -> Result<&[u8]> {
    let mut name: &[u8] = b"";
    let mut scan = Scan::new(encoded, 0);
    while let Some(field) = scan.field()? {
        if field.number == tensor::NAME {
            name = field.bytes()?;
        }
    }
    Ok(name)
}

impl Writer<'_> {
    /// The steps for bytes that are part of a blob held by reference.
    fn reference(&self, blob: &Blob, part: Part) -> Step {
        let slice = part.of(blob);
        if let Some(part) = self.in_source(slice) {
            return Step::Source(part);
        }
        match blob.slice(part.at, part.len) {
            Some(slice) if part.len >= BY_REFERENCE => Step::Blob(slice),
            _ => Step::Bytes(slice.to_vec()),
        }
    }

    /// The part of the source that still is this tensor's whole message.
    pub fn tensor_in_source(&mut self, value: &Tensor, about: &About<'_>) -> Result<Option<Part>> {
        let Some(part) = self.in_source(value.encoded()) else { return Ok(None) };
        let was_external = super::data::source_location(value).is_some();
        let is_same_name = match about.name {
            Some(name) => encoded_name(value.encoded())? == name.as_bytes(),
            None => true,
        };
        let place = self.placement.place(value, about.is_weight, was_external);
        let is_same_place = (place == Place::Kept) == was_external && !matches!(place, Place::Data(_));
        Ok((is_same_name && is_same_place).then_some(part))
    }

    /// The content of a tensor's message.
    pub fn tensor_steps(&mut self, value: &Tensor, about: &About<'_>) -> Result<Vec<Step>> {
        let encoded = value.encoded();
        let external = about.get(meta::EXTERNAL_DATA);
        let place = self.placement.place(value, about.is_weight, external.is_some());
        if encoded.is_empty() {
            return self.made_tensor(value, about, place);
        }
        let whole = Part { at: 0, len: encoded.len() as u64 };
        let was_external = super::data::source_location(value).is_some();
        let mut dropped = Vec::new();
        let mut name = Vec::new();
        if let Some(wanted) = about.name.filter(|wanted| encoded_name(encoded).ok() != Some(wanted.as_bytes())) {
            dropped.push(tensor::NAME);
            put_bytes(&mut name, tensor::NAME, wanted.as_bytes());
        }
        let moves = match place {
            Place::Kept => false,
            Place::Inline => was_external,
            Place::Data(_) => true,
        };
        if !moves && dropped.is_empty() {
            return Ok(vec![self.reference(encoded, whole)]);
        }
        if moves {
            dropped.extend([tensor::EXTERNAL_DATA, tensor::DATA_LOCATION, tensor::RAW_DATA, tensor::FLOAT_DATA]);
            dropped.extend([tensor::INT32_DATA, tensor::INT64_DATA, tensor::DOUBLE_DATA, tensor::UINT64_DATA]);
        }
        let mut steps: Vec<Step> =
            other_fields(encoded, &dropped)?.into_iter().map(|part| self.reference(encoded, part)).collect();
        steps.push(Step::Bytes(name));
        if moves {
            self.put_place(&mut steps, value, place);
        }
        Ok(steps)
    }

    fn put_place(&self, steps: &mut Vec<Step>, value: &Tensor, place: Place) {
        let mut bytes = Vec::new();
        if let Place::Data(offset) = place {
            let texts = [
                ("location", self.placement.location.clone()),
                ("offset", offset.to_string()),
                ("length", value.byte_len().to_string()),
            ];
            for (key, text) in texts {
                let mut pair = Vec::new();
                put_bytes(&mut pair, entry::KEY, key.as_bytes());
                put_bytes(&mut pair, entry::VALUE, text.as_bytes());
                put_bytes(&mut bytes, tensor::EXTERNAL_DATA, &pair);
            }
            put_int(&mut bytes, tensor::DATA_LOCATION, tensor::EXTERNAL);
            steps.push(Step::Bytes(bytes));
        } else {
            put_tag(&mut bytes, tensor::RAW_DATA, wire_type::LEN);
            put_varint(&mut bytes, value.byte_len());
            steps.extend([Step::Bytes(bytes), Step::Elements(value.clone())]);
        }
    }

    /// A tensor that was made here, or came from text.
    fn made_tensor(&mut self, value: &Tensor, about: &About<'_>, place: Place) -> Result<Vec<Step>> {
        if value.opaque_form().is_some() {
            let what = "a tensor in a form of a later version";
            return Err(OnnxError::new(ErrorKind::NotExpressible(what)));
        }
        let mut head = Vec::new();
        for &dim in value.dims() {
            put_int(&mut head, tensor::DIMS, dim as i64);
        }
        put_int(&mut head, tensor::DATA_TYPE, value.elem().0.into());
        let field = match about.get(meta::TENSOR_FIELD) {
            // Without a field there are no elements, or they are in the other fields.
            Some(AttrValue::Int(0)) if !value.is_empty() && about.get(meta::TENSOR_EXTRA).is_none() => {
                tensor::RAW_DATA.into()
            }
            Some(AttrValue::Int(field)) => field,
            _ if value.elem() == ElemType::STRING => tensor::STRING_DATA.into(),
            _ => tensor::RAW_DATA.into(),
        };
        let is_raw = field == i64::from(tensor::RAW_DATA);
        if place == Place::Inline && !is_raw && field != 0 {
            encode_typed(value, &mut head);
        }
        if let Some(name) = about.name {
            put_bytes(&mut head, tensor::NAME, name.as_bytes());
        }
        let mut steps = vec![Step::Bytes(head)];
        if place != Place::Inline || is_raw {
            self.put_place(&mut steps, value, place);
        }
        if let Some(AttrValue::Raw(extra)) = about.get(meta::TENSOR_EXTRA) {
            steps.push(Step::Bytes(extra.to_vec()));
        }
        Ok(steps)
    }
}
