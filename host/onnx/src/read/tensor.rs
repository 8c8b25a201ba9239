//! `TensorProto`: elements are slices of the file if they are in `raw_data` or in another file.

use super::{Cx, entry};
use crate::{
    encode::{stored_value, stored_width, typed_field},
    error::{ErrorKind, ExternalFault, OnnxError, Result},
    external::Location,
    meta,
    schema::tensor,
    wire::{Field, Part, Scan, wire_type},
};
use relais_plugin_api::ir::{Attr, AttrData, ElemType, Tensor, TensorError, element_count, packed};

/// The use of a `TensorProto`'s name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NameUse {
    /// It names the value.
    Value,
    /// It is only carried.
    Carried,
}

/// A tensor as read.
pub(super) struct TensorRead<'a> {
    pub name: &'a str,
    /// `None` if elements of this type cannot be represented.
    pub tensor: Option<Tensor>,
    form: Form<'a>,
}

/// How the tensor was encoded in the file, if that is not the usual way.
#[derive(Default)]
struct Form<'a> {
    field: Option<u32>,
    extra: Vec<u8>,
    external: Vec<&'a [u8]>,
}

impl TensorRead<'_> {
    /// The form as metadata of a node; `attribute` is the attribute that holds the tensor, if one does.
    pub fn metadata(&self, attribute: Option<&str>) -> Vec<Attr> {
        let key = |key: &str| attribute.map_or_else(|| key.to_owned(), |attribute| meta::about(key, attribute));
        let mut attrs = Vec::new();
        if let Some(field) = self.form.field {
            attrs.push(Attr::meta(key(meta::TENSOR_FIELD), i64::from(field)));
        }
        if !self.form.external.is_empty() {
            let entries = self.form.external.iter().map(|text| text.to_vec()).collect();
            attrs.push(Attr::meta(key(meta::EXTERNAL_DATA), AttrData::Strings(entries)));
        }
        if !self.form.extra.is_empty() {
            attrs.push(Attr::meta(key(meta::TENSOR_EXTRA), AttrData::Raw(self.form.extra.clone())));
        }
        attrs
    }
}

/// The fields that hold elements, as they are met.
struct Data<'a> {
    /// The field with elements, 0 for none so far.
    number: u32,
    raw: Option<Part>,
    /// Elements of the other fields, as the tensor holds them.
    bytes: Vec<u8>,
    strings: Vec<&'a [u8]>,
    /// The fields as they are, for when their values do not survive.
    fields: Vec<u8>,
    /// Whether a value does not fit the element type, so that it could not be written again.
    is_lossy: bool,
}

fn field_name(number: u32) -> &'static str {
    match number {
        tensor::FLOAT_DATA => "float_data",
        tensor::INT32_DATA => "int32_data",
        tensor::STRING_DATA => "string_data",
        tensor::INT64_DATA => "int64_data",
        tensor::DOUBLE_DATA => "double_data",
        tensor::UINT64_DATA => "uint64_data",
        _ => "raw_data",
    }
}

impl<'a> Data<'a> {
    fn add(&mut self, elem: ElemType, field: &Field<'a>) -> Result<()> {
        let number = field.number;
        if field.wire == wire_type::LEN && field.bytes()?.is_empty() && number != tensor::STRING_DATA {
            // Present, but without elements: worth keeping, not worth a complaint.
            self.fields.extend_from_slice(field.raw);
            if number == tensor::RAW_DATA && self.number == 0 {
                self.raw = Some(field.part()?);
            }
            return Ok(());
        }
        let wanted = if number == tensor::RAW_DATA && elem != ElemType::STRING { number } else { typed_field(elem) };
        if (self.number != 0 && self.number != number) || number != wanted {
            let fault = ErrorKind::TensorData { elem: elem.to_string(), field: field_name(number) };
            return Err(OnnxError::at(field.at, fault));
        }
        self.number = number;
        let Self { bytes, strings, fields, is_lossy, .. } = self;
        if number != tensor::RAW_DATA {
            fields.extend_from_slice(field.raw);
        }
        match number {
            tensor::FLOAT_DATA => field.fixed(4, |data| bytes.extend_from_slice(data))?,
            tensor::DOUBLE_DATA => field.fixed(8, |data| bytes.extend_from_slice(data))?,
            tensor::INT64_DATA => field.ints(|value| bytes.extend_from_slice(&value.to_le_bytes()))?,
            tensor::STRING_DATA => strings.push(field.bytes()?),
            tensor::RAW_DATA => self.raw = Some(field.part()?),
            _ => {
                let width = stored_width(elem);
                field.ints(|value| {
                    // Readers of `int32_data` see 32 bits.
                    let value = if number == tensor::INT32_DATA { i64::from(value as i32) } else { value };
                    let element = &value.to_le_bytes()[..width];
                    bytes.extend_from_slice(element);
                    *is_lossy |= stored_value(elem, element) != value;
                })?;
            }
        }
        Ok(())
    }
}

/// Reads the `TensorProto` at `part`.
pub(super) fn read_tensor<'a>(cx: &mut Cx<'a>, part: Part, name_use: NameUse) -> Result<TensorRead<'a>> {
    let place = |name: &str| if name.is_empty() { "a tensor".to_owned() } else { format!("tensor `{name}`") };
    let mut name = "";
    read(cx, part, name_use, &mut name).map_err(|error| error.or_at(part.at).within(|| place(name)))
}

