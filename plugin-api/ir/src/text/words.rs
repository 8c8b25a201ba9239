//! Words that the printer writes and the parser reads.

use crate::{ConstForm, ElemType, attr_kind};

/// Words that begin an expression of their own, so that an operator of that name is quoted.
pub(super) const EXPRESSIONS: &[&str] = &[
    "let", "if", "else", "fn", "const", "splat", "node", "leaf", "opaque", "hex", "true", "false", "inf", "nan", "_",
    "def", "prim", "global",
];

/// The metadata that represents the operator sets a function imports.
pub(super) const OPSET: [&str; 2] = ["opset_domains", "opset_versions"];

/// Names of attribute kinds, where an attribute refers to one of the enclosing function.
pub(super) const KINDS: &[(&str, u8)] = &[
    ("float", attr_kind::FLOAT),
    ("int", attr_kind::INT),
    ("string", attr_kind::STRING),
    ("tensor", attr_kind::TENSOR),
    ("graph", attr_kind::GRAPH),
    ("floats", attr_kind::FLOATS),
    ("ints", attr_kind::INTS),
    ("strings", attr_kind::STRINGS),
    ("tensors", attr_kind::TENSORS),
    ("graphs", attr_kind::GRAPHS),
    ("sparse_tensor", attr_kind::SPARSE_TENSOR),
    ("sparse_tensors", attr_kind::SPARSE_TENSORS),
    ("type", attr_kind::TYPE),
    ("types", attr_kind::TYPES),
];

/// Names of the forms of a constant.
pub(super) const FORMS: &[(&str, ConstForm)] = &[
    ("initializer", ConstForm::INITIALIZER),
    ("value", ConstForm::VALUE),
    ("value_float", ConstForm::VALUE_FLOAT),
    ("value_floats", ConstForm::VALUE_FLOATS),
    ("value_int", ConstForm::VALUE_INT),
    ("value_ints", ConstForm::VALUE_INTS),
    ("value_string", ConstForm::VALUE_STRING),
    ("value_strings", ConstForm::VALUE_STRINGS),
];

/// Suffixes of literals.
pub(super) const SUFFIXES: &[(&str, ElemType)] = &[
    ("bf16", ElemType::BFLOAT16),
    ("f16", ElemType::FLOAT16),
    ("f32", ElemType::FLOAT),
    ("f64", ElemType::DOUBLE),
    ("i8", ElemType::INT8),
    ("i16", ElemType::INT16),
    ("i32", ElemType::INT32),
    ("i64", ElemType::INT64),
    ("u8", ElemType::UINT8),
    ("u16", ElemType::UINT16),
    ("u32", ElemType::UINT32),
    ("u64", ElemType::UINT64),
];

/// Words that are literals.
pub(super) const LITERALS: [&str; 5] = ["true", "false", "inf", "-inf", "nan"];
