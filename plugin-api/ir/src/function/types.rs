//! Types of a function, interned.

use super::*;
use smallvec::SmallVec;

impl Function {
    /// The type at an entry of the type table.
    pub fn ty(&self, id: TypeId) -> Type<'_> {
        let rec = self.types.as_slice()[id.index()];
        decode(rec, self.type_dims.as_slice(), self.type_words.as_slice())
    }

    /// The id of a type, added when the function has no equal one. Parts must be ids of this function.
    pub fn add_type(&mut self, ty: Type<'_>) -> TypeId {
        let (mut rec, Parts { dims, parts }) = encode(&ty);
        let hash = hash_type(rec, dims, &parts);
        if let Some(id) = self.find_encoded(hash, rec, dims, &parts) {
            return id;
        }
        if has_dims(rec.kind) {
            (rec.a, rec.b) = (next_id(self.type_dims.len()), next_id(dims.len()));
            self.type_dims.extend_from_slice(dims);
        } else if has_parts(rec.kind) {
            (rec.a, rec.b) = (next_id(self.type_words.len()), next_id(parts.len()));
            self.type_words.extend_from_slice(&parts);
        }
        let id = next_id(self.types.len());
        self.types.push(rec);
        self.insert_type(id, hash);
        TypeId(id)
    }

    fn insert_type(&mut self, id: u32, hash: u64) {
        let mut index = std::mem::take(&mut self.type_index);
        index.insert(hash, id, |id| {
            let (rec, dims, parts) = self.type_parts(id);
            hash_type(rec, dims, parts)
        });
        self.type_index = index;
    }

    /// Makes the index of types.
    ///
    /// # Errors
    /// Returns an error if two are equal.
    pub(super) fn index_types(&mut self) -> Result<(), String> {
        self.type_index = InternTable::default();
        for id in 0..next_id(self.types.len()) {
            let (rec, dims, parts) = self.type_parts(id);
            let hash = hash_type(rec, dims, parts);
            if let Some(first) = self.find_encoded(hash, rec, dims, parts) {
                return Err(format!("{first} and {} are the same type", TypeId(id)));
            }
            self.insert_type(id, hash);
        }
        Ok(())
    }

    /// The id of a type, when the function has it.
    pub fn find_type(&self, ty: Type<'_>) -> Option<TypeId> {
        let (rec, Parts { dims, parts }) = encode(&ty);
        self.find_encoded(hash_type(rec, dims, &parts), rec, dims, &parts)
    }

    fn find_encoded(&self, hash: u64, rec: TypeRec, dims: &[DimRec], parts: &[u32]) -> Option<TypeId> {
        let found = self.type_index.find(hash, |id| {
            let (other, other_dims, other_parts) = self.type_parts(id);
            (other.kind, other.elem) == (rec.kind, rec.elem)
                && match rec.kind {
                    // Only the parts that a kind has are compared: `memcmp` of two empty slices is far from free.
                    kind if has_dims(kind) => other_dims == dims,
                    kind if has_parts(kind) => other_parts == parts,
                    _ => (other.a, other.b) == (rec.a, rec.b),
                }
        });
        found.map(TypeId)
    }

    fn type_parts(&self, id: u32) -> (TypeRec, &[DimRec], &[u32]) {
        let rec = self.types.as_slice()[id as usize];
        let range = || rec.a as usize..rec.a as usize + rec.b as usize;
        let dims = if has_dims(rec.kind) { &self.type_dims.as_slice()[range()] } else { &[][..] };
        let parts = if has_parts(rec.kind) && !has_dims(rec.kind) { &self.type_words.as_slice()[range()] } else { &[] };
        (rec, dims, parts)
    }

    /// A dense tensor type.
    pub fn tensor_type(&mut self, elem: ElemType, shape: &[Dim]) -> TypeId {
        let shape: SmallVec<[DimRec; 8]> = shape.iter().map(|&dim| dim.into()).collect();
        self.add_type(Type::Tensor { elem, shape: Some(&shape) })
    }
}

