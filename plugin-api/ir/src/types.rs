//! Element types, dimensions and the types of values.

use super::{StrId, TypeId};
use abi_stable::StableAbi;
use smallvec::SmallVec;
use std::fmt;

/// A tensor's element type, numbered as ONNX's `TensorProto.DataType`.
#[repr(transparent)]
#[derive(StableAbi, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ElemType(pub u8);

macro_rules! elem_types {
    ($($konst:ident = $number:literal, $name:literal, $bits:literal;)*) => {
        impl ElemType {
            $(#[doc = concat!("`", $name, "`")] pub const $konst: Self = Self($number);)*

            /// Every known element type, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$konst),*];

            /// The name in the text form, `float32`.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 { $($number => Some($name),)* _ => None }
            }

            /// The type of that name in the text form.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($name => Some(Self($number)),)* _ => None }
            }

            /// Bits of one element; 0 for strings and for unknown types.
            pub const fn bits(self) -> u32 {
                match self.0 { $($number => $bits,)* _ => 0 }
            }
        }
    };
}

elem_types! {
    FLOAT = 1, "float32", 32;
    UINT8 = 2, "uint8", 8;
    INT8 = 3, "int8", 8;
    UINT16 = 4, "uint16", 16;
    INT16 = 5, "int16", 16;
    INT32 = 6, "int32", 32;
    INT64 = 7, "int64", 64;
    STRING = 8, "string", 0;
    BOOL = 9, "bool", 8;
    FLOAT16 = 10, "float16", 16;
    DOUBLE = 11, "float64", 64;
    UINT32 = 12, "uint32", 32;
    UINT64 = 13, "uint64", 64;
    COMPLEX64 = 14, "complex64", 64;
    COMPLEX128 = 15, "complex128", 128;
    BFLOAT16 = 16, "bfloat16", 16;
    FLOAT8E4M3FN = 17, "float8e4m3fn", 8;
    FLOAT8E4M3FNUZ = 18, "float8e4m3fnuz", 8;
    FLOAT8E5M2 = 19, "float8e5m2", 8;
    FLOAT8E5M2FNUZ = 20, "float8e5m2fnuz", 8;
    UINT4 = 21, "uint4", 4;
    INT4 = 22, "int4", 4;
    FLOAT4E2M1 = 23, "float4e2m1", 4;
    FLOAT8E8M0 = 24, "float8e8m0", 8;
    UINT2 = 25, "uint2", 2;
    INT2 = 26, "int2", 2;
    FLOAT6E2M3 = 27, "float6e2m3", 6;
    FLOAT6E3M2 = 28, "float6e3m2", 6;
}

impl ElemType {
    /// Not known (ONNX's `UNDEFINED`).
    pub const UNKNOWN: Self = Self(0);

    /// Whether elements are IEEE or IEEE-like floating-point numbers.
    pub const fn is_float(self) -> bool {
        matches!(self.0, 1 | 10 | 11 | 16..=20 | 23 | 24 | 27 | 28)
    }

    /// Whether elements are integers (`bool` is not).
    pub const fn is_integer(self) -> bool {
        matches!(self.0, 2..=7 | 12 | 13 | 21 | 22 | 25 | 26)
    }

    /// The first version of ONNX's operator set whose `Constant` has elements of this type; the largest number if none has.
    pub const fn constant_since(self) -> i64 {
        match self {
            Self::FLOAT | Self::DOUBLE | Self::FLOAT16 => 1,
            Self::BFLOAT16 => 13,
            Self::FLOAT8E4M3FN | Self::FLOAT8E4M3FNUZ | Self::FLOAT8E5M2 | Self::FLOAT8E5M2FNUZ => 19,
            Self::INT4 | Self::UINT4 => 21,
            Self::FLOAT4E2M1 => 23,
            Self::FLOAT8E8M0 => 24,
            Self::INT2 | Self::UINT2 => 25,
            Self::FLOAT6E2M3 | Self::FLOAT6E3M2 => i64::MAX,
            _ => 9,
        }
    }

    /// Bytes that `count` elements take, packed as ONNX's `raw_data`; `None` for strings, unknown types and products
    /// beyond 64 bits.
    pub const fn bytes_for(self, count: u64) -> Option<u64> {
        match (self.bits(), self.0) {
            (0, _) => None,
            (bits, _) => match count.checked_mul(bits as u64) {
                Some(bits) => Some(bits.div_ceil(8)),
                None => None,
            },
        }
    }
}

impl fmt::Display for ElemType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None if self.0 == 0 => f.write_str("?"),
            None => write!(f, "elem{}", self.0),
        }
    }
}

impl fmt::Debug for ElemType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// One dimension of a tensor type, as stored: a non-negative number is static, -1 is unknown, and a smaller number is a
/// symbol.
#[repr(transparent)]
#[derive(StableAbi, Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DimRec(pub i64);

/// One dimension of a tensor type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dim {
    /// A known size.
    Static(u64),
    /// A named size (ONNX's `dim_param`); the name is in the owning function's byte pool.
    Symbol(StrId),
    /// Nothing is known, not even equality with itself elsewhere.
    Unknown,
}

