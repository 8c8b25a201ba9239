//! Types beside those of a function: how a type relation writes types without reaching the function.
//!
//! They are types of values: tensors, and the sequences, optionals and maps of ONNX. Tuples and functions are types of
//! expressions, which a type relation does not make.

use super::{
    function::types::{decode, encode, has_dims, has_parts},
    *,
};
use abi_stable::{StableAbi, std_types::RVec};
use smallvec::SmallVec;
use std::fmt;

/// The most types that one call of a type relation may add.
pub const MOST_NEW_TYPES: usize = 1 << 12;

/// The most dimensions, fields and parameters that these may have together.
pub const MOST_NEW_PARTS: usize = 1 << 22;

/// Types that a function does not have, or not yet: their ids are above its own. Crosses the boundary.
#[repr(C)]
#[derive(StableAbi, Clone, Debug, Default)]
pub struct NewTypes {
    /// The number of types that the function has.
    base: u32,
    recs: RVec<TypeRec>,
    words: RVec<u32>,
    dims: RVec<DimRec>,
}

/// An error in the types that a type relation returned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TypeLie {
    /// It added more than it may.
    TooMany,
    /// This id names no type.
    NoSuchType(TypeId),
    /// A type has missing parts, or is of a kind that a type relation cannot make.
    Malformed(TypeId),
    /// A dimension has a name that no type of the call has.
    Symbol,
}

impl fmt::Display for TypeLie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany => write!(f, "it added more than {MOST_NEW_TYPES} types or {MOST_NEW_PARTS} parts"),
            Self::NoSuchType(id) => write!(f, "it gave type {}, which does not exist", id.0),
            Self::Malformed(id) => write!(f, "it added type {}, which is malformed", id.0),
            Self::Symbol => f.write_str("it gave a dimension a name that no argument has"),
        }
    }
}

impl NewTypes {
    /// A hash of the layout, for the boundary's fingerprint.
    pub const LAYOUT_HASH: u64 = crate::__layout_hash!(NewTypes { base, recs, words, dims });

    /// Clears all types; the next ones are numbered above those of `function`.
    pub fn reset(&mut self, function: &Function) {
        self.base = function.n_types() as u32;
        self.recs.clear();
        self.words.clear();
        self.dims.clear();
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.recs.is_empty()
    }

    /// The type of an id, of the function or of these.
    pub fn ty<'a>(&'a self, function: &'a Function, id: TypeId) -> Type<'a> {
        match id.0.checked_sub(self.base) {
            None => function.ty(id),
            Some(at) => decode(self.recs.as_slice()[at as usize], self.dims.as_slice(), self.words.as_slice()),
        }
    }

    /// Returns the id of a type: the function's if it has the type, otherwise a new one.
    pub fn add(&mut self, function: &Function, ty: Type<'_>) -> TypeId {
        if let Some(id) = function.find_type(ty) {
            return id;
        }
        if let Some(at) = (0..self.recs.len()).find(|&at| self.ty(function, TypeId(self.base + at as u32)) == ty) {
            return TypeId(self.base + at as u32);
        }
        let (mut rec, parts) = encode(&ty);
        if has_dims(rec.kind) {
            (rec.a, rec.b) = (self.dims.len() as u32, parts.dims.len() as u32);
            self.dims.extend_from_slice(parts.dims);
        } else if has_parts(rec.kind) {
            (rec.a, rec.b) = (self.words.len() as u32, parts.parts.len() as u32);
            self.words.extend_from_slice(&parts.parts);
        }
        self.recs.push(rec);
        TypeId(self.base + (self.recs.len() - 1) as u32)
    }

    /// A dense tensor type.
    pub fn tensor(&mut self, function: &Function, elem: ElemType, shape: &[Dim]) -> TypeId {
        let shape: SmallVec<[DimRec; 8]> = shape.iter().map(|&dim| dim.into()).collect();
        self.add(function, Type::Tensor { elem, shape: Some(&shape) })
    }

    /// Adds these types to their function; returns the id there of each.
    pub fn add_to(&self, function: &mut Function) -> SmallVec<[TypeId; 8]> {
        let mut ids: SmallVec<[TypeId; 8]> = SmallVec::new();
        for &rec in self.recs.as_slice() {
            let known = |id: TypeId, ids: &[TypeId]| match id.0.checked_sub(self.base) {
                None => id,
                Some(at) => ids[at as usize],
            };
            let ty = match decode(rec, self.dims.as_slice(), self.words.as_slice()) {
                Type::Sequence(item) => Type::Sequence(known(item, &ids)),
                Type::Optional(item) => Type::Optional(known(item, &ids)),
                Type::Map { key, value } => Type::Map { key, value: known(value, &ids) },
                other => other,
            };
            ids.push(function.add_type(ty));
        }
        ids
    }

    /// Returns the id in the function of one of these types or of its own, once [`add_to`](Self::add_to) has returned
    /// `ids`.
    pub fn resolve(&self, ids: &[TypeId], id: TypeId) -> TypeId {
        id.0.checked_sub(self.base).map_or(id, |at| ids[at as usize])
    }

    /// The number of dimensions of all of them.
    pub fn n_dims(&self) -> usize {
        self.dims.len()
    }

    /// Whether everything that these types refer to exists, and dimensions from number `n_before` on have names that
    /// `is_symbol` knows: results of type relations are not believed.
    pub fn check(
        &self,
        function: &Function,
        n_before: usize,
        is_symbol: impl Fn(StrId) -> bool,
    ) -> Result<(), TypeLie> {
        if self.base as usize != function.n_types()
            || self.recs.len() > MOST_NEW_TYPES
            || self.words.len() + self.dims.len() > MOST_NEW_PARTS
        {
            return Err(TypeLie::TooMany);
        }
        for (at, rec) in self.recs.iter().enumerate() {
            let id = self.base + at as u32;
            let is_inside = |len: usize| rec.a as usize + rec.b as usize <= len;
            let is_before = |part: u32| part < id;
            let is_sound = match rec.kind {
                kind if has_dims(kind) => is_inside(self.dims.len()),
                type_kind::SEQUENCE | type_kind::OPTIONAL | type_kind::MAP => is_before(rec.a),
                type_kind::TENSOR_ANY_RANK | type_kind::SPARSE_ANY_RANK => true,
                _ => false,
            };
            if !is_sound {
                return Err(TypeLie::Malformed(TypeId(id)));
            }
        }
        let dims = self.dims.as_slice().get(n_before..).unwrap_or_default();
        match dims.iter().all(|&dim| !matches!(Dim::from(dim), Dim::Symbol(name) if !is_symbol(name))) {
            true => Ok(()),
            false => Err(TypeLie::Symbol),
        }
    }

    /// Whether `id` is one of the function or of these.
    pub fn has(&self, id: TypeId) -> bool {
        id.index() < self.base as usize + self.recs.len()
    }
}