fn read<'a>(cx: &mut Cx<'a>, part: Part, name_use: NameUse, name: &mut &'a str) -> Result<TensorRead<'a>> {
    let mut dims = Vec::new();
    let mut elem = 0;
    let mut is_external = false;
    // The meaning of the data fields depends on a type that may come after them.
    let mut scan = Scan::part(cx.bytes, part);
    while let Some(field) = scan.field()? {
        match field.number {
            tensor::DIMS => field.ints(|dim| dims.push(dim))?,
            tensor::DATA_TYPE => elem = field.int()?,
            tensor::NAME => *name = field.str()?,
            tensor::DATA_LOCATION => is_external = field.int()? == tensor::EXTERNAL,
            _ => {}
        }
    }
    let name = *name;
    let elem = ElemType(u8::try_from(elem).unwrap_or(0));
    if elem.bits() == 0 && elem != ElemType::STRING {
        return Ok(TensorRead { name, tensor: None, form: Form::default() });
    }
    if let Some(&dim) = dims.iter().find(|&&dim| dim < 0) {
        return Err(OnnxError::at(part.at, ErrorKind::NegativeDim(dim)));
    }
    let dims: Vec<u64> = dims.into_iter().map(|dim| dim as u64).collect();

    let mut form = Form::default();
    let mut location = Location::default();
    let mut data =
        Data { number: 0, raw: None, bytes: Vec::new(), strings: Vec::new(), fields: Vec::new(), is_lossy: false };
    let mut scan = Scan::part(cx.bytes, part);
    while let Some(field) = scan.field()? {
        match field.number {
            tensor::DIMS | tensor::DATA_TYPE => {}
            tensor::NAME if name_use == NameUse::Value => {}
            tensor::FLOAT_DATA
            | tensor::INT32_DATA
            | tensor::STRING_DATA
            | tensor::INT64_DATA
            | tensor::RAW_DATA
            | tensor::DOUBLE_DATA
            | tensor::UINT64_DATA => data.add(elem, &field)?,
            tensor::DATA_LOCATION if is_external => {}
            tensor::EXTERNAL_DATA if is_external => {
                // The place of the elements is not guessed from a part of the information about it.
                let unreadable = || OnnxError::new(ErrorKind::Missing("readable key and value in `external_data`"));
                let (key, value) = entry(field.bytes()?).ok_or_else(unreadable)?;
                match key {
                    b"location" => location.location = std::str::from_utf8(value).unwrap_or(""),
                    b"offset" => location.offset = Some(value),
                    b"length" => location.length = Some(value),
                    _ => {}
                }
                form.external.extend([key, value]);
            }
            _ => form.extra.extend_from_slice(field.raw),
        }
    }
    let encoded = cx.blob.slice(part.at, part.len).unwrap_or_default();
    let tensor =
        if is_external { external(cx, elem, &dims, &location, &data)? } else { inline(cx, elem, &dims, &data)? };
    if data.is_lossy {
        form.field = Some(0);
        form.extra.append(&mut data.fields);
    } else if !is_external {
        if data.number != 0 || data.raw.is_none() {
            let usual = if elem == ElemType::STRING { tensor::STRING_DATA } else { tensor::RAW_DATA };
            // A list of no strings looks the same whether it is there or not.
            let is_usual = data.number == usual || (data.number == 0 && elem == ElemType::STRING);
            form.field = (!is_usual).then_some(data.number);
        }
        keep_empty_fields(&mut form, &data)?;
    }
    Ok(TensorRead { name, tensor: Some(tensor.with_encoded(encoded)), form })
}

/// Keeps an empty `raw_data` beside a field with elements.
fn keep_empty_fields(form: &mut Form<'_>, data: &Data<'_>) -> Result<()> {
    let mut scan = Scan::new(&data.fields, 0);
    while let Some(field) = scan.field()? {
        let is_empty = field.wire == wire_type::LEN && field.bytes()?.is_empty();
        if field.number == tensor::RAW_DATA && is_empty && data.number != 0 && data.number != tensor::RAW_DATA {
            form.extra.extend_from_slice(field.raw);
        }
    }
    Ok(())
}

fn external(cx: &mut Cx<'_>, elem: ElemType, dims: &[u64], location: &Location<'_>, data: &Data<'_>) -> Result<Tensor> {
    if elem == ElemType::STRING {
        let location = location.location.to_owned();
        return Err(OnnxError::new(ErrorKind::External { location, cause: ExternalFault::Strings }));
    }
    if data.number != 0 {
        let fault = ErrorKind::TensorData { elem: "external".into(), field: field_name(data.number) };
        return Err(OnnxError::new(fault));
    }
    let expected = element_count(dims).and_then(|count| elem.bytes_for(count));
    let Some(expected) = expected else {
        return Err(OnnxError::new(ErrorKind::Tensor(TensorError::Size { expected, found: 0 })));
    };
    let bytes = cx.data.slice(location, expected)?;
    Tensor::dense(elem, dims, bytes).map_err(|error| OnnxError::new(ErrorKind::Tensor(error)))
}

fn inline(cx: &Cx<'_>, elem: ElemType, dims: &[u64], data: &Data<'_>) -> Result<Tensor> {
    let tensor = match (elem, data.number, data.raw) {
        (ElemType::STRING, ..) => Tensor::from_strings(dims, data.strings.iter().copied()),
        (_, 0 | tensor::RAW_DATA, Some(part)) => {
            Tensor::dense(elem, dims, cx.blob.slice(part.at, part.len).unwrap_or_default())
        }
        _ if elem.bits() == 6 => Tensor::dense(elem, dims, packed::pack(&data.bytes, 6)),
        _ => Tensor::dense(elem, dims, data.bytes.clone()),
    };
    tensor.map_err(|error| OnnxError::new(ErrorKind::Tensor(error)))
}