/// The dimensions of a shape; those of a usual rank are stored inline, without an allocation.
pub type Dims = SmallVec<[Dim; 6]>;

impl Dim {
    /// The size, when known.
    pub const fn known(self) -> Option<u64> {
        match self {
            Self::Static(size) => Some(size),
            _ => None,
        }
    }

    /// Whether both are certainly the same size.
    pub fn is_same(self, other: Self) -> bool {
        self != Self::Unknown && self == other
    }
}

impl From<DimRec> for Dim {
    fn from(rec: DimRec) -> Self {
        match rec.0 {
            size @ 0.. => Self::Static(size as u64),
            -1 => Self::Unknown,
            symbol => Self::Symbol(StrId((-2 - symbol) as u32)),
        }
    }
}

impl From<Dim> for DimRec {
    fn from(dim: Dim) -> Self {
        Self(match dim {
            Dim::Static(size) => i64::try_from(size).unwrap_or(-1),
            Dim::Unknown => -1,
            Dim::Symbol(name) => -2 - i64::from(name.0),
        })
    }
}

/// The most parts (types and dimensions) that a type may have when it is expanded. Types share parts, so a few hundred
/// bytes of arena could otherwise represent more than any memory holds.
pub const MOST_TYPE_PARTS: usize = 1 << 20;

/// The kinds of type, append-only.
pub mod type_kind {
    /// Nothing is known.
    pub const UNKNOWN: u8 = 0;
    /// A tensor whose rank is known.
    pub const TENSOR: u8 = 1;
    /// A tensor of unknown rank.
    pub const TENSOR_ANY_RANK: u8 = 2;
    /// A tuple.
    pub const TUPLE: u8 = 3;
    /// A function.
    pub const FUNC: u8 = 4;
    /// ONNX's sequence.
    pub const SEQUENCE: u8 = 5;
    /// ONNX's optional.
    pub const OPTIONAL: u8 = 6;
    /// ONNX's map.
    pub const MAP: u8 = 7;
    /// ONNX's sparse tensor whose rank is known.
    pub const SPARSE: u8 = 8;
    /// ONNX's sparse tensor of unknown rank.
    pub const SPARSE_ANY_RANK: u8 = 9;
    /// An opaque type: domain and name.
    pub const OPAQUE: u8 = 10;
}

/// A type as stored: `words[a..a + b]` holds its parts (dimensions as two words each, or type ids).
#[repr(C)]
#[derive(StableAbi, Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TypeRec {
    /// One of [`type_kind`].
    pub kind: u8,
    /// The element type, for tensors; the key type, for maps.
    pub elem: ElemType,
    /// Zero; for later use.
    pub aux: u16,
    /// First part.
    pub a: u32,
    /// Number of parts.
    pub b: u32,
}

/// A view of a type: the result of [`Function::ty`](super::Function::ty) and the argument of
/// [`Function::add_type`](super::Function::add_type).
#[non_exhaustive]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type<'a> {
    /// Nothing is known.
    Unknown,
    /// A dense tensor; `shape` is `None` when not even the rank is known.
    Tensor {
        /// Element type; may be unknown.
        elem: ElemType,
        /// Dimensions.
        shape: Option<&'a [DimRec]>,
    },
    /// A tuple of types.
    Tuple(&'a [TypeId]),
    /// A function from `params` to `result`.
    Func {
        /// Parameter types.
        params: &'a [TypeId],
        /// Result type.
        result: TypeId,
    },
    /// ONNX's sequence of equal types.
    Sequence(TypeId),
    /// ONNX's optional.
    Optional(TypeId),
    /// ONNX's map.
    Map {
        /// Key type: an integer type or `string`.
        key: ElemType,
        /// Value type.
        value: TypeId,
    },
    /// A sparse tensor.
    SparseTensor {
        /// Element type.
        elem: ElemType,
        /// Dimensions.
        shape: Option<&'a [DimRec]>,
    },
    /// A type that only its domain knows.
    Opaque {
        /// Domain.
        domain: StrId,
        /// Name within the domain.
        name: StrId,
    },
    /// A kind that this version of the library does not know; carried unchanged.
    Other(u8),
}

impl<'a> Type<'a> {
    /// Element type and dimensions, for a dense tensor of known rank.
    pub fn as_tensor(self) -> Option<(ElemType, &'a [DimRec])> {
        match self {
            Self::Tensor { elem, shape: Some(shape) } => Some((elem, shape)),
            _ => None,
        }
    }

    /// The element type of a dense tensor, when known.
    pub fn elem(self) -> Option<ElemType> {
        match self {
            Self::Tensor { elem, .. } if elem != ElemType::UNKNOWN => Some(elem),
            _ => None,
        }
    }

    /// The dimensions of a dense tensor, when the rank is known.
    pub fn shape(self) -> Option<&'a [DimRec]> {
        self.as_tensor().map(|(_, shape)| shape)
    }

    /// The sizes of a dense tensor, when all are known.
    pub fn static_shape(self) -> Option<Vec<u64>> {
        self.shape()?.iter().map(|&dim| Dim::from(dim).known()).collect()
    }
}
