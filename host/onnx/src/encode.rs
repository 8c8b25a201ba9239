//! The usual encodings: the writer writes them, and the reader keeps what a file has in another one.

use crate::{
    error::{ErrorKind, OnnxError, Result},
    schema::{attribute, opset, tensor},
    types::encode_type,
    wire::{Scan, put_bytes, put_float, put_int, put_varint},
};
use relais_plugin_api::ir::{AttrRec, AttrValue, ElemType, Function, Tensor, attr_kind, packed};

/// The fields that hold the values of each kind.
const FIELDS: [(u32, u8); 14] = [
    (attribute::F, attr_kind::FLOAT),
    (attribute::I, attr_kind::INT),
    (attribute::S, attr_kind::STRING),
    (attribute::T, attr_kind::TENSOR),
    (attribute::G, attr_kind::GRAPH),
    (attribute::FLOATS, attr_kind::FLOATS),
    (attribute::INTS, attr_kind::INTS),
    (attribute::STRINGS, attr_kind::STRINGS),
    (attribute::TENSORS, attr_kind::TENSORS),
    (attribute::GRAPHS, attr_kind::GRAPHS),
    (attribute::SPARSE_TENSOR, attr_kind::SPARSE_TENSOR),
    (attribute::SPARSE_TENSORS, attr_kind::SPARSE_TENSORS),
    (attribute::TP, attr_kind::TYPE),
    (attribute::TYPE_PROTOS, attr_kind::TYPES),
];

/// The field that holds the value of a kind.
pub(crate) fn field_of(kind: u8) -> Option<u32> {
    FIELDS.iter().find(|(_, of)| *of == kind).map(|&(field, _)| field)
}

/// The kind whose values a field holds.
pub(crate) fn kind_of(field: u32) -> Option<u8> {
    FIELDS.iter().find(|(number, _)| *number == field).map(|&(_, kind)| kind)
}

/// The value field of an attribute that is neither tensor nor graph.
pub(crate) fn put_plain(f: &Function, out: &mut Vec<u8>, number: u32, value: AttrValue<'_>) -> Result<()> {
    let encode = |ty| encode_type(f, ty).ok_or_else(|| OnnxError::new(ErrorKind::NotExpressible("such a type")));
    match value {
        AttrValue::Float(value) => put_float(out, number, value),
        AttrValue::Int(value) => put_int(out, number, value),
        AttrValue::String(value) | AttrValue::SparseTensor(value) => put_bytes(out, number, value),
        AttrValue::Floats(values) => values.floats().for_each(|value| put_float(out, number, value)),
        AttrValue::Ints(values) => values.ints().for_each(|value| put_int(out, number, value)),
        AttrValue::Strings(values) | AttrValue::SparseTensors(values) => {
            values.strings().for_each(|value| put_bytes(out, number, value));
        }
        AttrValue::Type(ty) => put_bytes(out, number, &encode(ty)?),
        AttrValue::Types(types) => {
            for ty in types.types() {
                put_bytes(out, number, &encode(ty)?);
            }
        }
        _ => return Err(OnnxError::new(ErrorKind::NotExpressible("an attribute of this kind"))),
    }
    Ok(())
}

/// The default of a function's attribute, as an `AttributeProto`.
pub(crate) fn encode_default(f: &Function, name: &str, rec: AttrRec, value: AttrValue<'_>) -> Result<Vec<u8>> {
    if let AttrValue::Raw(raw) = value {
        return Ok(raw.to_vec());
    }
    let mut bytes = Vec::new();
    put_bytes(&mut bytes, attribute::NAME, name.as_bytes());
    let number = field_of(rec.kind).unwrap_or(0);
    match value {
        AttrValue::Tensor(tensor) => put_bytes(&mut bytes, number, &default_tensor(tensor)),
        AttrValue::Tensors(list) => list.tensors().for_each(|t| put_bytes(&mut bytes, number, &default_tensor(t))),
        value => put_plain(f, &mut bytes, number, value)?,
    }
    put_int(&mut bytes, attribute::TYPE, rec.kind.into());
    Ok(bytes)
}

