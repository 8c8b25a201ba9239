//! `TypeProto` and `ValueInfoProto`, both ways.

use super::{
    error::{ErrorKind, OnnxError, Result},
    schema::{shape, type_proto, value_info},
    wire::{Scan, put_bytes, put_int},
};
use relais_plugin_api::ir::{Dim, DimRec, ElemType, Function, Type, TypeId};

/// How deep types may nest: no operator accepts more than a few levels.
const MAX_DEPTH: usize = 64;

enum Wrap {
    Sequence,
    Optional,
    Map(ElemType),
}

/// Element types are small numbers; anything else is unknown.
fn elem_type(value: i64) -> ElemType {
    ElemType(u8::try_from(value).unwrap_or(0))
}

/// Whether a type states sizes below zero, which are read as unknown ones.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Sizes {
    #[default]
    Possible,
    Negative,
}

/// Reads a `TypeProto`.
pub(crate) fn decode_type(f: &mut Function, bytes: &[u8], base: u64) -> Result<TypeId> {
    decode_stated_type(f, bytes, base, &mut Sizes::default())
}

fn decode_stated_type(f: &mut Function, bytes: &[u8], base: u64, sizes: &mut Sizes) -> Result<TypeId> {
    let mut wraps = Vec::new();
    let (mut bytes, mut base) = (bytes, base);
    let mut ty = loop {
        if wraps.len() > MAX_DEPTH {
            return Err(OnnxError::at(base, ErrorKind::DeepType));
        }
        let mut scan = Scan::new(bytes, base);
        let mut value = None;
        while let Some(field) = scan.field()? {
            use type_proto::*;
            if matches!(field.number, TENSOR | SEQUENCE | MAP | OPAQUE | SPARSE_TENSOR | OPTIONAL) {
                value = Some((field.number, field.bytes()?, field.part()?.at));
            }
        }
        let Some((number, message, at)) = value else { break TypeId::UNKNOWN };
        match number {
            type_proto::TENSOR | type_proto::SPARSE_TENSOR => break decode_tensor(f, number, (message, at), sizes)?,
            type_proto::OPAQUE => break decode_opaque(f, message, at)?,
            _ => {}
        }
        let mut key = ElemType::UNKNOWN;
        let mut inner: (&[u8], u64) = (&[], at);
        let inner_field = if number == type_proto::MAP { type_proto::VALUE_TYPE } else { type_proto::ELEM_TYPE };
        let mut scan = Scan::new(message, at);
        while let Some(field) = scan.field()? {
            if field.number == inner_field {
                inner = (field.bytes()?, field.part()?.at);
            } else if number == type_proto::MAP && field.number == type_proto::KEY_TYPE {
                key = elem_type(field.int()?);
            }
        }
        wraps.push(match number {
            type_proto::SEQUENCE => Wrap::Sequence,
            type_proto::OPTIONAL => Wrap::Optional,
            _ => Wrap::Map(key),
        });
        (bytes, base) = inner;
    };
    for wrap in wraps.into_iter().rev() {
        ty = f.add_type(match wrap {
            Wrap::Sequence => Type::Sequence(ty),
            Wrap::Optional => Type::Optional(ty),
            Wrap::Map(key) => Type::Map { key, value: ty },
        });
    }
    Ok(ty)
}

fn decode_tensor(f: &mut Function, number: u32, (message, at): (&[u8], u64), sizes: &mut Sizes) -> Result<TypeId> {
    let mut elem = ElemType::UNKNOWN;
    let mut dims: Option<Vec<DimRec>> = None;
    let mut scan = Scan::new(message, at);
    while let Some(field) = scan.field()? {
        match field.number {
            type_proto::ELEM_TYPE => elem = elem_type(field.int()?),
            type_proto::SHAPE => {
                let dims = dims.get_or_insert_default();
                let mut scan = Scan::new(field.bytes()?, field.part()?.at);
                while let Some(dim) = scan.field()? {
                    if dim.number == shape::DIM {
                        dims.push(decode_dim(f, dim.bytes()?, dim.part()?.at, sizes)?.into());
                    }
                }
            }
            _ => {}
        }
    }
    let shape = dims.as_deref();
    Ok(f.add_type(match number {
        type_proto::TENSOR => Type::Tensor { elem, shape },
        _ => Type::SparseTensor { elem, shape },
    }))
}

