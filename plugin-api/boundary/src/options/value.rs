//! Values of options, and how they cross the boundary.

use super::*;

/// The tags of values.
pub(super) mod value_tag {
    pub const BOOL: u16 = 1;
    pub const INT: u16 = 2;
    pub const FLOAT: u16 = 3;
    pub const STR: u16 = 4;
    pub const LIST: u16 = 5;
    pub const STRUCT: u16 = 6;
    pub const NAME: u16 = 7;
}

/// The value of an option.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A number.
    Float(f64),
    /// Text.
    Str(String),
    /// A list.
    List(Vec<Value>),
    /// A table, in order.
    Struct(Vec<(String, Value)>),
}

impl Value {
    /// The value of a key of a table.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Self::Struct(entries) = self else { return None };
        entries.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The encoding that crosses the boundary.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode_into(&mut out);
        out
    }

    /// Recurses as deep as the value, which is at most as deep as a schema.
    fn encode_into(&self, out: &mut Vec<u8>) {
        match self {
            Self::Bool(value) => push_field(out, value_tag::BOOL, &[u8::from(*value)]),
            Self::Int(value) => push_field(out, value_tag::INT, &value.to_le_bytes()),
            Self::Float(value) => push_field(out, value_tag::FLOAT, &value.to_le_bytes()),
            Self::Str(value) => push_field(out, value_tag::STR, value.as_bytes()),
            Self::List(values) => {
                let mut inner = Vec::new();
                values.iter().for_each(|value| value.encode_into(&mut inner));
                push_field(out, value_tag::LIST, &inner);
            }
            Self::Struct(entries) => {
                let mut inner = Vec::new();
                for (name, value) in entries {
                    push_field(&mut inner, value_tag::NAME, name.as_bytes());
                    value.encode_into(&mut inner);
                }
                push_field(out, value_tag::STRUCT, &inner);
            }
        }
    }

    /// Reads an encoding.
    ///
    /// # Errors
    /// Returns an error if the bytes are none.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let values = decode_list(bytes, 0)?;
        <[Self; 1]>::try_from(values).map(|[value]| value).map_err(|_| Malformed::Missing("value"))
    }

    /// The name of its type, for messages.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Bool(_) => "a boolean",
            Self::Int(_) => "an integer",
            Self::Float(_) => "a float",
            Self::Str(_) => "a string",
            Self::List(_) => "a list",
            Self::Struct(_) => "a table",
        }
    }
}

macro_rules! from {
    ($($ty:ty: $value:ident => $made:expr;)*) => {$(
        impl From<$ty> for Value {
            fn from($value: $ty) -> Self {
                $made
            }
        }
    )*};
}

from! {
    bool: value => Self::Bool(value);
    i64: value => Self::Int(value);
    i32: value => Self::Int(value.into());
    f64: value => Self::Float(value);
    &str: value => Self::Str(value.to_owned());
    String: value => Self::Str(value);
}

impl<T: Into<Self>> From<Vec<T>> for Value {
    fn from(values: Vec<T>) -> Self {
        Self::List(values.into_iter().map(T::into).collect())
    }
}

impl<T: Into<Self>, const N: usize> From<[T; N]> for Value {
    fn from(values: [T; N]) -> Self {
        Self::List(values.into_iter().map(T::into).collect())
    }
}

/// At most [`MAX_DEPTH`] deep.
fn decode_list(bytes: &[u8], depth: usize) -> Result<Vec<Value>, Malformed> {
    if depth > MAX_DEPTH {
        return Err(Malformed::Depth);
    }
    let mut values = Vec::new();
    for field in Fields::new(bytes) {
        let field = field?;
        values.push(match field.tag {
            value_tag::BOOL => Value::Bool(field.u8()? != 0),
            value_tag::INT => Value::Int(field.i64()?),
            value_tag::FLOAT => Value::Float(field.f64()?),
            value_tag::STR => Value::Str(field.text()?.to_owned()),
            value_tag::LIST => Value::List(decode_list(field.bytes, depth + 1)?),
            value_tag::STRUCT => Value::Struct(decode_struct(field.bytes, depth + 1)?),
            _ => return Err(Malformed::Missing("value")),
        });
    }
    Ok(values)
}

fn decode_struct(bytes: &[u8], depth: usize) -> Result<Vec<(String, Value)>, Malformed> {
    let mut entries = Vec::new();
    let mut fields = Fields::new(bytes);
    while let Some(name) = fields.next() {
        let name = name?;
        if name.tag != value_tag::NAME {
            return Err(Malformed::Missing("name"));
        }
        let value = fields.next().ok_or(Malformed::Missing("value"))??;
        let mut encoded = Vec::with_capacity(value.bytes.len() + 6);
        push_field(&mut encoded, value.tag, value.bytes);
        let [value] = <[Value; 1]>::try_from(decode_list(&encoded, depth)?).map_err(|_| Malformed::Missing("value"))?;
        entries.push((name.text()?.to_owned(), value));
    }
    Ok(entries)
}

/// As TOML writes it.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Str(value) => write!(f, "{value:?}"),
            Self::List(values) => {
                f.write_str("[")?;
                for (i, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if i == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
            Self::Struct(entries) => {
                f.write_str("{")?;
                for (i, (name, value)) in entries.iter().enumerate() {
                    write!(f, "{}{name} = {value}", if i == 0 { " " } else { ", " })?;
                }
                f.write_str(" }")
            }
        }
    }
}
