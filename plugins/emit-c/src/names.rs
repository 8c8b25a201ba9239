//! Names and types of C.

use relais_plugin_api::ir::{ElemType, Imm};
use std::collections::HashSet;

/// The words of C99 and of later standards, of C++, and what the included headers define that a name could be.
const TAKEN: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "asm",
    "auto",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "const",
    "constexpr",
    "continue",
    "default",
    "delete",
    "do",
    "double",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "int16_t",
    "int32_t",
    "int64_t",
    "int8_t",
    "long",
    "main",
    "mutable",
    "namespace",
    "new",
    "not",
    "nullptr",
    "operator",
    "or",
    "private",
    "protected",
    "public",
    "register",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typename",
    "typeof",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "uint8_t",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "while",
    "xor",
    "linux",
    "unix",
    "NULL",
    "INFINITY",
    "NAN",
    "memcpy",
    "isnan",
    "isinf",
    "signbit",
    "isunordered",
];

/// Names that are given once.
#[derive(Default)]
pub struct Names {
    taken: HashSet<String>,
    /// The beginning of other names, in small letters.
    avoided: Option<String>,
}

impl Names {
    /// An identifier like a name that is not given yet, and from then on is.
    pub fn give(&mut self, name: &str) -> String {
        let mut stem = identifier(name);
        if self.avoided.as_ref().is_some_and(|prefix| stem.to_ascii_lowercase().starts_with(prefix)) {
            stem.insert_str(0, "v_");
        }
        let mut all = std::iter::once(stem.clone()).chain((1..).map(|n| format!("{stem}_{n}")));
        let free = all.find(|name| !is_taken(name) && !self.taken.contains(name)).unwrap_or(stem);
        self.taken.insert(free.clone());
        free
    }

    /// Keeps names from beginning with this and `_`, in whatever case.
    pub fn avoid(&mut self, prefix: &str) {
        self.avoided = Some(format!("{}_", prefix.to_ascii_lowercase()));
    }

    /// Whether a name is given.
    pub fn has(&self, name: &str) -> bool {
        self.taken.contains(name)
    }
}

/// The functions of `math.h` that programs call, without the `f` of `float`s.
const MATH: &[&str] = &[
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf", "exp", "fabs", "floor", "fma",
    "fmod", "log", "pow", "rint", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
];

fn is_taken(name: &str) -> bool {
    TAKEN.contains(&name) || MATH.contains(&name) || name.strip_suffix('f').is_some_and(|name| MATH.contains(&name))
}

/// The letters that C compilers certainly tell names apart by, without those that are appended.
pub const LONGEST_NAME: usize = 60;

/// A name with `_` in the places of characters that identifiers do not have; it begins with a letter.
pub fn identifier(name: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut out: String = name.chars().map(|c| if is_part(c) { c } else { '_' }).collect();
    // Names that begin with `_` are the implementation's.
    if !out.starts_with(|c: char| c.is_ascii_alphabetic()) {
        out.insert(0, 'v');
    }
    out.truncate(LONGEST_NAME);
    out
}

/// The C type of elements.
pub fn c_type(elem: ElemType) -> Option<&'static str> {
    Some(match elem {
        ElemType::FLOAT => "float",
        ElemType::DOUBLE => "double",
        ElemType::INT8 => "int8_t",
        ElemType::INT16 => "int16_t",
        ElemType::INT32 => "int32_t",
        ElemType::INT64 => "int64_t",
        ElemType::UINT8 => "uint8_t",
        ElemType::UINT16 => "uint16_t",
        ElemType::UINT32 => "uint32_t",
        ElemType::UINT64 => "uint64_t",
        ElemType::BOOL => "bool",
        _ => return None,
    })
}

/// A number as C writes it.
pub fn literal(imm: Imm) -> String {
    match imm.elem() {
        ElemType::BOOL => (imm.bits() != 0).to_string(),
        ElemType::FLOAT => float(
            f64::from(f32::from_bits(imm.bits() as u32)),
            &format!("{:?}f", f32::from_bits(imm.bits() as u32)),
            "",
        ),
        ElemType::DOUBLE => float(f64::from_bits(imm.bits()), &format!("{:?}", f64::from_bits(imm.bits())), "(double)"),
        ElemType::UINT32 => format!("{}u", imm.bits()),
        ElemType::UINT64 => format!("UINT64_C({})", imm.bits()),
        _ => match imm.as_int().unwrap_or_default() {
            i64::MIN => "INT64_MIN".to_owned(),
            value if i32::try_from(value).is_ok_and(|value| value > i32::MIN) => value.to_string(),
            value if imm.elem() == ElemType::INT32 => format!("(-INT32_C({}) - 1)", -(value + 1)),
            value => format!("INT64_C({value})"),
        },
    }
}

fn float(value: f64, decimal: &str, cast: &str) -> String {
    match value {
        _ if value.is_nan() => format!("{cast}NAN"),
        f64::INFINITY => format!("{cast}INFINITY"),
        f64::NEG_INFINITY => format!("({cast}-INFINITY)"),
        _ => decimal.to_owned(),
    }
}