/// A tensor of an attribute: as it was read, or in the usual encoding.
pub(crate) fn default_tensor(value: &Tensor) -> Vec<u8> {
    if !value.encoded().is_empty() {
        return value.encoded().to_vec();
    }
    let mut bytes = Vec::new();
    value.dims().iter().for_each(|&dim| put_int(&mut bytes, tensor::DIMS, dim as i64));
    put_int(&mut bytes, tensor::DATA_TYPE, value.elem().0.into());
    match value.elem() {
        ElemType::STRING => encode_typed(value, &mut bytes),
        _ => put_bytes(&mut bytes, tensor::RAW_DATA, &value.to_bytes()),
    }
    bytes
}

/// The field for elements of a type, where they are not in `raw_data`.
pub(crate) fn typed_field(elem: ElemType) -> u32 {
    match elem {
        ElemType::FLOAT | ElemType::COMPLEX64 => tensor::FLOAT_DATA,
        ElemType::INT64 => tensor::INT64_DATA,
        ElemType::DOUBLE | ElemType::COMPLEX128 => tensor::DOUBLE_DATA,
        ElemType::UINT32 | ElemType::UINT64 => tensor::UINT64_DATA,
        ElemType::STRING => tensor::STRING_DATA,
        _ => tensor::INT32_DATA,
    }
}

/// Returns the bytes of one value of `int32_data` or `uint64_data`; types under a byte are packed already.
pub(crate) fn stored_width(elem: ElemType) -> usize {
    (elem.bits() as usize / 8).max(1)
}

/// The value of `int32_data` or `uint64_data` for the bytes of one element.
pub(crate) fn stored_value(elem: ElemType, bytes: &[u8]) -> i64 {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    let value = i64::from_le_bytes(wide);
    match elem {
        ElemType::INT8 => i64::from(value as i8),
        ElemType::INT16 => i64::from(value as i16),
        ElemType::INT32 => i64::from(value as i32),
        _ => value,
    }
}

/// The encoding of elements in the field for their type.
pub(crate) fn encode_typed(tensor: &Tensor, out: &mut Vec<u8>) {
    let number = typed_field(tensor.elem());
    if tensor.elem() == ElemType::STRING {
        tensor.strings().for_each(|string| put_bytes(out, number, string));
        return;
    }
    let mut bytes = tensor.to_bytes();
    if tensor.elem().bits() == 6 {
        // Unlike narrower types, these are stored one by one in `int32_data`.
        let count = usize::try_from(tensor.len()).unwrap_or(usize::MAX);
        bytes = (0..count).map(|at| packed::unpack(&bytes, 6, at)).collect::<Vec<u8>>().into();
    }
    let mut packed = Vec::new();
    let packed: &[u8] = match number {
        tensor::FLOAT_DATA | tensor::DOUBLE_DATA => &bytes,
        _ => {
            for element in bytes.chunks_exact(stored_width(tensor.elem())) {
                put_varint(&mut packed, stored_value(tensor.elem(), element) as u64);
            }
            &packed
        }
    };
    put_bytes(out, number, packed);
}

/// The usual encoding of an operator-set import.
pub(crate) fn encode_opset((domain, version): (&str, i64)) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_bytes(&mut bytes, opset::DOMAIN, domain.as_bytes());
    put_int(&mut bytes, opset::VERSION, version);
    bytes
}

/// A `TensorAnnotation` with other names of tensors; `None` if one has no name.
pub(crate) fn renamed_annotation(
    annotation: &[u8],
    renamed: impl Fn(&[u8]) -> Option<Vec<u8>>,
) -> Result<Option<Vec<u8>>> {
    use crate::schema::{annotation, entry};
    let mut bytes = Vec::new();
    let mut scan = Scan::new(annotation, 0);
    while let Some(field) = scan.field()? {
        match field.number {
            annotation::TENSOR_NAME => {
                let Some(name) = renamed(field.bytes()?) else { return Ok(None) };
                put_bytes(&mut bytes, field.number, &name);
            }
            annotation::QUANT_PARAMETERS => {
                let mut pair = Vec::new();
                let mut scan = Scan::new(field.bytes()?, 0);
                while let Some(field) = scan.field()? {
                    if field.number != entry::VALUE {
                        pair.extend_from_slice(field.raw);
                        continue;
                    }
                    let Some(name) = renamed(field.bytes()?) else { return Ok(None) };
                    put_bytes(&mut pair, field.number, &name);
                }
                put_bytes(&mut bytes, field.number, &pair);
            }
            _ => bytes.extend_from_slice(field.raw),
        }
    }
    Ok(Some(bytes))
}