fn decode_dim(f: &mut Function, bytes: &[u8], base: u64, sizes: &mut Sizes) -> Result<Dim> {
    let mut dim = Dim::Unknown;
    let mut scan = Scan::new(bytes, base);
    while let Some(field) = scan.field()? {
        match field.number {
            shape::DIM_VALUE => match u64::try_from(field.int()?) {
                Ok(size) => dim = Dim::Static(size),
                Err(_) => (dim, *sizes) = (Dim::Unknown, Sizes::Negative),
            },
            shape::DIM_PARAM => {
                let name = field.str()?;
                dim = if name.is_empty() { Dim::Unknown } else { Dim::Symbol(f.intern(name)) };
            }
            _ => {}
        }
    }
    Ok(dim)
}

fn decode_opaque(f: &mut Function, message: &[u8], at: u64) -> Result<TypeId> {
    let (mut domain, mut name) = ("", "");
    let mut scan = Scan::new(message, at);
    while let Some(field) = scan.field()? {
        match field.number {
            type_proto::OPAQUE_DOMAIN => domain = field.str()?,
            type_proto::OPAQUE_NAME => name = field.str()?,
            _ => {}
        }
    }
    let (domain, name) = (f.intern(domain), f.intern(name));
    Ok(f.add_type(Type::Opaque { domain, name }))
}

/// The usual encoding of a type; empty if nothing is known, `None` if ONNX has no type for it.
pub(crate) fn encode_type(f: &Function, ty: TypeId) -> Option<Vec<u8>> {
    let mut wraps = Vec::new();
    let mut ty = ty;
    let mut bytes = Vec::new();
    loop {
        match f.ty(ty) {
            Type::Unknown => break,
            Type::Tensor { elem, shape } => {
                put_bytes(&mut bytes, type_proto::TENSOR, &encode_tensor(f, elem, shape));
                break;
            }
            Type::SparseTensor { elem, shape } => {
                put_bytes(&mut bytes, type_proto::SPARSE_TENSOR, &encode_tensor(f, elem, shape));
                break;
            }
            Type::Opaque { domain, name } => {
                let mut message = Vec::new();
                put_bytes(&mut message, type_proto::OPAQUE_DOMAIN, f.bytes(domain));
                put_bytes(&mut message, type_proto::OPAQUE_NAME, f.bytes(name));
                put_bytes(&mut bytes, type_proto::OPAQUE, &message);
                break;
            }
            Type::Sequence(item) => {
                wraps.push(Wrap::Sequence);
                ty = item;
            }
            Type::Optional(item) => {
                wraps.push(Wrap::Optional);
                ty = item;
            }
            Type::Map { key, value } => {
                wraps.push(Wrap::Map(key));
                ty = value;
            }
            _ => return None,
        }
    }
    for wrap in wraps.into_iter().rev() {
        let mut message = Vec::new();
        let (number, inner) = match wrap {
            Wrap::Sequence => (type_proto::SEQUENCE, type_proto::ELEM_TYPE),
            Wrap::Optional => (type_proto::OPTIONAL, type_proto::ELEM_TYPE),
            Wrap::Map(key) => {
                put_int(&mut message, type_proto::KEY_TYPE, key.0.into());
                (type_proto::MAP, type_proto::VALUE_TYPE)
            }
        };
        if !bytes.is_empty() {
            put_bytes(&mut message, inner, &bytes);
        }
        bytes.clear();
        put_bytes(&mut bytes, number, &message);
    }
    Some(bytes)
}

/// The type, or nothing if ONNX could state only a part of it: neither the checker nor onnxruntime takes a tensor without
/// an element type.
pub(crate) fn whole(f: &Function, ty: TypeId) -> TypeId {
    let mut part = ty;
    loop {
        part = match f.ty(part) {
            Type::Sequence(item) | Type::Optional(item) | Type::Map { value: item, .. } => item,
            Type::Unknown => return TypeId::UNKNOWN,
            Type::Tensor { elem, .. } | Type::SparseTensor { elem, .. } if elem == ElemType::UNKNOWN => {
                return TypeId::UNKNOWN;
            }
            _ => return ty,
        };
    }
}

/// Whether ONNX can state a type: nothing but sizes is open in it.
pub fn states_type(f: &Function, ty: TypeId) -> bool {
    whole(f, ty) != TypeId::UNKNOWN && encode_type(f, ty).is_some()
}

fn encode_tensor(f: &Function, elem: ElemType, dims: Option<&[DimRec]>) -> Vec<u8> {
    let mut message = Vec::new();
    if elem != ElemType::UNKNOWN {
        put_int(&mut message, type_proto::ELEM_TYPE, elem.0.into());
    }
    if let Some(dims) = dims {
        let mut list = Vec::new();
        for &dim in dims {
            let mut value = Vec::new();
            match Dim::from(dim) {
                Dim::Static(size) => put_int(&mut value, shape::DIM_VALUE, size as i64),
                Dim::Symbol(name) => put_bytes(&mut value, shape::DIM_PARAM, f.bytes(name)),
                Dim::Unknown => {}
            }
            put_bytes(&mut list, shape::DIM, &value);
        }
        put_bytes(&mut message, type_proto::SHAPE, &list);
    }
    message
}