/// Returns the type that a record represents, with its parts in these pools.
pub(crate) fn decode<'a>(rec: TypeRec, dims: &'a [DimRec], words: &'a [u32]) -> Type<'a> {
    let dims = || &dims[rec.a as usize..][..rec.b as usize];
    // Type lists are stored in a pool whose words are ids of another kind.
    let list = || crate::cast::type_ids(&words[rec.a as usize..][..rec.b as usize]);
    match rec.kind {
        type_kind::UNKNOWN => Type::Unknown,
        type_kind::TENSOR => Type::Tensor { elem: rec.elem, shape: Some(dims()) },
        type_kind::TENSOR_ANY_RANK => Type::Tensor { elem: rec.elem, shape: None },
        type_kind::SPARSE => Type::SparseTensor { elem: rec.elem, shape: Some(dims()) },
        type_kind::SPARSE_ANY_RANK => Type::SparseTensor { elem: rec.elem, shape: None },
        type_kind::TUPLE => Type::Tuple(list()),
        type_kind::FUNC => match list() {
            [result, params @ ..] => Type::Func { params, result: *result },
            [] => Type::Other(rec.kind),
        },
        type_kind::SEQUENCE => Type::Sequence(TypeId(rec.a)),
        type_kind::OPTIONAL => Type::Optional(TypeId(rec.a)),
        type_kind::MAP => Type::Map { key: rec.elem, value: TypeId(rec.a) },
        type_kind::OPAQUE => Type::Opaque { domain: StrId(rec.a), name: StrId(rec.b) },
        other => Type::Other(other),
    }
}

/// The parts of a type that are stored in pools.
pub(crate) struct Parts<'a> {
    pub dims: &'a [DimRec],
    pub parts: SmallVec<[u32; 8]>,
}

/// The record of a type, which does not contain the places of its parts yet, and the parts.
pub(crate) fn encode<'a>(ty: &Type<'a>) -> (TypeRec, Parts<'a>) {
    let mut rec = TypeRec { kind: type_kind::UNKNOWN, elem: ElemType::UNKNOWN, aux: 0, a: 0, b: 0 };
    let mut dims: &[DimRec] = &[];
    let mut parts: SmallVec<[u32; 8]> = SmallVec::new();
    match *ty {
        Type::Unknown => {}
        Type::Tensor { elem, shape } => {
            rec.kind = if shape.is_some() { type_kind::TENSOR } else { type_kind::TENSOR_ANY_RANK };
            rec.elem = elem;
            dims = shape.unwrap_or_default();
        }
        Type::SparseTensor { elem, shape } => {
            rec.kind = if shape.is_some() { type_kind::SPARSE } else { type_kind::SPARSE_ANY_RANK };
            rec.elem = elem;
            dims = shape.unwrap_or_default();
        }
        Type::Tuple(fields) => {
            rec.kind = type_kind::TUPLE;
            parts = fields.iter().map(|id| id.0).collect();
        }
        Type::Func { params, result } => {
            rec.kind = type_kind::FUNC;
            parts = std::iter::once(result).chain(params.iter().copied()).map(|id| id.0).collect();
        }
        Type::Sequence(item) => (rec.kind, rec.a) = (type_kind::SEQUENCE, item.0),
        Type::Optional(item) => (rec.kind, rec.a) = (type_kind::OPTIONAL, item.0),
        Type::Map { key, value } => (rec.kind, rec.elem, rec.a) = (type_kind::MAP, key, value.0),
        Type::Opaque { domain, name } => (rec.kind, rec.a, rec.b) = (type_kind::OPAQUE, domain.0, name.0),
        Type::Other(other) => rec.kind = other,
    }
    (rec, Parts { dims, parts })
}

pub(crate) const fn has_dims(kind: u8) -> bool {
    matches!(kind, type_kind::TENSOR | type_kind::SPARSE)
}

pub(crate) const fn has_parts(kind: u8) -> bool {
    has_dims(kind) || matches!(kind, type_kind::TUPLE | type_kind::FUNC)
}

fn hash_type(rec: TypeRec, dims: &[DimRec], parts: &[u32]) -> u64 {
    let mut hash = Hash64::new().word(u64::from(rec.kind) << 8 | u64::from(rec.elem.0));
    if !has_parts(rec.kind) {
        hash = hash.word(u64::from(rec.a) << 32 | u64::from(rec.b));
    }
    for dim in dims {
        hash = hash.word(dim.0 as u64);
    }
    for &part in parts {
        hash = hash.word(part.into());
    }
    hash.word((dims.len() + parts.len()) as u64).finish()
}