/// Whether two types may be those of one value: the parts known in both do not differ.
pub(crate) fn agree(f: &Function, a: TypeId, b: TypeId) -> bool {
    a == b || agree_across((f, a), (f, b))
}

/// As [`agree`], for types of two functions.
pub(crate) fn agree_across((f, a): (&Function, TypeId), (g, b): (&Function, TypeId)) -> bool {
    let (mut a, mut b) = (a, b);
    loop {
        (a, b) = match (f.ty(a), g.ty(b)) {
            (Type::Unknown, _) | (_, Type::Unknown) => return true,
            (Type::Tensor { elem, shape }, Type::Tensor { elem: other, shape: other_shape })
            | (Type::SparseTensor { elem, shape }, Type::SparseTensor { elem: other, shape: other_shape }) => {
                let elems = elem == other || elem == ElemType::UNKNOWN || other == ElemType::UNKNOWN;
                let (Some(shape), Some(other)) = (shape, other_shape) else { return elems };
                let same = |(&a, &b): (&DimRec, &DimRec)| match (Dim::from(a).known(), Dim::from(b).known()) {
                    (Some(a), Some(b)) => a == b,
                    _ => true,
                };
                return elems && shape.len() == other.len() && shape.iter().zip(other).all(same);
            }
            (Type::Sequence(a), Type::Sequence(b)) | (Type::Optional(a), Type::Optional(b)) => (a, b),
            (Type::Map { key: a_key, value: a }, Type::Map { key: b_key, value: b }) if a_key == b_key => (a, b),
            _ => return false,
        };
    }
}

/// The contents of a `ValueInfoProto`.
pub(crate) struct ValueInfo<'a> {
    pub name: &'a str,
    pub ty: TypeId,
    /// Whether it consists of name and type, in the usual encoding.
    pub is_plain: bool,
    pub sizes: Sizes,
}

/// Reads a `ValueInfoProto`.
pub(crate) fn decode_value_info<'a>(f: &mut Function, bytes: &'a [u8], base: u64) -> Result<ValueInfo<'a>> {
    let mut name = "";
    let mut types: Vec<(&[u8], u64)> = Vec::new();
    let mut scan = Scan::new(bytes, base);
    while let Some(field) = scan.field()? {
        match field.number {
            value_info::NAME => name = field.str()?,
            value_info::TYPE => types.push((field.bytes()?, field.part()?.at)),
            _ => {}
        }
    }
    let mut sizes = Sizes::default();
    let ty = match types[..] {
        [] => TypeId::UNKNOWN,
        [(bytes, at)] => decode_stated_type(f, bytes, at, &mut sizes)?,
        [(_, at), ..] => {
            // Occurrences of one message merge as if their bytes were concatenated.
            let merged: Vec<u8> = types.iter().flat_map(|(bytes, _)| bytes.iter().copied()).collect();
            decode_stated_type(f, &merged, at, &mut sizes)?
        }
    };
    let is_plain = encode_value_info(f, name, ty).is_some_and(|plain| plain == bytes);
    Ok(ValueInfo { name, ty, is_plain, sizes })
}

/// The usual encoding of a `ValueInfoProto`; `None` when ONNX has no such type.
pub(crate) fn encode_value_info(f: &Function, name: &str, ty: TypeId) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    // A missing name has no bytes, so only the usual case is ever empty.
    if !name.is_empty() {
        put_bytes(&mut bytes, value_info::NAME, name.as_bytes());
    }
    let ty = encode_type(f, ty)?;
    if !ty.is_empty() {
        put_bytes(&mut bytes, value_info::TYPE, &ty);
    }
    Some(bytes)
}

/// A `ValueInfoProto` for `name` of type `ty` that keeps the contents of `raw` other than name and type; `raw` is empty
/// if there is nothing to keep. Sizes below zero, with which the checker takes no known ones, are not kept.
pub(crate) fn renew_value_info(f: &Function, name: &str, ty: TypeId, raw: &[u8]) -> Result<Option<Vec<u8>>> {
    let Some(plain) = encode_value_info(f, name, ty) else { return Ok(None) };
    if raw.is_empty() {
        return Ok(Some(plain));
    }
    let mut scratch = Function::new();
    let old = decode_value_info(&mut scratch, raw, 0)?;
    let states = encode_value_info(&scratch, old.name, old.ty);
    let has_type = old.sizes == Sizes::Possible && states == encode_value_info(f, old.name, ty);
    if has_type && old.name == name {
        return Ok(Some(raw.to_vec()));
    }
    let mut bytes = Vec::new();
    put_bytes(&mut bytes, value_info::NAME, name.as_bytes());
    if !has_type {
        bytes = plain;
    }
    let mut scan = Scan::new(raw, 0);
    while let Some(field) = scan.field()? {
        if field.number != value_info::NAME && (field.number != value_info::TYPE || has_type) {
            bytes.extend_from_slice(field.raw);
        }
    }
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(bytes: &[u8]) -> Vec<u8> {
        let mut f = Function::new();
        let ty = decode_type(&mut f, bytes, 0).unwrap();
        encode_type(&f, ty).unwrap()
    }

    #[test]
    fn types_round_trip() {
        // A sequence of optional maps from int64 to float tensors of shape (2, "n", ?).
        let tensor = [0x0a, 0x0f, 0x08, 1, 0x12, 0x0b, 0x0a, 2, 8, 2, 0x0a, 3, 0x12, 1, b'n', 0x0a, 0];
        let mut map = vec![0x2a, 4 + tensor.len() as u8, 0x08, 7, 0x12, tensor.len() as u8];
        map.extend(tensor);
        let mut optional = vec![0x4a, 2 + map.len() as u8, 0x0a, map.len() as u8];
        optional.extend(map);
        let mut sequence = vec![0x22, 2 + optional.len() as u8, 0x0a, optional.len() as u8];
        sequence.extend(optional);
        assert_eq!(round_trip(&sequence), sequence);
        assert!(round_trip(&[]).is_empty());
    }

    #[test]
    fn deep_types_are_refused() {
        let mut bytes = Vec::new();
        for _ in 0..MAX_DEPTH + 2 {
            let mut inner = Vec::new();
            put_bytes(&mut inner, type_proto::ELEM_TYPE, &bytes);
            bytes.clear();
            put_bytes(&mut bytes, type_proto::SEQUENCE, &inner);
        }
        let error = decode_type(&mut Function::new(), &bytes, 0).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::DeepType), "{error}");
    }

    #[test]
    fn a_renewed_value_info_keeps_its_documentation() {
        let mut f = Function::new();
        let ty = f.tensor_type(ElemType::FLOAT, &[Dim::Static(2)]);
        let mut raw = encode_value_info(&f, "old", ty).unwrap();
        put_bytes(&mut raw, 3, b"doc");
        let renewed = renew_value_info(&f, "new", ty, &raw).unwrap().unwrap();
        let mut expected = encode_value_info(&f, "new", ty).unwrap();
        put_bytes(&mut expected, 3, b"doc");
        assert_eq!(renewed.len(), expected.len());
        assert!(renewed.ends_with(b"doc"));
        assert_eq!(renew_value_info(&f, "old", ty, &raw).unwrap().unwrap(), raw);
    }

    #[test]
    fn sizes_below_zero_are_unknown_and_are_not_written_again() {
        let mut f = Function::new();
        // A tensor of shape (-1, 2), of which a size below zero takes ten bytes.
        let mut dims = vec![0x0a, 11, 8];
        dims.extend([0xff; 9]);
        dims.extend([1, 0x0a, 2, 8, 2]);
        let mut raw = vec![0x0a, 1, b'x', 0x12, 23, 0x0a, 21, 8, 1, 0x12, 17];
        raw.extend(dims);
        let info = decode_value_info(&mut f, &raw, 0).unwrap();
        assert!(info.sizes == Sizes::Negative && !info.is_plain);
        let ty = f.tensor_type(ElemType::FLOAT, &[Dim::Unknown, Dim::Static(2)]);
        assert_eq!(info.ty, ty);
        let renewed = renew_value_info(&f, "x", ty, &raw).unwrap().unwrap();
        assert_eq!(renewed, encode_value_info(&f, "x", ty).unwrap());
        assert!(decode_value_info(&mut f, &renewed, 0).unwrap().sizes == Sizes::Possible);
    }

    #[test]
    fn agreement_allows_what_is_not_known() {
        let mut f = Function::new();
        let a = f.tensor_type(ElemType::FLOAT, &[Dim::Static(2), Dim::Unknown]);
        let b = f.tensor_type(ElemType::FLOAT, &[Dim::Unknown, Dim::Static(3)]);
        let c = f.tensor_type(ElemType::FLOAT, &[Dim::Static(3), Dim::Unknown]);
        assert!(agree(&f, a, b) && agree(&f, a, TypeId::UNKNOWN));
        assert!(!agree(&f, a, c));
    }
}
